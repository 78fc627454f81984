package runtime

import (
	"encoding/json"

	"github.com/asynkron/protoactor-go/actor"

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
	var signal struct {
		PreGameDone bool `json:"preGameDone"`
	}
	if json.Unmarshal(o.Output, &signal) == nil {
		res.Done = signal.PreGameDone
	}
	if o.Text != "" && len(rt.IO.OutputSchema) == 0 && rt.IO.Visibility != manifest.VisibilitySystem && !rt.IO.Concealed {
		if err := a.r.run.propose(sdk.MessageAppend{Content: o.Text}); err != nil {
			res.Status, res.Error = turn.Failed, err.Error()
		}
	}
	a.r.end(c, res)
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
