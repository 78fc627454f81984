package terminal

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/covel/covel/cmd/covel/client"
	"github.com/covel/covel/gateway/play"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
)

// event shows one committed event.
func (g *Game) event(e client.Event) error {
	switch e.Type {
	case "actions.accepted":
		var p struct{ Message *play.Message }
		if err := e.Into(&p); err != nil || p.Message == nil {
			return err
		}
		if g.typed[e.RequestID] && !g.echo && !g.printed[p.Message.ID] {
			g.printed[p.Message.ID] = true
			g.screen.Line("")
		}
		g.message(*p.Message)
	case "execution.started":
		g.running = true
		g.begin(e.TurnID)
	case "narrative.completed", "message.appended":
		var p struct{ Message play.Message }
		if err := e.Into(&p); err != nil {
			return err
		}
		g.message(p.Message)
		g.stood(p.Message)
	case "tree.changed":
		return g.grow(e)
	case "interaction.requested":
		var p struct{ Interaction play.Interaction }
		if err := e.Into(&p); err != nil {
			return err
		}
		g.open = slices.DeleteFunc(g.open, func(q question) bool { return q.InteractionID == p.Interaction.InteractionID })
		if q, ok := readQuestion(p.Interaction); ok {
			g.open = append(g.open, q)
		}
	case "interaction.submitted":
		var p struct{ Results []client.InteractionRef }
		if err := e.Into(&p); err != nil {
			return err
		}
		for _, r := range p.Results {
			g.open = slices.DeleteFunc(g.open, func(q question) bool { return q.TurnID == r.TurnID && q.InteractionID == r.InteractionID })
		}
	case "plugin-data.changed":
		return g.dataChanged(e)
	case "session.changed":
		var p struct{ Session play.Session }
		if err := e.Into(&p); err != nil {
			return err
		}
		g.session = p.Session
	case "execution.completed":
		return g.completed(e)
	}
	return nil
}

func (g *Game) dataChanged(e client.Event) error {
	var p struct {
		PluginID string
		Changes  []struct {
			Namespace, Key, Operation string
			Value                     projections.RawJSON
		}
	}
	if err := e.Into(&p); err != nil {
		return err
	}
	for _, c := range p.Changes {
		g.changed[[2]string{p.PluginID, c.Namespace}] = true
		if g.data == nil {
			g.data = map[string]map[string]map[string]projections.RawJSON{}
		}
		if g.data[p.PluginID] == nil {
			g.data[p.PluginID] = map[string]map[string]projections.RawJSON{}
		}
		if g.data[p.PluginID][c.Namespace] == nil {
			g.data[p.PluginID][c.Namespace] = map[string]projections.RawJSON{}
		}
		if c.Operation == "delete" {
			delete(g.data[p.PluginID][c.Namespace], c.Key)
		} else {
			g.data[p.PluginID][c.Namespace][c.Key] = c.Value
		}
	}
	return nil
}

// failure is what is known of a request that left something undone.
type failure struct {
	Committed   bool
	Error       string
	AbortReason string
	Draft       *play.Text
	Input       *play.Input
	Retry       *play.Retry
}

func (f failure) reason() string {
	if f.Error != "" {
		return f.Error
	}
	return f.AbortReason
}

func (g *Game) completed(e client.Event) error {
	var f failure
	if err := e.Into(&f); err != nil {
		return err
	}
	g.running, g.steps, g.retry = false, nil, f.Retry
	g.forgetDraft()
	g.ended(e.RequestID, outcome{committed: f.Committed, reason: f.reason()})
	if !f.Committed || f.Error != "" {
		g.failure(f)
		return nil
	}
	g.drawPanels(func(p panel) bool { return g.changed[[2]string{p.pluginID, p.DataSource.Namespace}] })
	return nil
}

// failure tells what was lost, what is kept, and how to go on.
func (g *Game) failure(f failure) {
	switch {
	case f.AbortReason == kernel.AbortPlayer:
		g.note(g.texts.stopped)
	case f.Committed || f.Error != "" && g.session.Phase == projections.PhaseSetup:
		g.note(fmt.Sprintf(g.texts.setupFailed, f.Error))
	case f.Error != "":
		g.note(fmt.Sprintf(g.texts.notCommitted, f.Error))
	default:
		g.note(g.texts.interrupted)
	}
	if f.Draft != nil && f.Draft.Text != "" {
		g.screen.Faint(g.texts.draft + "\n" + Printable(f.Draft.Text) + "\n" + g.texts.draftEnd)
	}
	if f.Input != nil {
		g.note(fmt.Sprintf(g.texts.lineKept, f.Input.Text))
	}
	if f.Retry != nil {
		g.note(g.texts.retryHint)
	}
}

// begin starts to show the progress of an execution.
func (g *Game) begin(execution string) {
	if g.execution == execution {
		return
	}
	g.execution, g.n, g.steps = execution, 0, nil
	clear(g.changed)
	g.forgetDraft()
}

// join takes up the buffer of an execution that runs already.
func (g *Game) join(r play.Running) {
	g.running = true
	g.begin(r.ExecutionID)
	g.forgetDraft()
	g.n, g.draft, g.draftFrom = r.N, r.Text, r.TextRuntimeID
	g.screen.Draft(Printable(r.Text))
	g.steps = nil
	for _, s := range r.Steps {
		if s.Status == "running" {
			g.steps = append(g.steps, step{s.RuntimeID, s.Label, s.Stage})
		}
	}
	if r.Text == "" {
		g.stageLine()
	}
}

// progress shows what a running turn is doing; nothing of it is final.
func (g *Game) progress(t client.Transient) {
	if t.ExecutionID == g.execution && t.N <= g.n && t.N > 0 {
		return
	}
	g.begin(t.ExecutionID)
	g.n = t.N
	var p struct {
		RuntimeID, Label, Stage, Delta string
		Reset                          bool
	}
	if json.Unmarshal(t.Event.Payload, &p) != nil {
		return
	}
	switch t.Event.Type {
	case "narrative.delta":
		if (p.Reset || p.RuntimeID != g.draftFrom) && g.draft != "" {
			if g.forgetDraft(); p.Reset {
				g.screen.Status(g.texts.startedOver)
			}
		}
		g.draft, g.draftFrom = g.draft+p.Delta, p.RuntimeID
		g.screen.Draft(Printable(p.Delta))
	case "runtime.started":
		g.steps = append(g.steps, step{p.RuntimeID, p.Label, p.Stage})
		g.stageLine()
	case "runtime.completed", "runtime.failed", "runtime.skipped":
		g.steps = slices.DeleteFunc(g.steps, func(s step) bool { return s.runtime == p.RuntimeID })
		if len(g.steps) > 0 {
			g.stageLine()
		}
	case "turn.settling":
		g.screen.Status(g.texts.settling)
	}
}

// stageLine says who is doing what.
func (g *Game) stageLine() {
	if len(g.steps) == 0 {
		g.screen.Status(g.texts.working)
		return
	}
	stage := g.texts.stages[g.steps[len(g.steps)-1].stage]
	if stage == "" {
		stage = g.texts.working
	}
	parts := []string{stage}
	for _, s := range g.steps {
		if s.label != "" {
			parts = append(parts, s.label)
		}
	}
	g.screen.Status(Printable(oneLine(strings.Join(parts, " · "))))
}

func (g *Game) forgetDraft() {
	g.draft, g.draftFrom = "", ""
	g.screen.Erase()
}

// message prints a row of the conversation, once.
func (g *Game) message(m play.Message) {
	if g.printed[m.ID] {
		return
	}
	g.printed[m.ID] = true
	text := g.render(m)
	g.shown.WriteString(text + "\n")
	streamed := g.draft != "" && m.Source == projections.SourceStory
	same := streamed && g.draft == m.Text
	if streamed {
		g.draft, g.draftFrom = "", ""
		if !g.screen.Erase() {
			if same {
				return // it stands there, only without the names of those who speak
			}
			g.screen.Faint(g.texts.finalText)
		}
	}
	g.screen.Print(text)
}

func (g *Game) render(m play.Message) string {
	switch {
	case m.Role == projections.RoleUser:
		return g.texts.prompt + strings.ReplaceAll(Printable(m.Text), "\n", "\n"+g.texts.prompt)
	case len(m.Segments) == 0:
		return Printable(m.Text)
	}
	paragraphs := make([]string, len(m.Segments))
	for i, s := range m.Segments {
		paragraphs[i] = Printable(s.Text)
		if s.Speaker != "" {
			paragraphs[i] = g.screen.Strong(Printable(oneLine(s.Speaker))) + g.texts.colon + paragraphs[i]
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// drawPanels draws what plugins show under the newest message, and numbers the lines they suggest.
func (g *Game) drawPanels(wanted func(panel) bool) {
	g.suggestions = nil
	for _, p := range g.panels {
		records := g.data[p.pluginID][p.DataSource.Namespace]
		if len(records) == 0 || !wanted(p) {
			continue
		}
		d := p.draw(records)
		for _, l := range d.Lines {
			text := Printable(l.Text)
			g.shown.WriteString(text + "\n")
			switch {
			case l.Strong:
				g.screen.Line(g.screen.Strong(text))
			case l.Muted:
				g.screen.Faint(text)
			default:
				g.screen.Line(text)
			}
		}
		g.suggestions = append(g.suggestions, d.Suggestions...)
	}
	for i, s := range g.suggestions {
		text := fmt.Sprintf("  %d. %s", i+1, Printable(s))
		g.shown.WriteString(text + "\n")
		g.screen.Line(text)
	}
	if len(g.suggestions) > 0 {
		g.screen.Line("")
	}
}
