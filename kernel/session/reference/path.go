package reference

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// path is what follows the head. It is never changed once a version has it: a move of the head takes an old one.
type path struct {
	rows  []row
	turns uint32
	data  []record
	setup []setup
	runs  []run
}

type row struct{ id, text string }

type record struct{ key, value string }

type setup struct {
	runtime, status                   string
	generation, attempts, maxAttempts uint32
}

type run struct {
	runtime string
	runs    uint32
}

func (r record) name() string { return r.key }
func (s setup) name() string  { return s.runtime }
func (r run) name() string    { return r.runtime }

// put gives a new list in which x stands in the place of its namesake.
func put[T interface{ name() string }](list []T, x T) []T {
	out := slices.Clone(list)
	if i := slices.IndexFunc(out, func(y T) bool { return y.name() == x.name() }); i >= 0 {
		out[i] = x
		return out
	}
	return append(out, x)
}

// follow moves the path on. In an append with a commit the player's line comes first, then what the runs wrote.
func (b *Book) follow(f fact, facts []fact) {
	p := *b.path
	add := func(id, text string, always bool) {
		if !always && slices.ContainsFunc(facts, func(x fact) bool { return x.Version < f.Version && messageID(x) == id }) {
			return // joins the row its run has written already
		}
		p.rows = append(p.rows[:len(p.rows):len(p.rows)], row{id, text})
	}
	if first := facts[0].Version == f.Version; first {
		if id := commitOf(facts); id != "" {
			if in := b.inputs[id]; in != nil && in.actions > 0 && in.text != "" && b.flipped != RuleLineOnce {
				add(in.id, in.text, true)
			}
		}
	}
	switch m := f.msg.(type) {
	case *eventsv1.NarrativeAppended:
		add(m.MessageId, m.Text, true)
	case *eventsv1.MessageAppended:
		add(m.MessageId, m.Text, true)
	case *eventsv1.InterjectionMerged:
		if slices.ContainsFunc(p.rows, func(r row) bool { return r.id == m.MessageId }) {
			b.Blame("version %d: the line %s is said twice", f.Version, m.MessageId)
		}
		if b.flipped != RuleSaidShown {
			add(m.MessageId, cmp.Or(m.Rendered, m.Text), true)
		}
	case *eventsv1.InteractionRequested:
		add(m.MessageId, "", false)
	case *eventsv1.UIRendered:
		add(m.MessageId, "", false)
	case *eventsv1.PluginDataChanged:
		for _, c := range m.Changes {
			key := m.PluginId + "/" + c.Namespace + "/" + c.Key
			if c.Removed {
				p.data = slices.DeleteFunc(slices.Clone(p.data), func(r record) bool { return r.key == key })
				continue
			}
			p.data = put(p.data, record{key, plain(c.Value)})
		}
	case *eventsv1.PlayerTurnCounted:
		if m.CompletedPlayerTurns != p.turns+1 {
			b.Blame("version %d: turn %d is counted after turn %d", f.Version, m.CompletedPlayerTurns, p.turns)
		}
		if b.counted[m.LogicalTurnId] {
			b.Blame("version %d: the turn %s is counted twice", f.Version, m.LogicalTurnId)
		}
		b.counted[m.LogicalTurnId] = true
		p.turns = m.CompletedPlayerTurns
		if b.flipped == RuleCountOnce {
			b.counted = map[string]bool{}
			p.turns = max(p.turns, 2) - 1
		}
	case *eventsv1.TriggerLedgerUpdated:
		for _, e := range m.Entries {
			p.runs = put(p.runs, run{e.RuntimeId, e.Runs})
		}
	case *eventsv1.SetupRuntimeChanged:
		b.setUp(&p, setup{m.Setup.RuntimeId, m.Setup.Status, m.Setup.Generation, m.Setup.Attempts, m.Setup.MaxAttempts}, f)
	case *eventsv1.ExecutionFailed:
		b.tried(&p, m.SetupAttempts, f)
	case *eventsv1.ExecutionAborted:
		b.tried(&p, m.SetupAttempts, f)
	case *eventsv1.PhaseAdvanced:
		for _, su := range p.setup {
			if su.status != "done" {
				b.Blame("version %d: play begins while %s is %s", f.Version, su.runtime, su.status)
			}
		}
	case *eventsv1.MessageRevised:
		p.rows = b.revised(p.rows, m)
	case *eventsv1.HeadMoved:
		if m.To >= uint64(f.Version) || !b.quiet[m.To] {
			b.Blame("version %d: the head moves to version %d, where something was open", f.Version, m.To)
			return
		}
		p = *b.at[m.To]
	}
	b.path = &p
}

// revised shows another text; the empty one shows the row as it was committed.
func (b *Book) revised(rows []row, m *eventsv1.MessageRevised) []row {
	if b.flipped == RuleRevisionShown {
		return rows
	}
	text := m.Text
	if text == "" {
		text = b.own(m.MessageId)
	}
	out := slices.Clone(rows)
	for i := range out {
		if out[i].id == m.MessageId {
			out[i].text = text
		}
	}
	return out
}

// own is the text a row was committed with: the first version that has the row has it.
func (b *Book) own(id string) string {
	for _, old := range b.at {
		for _, r := range old.rows {
			if r.id == id {
				return r.text
			}
		}
	}
	return ""
}

func (b *Book) setUp(p *path, now setup, f fact) {
	for _, was := range p.setup {
		if was.runtime == now.runtime && was.status == "done" && now.status != "done" && now.generation <= was.generation {
			b.Blame("version %d: %s was done and is %s again", f.Version, now.runtime, now.status)
		}
		if was.runtime == now.runtime && now.attempts < was.attempts && now.generation <= was.generation {
			b.Blame("version %d: tries of %s are taken back", f.Version, now.runtime)
		}
	}
	p.setup = put(p.setup, now)
}

func (b *Book) tried(p *path, attempts []*eventsv1.SetupAttempt, f fact) {
	for _, a := range attempts {
		for _, was := range p.setup {
			if was.runtime != a.RuntimeId {
				continue
			}
			if a.Attempts != was.attempts+1 {
				b.Blame("version %d: %d tries of %s after %d", f.Version, a.Attempts, a.RuntimeId, was.attempts)
			}
			was.attempts = a.Attempts
			if a.Blocked {
				was.status = "blocked"
			}
			p.setup = put(p.setup, was)
		}
	}
}

func commitOf(facts []fact) string {
	for _, f := range facts {
		if m, ok := f.msg.(*eventsv1.ExecutionCommitted); ok {
			return m.ExecutionId
		}
	}
	return ""
}

func messageID(f fact) string {
	m, ok := f.msg.(interface{ GetMessageId() string })
	if !ok {
		return ""
	}
	return m.GetMessageId()
}

func plain(b []byte) string {
	var out bytes.Buffer
	if json.Compact(&out, b) != nil {
		return string(b)
	}
	return out.String()
}
