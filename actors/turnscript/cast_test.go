package turnscript

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/pkg/errors"

	"github.com/covel/covel/gateway/llm"
	"github.com/covel/covel/gateway/llm/scripted"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

// cast plays the models and the plugin code of a script.
type cast struct {
	mu         sync.Mutex
	roles      map[string]bool         // what can be directed: "function notes/keep", "tool ring", "hook warden TurnStart"
	directions map[string][]*direction // by role, or "model teller"; in order
	requests   map[string][]model.Request
	saw        []string // what plugin code wrote down
	gates      map[string]*gate
	capacity   map[string]model.Capacity // by slot, "" of all others
}

// direction is what a role does the next time it is called, or each time.
type direction struct {
	number  int
	role    string
	acts    []act
	model   *scripted.Model
	forever bool
	played  bool
}

// gate holds plugin code or a model until the script passes it.
type gate struct {
	model *scripted.Model // nil: of plugin code
	open  chan struct{}
}

func newCast() *cast {
	return &cast{roles: map[string]bool{}, directions: map[string][]*direction{}, requests: map[string][]model.Request{}, gates: map[string]*gate{}, capacity: map[string]model.Capacity{}}
}

// Capacity implements model.Sized: what the script says the models can take.
func (c *cast) Capacity(slot string) model.Capacity {
	c.mu.Lock()
	defer c.mu.Unlock()
	if own, ok := c.capacity[slot]; ok {
		return own
	}
	return c.capacity[""]
}

// Price implements model.Priced: a hundred micros a token, but nobody knows what the fast model costs.
func (c *cast) Price(slot string) *model.Price {
	if slot == "fast" {
		return nil
	}
	return &model.Price{Input: 100, Output: 100}
}

// ModelName implements model.Named.
func (c *cast) ModelName(slot string) string { return "scripted-" + slot }

// Generate implements model.Provider: the next reply of the runtime, else a page or a line of the bundled game.
func (c *cast) Generate(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	c.mu.Lock()
	c.requests[req.Subject] = append(c.requests[req.Subject], req)
	c.mu.Unlock()
	m := scripted.New(scripted.Script{Otherwise: scripted.BundledGame()})
	if d := c.next("model " + req.Subject); d != nil {
		m = d.model
	}
	return llm.WithLimits(m, llm.Limits{}).Generate(ctx, req, onDelta) // as every provider of the program is
}

// reply queues what the model says when a runtime asks next, in the language of package scripted.
func (c *cast) reply(number int, runtime string, forever bool, steps []step) error {
	text := "reply " + runtime + "\n"
	for _, s := range steps {
		text += s.text + "\n"
	}
	s, err := scripted.Parse(strings.NewReader(text))
	if err != nil {
		return err
	}
	c.direct(direction{number: number, role: "model " + runtime, model: scripted.New(s), forever: forever}, steps)
	return nil
}

func (c *cast) direct(d direction, steps []step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.directions[d.role] = append(c.directions[d.role], &d)
	for _, s := range steps {
		if name, ok := strings.CutPrefix(s.text, "gate "); ok {
			c.gates[name] = &gate{model: d.model, open: make(chan struct{})}
		}
	}
}

// next gives what a role is to do now, nil when the script says nothing about it. What is for ever ends when something else is said.
func (c *cast) next(role string) *direction {
	c.mu.Lock()
	defer c.mu.Unlock()
	queue := c.directions[role]
	if len(queue) == 0 {
		return nil
	}
	if queue[0].forever && queue[0].played && len(queue) > 1 {
		queue = queue[1:]
	}
	d := queue[0]
	d.played = true
	if !d.forever {
		queue = queue[1:]
	}
	c.directions[role] = queue
	return d
}

// unplayed gives a direction that nobody came to: the script does not show what it says it shows.
func (c *cast) unplayed() (direction, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, role := range sortedKeys(c.directions) {
		for _, d := range c.directions[role] {
			if !d.played {
				return *d, true
			}
		}
	}
	return direction{}, false
}

// pass opens a gate, also one that nobody has come to yet.
func (c *cast) pass(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.gates[name]
	if g == nil {
		return errors.Errorf("nobody has the gate %q", name)
	}
	if g.model != nil {
		g.model.Gate(name).Pass()
		return nil
	}
	select {
	case <-g.open:
		return errors.Errorf("the gate %q was passed before", name)
	default:
		close(g.open)
	}
	return nil
}

// wait stops plugin code at a gate.
func (c *cast) wait(ctx context.Context, name string) error {
	c.mu.Lock()
	g := c.gates[name]
	c.mu.Unlock()
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *cast) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.saw = append(c.saw, fmt.Sprintf(format, args...))
}

func (c *cast) taken() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	saw := c.saw
	c.saw = nil
	return saw
}

// register gives the entry of a plugin whose code is played by the script.
func (c *cast) register(id string, fsys fstest.MapFS) (func(*sdk.Covel), error) {
	m, err := manifest.Load(fsys, id)
	if err != nil {
		return nil, errors.Wrapf(err, "plugin %s", id)
	}
	role := func(words ...string) string {
		name := strings.Join(words, " ")
		c.roles[name] = true
		return name
	}
	entry := func(covel *sdk.Covel) {
		for _, r := range m.Runtimes {
			if h := r.Function.Handler; h != "" {
				covel.RegisterHandler(h, func(ctx context.Context, rt *sdk.Runtime) (sdk.Result, error) { return c.function(ctx, rt) })
			}
			if g := r.Guard; g != "" {
				covel.RegisterGuard(g, func(ctx context.Context, rt *sdk.Runtime) (sdk.GuardResult, error) { return c.guard(ctx, rt) })
			}
		}
		for _, name := range m.Contributes.Tools {
			covel.RegisterTool(c.tool(name))
		}
		for _, h := range m.Contributes.Hooks {
			covel.Hooks = append(covel.Hooks, c.hook(id, h))
		}
		for _, x := range m.Contributes.Extensions {
			covel.ProvideExtension(x.Point, x.ID, c.extension(id, x.ID))
		}
	}
	for _, r := range m.Runtimes {
		if r.Function.Handler != "" {
			role("function", r.ID)
		}
		if r.Guard != "" {
			role("guard", r.ID)
		}
	}
	for _, name := range m.Contributes.Tools {
		role("tool", name)
	}
	for _, h := range m.Contributes.Hooks {
		role("hook", id, h.Event)
	}
	for _, x := range m.Contributes.Extensions {
		role("extension", id, x.ID)
	}
	return entry, nil
}

// play lets a role do its next direction.
func (c *cast) play(ctx context.Context, role string, s *scene) error {
	s.cast, s.role = c, role
	d := c.next(role)
	if d == nil {
		return nil
	}
	for _, a := range d.acts {
		if err := a(ctx, s); err != nil {
			if ctx.Err() != nil {
				c.note("%s was told to end", role)
			}
			return err
		}
	}
	return nil
}

func (c *cast) function(ctx context.Context, rt *sdk.Runtime) (sdk.Result, error) {
	s := scene{rt: rt, result: sdk.Result{Outcome: sdk.Success}}
	err := c.play(ctx, "function "+rt.RuntimeID, &s)
	s.result.Effects = s.effects
	return s.result, err
}

func (c *cast) guard(ctx context.Context, rt *sdk.Runtime) (sdk.GuardResult, error) {
	s := scene{rt: rt}
	err := c.play(ctx, "guard "+rt.RuntimeID, &s)
	s.guarded.Effects = s.effects
	return s.guarded, err
}

// tool answers ok when the script says nothing.
func (c *cast) tool(name string) sdk.Tool {
	return sdk.Tool{
		Name: name, Description: "Does what the script says.", Parameters: json.RawMessage(`{"type":"object"}`),
		Annotations: sdk.Annotations{ReadOnly: strings.HasPrefix(name, "read-")},
		Execute: func(ctx context.Context, args json.RawMessage, rt *sdk.Runtime) (sdk.ToolResult, error) {
			c.note("tool %s is called by %s with %s", name, rt.RuntimeID, args)
			s := scene{rt: rt, tool: sdk.ToolResult{Content: map[string]any{"ok": true}}}
			err := c.play(ctx, "tool "+name, &s)
			s.tool.Proposals, s.tool.Events = s.effects.Proposals, s.effects.Events
			return s.tool, err
		},
	}
}

func (c *cast) hook(plugin string, decl manifest.HookDecl) sdk.Hook {
	h := sdk.Hook{Event: sdk.HookEvent(decl.Event), Enforce: sdk.Enforce(decl.Enforce)}
	h.Handle = func(ctx context.Context, _ *sdk.HookContext, payload json.RawMessage) (json.RawMessage, error) {
		s := scene{payload: payload}
		if err := c.play(ctx, "hook "+plugin+" "+decl.Event, &s); err != nil {
			return nil, err
		}
		return json.Marshal(s.answer)
	}
	return h
}

func (c *cast) extension(plugin, id string) sdk.ExtensionHandler {
	return func(ctx context.Context, input json.RawMessage, _ *sdk.ExtensionContext) (any, error) {
		s := scene{payload: input}
		err := c.play(ctx, "extension "+plugin+" "+id, &s)
		return s.result.Value, err
	}
}
