package terminal

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/covel/covel/cmd/covel/client"
	"github.com/covel/covel/gateway/play"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
)

// recentMessages is how much of the story is shown to somebody who comes back to a session.
const recentMessages = 6

// Game is a session as the terminal shows it: it takes updates in and prints them. One goroutine uses it.
type Game struct {
	link   *client.Link
	screen *Screen
	texts  *texts
	echo   bool // the player's lines are printed, because no terminal shows them
	panels []panel

	session  play.Session
	data     map[string]map[string]map[string]projections.RawJSON // by plugin, namespace, key
	open     []question
	skipped  map[client.InteractionRef]bool
	retry    *play.Retry
	welcomed bool
	lost     bool
	gone     error

	seq     uint64          // of the stream, as far as it was shown
	waiting map[string]bool // requests of ours without an end; true when accepted
	typed   map[string]bool // requests whose line stands on the screen already
	sent    bool            // a request of ours was sent
	running bool            // a request is being worked on, of whomever
	outcome outcome         // of the request of ours that ended last

	tree   play.Tree
	moving map[string]uint64 // moves of ours without an end: the version of the move, 0 before it is accepted
	viewed uint64            // the version of the view that was adopted last
	newest string            // the newest committed row on the screen that no player wrote

	execution   string // whose progress is shown
	n           uint64
	draft       string // streamed so far
	draftFrom   string // the runtime that streams
	steps       []step
	printed     map[string]bool // messages
	changed     map[[2]string]bool
	suggestions []string
	shown       strings.Builder // since the last input
}

type step struct{ runtime, label, stage string }

// outcome is how a request ended.
type outcome struct {
	committed bool
	reason    string
	refusal   *client.Refusal
}

func (o outcome) ok() bool { return o.committed && o.reason == "" && o.refusal == nil }

// NewGame shows a followed session. locale decides the language of the program's own words; echo prints the player's lines.
func NewGame(link *client.Link, specs []client.Spec, screen *Screen, locale string, echo bool) *Game {
	g := &Game{
		link: link, screen: screen, texts: textsFor(locale), echo: echo, skipped: map[client.InteractionRef]bool{},
		waiting: map[string]bool{}, moving: map[string]uint64{}, typed: map[string]bool{}, printed: map[string]bool{}, changed: map[[2]string]bool{},
	}
	for _, s := range specs {
		if p, ok := readPanel(s.PluginID, s.Spec); ok {
			g.panels = append(g.panels, p)
		}
	}
	return g
}

// idle says whether the player can go on: nothing runs and everything sent has ended.
func (g *Game) idle() bool { return g.welcomed && !g.running && len(g.waiting) == 0 }

// settle takes updates until the game is idle.
func (g *Game) settle(ctx context.Context) error {
	for !g.idle() && g.gone == nil {
		select {
		case u, ok := <-g.link.Updates():
			if !ok {
				return errors.New("the connection is closed")
			}
			g.update(u)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return g.gone
}

func (g *Game) submit(typ string, payload any) (requestID string) {
	g.shown.Reset()
	g.outcome = outcome{}
	id := g.link.Submit(typ, payload)
	g.waiting[id], g.sent = false, true
	return id
}

func (g *Game) act(a client.Action) (requestID string) {
	return g.submit(kernel.SubmitActions, map[string]any{"actions": []client.Action{a}})
}

// tryAgain sends what the server offered to send again.
func (g *Game) tryAgain() {
	if g.retry != nil {
		g.submit(g.retry.Type, g.retry.Payload)
		return
	}
	g.submit(kernel.RetryTurn, map[string]any{})
}

// question is the newest open one that the player did not put off.
func (g *Game) question() (question, bool) {
	for _, q := range slices.Backward(g.open) {
		if !g.skipped[q.InteractionRef] {
			return q, true
		}
	}
	return question{}, false
}

func (g *Game) update(u client.Update) {
	switch {
	case u.Welcome != nil:
		g.welcome(*u.Welcome)
	case u.Frame != nil:
		g.seq = u.Frame.Seq
		for _, e := range u.Frame.Events {
			if err := g.event(e); err != nil {
				g.note(err.Error())
			}
		}
	case u.Transient != nil:
		g.progress(*u.Transient)
	case u.Ack != nil:
		g.ack(*u.Ack)
	case u.Refusal != nil:
		g.refused(u.Refusal)
	case u.Lost != nil:
		if !g.lost {
			g.lost = true
			g.forgetDraft()
			g.note(g.texts.lost)
		}
	case u.Gone != nil:
		g.gone = u.Gone
	}
	g.moved()
}

func (g *Game) welcome(w client.Welcome) {
	if g.lost {
		g.lost = false
		g.note(g.texts.back)
	}
	if w.View != nil {
		g.adopt(*w.View)
		g.viewed = w.Seq
	}
	g.seq = w.Seq
	if w.Running != nil {
		g.join(*w.Running)
	}
	g.welcomed = true
}

// adopt takes a whole view: at the start, and whenever what was known is void.
func (g *Game) adopt(v play.View) {
	first := !g.welcomed
	g.session, g.data, g.tree = v.Session, v.PluginData, v.Tree
	g.open, g.retry, g.running = nil, v.Execution.Retry, v.Execution.State == "running"
	if first {
		g.header()
		for _, m := range v.Messages[:max(0, len(v.Messages)-recentMessages)] {
			g.printed[m.ID] = true
		}
	}
	g.turnBack(v)
	g.newest = ""
	for _, m := range v.Messages {
		g.message(m)
		g.stood(m)
		for _, i := range m.Interactions {
			if q, ok := readQuestion(i); ok && i.Status == projections.InteractionOpen {
				g.open = append(g.open, q)
			}
		}
	}
	for id, accepted := range g.waiting { // ended while nobody looked
		if _, move := g.moving[id]; accepted && !g.running && !move {
			g.ended(id, outcome{committed: v.Execution.State == "completed", reason: v.Execution.Error + v.Execution.AbortReason})
		}
	}
	switch {
	case g.running:
	case v.Execution.State == "failed" || v.Execution.State == "interrupted":
		g.failure(failure{Error: v.Execution.Error, AbortReason: v.Execution.AbortReason, Draft: v.Execution.Draft, Input: v.Execution.Input, Retry: v.Execution.Retry})
	case first && g.session.Status == projections.StatusActive && v.Execution.State == "idle" && len(g.open) == 0:
		g.submit(kernel.StartSession, map[string]any{})
	default:
		g.drawPanels(func(panel) bool { return true })
	}
}

func (g *Game) header() {
	title := g.session.WorldName
	if n := g.session.CompletedPlayerTurns; n > 0 {
		title = fmt.Sprintf(g.texts.resumed, title, n)
	}
	g.screen.Line(g.screen.Strong(Printable(title)))
	g.screen.Faint(fmt.Sprintf(g.texts.session, g.session.ID))
	if !g.echo {
		g.screen.Faint(g.texts.helpHint)
	}
	g.screen.Line("")
	switch g.session.Status {
	case projections.StatusEnded:
		g.note(g.texts.ended)
	case projections.StatusPaused:
		g.note(g.texts.paused)
	}
}

func (g *Game) ack(a client.Ack) {
	switch {
	case a.Status == client.Queued && a.N > 0:
		g.screen.Status(fmt.Sprintf(g.texts.queued, a.N))
	case a.Status == client.Accepted:
		if _, ours := g.waiting[a.RequestID]; !ours {
			return
		}
		g.waiting[a.RequestID] = true
		if _, move := g.moving[a.RequestID]; move {
			g.moving[a.RequestID] = a.Version
			return
		}
		if a.Repeat && a.Version <= g.seq && !g.running { // it has ended, and the view has told how
			g.ended(a.RequestID, outcome{committed: g.retry == nil})
		}
	}
}

func (g *Game) refused(r *client.Refusal) {
	switch {
	case r.Code == "no_running_turn":
		g.note(g.texts.nothingRuns)
		return
	case r.Code == kernel.AbortPlayer:
		g.note(g.texts.stopped)
	default:
		g.note(fmt.Sprintf(g.texts.refused, r.Message))
		for _, is := range r.Issues {
			if is.Message != r.Message {
				g.note("  " + is.Message)
			}
		}
	}
	if _, ours := g.waiting[r.RequestID]; ours {
		g.ended(r.RequestID, outcome{refusal: r})
	}
}

func (g *Game) ended(request string, o outcome) {
	if _, ours := g.waiting[request]; ours {
		delete(g.waiting, request)
		delete(g.moving, request)
		g.outcome = o
	}
}

// note prints something that is no part of the story.
func (g *Game) note(text string) {
	g.shown.WriteString(text + "\n")
	g.screen.Faint(Printable(text))
}
