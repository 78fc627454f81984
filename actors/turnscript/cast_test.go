package turnscript

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/covel/covel/gateway/llm/scripted"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

// cast plays the models and the plugin code of a script.
type cast struct {
	mu       sync.Mutex
	replies  map[string][]*scripted.Model // by runtime id, one model per reply
	requests map[string][]model.Request
	parts    map[string][][]string // behaviours of functions and guards by "function notes/keep"
	saw      []string              // what plugin code wrote down
	gates    map[string]*scripted.Model
}

func newCast() *cast {
	return &cast{replies: map[string][]*scripted.Model{}, requests: map[string][]model.Request{}, parts: map[string][][]string{}, gates: map[string]*scripted.Model{}}
}

// Generate implements model.Provider: the next reply of the runtime, else a page or a line of the bundled game.
func (c *cast) Generate(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	c.mu.Lock()
	c.requests[req.Subject] = append(c.requests[req.Subject], req)
	m := scripted.New(scripted.Script{Otherwise: scripted.BundledGame()})
	if queue := c.replies[req.Subject]; len(queue) > 0 {
		m, c.replies[req.Subject] = queue[0], queue[1:]
	}
	c.mu.Unlock()
	return m.Generate(ctx, req, onDelta)
}

// reply queues what the model says when a runtime asks next, in the language of package scripted.
func (c *cast) reply(runtime string, steps []string) error {
	s, err := scripted.Parse(strings.NewReader("reply " + runtime + "\n" + strings.Join(steps, "\n")))
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m := scripted.New(s)
	c.replies[runtime] = append(c.replies[runtime], m)
	for _, step := range steps {
		if name, ok := strings.CutPrefix(step, "gate "); ok {
			c.gates[name] = m
		}
	}
	return nil
}

func (c *cast) pass(gate string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.gates[gate]
	if m == nil {
		return fmt.Errorf("no reply has the gate %q", gate)
	}
	m.Gate(gate).Pass()
	return nil
}

func (c *cast) part(role string, steps []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parts[role] = append(c.parts[role], steps)
}

func (c *cast) next(role string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if queue := c.parts[role]; len(queue) > 0 {
		c.parts[role] = queue[1:]
		return queue[0]
	}
	return nil
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
func (c *cast) register(t *testing.T, id string, fsys fstest.MapFS) func(*sdk.Covel) {
	m, err := manifest.Load(fsys, id)
	if err != nil {
		t.Fatalf("plugin %s: %v", id, err)
	}
	return func(covel *sdk.Covel) {
		for _, r := range m.Runtimes {
			if h := r.Function.Handler; h != "" {
				covel.RegisterHandler(h, func(ctx context.Context, rt *sdk.Runtime) (sdk.Result, error) {
					return c.act(ctx, "function "+rt.RuntimeID, rt)
				})
			}
			if g := r.Guard; g != "" {
				covel.RegisterGuard(g, func(ctx context.Context, rt *sdk.Runtime) (sdk.GuardResult, error) {
					return c.watch(ctx, "guard "+rt.RuntimeID, rt)
				})
			}
		}
		for _, name := range m.Contributes.Tools {
			covel.RegisterTool(c.tool(name))
		}
	}
}

// act plays a function: its lines in order, with what they come to as its result.
func (c *cast) act(ctx context.Context, role string, rt *sdk.Runtime) (sdk.Result, error) {
	res := sdk.Result{Outcome: sdk.Success}
	for _, step := range c.next(role) {
		verb, rest, _ := strings.Cut(step, " ")
		switch verb {
		case "value":
			res.Value = json.RawMessage(rest)
		case "done":
			res.Done = true
		case "skip":
			res.Outcome, res.SkipReason = sdk.Skipped, rest
		case "fail":
			res.Outcome, res.Error = sdk.Failed, rest
		case "error":
			return res, fmt.Errorf("%s", rest)
		default:
			if err := c.common(ctx, role, rt, &res.Effects, verb, rest); err != nil {
				return res, err
			}
		}
	}
	return res, nil
}

// watch plays a guard.
func (c *cast) watch(ctx context.Context, role string, rt *sdk.Runtime) (sdk.GuardResult, error) {
	var res sdk.GuardResult
	for _, step := range c.next(role) {
		verb, rest, _ := strings.Cut(step, " ")
		switch verb {
		case "skip":
			res.Skip = true
		case "done":
			res.Skip, res.PreGameDone = true, true
		case "output":
			res.Skip = true
			if err := json.Unmarshal([]byte(rest), &res.Output); err != nil {
				return res, err
			}
		case "error":
			return res, fmt.Errorf("%s", rest)
		default:
			if err := c.common(ctx, role, rt, &res.Effects, verb, rest); err != nil {
				return res, err
			}
		}
	}
	return res, nil
}

// common plays what functions and guards share.
func (c *cast) common(ctx context.Context, role string, rt *sdk.Runtime, effects *sdk.Effects, verb, rest string) error {
	words := strings.SplitN(rest, " ", 3)
	for len(words) < 3 {
		words = append(words, "")
	}
	switch verb {
	case "set":
		return rt.PluginData.Set(words[0], words[1], json.RawMessage(words[2]))
	case "read":
		c.note("%s reads %s/%s: %s", role, words[0], words[1], orNothing(string(rt.PluginData.Get(words[0], words[1]))))
	case "inputs":
		for _, name := range strings.Fields(rest) {
			in, ok := rt.Inputs[name]
			b, _ := json.Marshal(in.Items)
			if !ok {
				b = nil
			}
			c.note("%s gets %s: %s", role, name, orNothing(string(b)))
		}
	case "activation":
		c.note("%s is activated with %s", role, orNothing(string(rt.Activation)))
	case "actions":
		b, _ := json.Marshal(rt.PlayerActions)
		c.note("%s sees the actions %s", role, b)
	case "turn":
		c.note("%s runs in logical turn %d, %s", role, rt.LogicalTurn, rt.Locale)
	case "message":
		effects.Narrative = rest
	case "event":
		topic, data, _ := strings.Cut(rest, " ")
		effects.Events = append(effects.Events, sdk.EmittedEvent{Topic: topic, Data: json.RawMessage(data)})
	case "propose":
		kind, payload, _ := strings.Cut(rest, " ")
		effects.Proposals = append(effects.Proposals, sdk.Proposal{Type: kind, Payload: json.RawMessage(payload)})
	case "form":
		var form map[string]any
		if err := json.Unmarshal([]byte(rest), &form); err != nil {
			return err
		}
		effects.Interactions = append(effects.Interactions, form)
	case "call":
		name, args, _ := strings.Cut(rest, " ")
		out, err := rt.Tools.Call(ctx, name, json.RawMessage(args))
		c.note("%s called %s: %s %v", role, name, out, err)
	case "wait":
		d, err := time.ParseDuration(rest)
		if err != nil {
			return err
		}
		select {
		case <-time.After(d):
		case <-ctx.Done():
			c.note("%s was told to end", role)
			return ctx.Err()
		}
	case "panic":
		panic(rest)
	default:
		return fmt.Errorf("the script has no step %q", verb)
	}
	return nil
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// tool is a tool that plays "tool <name>" of the script; by default it answers ok.
func (c *cast) tool(name string) sdk.Tool {
	return sdk.Tool{
		Name: name, Description: "Does what the script says.", Parameters: json.RawMessage(`{"type":"object"}`),
		Execute: func(ctx context.Context, args json.RawMessage, rt *sdk.Runtime) (sdk.ToolResult, error) {
			role := "tool " + name
			c.note("%s is called by %s with %s", role, rt.RuntimeID, args)
			res, effects := sdk.ToolResult{Content: map[string]any{"ok": true}}, sdk.Effects{}
			for _, step := range c.next(role) {
				verb, rest, _ := strings.Cut(step, " ")
				switch verb {
				case "content":
					res.Content = json.RawMessage(rest)
				case "refuse":
					return res, sdk.Fail(sdk.Refused, "%s", rest)
				case "fail":
					return res, sdk.Fail(sdk.InvalidInput, "%s", rest)
				default:
					if err := c.common(ctx, role, rt, &effects, verb, rest); err != nil {
						return res, err
					}
				}
			}
			res.Proposals, res.Events = effects.Proposals, effects.Events
			return res, nil
		},
	}
}
