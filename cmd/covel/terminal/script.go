package terminal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/covel/covel/cmd/covel/client"
	"github.com/covel/covel/plugins/tools"
)

// ScriptHelp describes the files that Play plays.
const ScriptHelp = `A script is a text file with one input a line; the next line is played when the turn before it has ended:

  # a comment; empty lines carry no meaning
  world low-water                 which world; before the first input
  locale zh-CN                    in which language; before the first input
  form characterName=Mara Lind; calling=clock-mender
                                  answers the open form; fields left out keep their defaults;
                                  a value in "double quotes" may hold ; and "
  choose TEXT                     answers the open question by the id or the words of a choice, or by yes or no
  suggestion 2                    sends the second suggestion
  say TEXT                        sends a line
  act TEXT                        sends something the character does
  any other line                  sends it as a line
  expect committed                the last turn was committed (every turn must be, also without this line)
  expect contains "the bell"      what was shown since the last input contains this`

// Script is a file of inputs.
type Script struct {
	World, Locale string // "" when the file does not say
	steps         []scriptStep
}

type scriptStep struct {
	line       int
	verb, rest string
	fields     []field // of a form
}

type field struct{ name, value string }

// Verbs of a script. Anything else is a line that is said.
const (
	doSay        = "say"
	doAct        = "act"
	doForm       = "form"
	doChoose     = "choose"
	doSuggestion = "suggestion"
	doExpect     = "expect"
)

// ParseScript reads a script. Errors name the line and what was expected.
func ParseScript(in io.Reader) (Script, error) {
	var s Script
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		text := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\uFEFF"))
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if err := s.add(n, text); err != nil {
			return Script{}, errors.WithMessagef(err, "line %d", n)
		}
	}
	return s, errors.Wrapf(lines.Err(), "line %d", n+1)
}

func (s *Script) add(line int, text string) error {
	verb, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	step := scriptStep{line: line, verb: verb, rest: rest}
	switch verb {
	case "world", "locale":
		if rest == "" || strings.ContainsAny(rest, " \t") {
			break // a sentence that begins with the word
		}
		if len(s.steps) > 0 {
			return errors.Errorf("%s comes before the first input", verb)
		}
		if verb == "world" {
			s.World = rest
		} else {
			s.Locale = rest
		}
		return nil
	case doForm:
		fields, err := parseFields(rest)
		if err != nil {
			return err
		}
		step.fields = fields
		s.steps = append(s.steps, step)
		return nil
	case doSuggestion:
		if n, err := strconv.Atoi(rest); err != nil || n < 1 {
			return errors.Errorf("suggestion %q: expected a number from 1", rest)
		}
		s.steps = append(s.steps, step)
		return nil
	case doExpect:
		if err := checkExpect(&step); err != nil {
			return err
		}
		s.steps = append(s.steps, step)
		return nil
	case doSay, doAct, doChoose:
		if rest == "" {
			return errors.Errorf("%s needs a text", verb)
		}
		s.steps = append(s.steps, step)
		return nil
	}
	s.steps = append(s.steps, scriptStep{line: line, verb: doSay, rest: text})
	return nil
}

// checkExpect reads "committed" or `contains TEXT`; rest becomes "" or the text.
func checkExpect(step *scriptStep) error {
	what, text, _ := strings.Cut(step.rest, " ")
	text = strings.TrimSpace(text)
	switch {
	case what == "committed" && text == "":
		step.rest = ""
	case what == "contains" && text != "":
		if strings.HasPrefix(text, `"`) {
			unquoted, err := strconv.Unquote(text)
			if err != nil {
				return errors.Errorf("expect contains %s: a text that begins with a quote must end with one", text)
			}
			text = unquoted
		}
		step.rest = text
	default:
		return errors.Errorf("expect %q: expected committed, or contains \"TEXT\"", step.rest)
	}
	return nil
}

// parseFields reads name=value; name="value".
func parseFields(text string) ([]field, error) {
	var out []field
	for rest := strings.TrimSpace(text); rest != ""; {
		name, after, found := strings.Cut(rest, "=")
		name, after = strings.TrimSpace(name), strings.TrimSpace(after)
		if !found || name == "" {
			return nil, errors.Errorf("form %q: expected name=value; name=value", rest)
		}
		f := field{name: name}
		if strings.HasPrefix(after, `"`) {
			quoted, err := strconv.QuotedPrefix(after)
			if err != nil {
				return nil, errors.Errorf("form %s: the value has no closing quote", name)
			}
			f.value, _ = strconv.Unquote(quoted)
			after = strings.TrimSpace(after[len(quoted):])
			if after != "" && !strings.HasPrefix(after, ";") {
				return nil, errors.Errorf("form %s: expected ; after the value, got %q", name, after)
			}
			rest = strings.TrimSpace(strings.TrimPrefix(after, ";"))
		} else {
			f.value, rest, _ = strings.Cut(after, ";")
			f.value, rest = strings.TrimSpace(f.value), strings.TrimSpace(rest)
		}
		out = append(out, f)
	}
	return out, nil
}

// Play plays a script. The error names the line that went wrong: an input that was refused, a turn that did not commit, an
// expectation that was not met.
func (g *Game) Play(ctx context.Context, s Script) error {
	if err := g.settle(ctx); err != nil {
		return err
	}
	if g.sent && !g.outcome.ok() {
		return errors.WithMessage(g.problem(), "the session could not be started")
	}
	for _, step := range s.steps {
		if err := g.play(ctx, step); err != nil {
			return errors.WithMessagef(err, "line %d", step.line)
		}
	}
	return nil
}

func (g *Game) play(ctx context.Context, step scriptStep) error {
	if step.verb == doExpect {
		return g.expect(step.rest)
	}
	action, err := g.action(step)
	if err != nil {
		return err
	}
	g.act(action)
	if err := g.settle(ctx); err != nil {
		return err
	}
	if !g.outcome.ok() {
		return g.problem()
	}
	return nil
}

func (g *Game) problem() error {
	switch o := g.outcome; {
	case o.refusal != nil && len(o.refusal.Issues) > 0:
		return errors.Errorf("not accepted: %s: %s", o.refusal.Message, o.refusal.Issues[0].Message)
	case o.refusal != nil:
		return errors.Errorf("not accepted: %s", o.refusal)
	case o.committed:
		return errors.Errorf("the turn was committed, but something in it failed: %s", o.reason)
	case o.reason != "":
		return errors.Errorf("the turn was not committed: %s", o.reason)
	}
	return errors.New("the turn was not committed")
}

func (g *Game) expect(text string) error {
	if text == "" {
		if !g.outcome.ok() {
			return g.problem()
		}
		return nil
	}
	if !strings.Contains(g.shown.String(), text) {
		return errors.Errorf("expected %q in what was shown since the last input", text)
	}
	return nil
}

func (g *Game) action(step scriptStep) (client.Action, error) {
	switch step.verb {
	case doForm:
		return g.formAction(step)
	case doChoose:
		for _, q := range slices.Backward(g.open) {
			if fields, ok := q.choose(step.rest); ok {
				return q.answer(fields), nil
			}
		}
		return client.Action{}, errors.Errorf("no open question has the choice %q", step.rest)
	case doSuggestion:
		n, _ := strconv.Atoi(step.rest)
		if n > len(g.suggestions) {
			return client.Action{}, errors.Errorf("suggestion %d: there are %d", n, len(g.suggestions))
		}
		return client.Action{Kind: "say", Text: g.suggestions[n-1]}, nil
	}
	return client.Action{Kind: step.verb, Text: step.rest}, nil
}

func (g *Game) formAction(step scriptStep) (client.Action, error) {
	for _, q := range slices.Backward(g.open) {
		if q.Type != tools.FormInteraction {
			continue
		}
		values := map[string]any{}
		var names []string
		for _, f := range q.Block.Fields {
			names = append(names, f.Name)
		}
		for _, given := range step.fields {
			i := slices.Index(names, given.name)
			if i < 0 {
				return client.Action{}, errors.Errorf("the form has no field %q; it has %s", given.name, strings.Join(names, ", "))
			}
			value, err := fieldValue(q.Block.Fields[i], given.value, g.texts)
			if err != nil {
				return client.Action{}, fmt.Errorf("form %s=%s: %w", given.name, given.value, err)
			}
			if value != nil {
				values[given.name] = value
			}
		}
		return q.answer(values), nil
	}
	return client.Action{}, errors.New("no form is open")
}
