package trace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind is what a Node stands for.
type Kind string

// Kinds, from the outside in. A KindNote is anything else that happened.
const (
	KindTurn  Kind = "turn"
	KindStage Kind = "stage"
	KindRun   Kind = "run"
	KindStep  Kind = "step"
	KindModel Kind = "model"
	KindTool  Kind = "tool"
	KindHook  Kind = "hook"
	KindCall  Kind = "call" // of a handler, of a service
	KindNote  Kind = "note"
)

// Unknown is the status of what began and whose end was never traced: it runs still, or the process died meanwhile.
const Unknown = "unknown"

// Node is one thing that happened in a turn, with what happened inside of it.
type Node struct {
	Kind       Kind      `json:"kind"`
	Name       string    `json:"name"`
	Status     string    `json:"status,omitempty"` // committed | failed | success | skipped | suspended | Unknown …
	Detail     string    `json:"detail,omitempty"` // for people
	At         time.Time `json:"timestamp,omitzero"`
	DurationMs int64     `json:"durationMs,omitempty"`
	Usage      *Usage    `json:"usage,omitempty"` // of a turn and a run: of the model calls inside
	Calls      int       `json:"modelCalls,omitempty"`
	Children   []*Node   `json:"children,omitempty"`
}

// Tree puts the entries of turns together, oldest turn first: turn, stage, run, step, and in these what was called. Entries
// may be missing anywhere; what they would have told is missing in the tree.
func Tree(entries []Entry) []*Node {
	var out []*Node
	for _, turn := range turnsOf(entries) {
		b := &builder{stages: stagesOf(turn), byStage: map[string]*Node{}, runs: map[string]*Node{}, steps: map[string]*Node{}, open: map[string]*Node{}, calls: map[string]*Node{}}
		b.root = &Node{Kind: KindTurn, Name: turn[0].TurnID, Status: Unknown, At: turn[0].At}
		for _, e := range turn {
			b.add(e)
		}
		b.usage(b.root)
		out = append(out, b.root)
	}
	return out
}

// LogicalTurn is the number of the turn that a turn.started begins, 0 for any other entry.
func LogicalTurn(e Entry) int {
	if e.Type != TurnStarted {
		return 0
	}
	return int(read[Turn](e).LogicalTurn)
}

// turnsOf groups by execution in the order of first entries. Entries of no execution are left out.
func turnsOf(entries []Entry) [][]Entry {
	var out [][]Entry
	at := map[string]int{}
	for _, e := range entries {
		if e.TurnID == "" {
			continue
		}
		n, known := at[e.TurnID]
		if !known {
			n = len(out)
			at[e.TurnID], out = n, append(out, nil)
		}
		out[n] = append(out[n], e)
	}
	return out
}

// stagesOf tells the stage of every run: hooks of a run are told of before the run itself.
func stagesOf(turn []Entry) map[string]string {
	out := map[string]string{}
	for _, e := range turn {
		if e.RunID != "" && strings.HasPrefix(string(e.Type), "runtime.") {
			out[e.RunID] = cmp.Or(out[e.RunID], read[struct{ Stage string }](e).Stage)
		}
	}
	return out
}

type builder struct {
	root    *Node
	stages  map[string]string
	byStage map[string]*Node
	runs    map[string]*Node
	steps   map[string]*Node // the open step of a run
	open    map[string]*Node // by what closes it
	calls   map[string]*Node // tool calls by id, for the runs that answer them
}

// run gives the node of the run an entry is about, the turn for entries of no run.
func (b *builder) run(e Entry) *Node {
	if e.RunID == "" {
		return b.root
	}
	if n := b.runs[e.RunID]; n != nil {
		return n
	}
	n := &Node{Kind: KindRun, Name: e.RuntimeID, Status: Unknown, At: e.At}
	b.runs[e.RunID] = n
	parent := b.calls[e.ParentCallID]
	if parent == nil && e.ParentRunID != "" && e.ParentRunID != e.RunID {
		if parent = b.steps[e.ParentRunID]; parent == nil {
			parent = b.runs[e.ParentRunID]
		}
	}
	if parent == nil {
		parent = b.stage(b.stages[e.RunID])
	}
	parent.Children = append(parent.Children, n)
	return n
}

// stage gives the node of a stage; runs of no stage, which an event or a name set off, stand under the turn.
func (b *builder) stage(name string) *Node {
	if name == "" {
		return b.root
	}
	n := b.byStage[name]
	if n == nil {
		n = &Node{Kind: KindStage, Name: name}
		b.byStage[name] = n
		b.root.Children = append(b.root.Children, n)
	}
	return n
}

// place is where something that happens now belongs: the open step of the run, else the run, else the turn.
func (b *builder) place(e Entry) *Node {
	run := b.run(e)
	if step := b.steps[e.RunID]; step != nil {
		return step
	}
	return run
}

func (b *builder) put(e Entry, n *Node) *Node {
	n.At = e.At
	at := b.place(e)
	at.Children = append(at.Children, n)
	return n
}

// begun puts a node that closes when its end is told.
func (b *builder) begun(e Entry, key string, n *Node) *Node {
	n.Status = Unknown
	b.open[e.RunID+"\x00"+key] = b.put(e, n)
	return n
}

// ended gives the node of what ends; its beginning may have been lost.
func (b *builder) ended(e Entry, key string, otherwise Node) *Node {
	key = e.RunID + "\x00" + key
	if n := b.open[key]; n != nil {
		delete(b.open, key)
		return n
	}
	return b.put(e, &otherwise)
}

func (b *builder) add(e Entry) {
	switch e.Type {
	case TurnStarted:
		p := read[Turn](e)
		b.root.At, b.root.Detail = e.At, join(p.Origin, p.Phase, fmt.Sprintf("logical turn %d", p.LogicalTurn))
	case TurnCompleted:
		p := read[TurnEnd](e)
		b.root.Status, b.root.DurationMs = "failed", p.DurationMs
		if p.Committed {
			b.root.Status = "committed"
		}
		b.root.Detail = join(b.root.Detail, p.Reason, p.Error)
	case RuntimeStarted:
		p := read[Runtime](e)
		n := b.run(e)
		n.At, n.Detail = e.At, join(p.Kind, p.Label)
	case RuntimeCompleted, RuntimeFailed, RuntimeSkipped, RuntimeSuspended:
		p := read[RuntimeEnd](e)
		n := b.run(e)
		n.Status, n.DurationMs = p.Status, p.DurationMs
		stop := p.StopReason
		if stop == "completed" {
			stop = ""
		}
		n.Detail = join(n.Detail, stop, p.SkipReason, p.Error)
		delete(b.steps, e.RunID)
	case StepStarted:
		delete(b.steps, e.RunID)
		b.steps[e.RunID] = b.put(e, &Node{Kind: KindStep, Name: fmt.Sprint("step ", read[Step](e).Step)})
	case StepCompleted:
		delete(b.steps, e.RunID)
	case LLMCalling:
		p := read[LLMCall](e)
		b.begun(e, p.CallID, &Node{Kind: KindModel, Name: p.Slot, Detail: attempt(p.Purpose, p.Attempt)})
	case LLMResponded:
		b.reply(e, read[LLMReply](e))
	case GatewayCalling:
		p := read[Gateway](e)
		b.begun(e, p.CallID, &Node{Kind: KindModel, Name: p.Slot, Detail: cmp.Or(p.Caller, p.Method)})
	case GatewayResponded, GatewayFailed:
		p := read[Gateway](e)
		n := b.ended(e, p.CallID, Node{Kind: KindModel, Name: p.Slot, Detail: cmp.Or(p.Caller, p.Method)})
		n.Status, n.DurationMs, n.Usage = status(p.Error == ""), p.DurationMs, &p.Usage
		n.Detail = join(n.Detail, p.Model, p.FinishReason, p.Error)
	case ToolCalling:
		p := read[ToolCall](e)
		b.calls[p.ToolCallID] = b.begun(e, "tool "+p.ToolCallID, &Node{Kind: KindTool, Name: p.ToolName})
	case ToolCompleted, ToolFailed:
		p := read[ToolEnd](e)
		n := b.ended(e, "tool "+p.ToolCallID, Node{Kind: KindTool, Name: p.ToolName})
		n.Status, n.DurationMs = status(p.Success), p.DurationMs
		if p.Skipped {
			n.Status = "skipped"
		}
		if p.ToolName != n.Name { // a hook renamed it
			n.Detail = "as " + p.ToolName
		}
		n.Detail = join(n.Detail, p.Code, p.Error)
	case HookFired: // each of the others has one before it
		p := read[Hook](e)
		b.open["hook "+e.RunID+p.Event+p.HookPlugin] = b.put(e, &Node{Kind: KindHook, Name: p.Event, Status: "fired", Detail: cmp.Or(p.HookPlugin, "framework"), DurationMs: p.DurationMs})
	case HookRewrote, HookAborted, HookError:
		p := read[Hook](e)
		n := b.open["hook "+e.RunID+p.Event+p.HookPlugin]
		if n == nil {
			n = b.put(e, &Node{Kind: KindHook, Name: p.Event, Detail: cmp.Or(p.HookPlugin, "framework"), DurationMs: p.DurationMs})
			b.open["hook "+e.RunID+p.Event+p.HookPlugin] = n
		}
		n.Status = strings.TrimPrefix(string(e.Type), "hook.")
		n.Detail = join(n.Detail, p.Reason, p.Error)
	case FunctionExecuting:
		p := read[Function](e)
		b.begun(e, "handler", &Node{Kind: KindCall, Name: p.Handler})
	case FunctionCompleted:
		p := read[FunctionEnd](e)
		n := b.ended(e, "handler", Node{Kind: KindCall, Name: p.Handler})
		n.Status, n.DurationMs, n.Detail = p.Outcome, p.DurationMs, p.Error
	case PluginServiceCompleted:
		p := read[Service](e)
		b.put(e, &Node{Kind: KindCall, Name: p.Contract, Status: p.Outcome, Detail: join(p.ProviderPlugin, p.Name, p.ErrorCode), DurationMs: p.DurationMs})
	default:
		b.put(e, &Node{Kind: KindNote, Name: string(e.Type), Detail: short(e.Payload)})
	}
}

func (b *builder) reply(e Entry, p LLMReply) {
	n := b.ended(e, p.CallID, Node{Kind: KindModel, Name: "model"})
	n.Status, n.DurationMs, n.Usage = status(p.ErrorKind == "" && p.Error == ""), p.DurationMs, &p.Usage
	first := ""
	if p.FirstMs > 0 {
		first = fmt.Sprintf("first token after %d ms", p.FirstMs)
	}
	n.Detail = join(n.Detail, p.Model, first, p.FinishReason, p.ErrorKind, p.Error)
}

// usage adds up what the model calls below a node took.
func (b *builder) usage(n *Node) (sum Usage, calls int) {
	if n.Kind == KindModel {
		if n.Usage != nil {
			sum = *n.Usage
		}
		return sum, 1
	}
	for _, c := range n.Children {
		u, k := b.usage(c)
		sum, calls = sum.Plus(u), calls+k
	}
	if calls > 0 && (n.Kind == KindTurn || n.Kind == KindRun) {
		n.Usage, n.Calls = &sum, calls
	}
	return sum, calls
}

func status(ok bool) string {
	if ok {
		return "success"
	}
	return "failed"
}

func attempt(purpose string, n int) string {
	if purpose == "step" {
		purpose = ""
	}
	if n > 1 {
		return join(purpose, fmt.Sprint("attempt ", n))
	}
	return purpose
}

// join puts together what is there.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

// noteLength is how much of a note is shown, in characters.
const noteLength = 120

func short(payload json.RawMessage) string {
	if r := []rune(string(payload)); len(r) > noteLength {
		return string(r[:noteLength]) + "…"
	}
	return string(payload)
}

// read decodes a payload as far as it goes: a trace that another version wrote may hold other fields.
func read[P any](e Entry) (p P) {
	_ = json.Unmarshal(e.Payload, &p)
	return p
}
