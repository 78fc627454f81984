package loop

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/covel/covel/kernel/model"
)

// Rule TP:567: a step is told when it starts, after its hooks.
// Rule TP:571: a step's completion is sent exactly once for each step that started, on every exit.
// Rule TP:531: the loop converges on its contract, its budget or a cancellation, whatever model and tools do.
// Rule BL-16: whatever a model does, a run ends within its budget of calls.
// The loop against a model and tools that do anything: it always ends within its budget, and what it promised holds at
// every step.
func TestAnyModelAnyTools(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, config: drawConfig(t), pending: map[string]bool{}}
		w.step(Begin{Config: w.config, Messages: []model.Message{{Role: model.System, Content: "s"}, {Role: model.User, Content: "继续 \x00"}}, Left: drawLeft(t)})
		for w.finished == nil {
			w.answer()
			if w.finished != nil && w.finished.Status == Suspended {
				w.resume()
			}
			if w.calls > w.budget() {
				t.Fatalf("%d model calls, the budget is %d", w.calls, w.budget())
			}
		}
		w.checkEnd()
	})
}

// world plays everything around the loop and keeps its own books.
type world struct {
	t      *rapid.T
	config Config
	state  State

	await    Effect // the effect that waits for an answer
	calls    int
	steps    int
	open     bool
	shown    string          // deltas since the last reset
	said     int             // interjections
	pending  map[string]bool // those that are neither merged nor refused
	merged   []string
	before   int // model calls of runs that were suspended
	finished *Outcome
}

func drawConfig(t *rapid.T) Config {
	profile := rapid.SampledFrom([]ProfileName{StoryProfile, SystemProfile, ActorProfile}).Draw(t, "profile")
	c := Config{
		RuntimeID: "r", Profile: ResolveProfile(profile), Story: rapid.Bool().Draw(t, "story"),
		Stream: rapid.Bool().Draw(t, "stream"), Segments: rapid.Bool().Draw(t, "segments"),
		Require:       rapid.SampledFrom([]string{"", RequireToolUse, RequireExplicit}).Draw(t, "require"),
		MaxSteps:      rapid.IntRange(0, 6).Draw(t, "maxSteps"),
		LoopDetection: rapid.IntRange(-1, 3).Draw(t, "loopDetection"),
		Retry:         DefaultRetryPolicy(rapid.IntRange(0, 3).Draw(t, "retries")),
		Locale:        rapid.SampledFrom([]string{"en", "zh"}).Draw(t, "locale"),
		Hooks:         Hooks{PreStep: rapid.Bool().Draw(t, "preStep"), PreCall: rapid.Bool().Draw(t, "preCall"), Review: rapid.Bool().Draw(t, "review")},
		NoSuspend:     rapid.Bool().Draw(t, "noSuspend"),
	}
	if rapid.Bool().Draw(t, "defers") {
		c.Deferred, c.DeferredBy = []ToolOffer{{Tool: model.Tool{Name: "hidden", Description: "暗门"}}}, "codex"
	}
	for i, n := range []string{"look", "save", RuntimeDone, Suspend} {
		if rapid.Bool().Draw(t, "offer "+n) {
			c.Tools = append(c.Tools, ToolOffer{Tool: model.Tool{Name: n}, Parallel: i == 0})
		}
	}
	if rapid.Bool().Draw(t, "after") {
		c.AfterTools = []string{"save"}
	}
	if rapid.Bool().Draw(t, "schema") {
		c.OutputSchema = json.RawMessage(`{"type":"object","required":["n"]}`)
	}
	c.Profile.Finalizer.DeadlineReserveMs = rapid.SampledFrom([]int{0, 30_000}).Draw(t, "reserve")
	return c
}

func drawLeft(t *rapid.T) time.Duration {
	return time.Duration(rapid.SampledFrom([]int{0, 0, 1, 20, 100}).Draw(t, "left")) * time.Second
}

// budget: every request at most 1 + retries + 1 brief repetition; requests are the steps, a finalizer, a repair, and one
// more for each rejected answer to these two.
func (w *world) budget() int {
	steps := w.config.MaxSteps
	if steps == 0 {
		steps = w.config.Profile.MaxSteps
	}
	c := w.config.Profile.Corrections
	return (steps + 1 + c.Output + c.Review) * (2 + w.config.Retry.MaxRetries)
}

func (w *world) step(in Input) {
	before, err := Encode(w.state)
	if err != nil {
		w.t.Fatal(err)
	}
	next, effects := Step(w.state, in)
	if after, _ := Encode(w.state); string(after) != string(before) {
		w.t.Fatalf("%T changed its state", in)
	}
	if w.state.Phase != "" {
		copied, err := Decode(before)
		if err != nil {
			w.t.Fatal(err)
		}
		again, sameEffects := Step(copied, in)
		a, _ := Encode(next)
		b, _ := Encode(again)
		if string(a) != string(b) || !reflect.DeepEqual(effects, sameEffects) {
			w.t.Fatalf("%T: a decoded state continues differently", in)
		}
	}
	w.fork(in, next)
	w.state = next
	w.await = nil
	for _, e := range effects {
		w.take(e)
	}
}

// fork continues the older state in another way, which must not show in the state that followed from it.
func (w *world) fork(in Input, next State) {
	var other Input
	switch in := in.(type) {
	case ModelReplied:
		other = ModelReplied{Reply: model.Reply{Text: "other", FinishReason: model.FinishLength}}
	case ReviewDone:
		other = ReviewDone{Correction: "other" + in.Correction}
	case ToolsFinished:
		other = ToolsFinished{Outcomes: []ToolOutcome{{CallID: "other"}}}
	case PreStepDone:
		other = PreStepDone{Tools: []string{"other"}}
	case PreCallDone:
		other = PreCallDone{Request: &model.Request{Messages: []model.Message{{Role: model.User, Content: "other"}}}}
	case Interject:
		other = Interject{ID: "other", Text: "other"}
	default:
		return
	}
	if w.state.Phase == Stopped {
		return
	}
	before, _ := Encode(next)
	forked, _ := Step(w.state, other)
	for forked.Await == AwaitPreStep {
		forked, _ = Step(forked, PreStepDone{Tools: []string{"other"}})
	}
	if after, _ := Encode(next); string(before) != string(after) {
		w.t.Fatalf("%T: another continuation changed this one", in)
	}
}

func (w *world) take(e Effect) {
	if w.finished != nil {
		w.t.Fatalf("%T after Finish", e)
	}
	switch e := e.(type) {
	case PreStep, PreCall, Review, RunTools:
		w.await = e
	case InterjectionMerged:
		w.settled(e.ID)
		w.merged = append(w.merged, e.ID)
	case InterjectionRefused:
		w.settled(e.ID)
	case StepStarted:
		if w.steps++; w.open || e.Step != w.steps {
			w.t.Fatalf("step %d started as number %d, open %v", e.Step, w.steps, w.open)
		}
		w.open = true
	case StepCompleted:
		if !w.open || e.Step != w.steps {
			w.t.Fatalf("step %d completed, but open is %v in step %d", e.Step, w.open, w.steps)
		}
		w.open = false
	case CallModel:
		w.await = e
		w.calls++
		w.checkRequest(e)
		if kept := DeriveNarrative(w.state.Kept); w.shown != kept && w.config.Stream {
			w.t.Fatalf("a new answer would be glued to %q", w.shown)
		}
	case EmitDelta:
		if e.Text == "" || !w.config.Stream {
			w.t.Fatalf("delta %q, stream %v", e.Text, w.config.Stream)
		}
		w.shown += e.Text
	case EmitReset:
		if w.shown == "" {
			w.t.Fatal("nothing to withdraw")
		}
		w.shown = ""
	case Finish:
		w.finished = &e.Outcome
	}
}

// checkRequest: every tool call is answered once, directly after the message that made it, and no list ends on an
// assistant message.
func (w *world) checkRequest(e CallModel) {
	messages := e.Request.Messages
	if messages[len(messages)-1].Role == model.Assistant {
		w.t.Fatal("the request ends on an assistant message")
	}
	for i := 0; i < len(messages); i++ {
		msg := messages[i]
		if msg.Role == model.ToolRole {
			w.t.Fatalf("message %d answers %q, which nobody called", i, msg.ToolCallID)
		}
		if msg.Role == model.Assistant && msg.Content == "" && len(msg.ToolCalls) == 0 {
			w.t.Fatalf("message %d is empty", i)
		}
		seen := map[string]bool{}
		for _, c := range msg.ToolCalls {
			i++
			if i >= len(messages) || messages[i].Role != model.ToolRole || messages[i].ToolCallID != c.ID || messages[i].Content == "" {
				w.t.Fatalf("call %s of message is not answered in its place", c.ID)
			}
			if seen[c.ID] || !json.Valid([]byte(c.Arguments)) {
				w.t.Fatalf("call %s twice, or with arguments %s", c.ID, c.Arguments)
			}
			seen[c.ID] = true
		}
	}
	if e.Purpose != ForStep && len(e.Request.Tools) > 0 && e.Request.ToolChoice.Mode != "none" {
		w.t.Fatalf("%s with tools on", e.Purpose)
	}
}

func (w *world) answer() {
	t := w.t
	if rapid.IntRange(0, 40).Draw(t, "accident") == 0 {
		w.step(rapid.SampledFrom([]Input{TimeUp{}, Cancel{Reason: StopAbortedByPlayer}}).Draw(t, "which"))
		return
	}
	if rapid.IntRange(0, 12).Draw(t, "interjection") == 0 {
		w.said++
		id := fmt.Sprint(w.said)
		w.pending[id] = true
		await := w.await
		w.step(Interject{ID: id, Text: "等等 " + id})
		w.await = await
	}
	switch e := w.await.(type) {
	case PreCall:
		in := PreCallDone{Left: drawLeft(t)}
		switch rapid.IntRange(0, 5).Draw(t, "pre-call") {
		case 0:
			req := e.Request
			req.Messages = append(req.Messages, model.Message{Role: model.System, Content: "hook"})
			req.ToolChoice = model.ToolChoice{Mode: "required"}
			in.Request = &req
		case 1:
			in.Request = &model.Request{}
		case 2:
			off := false
			in.Stream = &off
		}
		w.step(in)
	case PreStep:
		in := PreStepDone{Left: drawLeft(t)}
		switch rapid.IntRange(0, 9).Draw(t, "hook") {
		case 0:
			in.End = true
		case 1:
			n := rapid.IntRange(0, 2).Draw(t, "stepsLeft")
			in.StepsLeft = &n
		case 2:
			in.Tools = []string{"save"}
		}
		w.step(in)
	case CallModel:
		w.reply(e)
	case Review:
		if rapid.IntRange(0, 3).Draw(t, "review") == 0 {
			w.step(ReviewDone{Correction: "再写一遍"})
		} else {
			w.step(ReviewDone{})
		}
	case RunTools:
		var outcomes []ToolOutcome
		for _, b := range e.Batches {
			if len(b.Calls) == 0 || len(b.Calls) > MaxParallel {
				t.Fatalf("a batch of %d", len(b.Calls))
			}
			for _, c := range b.Calls {
				if rapid.IntRange(0, 9).Draw(t, "lost") > 0 {
					outcomes = append(outcomes, drawOutcome(t, w.config, c))
				}
			}
		}
		in := ToolsFinished{Outcomes: outcomes, Left: drawLeft(t)}
		if rapid.IntRange(0, 15).Draw(t, "exceeded") == 0 {
			in.Exceeded = "the allowance is used up"
		}
		w.step(in)
	default:
		t.Fatalf("the loop waits for nothing and is not finished; phase %s", w.state.Phase)
	}
}

func drawOutcome(t *rapid.T, config Config, c model.ToolCall) ToolOutcome {
	o := ToolOutcome{CallID: c.ID}
	if (c.Name == RuntimeDone || c.Name == SearchTools) && rapid.IntRange(0, 3).Draw(t, "framework") > 0 {
		return frameworkOutcome(config, c)
	}
	switch rapid.IntRange(0, 6).Draw(t, "outcome") {
	case 0:
		o.ErrorCode = "invalid-input"
	case 1:
		o.Refused, o.ErrorCode = true, "refused"
	case 2:
		o.Skipped = true
	case 3:
		o.OK, o.Terminate = true, true
	default:
		o.OK = true
		if c.Name == Suspend {
			o.Content = json.RawMessage(rapid.SampledFrom([]string{`{"_covelSuspend":true,"reason":"?"}`, `{}`}).Draw(t, "sentinel"))
			return o
		}
		o.Content = json.RawMessage(rapid.SampledFrom([]string{`{"n":1}`, `{}`, `{"n":"\u0000"}`, `not json`, ``}).Draw(t, "content"))
	}
	return o
}

func (w *world) reply(e CallModel) {
	t := w.t
	texts := []string{"", "  ", "雾散了。", "One.\n\nTwo.", `{"n":1}`, `{"segments":[{"kind":"narration","text":"雾🐉"},{"text":"e` + "\u0301" + `"}]}`, `{"segments":[`, `{}`, "```json\n{\"segments\":[{\"text\":\"x\"}]}```", "a\x00b\xFF"}
	answer := rapid.SampledFrom(texts).Draw(t, "text")
	told := answer
	if rapid.IntRange(0, 9).Draw(t, "lies") == 0 {
		told = rapid.SampledFrom(texts).Draw(t, "streamed text")
	}
	for rest := told; rest != "" && w.finished == nil; {
		n := rapid.IntRange(1, len(rest)).Draw(t, "delta")
		w.step(ModelDelta{Text: rest[:n]})
		rest = rest[n:]
		w.await = e
	}
	if rapid.IntRange(0, 15).Draw(t, "not sent") == 0 {
		w.calls-- // it was not made
		w.step(CallRefused{Stop: rapid.SampledFrom([]StopReason{StopContextOverflow, StopInvalidContext, StopBudgetExceeded, ""}).Draw(t, "why"), Detail: "too much", Left: drawLeft(t)})
		return
	}
	if rapid.IntRange(0, 5).Draw(t, "fails") == 0 {
		kind := rapid.SampledFrom([]model.ErrorKind{model.Transient, model.RateLimited, model.Interrupted, model.Empty, model.Permanent, model.Timeout, model.Cancelled, model.Overflow}).Draw(t, "kind")
		w.step(ModelFailed{Err: &model.Error{Kind: kind, Status: 500, Message: "provider says no", RetryAfter: time.Duration(rapid.IntRange(-1, 100).Draw(t, "after")) * time.Second}, Left: drawLeft(t)})
		return
	}
	r := model.Reply{Text: answer, FinishReason: rapid.SampledFrom([]model.FinishReason{model.FinishStop, model.FinishStop, model.FinishStop, model.FinishLength, model.FinishError, model.FinishContentFilter, model.FinishOther, ""}).Draw(t, "finish")}
	r.Usage = model.Usage{InputTokens: 10, OutputTokens: 1}
	for range rapid.IntRange(0, 3).Draw(t, "calls") {
		r.ToolCalls = append(r.ToolCalls, model.ToolCall{
			ID:        rapid.SampledFrom([]string{"a", "b", "a-2", ""}).Draw(t, "id"),
			Name:      rapid.SampledFrom([]string{"look", "look", "save", RuntimeDone, "unknown", Suspend, SearchTools, "hidden"}).Draw(t, "name"),
			Arguments: rapid.SampledFrom([]string{`{}`, `{"a":1}`, `{ "a": 1 }`, `{"a":`, `null`, ``, `{"query":"暗门"}`}).Draw(t, "arguments"),
		})
	}
	w.step(ModelReplied{Reply: r, Left: drawLeft(t)})
}

// settled: every interjection is answered once.
func (w *world) settled(id string) {
	if !w.pending[id] {
		w.t.Fatalf("interjection %s is answered twice", id)
	}
	delete(w.pending, id)
}

// resume goes on from a suspension, mostly.
func (w *world) resume() {
	o := w.finished
	if o.Stop != StopSuspended || o.Suspension == nil || w.open || w.state.Phase != Waiting || len(w.pending) > 0 {
		w.t.Fatalf("suspended with %+v in phase %s, open %v, pending %v", o, w.state.Phase, w.open, w.pending)
	}
	w.checkMerged(o)
	w.step(ModelReplied{}) // late
	w.step(TimeUp{})
	w.finished = nil
	w.merged, w.shown = nil, "" // another execution
	w.before = w.calls
	w.step(Resume{Answer: json.RawMessage(rapid.SampledFrom([]string{`{"name":"陆青云","sessionId":"3b241101-e2bb-4255-8caf-4136c566a962"}`, ``, `{`}).Draw(w.t, "answer")), Left: drawLeft(w.t)})
}

func (w *world) checkMerged(o *Outcome) {
	var ids []string
	for _, i := range o.Merged {
		ids = append(ids, i.ID)
	}
	if !reflect.DeepEqual(ids, w.merged) {
		w.t.Fatalf("reported as merged %v, merged %v", ids, w.merged)
	}
}

func (w *world) checkEnd() {
	o := w.finished
	if len(w.pending) > 0 {
		w.t.Fatalf("nobody answered the interjections %v", w.pending)
	}
	w.checkMerged(o)
	if w.open {
		w.t.Fatal("a started step was never completed")
	}
	if w.state.Phase != Stopped || w.state.Outcome == nil || !reflect.DeepEqual(*w.state.Outcome, *o) {
		w.t.Fatalf("finished in phase %s", w.state.Phase)
	}
	if o.Usage.ModelCalls != w.calls-w.before {
		w.t.Fatalf("%d calls counted, %d made", o.Usage.ModelCalls, w.calls-w.before)
	}
	switch o.Status {
	case Success:
		w.checkSuccess(o)
	case Failed:
		if o.Error == "" || len(o.Segments) > 0 || o.Text != "" {
			w.t.Fatalf("failed with %+v", o)
		}
		if o.PartialText != w.shown {
			w.t.Fatalf("the draft is %q, shown is %q", o.PartialText, w.shown)
		}
		if o.Stop == StopModelError && !strings.Contains(o.Error, o.ModelError.Message) {
			w.t.Fatalf("the provider's words are lost: %q", o.Error)
		}
	}
	// Late answers do nothing.
	w.step(ModelReplied{})
	w.step(ModelDelta{Text: "late"})
}

func (w *world) checkSuccess(o *Outcome) {
	c := w.config
	if !c.contractMet(w.state.Work) {
		w.t.Fatalf("success although %s is not met", c.Require)
	}
	if o.Finalizer != (o.Stop == StopMaxSteps || o.Stop == StopDeadline || o.Stop == StopContextOverflow) {
		w.t.Fatalf("finalizer %v with %s", o.Finalizer, o.Stop)
	}
	if c.Stream && w.shown != o.Text {
		w.t.Fatalf("shown %q, told %q", w.shown, o.Text)
	}
	if c.Story {
		if len(o.Segments) == 0 || o.Text == "" || o.Text != DeriveNarrative(o.Segments) {
			w.t.Fatalf("a story with %+v", o)
		}
		return
	}
	if len(c.OutputSchema) > 0 && len(o.Output) > 0 && c.outputFromTool() {
		if problem, err := checkOutput(c.OutputSchema, o.Output); problem != "" || err != nil {
			w.t.Fatalf("invalid output passed: %s, %v", problem, err)
		}
	}
}

func ExampleStep() {
	config := Config{RuntimeID: "narrator", Profile: ResolveProfile(StoryProfile), Story: true, Stream: true, Locale: "en"}
	var s State
	for _, in := range []Input{
		Begin{Config: config, Messages: []model.Message{{Role: model.User, Content: "I open the door."}}},
		ModelDelta{Text: "The door "},
		ModelReplied{Reply: model.Reply{Text: "The door opens.", FinishReason: model.FinishStop}},
	} {
		var effects []Effect
		s, effects = Step(s, in)
		for _, e := range effects {
			fmt.Printf("%T\n", e)
		}
	}
	fmt.Println(s.Outcome.Text)
	// Output:
	// loop.StepStarted
	// loop.CallModel
	// loop.EmitDelta
	// loop.EmitDelta
	// loop.StepCompleted
	// loop.Finish
	// The door opens.
}
