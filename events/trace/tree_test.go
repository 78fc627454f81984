package trace_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/events/trace/memory"
)

// told gives entries as a writer makes them.
func told(t testing.TB, tell func(emit func(trace.Scope, trace.Type, any))) []trace.Entry {
	t.Helper()
	store := &memory.Store{}
	w, err := trace.NewWriter(t.Context(), store, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	tell(func(s trace.Scope, typ trace.Type, p any) { s.SessionID = "s"; w.Emit(s, typ, p) })
	w.Close()
	out, err := store.Read(t.Context(), trace.Query{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// drawn is a tree as text.
func drawn(nodes []*trace.Node, indent string) string {
	var b strings.Builder
	for _, n := range nodes {
		line := fmt.Sprintf("%s%s %s [%s] %s", indent, n.Kind, n.Name, n.Status, n.Detail)
		if n.Usage != nil {
			line += fmt.Sprintf(" %d/%d", n.Usage.InputTokens, n.Usage.OutputTokens)
			if n.Usage.CostMicros != nil {
				line += fmt.Sprintf(" cost %d", *n.Usage.CostMicros)
			}
			if n.Usage.Unpriced > 0 {
				line += fmt.Sprintf(" unpriced %d", n.Usage.Unpriced)
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n" + drawn(n.Children, indent+"  "))
	}
	return b.String()
}

func TestTree(t *testing.T) {
	cost := int64(35)
	priced, unpriced := trace.Usage{InputTokens: 10, OutputTokens: 1, CostMicros: &cost}, trace.Usage{InputTokens: 5, OutputTokens: 2, Unpriced: 1}
	turn := trace.Scope{TurnID: "t1"}
	run := trace.Scope{TurnID: "t1", RunID: "r1", RuntimeID: "编剧"}
	sub := trace.Scope{TurnID: "t1", RunID: "r2", RuntimeID: "编剧/actor", ParentCallID: "c1"}
	nested := trace.Scope{TurnID: "t1", RunID: "r4", RuntimeID: "编剧/dice", ParentRunID: "r1"}
	late := trace.Scope{TurnID: "t1", RunID: "r3", RuntimeID: "guide"}
	got := drawn(trace.Tree(told(t, func(emit func(trace.Scope, trace.Type, any)) {
		emit(turn, trace.TurnStarted, trace.Turn{Origin: "player", Phase: "playing", LogicalTurn: 3})
		emit(trace.Scope{}, trace.HookFired, trace.Hook{Event: "SessionStart", HookPlugin: "warden"}) // of no turn
		emit(turn, trace.HookFired, trace.Hook{Event: "TurnStart", HookPlugin: "warden"})
		emit(run, trace.HookFired, trace.Hook{Event: "PreRuntime", HookPlugin: "warden"})
		emit(run, trace.RuntimeStarted, trace.Runtime{Kind: "agent", Stage: "narrative"})
		emit(run, trace.StepStarted, trace.Step{Step: 1})
		emit(run, trace.HookFired, trace.Hook{Event: "PreStep", HookPlugin: "warden"})
		emit(run, trace.HookRewrote, trace.Hook{Event: "PreStep", HookPlugin: "warden", Diff: map[string]int{"stepsLeft": 1}})
		emit(run, trace.LLMCalling, trace.LLMCall{CallID: "m1", Slot: "story", Purpose: "step", Attempt: 1})
		emit(run, trace.LLMResponded, trace.LLMReply{CallID: "m1", Model: "m", FinishReason: "tool_calls", Usage: priced})
		emit(run, trace.ToolCalling, trace.ToolCall{ToolName: "delegate", ToolCallID: "c1"})
		emit(sub, trace.RuntimeStarted, trace.Runtime{Kind: "agent", Stage: "narrative"})
		emit(sub, trace.LLMCalling, trace.LLMCall{CallID: "m2", Slot: "fast", Purpose: "step", Attempt: 2})
		emit(sub, trace.LLMResponded, trace.LLMReply{CallID: "m2", Error: "overloaded", ErrorKind: "transient", Usage: unpriced})
		emit(sub, trace.RuntimeFailed, trace.RuntimeEnd{Status: "failed", StopReason: "model-error", Stage: "narrative"})
		emit(run, trace.ToolFailed, trace.ToolEnd{ToolName: "delegate", ToolCallID: "c1", Code: "internal", Error: "no"})
		emit(run, trace.ToolFailed, trace.ToolEnd{ToolName: "give", ToolCallID: "c2", Skipped: true, Code: "cancelled"})
		emit(run, trace.StepCompleted, trace.StepEnd{Step: 1})
		emit(nested, trace.RuntimeStarted, trace.Runtime{Kind: "function", Stage: "narrative"})
		emit(run, trace.RuntimeCompleted, trace.RuntimeEnd{Status: "success", StopReason: "completed", Stage: "narrative"})
		emit(late, trace.FunctionExecuting, trace.Function{Handler: "./handler.js"})
		emit(turn, trace.TurnCompleted, trace.TurnEnd{Committed: true})
		emit(trace.Scope{TurnID: "t2"}, trace.TurnStarted, trace.Turn{Origin: "retry"})
	})), "")
	want := `turn t1 [committed] player · playing · logical turn 3 15/3 cost 35 unpriced 1
  hook TurnStart [fired] warden
  stage narrative []
    run 编剧 [success] agent 15/3 cost 35 unpriced 1
      hook PreRuntime [fired] warden
      step step 1 []
        hook PreStep [rewrote] warden
        model story [success] m · tool_calls 10/1 cost 35
        tool delegate [failed] internal · no
          run 编剧/actor [failed] agent · model-error 5/2 unpriced 1
            model fast [failed] attempt 2 · transient · overloaded 5/2 unpriced 1
        tool give [skipped] cancelled
      run 编剧/dice [unknown] function
  run guide [unknown]
    call ./handler.js [unknown]
turn t2 [unknown] retry · logical turn 0
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Whatever is missing of a trace, what is there is shown: no entry of a turn is lost and nothing panics.
func TestTreeOfAnything(t *testing.T) {
	types := []trace.Type{
		trace.TurnStarted, trace.TurnCompleted, trace.RuntimeStarted, trace.RuntimeFailed, trace.StepStarted, trace.StepCompleted, trace.LLMCalling, trace.LLMResponded,
		trace.ToolCalling, trace.ToolCompleted, trace.HookFired, trace.HookAborted, trace.FunctionExecuting, trace.FunctionCompleted, trace.GatewayCalling,
		trace.GatewayFailed, trace.PluginServiceCompleted, trace.Dropped, "of.tomorrow",
	}
	ids := []string{"", "a", "b"}
	rapid.Check(t, func(t *rapid.T) {
		var entries []trace.Entry
		turns := map[string]bool{}
		for i := range rapid.IntRange(0, 30).Draw(t, "n") {
			one := func(what string) string { return rapid.SampledFrom(ids).Draw(t, what) }
			e := trace.Entry{Seq: uint64(i), Type: rapid.SampledFrom(types).Draw(t, "type"), Scope: trace.Scope{TurnID: one("turn"), RunID: one("run"), RuntimeID: "编剧", ParentCallID: one("parent"), ParentRunID: one("caller")}}
			e.Payload = []byte(rapid.SampledFrom([]string{"", "null", `{"callId":"a","toolCallId":"a","stage":"narrative"}`, `{"callId":5}`, `[]`, `{"toolCallId":"b","event":"PreStep"}`}).Draw(t, "payload"))
			entries = append(entries, e)
			if e.TurnID != "" {
				turns[e.TurnID] = true
			}
		}
		if got := trace.Tree(entries); len(got) != len(turns) {
			t.Fatalf("%d trees of %d turns", len(got), len(turns))
		}
	})
}
