package scripted

import (
	"context"
	"slices"
	"sync"

	"github.com/covel/covel/gateway/llm/failure"
	"github.com/covel/covel/kernel/model"
)

// Name is what replies say in Reply.Model.
const Name = "scripted"

// Model plays a Script. It implements model.Provider.
type Model struct {
	script Script
	rows   map[string][]Reply // by subject; "" is the row for any

	mu       sync.Mutex
	position map[string]int
	requests []model.Request
	gates    map[string]*Gate
}

// New makes a model that plays the script from its beginning.
func New(script Script) *Model {
	m := &Model{script: script, rows: map[string][]Reply{}, position: map[string]int{}, gates: map[string]*Gate{}}
	for _, r := range script.Replies {
		m.rows[r.Subject] = append(m.rows[r.Subject], r)
	}
	return m
}

// Gate gives the gate of that name; the same one each time.
func (m *Model) Gate(name string) *Gate {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gates[name] == nil {
		m.gates[name] = newGate()
	}
	return m.gates[name]
}

// Requests gives all requests so far, in the order in which they came; none when the script says Forget.
func (m *Model) Requests() []model.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Generate implements model.Provider. Deltas come only for a request with Stream. Beside an error the Reply holds what was
// written before it.
func (m *Model) Generate(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	if m.script.OnRequest != nil {
		m.script.OnRequest(req)
	}
	reply, found := m.choose(req)
	if ctx.Err() != nil {
		return model.Reply{}, failure.Ended(ctx)
	}
	if !found {
		return model.Reply{}, &model.Error{Kind: model.Permanent, Message: "the script has no reply (any more) for " + quoted(req.Subject)}
	}
	if reply.Check != nil {
		if err := reply.Check(req); err != nil {
			return model.Reply{}, &model.Error{Kind: model.Permanent, Message: err.Error(), Err: err}
		}
	}
	if !req.Stream || onDelta == nil {
		onDelta = func(model.Delta) {}
	}
	p := performance{ctx: ctx, model: m, req: req, reply: reply, emit: onDelta}
	return p.play()
}

func quoted(subject string) string {
	if subject == "" {
		return "a request without a subject"
	}
	return `"` + subject + `"`
}

// choose records the request and takes the reply whose turn it is.
func (m *Model) choose(req model.Request) (Reply, bool) {
	reply, found := m.next(req)
	if !found && m.script.Otherwise != nil {
		return m.script.Otherwise(req), true
	}
	return reply, found
}

func (m *Model) next(req model.Request) (Reply, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.script.Forget {
		m.requests = append(m.requests, req)
	}

	subject := req.Subject
	row := m.rows[subject]
	if len(row) == 0 {
		subject, row = "", m.rows[""]
	}
	if len(row) == 0 {
		return Reply{}, false
	}
	at := m.position[subject]
	m.position[subject]++
	if at < len(row) {
		return row[at], true
	}
	switch m.script.AtEnd {
	case Loop:
		return row[at%len(row)], true
	case Fail, Otherwise:
		return Reply{}, false
	}
	return row[len(row)-1], true
}
