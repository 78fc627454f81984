package turn

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/kernel/world"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

// DefaultRecursionDepth is how many runs may stand above a called one where agent.loop.maxRecursionDepth says nothing
// (reference: plugins.md §28).
const DefaultRecursionDepth = 10

// CallerFrame is one run above a called one.
type CallerFrame struct {
	RunID     string
	RuntimeID string
	Payload   json.RawMessage // what activated it, nil for none
}

// Recursion is where a recursive call is made.
type Recursion struct {
	ExecutionID string
	Caller      Run
	Earlier     []Result           // of calls that the caller made before, in order
	Active      []manifest.Runtime // of the execution
	Contracts   map[string]json.RawMessage
	N           int // number of the call, from 1
}

// Recurse gives the run that a recursive call asks for. It is of the caller's package, named like a manual run, and passes
// every gate as one does; turn inputs are projected away, and the payload is checked. It sees what its caller saw when it
// began and what earlier calls have left, but not what the caller itself has staged: called runs are committed before their
// callers (seed: turn-pipeline.txt §4.2, "recursive child-before-parent commit order"). The error is an *sdk.ToolError.
func Recurse(at Recursion, call sdk.RecursiveCall) (Run, error) {
	rt, err := at.target(call.RuntimeID)
	if err != nil {
		return Run{}, err
	}
	payload, err := payloadOf(call.Payload)
	if err != nil {
		return Run{}, err
	}
	if err := CheckPayload(rt, at.Contracts, payload); err != nil {
		return Run{}, sdk.Fail(sdk.InvalidInput, "%s", err.Error())
	}
	callers := append(slices.Clone(at.Caller.Callers), at.Caller.frame())
	if depth := recursionDepth(at.Caller.Runtime); len(callers) > depth {
		return Run{}, sdk.Fail(sdk.Refused, "recursiveCall %s: %d runs stand above it, agent.loop.maxRecursionDepth of %s allows %d (%s)",
			rt.ID, len(callers), at.Caller.Runtime.ID, depth, chain(callers, rt.ID))
	}
	for _, c := range callers {
		if c.RuntimeID == rt.ID && bytes.Equal(canonical(c.Payload), canonical(payload)) {
			return Run{}, sdk.Fail(sdk.Refused, "recursiveCall %s: it was called with the same payload above and would go round in a circle (%s)", rt.ID, chain(callers, rt.ID))
		}
	}
	if at.Caller.Runtime.IO.Concealed { // what it is given is hidden as well
		rt.IO.Concealed = true
	}
	return Run{
		RunID: RunID(at.ExecutionID, at.Caller.RunID+"/"+rt.ID, at.N), Runtime: rt, Inputs: map[string]sdk.Input{}, Manual: true, Payload: payload,
		Upstream: slices.Concat(at.Caller.Upstream, at.Earlier), Callers: callers,
	}, nil
}

// target finds the runtime that is called.
func (at Recursion) target(id string) (manifest.Runtime, error) {
	own := at.Caller.Runtime.PluginID
	if id == "" {
		return manifest.Runtime{}, sdk.Fail(sdk.InvalidInput, "recursiveCall needs a runtimeId: one of the package %q", own)
	}
	same := func(r manifest.Runtime) bool { return r.PluginID == own && (r.ID == id || r.ID == own+"/"+id) }
	i := slices.IndexFunc(at.Active, same)
	if i < 0 && same(at.Caller.Runtime) { // it runs, so that it can run again
		at.Active, i = []manifest.Runtime{at.Caller.Runtime}, 0
	}
	switch {
	case i >= 0 && at.Active[i].Schedule.SubagentOnly:
		return manifest.Runtime{}, sdk.Fail(sdk.Refused, "recursiveCall %s: it runs as a sub-agent only", at.Active[i].ID)
	case i >= 0 && at.Active[i].IO.Visibility == manifest.VisibilityStory:
		return manifest.Runtime{}, sdk.Fail(sdk.Refused, "recursiveCall %s: it tells the story, which only the stages of a turn do", at.Active[i].ID)
	case i >= 0:
		return at.Active[i], nil
	case slices.ContainsFunc(at.Active, func(r manifest.Runtime) bool { return r.ID == id }) || foreign(id, own):
		return manifest.Runtime{}, sdk.Fail(sdk.Refused, "recursiveCall %s: it belongs to another package; ask other packages through services or events", id)
	}
	return manifest.Runtime{}, sdk.Fail(sdk.NotFound, "recursiveCall %s: the package %q has no such runtime that can run in this session now", id, own)
}

func (r Run) frame() CallerFrame {
	f := CallerFrame{RunID: r.RunID, RuntimeID: r.Runtime.ID, Payload: r.Payload}
	if r.Event != nil {
		f.Payload = r.Event.Data
	}
	return f
}

func foreign(id, own string) bool {
	plugin, _, sub := strings.Cut(id, "/")
	return sub && plugin != own
}

func recursionDepth(r manifest.Runtime) int {
	if n := r.Agent.MaxRecursionDepth; n != nil {
		return *n
	}
	return DefaultRecursionDepth
}

func payloadOf(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	b, err := plainjson.Marshal(v)
	if err == nil {
		b, err = world.CleanValue("payload", b)
	}
	if err != nil {
		return nil, sdk.Fail(sdk.InvalidInput, "recursiveCall: the payload cannot be written as JSON: %v", err)
	}
	return b, nil
}

// canonical is a form in which equal values are equal bytes.
func canonical(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return []byte("null")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	b, err := json.Marshal(v) // with sorted keys
	if err != nil {
		return raw
	}
	return b
}

func chain(callers []CallerFrame, last string) string {
	var ids []string
	for _, c := range callers {
		ids = append(ids, c.RuntimeID)
	}
	return strings.Join(append(ids, last), " → ")
}

// RecursiveOf is what a caller is told of a called run.
func RecursiveOf(r Result) sdk.RecursiveResult {
	out := sdk.RecursiveResult{RunID: r.RunID, Status: sdk.Outcome(r.Status), StopReason: r.StopReason, SkipReason: r.SkipReason, Error: r.Error}
	if r.Committable() {
		out.Output = slices.Clone(r.Output)
	}
	return out
}

// Unnested folds what called runs ask to be written into their suspended caller, in the order of the commit: the caller is
// saved with it and goes on alone. What is left of them tells how they ended and what they cost.
func Unnested(r Result) Result {
	var proposals []sdk.Proposal
	var events []sdk.EmittedEvent
	var operations []Operation
	var fold func(list []Result, keep bool) []Result
	fold = func(list []Result, keep bool) []Result {
		out := slices.Clone(list)
		for i := range out {
			n := &out[i]
			good := keep && n.Committable()
			n.Nested = fold(n.Nested, good)
			if good {
				proposals, events = append(proposals, n.Proposals...), append(events, n.Events...)
				operations = append(operations, n.asked()...)
				if e, ok := n.Exported(); ok {
					r.Exports = append(r.Exports[:len(r.Exports):len(r.Exports)], e)
				}
			}
			n.Proposals, n.Events, n.Operations, n.RecordAs = nil, nil, nil, ""
		}
		return out
	}
	r.Nested = fold(r.Nested, true)
	r.Proposals, r.Events = append(proposals, r.Proposals...), append(events, r.Events...)
	r.Operations = append(operations, r.Operations...)
	return r
}

// asked are the operations of a run, each with the name of who made it.
func (r Result) asked() []Operation {
	out := slices.Clone(r.Operations)
	for i := range out {
		if out[i].InvokedBy.RuntimeID == "" {
			out[i].InvokedBy = InvokedBy{RuntimeID: r.RuntimeID, PluginID: r.PluginID, RunID: r.RunID}
		}
	}
	return out
}

// Ended is the result of a run that could not report one itself.
func Ended(r Run, stop, why string) Result {
	rt := r.Runtime
	return Result{
		RuntimeID: rt.ID, PluginID: rt.PluginID, RunID: r.RunID, Stage: rt.Schedule.Stage, Story: rt.IO.Visibility == manifest.VisibilityStory,
		Contract: rt.IO.OutputContract, Status: Failed, StopReason: stop, Error: why, Concealed: rt.IO.Concealed,
	}
}

// SettleRecursive makes a called run one that its caller can be told of: nobody could answer a question of its own.
func SettleRecursive(r Result) Result {
	if r.Status != Suspended {
		return r
	}
	r.Status, r.StopReason, r.Suspension = Failed, "invalid-output", nil
	r.Error = "a run that was called by another one cannot wait for the player: let the caller suspend"
	r.Proposals, r.Events, r.Operations = nil, nil, nil
	return r
}

// Depth is how many runs stand above the run.
func (r Run) Depth() int { return len(r.Callers) }
