package runtime

import (
	"encoding/json"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/kernel/loop"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

func (a *agent) finish(c actor.Context, o loop.Outcome) {
	a.release()
	a.call++
	a.clock.stop()
	rt := a.r.run.start.Runtime
	res := turn.Result{
		StopReason: string(o.Stop), Finalizer: o.Finalizer, Error: o.Error, Draft: o.PartialText, Truncated: o.Truncated,
		Usage: turn.Usage{
			InputTokens: o.Usage.InputTokens, OutputTokens: o.Usage.OutputTokens, CachedInputTokens: o.Usage.CachedInputTokens,
			ModelCalls: o.Usage.ModelCalls, ToolCalls: o.Usage.ToolCalls,
		},
	}
	for _, i := range o.Merged {
		res.Interjections = append(res.Interjections, turn.Interjection(i))
	}
	if o.Status == loop.Suspended {
		a.suspend(c, res, *o.Suspension)
		return
	}
	if o.Status != loop.Success {
		res.Status = turn.Failed
		a.r.end(c, res)
		return
	}
	res.Status = turn.Succeeded
	split := turn.AgentOutput{Value: o.Output}
	if a.r.run.start.Subagent == nil { // its answer is the caller's as it is
		var err error
		if split, err = a.split(o.Output); err != nil {
			res.Status, res.StopReason, res.Error = turn.Failed, string(loop.StopInvalidOutput), err.Error()
			a.r.end(c, res)
			return
		}
	}
	o.Output = split.Value
	if rt.IO.Visibility == manifest.VisibilityStory {
		for _, s := range o.Segments {
			res.Segments = append(res.Segments, sdk.StorySegment(s))
		}
		// The story stands before what its tools staged, as the reader sees it.
		if p, err := sdk.Propose(sdk.NarrativeAppend{Segments: res.Segments, Kind: "story", Truncated: o.Truncated, Present: present(o.Output)}); err == nil {
			a.r.run.proposals = append([]sdk.Proposal{p}, a.r.run.proposals...)
		}
		res.Output = storyOutput(o, res.Segments)
		a.r.end(c, res)
		return
	}
	res.Output = o.Output
	if a.r.run.start.Subagent != nil { // its answer is the caller's, and no message
		if len(rt.IO.OutputSchema) == 0 && len(res.Output) == 0 {
			res.Output, _ = plainjson.Marshal(o.Text) // a string always encodes
		}
		a.r.end(c, res)
		return
	}
	res.Done = split.Done
	if o.Text != "" && len(rt.IO.OutputSchema) == 0 && rt.IO.Visibility != manifest.VisibilitySystem && !rt.IO.Concealed {
		if err := a.r.run.propose(sdk.MessageAppend{Content: o.Text}); err != nil {
			res.Status, res.Error = turn.Failed, err.Error()
		}
	}
	a.r.end(c, res)
}

// split takes the events out of the final object and stages them.
func (a *agent) split(output json.RawMessage) (turn.AgentOutput, error) {
	out, err := turn.SplitOutput(output, a.r.run.frozen.Topics, a.emitted)
	if err != nil {
		return out, err
	}
	for _, e := range out.Refused {
		a.r.emit(trace.RuntimeDiagnostic, trace.Diagnostic{
			Code: turn.DiagnosticUnknownTopic, Message: fmt.Sprintf("the answer emits %q, which is no topic for agents of this session; it was left out", e.Topic),
		})
	}
	return out, a.r.run.stage(nil, out.Events)
}

// suspend reports that the run waits for the player, with the loop it goes on from.
func (a *agent) suspend(c actor.Context, res turn.Result, s loop.Suspension) {
	saved, err := loop.Encode(a.state)
	if err != nil {
		res.Status, res.StopReason, res.Error = turn.Failed, string(loop.StopInternal), err.Error()
		a.r.end(c, res)
		return
	}
	res.Status = turn.Suspended
	res.Suspension = &turn.Suspension{Reason: s.Reason, ResumeSchema: s.ResumeSchema, Loop: saved}
	a.r.end(c, res)
}

// storyOutput is the canonical value of a story: what else the model's object holds, with the derived text and the segments
// as they were read.
func storyOutput(o loop.Outcome, segments []sdk.StorySegment) json.RawMessage {
	out := map[string]any{}
	var object map[string]json.RawMessage
	if json.Unmarshal(o.Output, &object) == nil {
		for name, v := range object {
			out[name] = v
		}
	}
	out["narrativeOutput"], out["segments"] = o.Text, segments
	b, err := plainjson.Marshal(out)
	if err != nil { // strings and JSON that was read always encode
		return nil
	}
	return b
}

// present are the names of those who are there, where the model's object has a list of them.
func present(object json.RawMessage) []string {
	var out struct {
		Present []string `json:"present"`
	}
	if json.Unmarshal(object, &out) != nil {
		return nil // another meaning of the word
	}
	return out.Present
}

func storyText(segments []sdk.StorySegment) string {
	out := make([]loop.Segment, len(segments))
	for i, s := range segments {
		out[i] = loop.Segment(s)
	}
	return loop.DeriveNarrative(out)
}
