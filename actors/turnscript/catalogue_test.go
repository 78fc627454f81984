package turnscript

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tidwall/gjson"

	"github.com/covel/covel/events/memory"
	"github.com/covel/covel/events/trace"
)

// catalogue says for each event of the trace which script tells it through the real actors, and which fields it has then
// (reference: api-and-protocol.md §3.3). Fields of the payload stand after the scope's.
var catalogue = []struct {
	typ    trace.Type
	script string
	fields string
}{
	// Rule TP:1029: the lifecycle of turns and runs is in the trace.
	{trace.TurnStarted, "two-turns", "turnId timestamp payload.origin payload.phase payload.logicalTurn"},
	// Rule REF:api-and-protocol.md §3.3: the end of a turn tells whether it was committed, and what it cost.
	{trace.TurnCompleted, "two-turns", "turnId payload.committed payload.runtimeCount payload.durationMs payload.usage.inputTokens payload.usage.outputTokens payload.usage.costMicros"},
	{trace.TurnCompleted, "stop-in-mid-story", "payload.reason payload.usage"},
	{trace.RuntimeStarted, "two-turns", "runtimeId pluginId runId payload.kind payload.stage"},
	{trace.RuntimeCompleted, "two-turns", "runtimeId pluginId runId payload.status payload.stopReason payload.durationMs payload.usage.costMicros"},
	{trace.RuntimeFailed, "trace-of-code", "runtimeId pluginId runId payload.status payload.error payload.durationMs"},
	{trace.RuntimeSkipped, "guards", "runtimeId pluginId runId payload.status payload.skipReason"},
	{trace.RuntimeSuspended, "suspend-function", "runtimeId pluginId runId payload.status payload.stopReason"},
	// Rule TP:567: step.started and step.completed are told, with what the step used.
	{trace.StepStarted, "delegate", "runId payload.step"},
	{trace.StepCompleted, "delegate", "runId payload.step payload.toolCalls payload.usage.costMicros"},
	// Rule TP:1022–1027: what a model is asked and answers, tools, texts and blocks are traced, with usage and cost of each call.
	{trace.LLMCalling, "delegate", "runtimeId pluginId payload.callId payload.slot payload.model payload.messages payload.tools payload.attempt payload.streaming timestamp"},
	{trace.LLMResponded, "delegate", "runtimeId pluginId payload.callId payload.toolCalls payload.usage.inputTokens payload.usage.costMicros payload.finishReason payload.durationMs payload.attempt"},
	{trace.LLMResponded, "two-turns", "payload.text payload.usage.outputTokens payload.usage.costMicros"},
	{trace.LLMResponded, "concealed", "payload.errorKind payload.usage concealed"},
	{trace.MessageCompleted, "two-turns", "runtimeId pluginId payload.content payload.len payload.deltaCount"},
	{trace.BlockEmitted, "setup-form", "runtimeId pluginId payload.id payload.type payload.block"},
	{trace.ToolCalling, "delegate", "runtimeId pluginId payload.toolName payload.toolCallId payload.arguments payload.source payload.approvalStatus"},
	{trace.ToolCompleted, "delegate", "runtimeId pluginId payload.toolName payload.toolCallId payload.result payload.parsedResult payload.durationMs payload.source payload.approvalStatus payload.success"},
	{trace.ToolFailed, "bl01-malformed-arguments", "runtimeId pluginId payload.toolName payload.toolCallId payload.code payload.error payload.durationMs payload.source payload.success"},
	// Rule TP:1028: hooks are traced: that one ran, what it replaced, why it stopped something.
	{trace.HookFired, "hook-rewrites-a-proposal", "payload.event payload.hookName payload.durationMs"},
	{trace.HookRewrote, "hook-rewrites-a-proposal", "payload.event payload.hookName payload.targetType payload.diff"},
	{trace.HookAborted, "hook-guard-fails-closed", "payload.event payload.hookName payload.reason"},
	{trace.HookError, "hook-guard-fails-closed", "payload.event payload.hookName payload.error"},
	{trace.FunctionExecuting, "trace-of-code", "runtimeId runId payload.handler"},
	{trace.FunctionCompleted, "trace-of-code", "runtimeId runId payload.handler payload.outcome payload.error payload.durationMs"},
	{trace.GatewayCalling, "trace-of-code", "runtimeId pluginId payload.callId payload.method payload.slot payload.model payload.prompt"},
	{trace.GatewayResponded, "trace-of-code", "runtimeId pluginId payload.callId payload.method payload.finishReason payload.usage.inputTokens payload.durationMs payload.text"},
	{trace.GatewayFailed, "trace-of-code", "runtimeId pluginId payload.callId payload.method payload.error payload.durationMs"},
	{trace.RecursiveCalling, "recursive-calls", "runtimeId payload.calledRuntimeId payload.calledRunId payload.depth"},
	{trace.RecursiveCompleted, "recursive-calls", "runtimeId payload.calledRuntimeId payload.status"},
	{trace.RecursiveFailed, "recursive-failures", "runtimeId payload.calledRuntimeId payload.status payload.error"},
	{trace.ContextPruned, "context-pruned", "runtimeId pluginId payload.prunedMessageCount payload.tokensBefore payload.tokensAfter"},
	{trace.ContextCompacted, "compact-history", "pluginId payload.summaryId payload.summaryIds payload.messagesCompacted payload.tokenSavings payload.summariesMerged payload.summaryTokens payload.totalSummaryTokens payload.summaryTruncated"},
	{trace.ContextCompactionFailed, "compact-fails-thrice", "pluginId payload.extensionId payload.reason payload.consecutiveFailures"},
	{trace.ExecutionSettleTimeout, "job-settle-timeout", "turnId payload.jobs"},
	{trace.ExecutionSettleSkipped, "job-settle-skipped", "turnId payload.jobs"},
	{trace.SchedulingHazard, "events-in-a-turn", "turnId payload.code payload.topic payload.message"},
	{trace.SubagentCompleted, "delegate", "runtimeId parentCallId parentRunId payload.status payload.stopReason payload.usage.costMicros payload.durationMs"},
	{trace.SubagentWritesDropped, "subagent-of-a-function", "runtimeId parentCallId"},
	{trace.RuntimeLog, "trace-of-code", "runtimeId payload.level payload.message payload.fields"},
	{trace.RuntimeDiagnostic, "trace-of-code", "runtimeId payload.code payload.message"},
	{trace.UIRendered, "trace-of-code", "runtimeId pluginId runId turnId payload.messageId payload.render.parts"},
	{trace.UIPartUpdate, "trace-of-code", "runtimeId pluginId turnId payload.messageId payload.partId payload.partType payload.status payload.content"},
	{trace.PluginServiceCompleted, "compact-history", "pluginId payload.callId payload.providerPluginId payload.name payload.contract payload.durationMs payload.outcome payload.extension.point payload.extension.id"},
}

// toldElsewhere are the events that no script can lead to, with the test that does.
var toldElsewhere = map[trace.Type]struct{ file, test string }{
	trace.Dropped:            {"../node/trace_test.go", "TestATraceThatHangsHoldsUpNobody"},
	trace.CommitFanoutFailed: {"../../gateway/play/fanout_test.go", "TestOneFrameEventFails"},
}

// Rule TP:1016–1018: every event of the catalogue is really told by a session that is played, with the fields that the
// reference lists.
func TestTheTraceCatalogue(t *testing.T) {
	told := map[string][]string{} // entries as JSON, by script
	for _, row := range catalogue {
		if _, played := told[row.script]; played {
			continue
		}
		s := read(t, filepath.Join("testdata", row.script+".turn"))
		told[row.script] = []string{}
		t.Run(row.script, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := newStage(t, s, memory.New(memory.Options{}))
				if _, err := st.play(); err != nil {
					t.Fatal(err)
				}
				entries, err := st.traces.Read(context.Background(), trace.Query{SessionID: sessionID})
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					b, err := json.Marshal(e)
					if err != nil {
						t.Fatal(err)
					}
					told[row.script] = append(told[row.script], string(b))
				}
			})
		})
	}
	addUp(t, told)
	have := map[trace.Type]bool{}
	for _, row := range catalogue {
		have[row.typ] = true
		missing := strings.Fields(row.fields)
		for _, e := range told[row.script] {
			if gjson.Get(e, "type").String() == string(row.typ) {
				lacks := slices.DeleteFunc(strings.Fields(row.fields), func(f string) bool { return gjson.Get(e, f).Exists() })
				if len(lacks) <= len(missing) {
					missing = lacks
				}
			}
		}
		if len(missing) > 0 {
			t.Errorf("%s tells no %s with %s", row.script, row.typ, strings.Join(missing, " "))
		}
	}
	for typ, by := range toldElsewhere {
		text, err := os.ReadFile(by.file)
		if err != nil || !strings.Contains(string(text), "func "+by.test+"(") {
			t.Errorf("%s: there is no %s in %s", typ, by.test, by.file)
		}
		have[typ] = true
	}
	for _, typ := range declared(t) {
		if !have[typ] {
			t.Errorf("nobody tells %s: give it a row, or take it out of the catalogue", typ)
		}
	}
}

// Rule REF:api-and-protocol.md §3.3: what the log says that a turn used and cost is what its calls of models did, those of
// runs, of sub-agents and of extension providers; a call whose price nobody knows is counted and not guessed.
func addUp(t *testing.T, told map[string][]string) {
	type sum struct{ in, out, cost, unpriced, calls int64 }
	add := func(s *sum, usage gjson.Result) {
		s.in += usage.Get("inputTokens").Int()
		s.out += usage.Get("outputTokens").Int()
		s.cost += usage.Get("costMicros").Int()
		s.unpriced += usage.Get("unpricedCalls").Int()
	}
	unpriced, turns := false, 0
	for script, entries := range told {
		called, logged := map[string]*sum{}, map[string]*sum{}
		for _, e := range entries {
			turn := gjson.Get(e, "turnId").String()
			if called[turn] == nil {
				called[turn], logged[turn] = &sum{}, &sum{}
			}
			switch trace.Type(gjson.Get(e, "type").String()) {
			case trace.LLMResponded, trace.GatewayResponded, trace.GatewayFailed:
				if gjson.Get(e, "payload.errorKind").String() == "cancelled" { // the run is over and waits for nobody
					continue
				}
				add(called[turn], gjson.Get(e, "payload.usage"))
				called[turn].calls++
			case trace.TurnCompleted:
				add(logged[turn], gjson.Get(e, "payload.usage"))
				logged[turn].calls = -1
			}
		}
		for turn, s := range called {
			if logged[turn].calls == 0 || s.calls == 0 { // it did not end, or asked nobody
				continue
			}
			logged[turn].calls = s.calls
			if *s != *logged[turn] {
				t.Errorf("%s: the calls of turn %s used %+v, the log says %+v", script, turn, *s, *logged[turn])
			}
			turns++
			unpriced = unpriced || s.unpriced > 0
		}
	}
	if turns < 20 || !unpriced {
		t.Errorf("%d turns with calls, unpriced ones among them: %v", turns, unpriced)
	}
}

// declared are the events that package trace declares.
func declared(t *testing.T) []trace.Type {
	file, err := parser.ParseFile(token.NewFileSet(), "../../events/trace/catalogue.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []trace.Type
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "Type" {
			for _, v := range spec.Values {
				name, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, trace.Type(name))
			}
		}
		return true
	})
	if len(out) < 40 {
		t.Fatalf("only %d events are declared", len(out))
	}
	return out
}
