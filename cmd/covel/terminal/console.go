package terminal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/covel/covel/cmd/covel/client"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/plugins/tools"
)

// Lines are the lines that somebody types.
type Lines struct {
	C    <-chan string // closed at the end of the input
	Live bool          // typed by a person, who may interrupt a running turn
}

// maxLine is the longest line that is read, in bytes.
const maxLine = 1 << 20

// ReadLines reads lines until the input ends. Its goroutine ends with the input.
func ReadLines(in io.Reader, live bool) Lines {
	c := make(chan string)
	go func() { // owned by the program: standard input cannot be interrupted
		defer close(c)
		s := bufio.NewScanner(in)
		s.Buffer(nil, maxLine)
		for s.Scan() {
			c <- strings.ToValidUTF8(strings.TrimSuffix(s.Text(), "\r"), "\uFFFD")
		}
	}()
	return Lines{c, live}
}

// Console plays with a person until they leave or the input ends.
func (g *Game) Console(ctx context.Context, lines Lines) error {
	c := &console{Game: g, lines: lines}
	for !c.over {
		if g.gone != nil {
			return fmt.Errorf(g.texts.gone, g.gone)
		}
		c.invite()
		var typed <-chan string
		if g.idle() || lines.Live {
			typed = lines.C
		}
		select {
		case u, ok := <-g.link.Updates():
			if !ok {
				return nil
			}
			g.update(u)
			c.followUp()
		case line, ok := <-typed:
			if !ok {
				c.over = true
				break
			}
			g.screen.Typed(line, c.invited)
			c.invited = false
			c.line(line)
		case <-ctx.Done():
			c.over = true
		}
	}
	g.screen.Erase()
	g.note(fmt.Sprintf(g.texts.goodbye, g.session.ID))
	return nil
}

type console struct {
	*Game
	lines   Lines
	form    *asking
	listed  client.InteractionRef // the choice that stands on the screen
	invited bool                  // a prompt stands on the screen
	prints  int                   // when it was put there
	over    bool
}

// invite shows what the player can answer now, once.
func (c *console) invite() {
	if !c.idle() || c.over {
		c.invited = false
		return
	}
	if c.invited && c.prints == c.screen.prints {
		return
	}
	text := c.texts.prompt
	if q, ok := c.question(); ok {
		switch {
		case q.Type == tools.FormInteraction:
			text = c.inviteForm(q)
		case c.listed != q.InteractionRef:
			c.listed = q.InteractionRef
			c.listChoices(q)
		}
	}
	c.screen.Prompt(text)
	c.invited, c.prints = true, c.screen.prints
}

func (c *console) inviteForm(q question) string {
	if c.form == nil || c.form.InteractionRef != q.InteractionRef || len(c.form.fields) == 0 {
		c.form = ask(q)
		c.screen.Line(c.screen.Strong(Printable(q.Block.Title)))
		if q.Block.Notice != "" {
			c.note(q.Block.Notice)
		}
	}
	f := c.form.fields[0]
	prompt := fieldPrompt(f, c.texts)
	if !c.form.said {
		c.form.said = true
		for i, o := range f.Options {
			c.screen.Line(fmt.Sprintf("  %d. %s", i+1, Printable(oneLine(o.Label))))
		}
		if !c.screen.Live() {
			c.screen.Line(prompt)
		}
	}
	return prompt + c.texts.colon
}

func (c *console) listChoices(q question) {
	title := q.Block.Prompt
	if title == "" {
		title = q.Block.Title
	}
	c.screen.Line(c.screen.Strong(Printable(title)))
	for i, o := range q.Block.Choices {
		text := o.Label
		if o.Description != "" {
			text += " — " + o.Description
		}
		c.screen.Line(fmt.Sprintf("  %d. %s", i+1, Printable(oneLine(text))))
	}
	if q.Type == tools.ConfirmationInteraction {
		c.screen.Line("  " + c.texts.yesNo)
	}
}

// followUp reacts to an answer that was refused.
func (c *console) followUp() {
	r := c.outcome.refusal
	if r == nil || c.form == nil || len(c.form.fields) > 0 {
		return
	}
	if r.Code == "form_rejected" {
		c.form.again(r.Issues)
		return
	}
	c.skipped[c.form.InteractionRef] = true // not to be asked for ever; /retry or the page goes on
	c.form = nil
}

// line is something the player typed.
func (c *console) line(line string) {
	words := strings.TrimSpace(line)
	if strings.HasPrefix(words, "/") {
		c.command(words)
		return
	}
	if !c.idle() {
		if words != "" {
			c.say(words)
		}
		return
	}
	if q, ok := c.question(); ok {
		if c.form != nil && q.InteractionRef == c.form.InteractionRef {
			c.fill(words)
			return
		}
		if fields, ok := q.choose(words); ok {
			c.act(q.answer(fields))
			return
		}
	}
	switch n, err := strconv.Atoi(words); {
	case words == "":
	case err != nil || len(c.suggestions) == 0:
		c.say(words)
	case n < 1 || n > len(c.suggestions):
		c.note(fmt.Sprintf(c.texts.noSuggestion, n))
	default:
		c.act(client.Action{Kind: "say", Text: c.suggestions[n-1]})
	}
}

// say sends a line that was typed.
func (c *console) say(text string) { c.typed[c.act(client.Action{Kind: "say", Text: text})] = true }

func (c *console) fill(words string) {
	done, err := c.form.take(words, c.texts)
	if err != nil {
		c.note(err.Error())
		return
	}
	if done {
		c.act(c.form.answer(c.form.values))
	}
}

func (c *console) command(words string) {
	name, rest, _ := strings.Cut(words, " ")
	switch name {
	case "/quit", "/exit", "/q":
		c.over = true
	case "/help", "/?":
		c.note(c.texts.help)
	case "/stop":
		if c.idle() {
			c.note(c.texts.nothingRuns)
			return
		}
		c.link.Stop()
	case "/retry":
		c.tryAgain()
	case "/undo", "/again", "/redo":
		c.turn(name)
	case "/steer":
		switch rest = strings.TrimSpace(rest); {
		case rest == "":
			c.note(c.texts.steerWhat)
		case c.idle():
			c.say(rest)
		default: // the turn that it is said into ends, not the request
			c.link.Submit(kernel.Interject, map[string]any{"text": rest})
		}
	case "/skip":
		if q, ok := c.question(); ok {
			c.skipped[q.InteractionRef] = true
			c.form = nil
		}
	case "/act":
		if rest = strings.TrimSpace(rest); rest != "" {
			c.act(client.Action{Kind: "act", Text: rest})
		}
	default:
		c.note(fmt.Sprintf(c.texts.unknownCommand, name) + " " + c.texts.helpHint)
	}
}

// turn goes back, forward, or tells the newest page anew.
func (c *console) turn(name string) {
	ahead := forward(c.tree)
	switch {
	case !c.idle():
		c.note(c.texts.busy)
	case name == "/undo":
		c.move("")
	case name == "/again":
		c.submit(kernel.Regenerate, map[string]any{})
	case ahead == "":
		c.note(c.texts.nothingAhead)
	default:
		c.move(ahead)
	}
}
