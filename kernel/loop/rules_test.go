package loop

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/manifest"
)

// Every test below holds a rule of the specification by scripts that show it: see testdata/scripts.

func plays(t *testing.T, files ...string) {
	t.Helper()
	for _, file := range files {
		want, err := os.ReadFile(filepath.Join("testdata/scripts", file+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		if got := runScript(t, string(want)); got != string(want) {
			t.Errorf("%s: the loop does something else; got\n%s", file, got)
		}
	}
}

// Rule TP:536: requireToolUse is met by a successful listed tool, and without a list by any successful business tool.
// Rule REF plugins.md §9.3: one corrective message, whose request forces a tool call; then failure.
func TestRequireToolUse(t *testing.T) { plays(t, "require_tool_use") }

// Rule TP:528: the structured result of a tool, not what the model read of it, is the output.
// Rule TP:537: a named final tool ends the loop when it succeeds and no error of its batch is unresolved.
func TestCompleteAfterTools(t *testing.T) { plays(t, "completing_tool", "story_completing_tool") }

// Rule TP:538: requireExplicitCompletion needs a real write or runtime-done; a look is no write.
// Rule REF plugins.md §9.3: a completing tool counts too, and no failed call may be left that no success of its name resolved.
func TestRequireExplicit(t *testing.T) { plays(t, "require_explicit") }

// Rule TP:540: text alone, or a tool call written as JSON text, is no write.
// Rule TP:541: an error result never becomes a structured success.
func TestTextIsNoWrite(t *testing.T) { plays(t, "require_tool_use", "structured_output") }

// Rule TP:545: a review happens before tools run; a rejected draft's calls are answered without being executed.
// Rule TP:547: two corrections by default; a further rejection fails the run with invalid-output.
// Rule TP:549: a rejected draft is withdrawn with a reset, and the rewritten one is shown.
func TestReview(t *testing.T) { plays(t, "review") }

// Rule TP:561: a repair skips PreStep and passes through PreLLMCall and PostLLMResponse.
// Rule TP:561: one output repair with the tools off replaces the whole answer; what still does not fit is invalid-output.
func TestOutputRepair(t *testing.T) {
	plays(t, "structured_output", "story_empty", "story_broken_json", "story_mismatch")
}

// Rule TP:565: the player's interjections are added before each step; a late one causes one more step if steps remain.
// Rule REF api-and-protocol.md §1.6: after the narrative is done a line is refused instead of accepted and lost.
func TestInterjections(t *testing.T) { plays(t, "interjection") }

// Rule TP:566: PreStep may narrow the tools, change the tool choice, lower the steps left, or end the loop with cancelled.
func TestPreStep(t *testing.T) { plays(t, "pre_step") }

// Rule TP:568: PreLLMCall changes the copy of one call only: messages, model, tools; the conversation keeps its own.
// Rule TP:545: replace.stream false shows nothing of that call before it is accepted.
func TestPreCall(t *testing.T) { plays(t, "pre_call") }

// Rule TP:569: consecutive safe read-only calls run as one pool in model order, every other call alone.
// Rule TL:89: at most eight calls of a pool run at once.
// Rule TL:91: unknown names, search-tools, suspend and runtime-done are barriers.
// Rule TL:93: results are collected in model order, whichever ends first.
func TestBatches(t *testing.T) { plays(t, "batches", "deferred_tools", "duplicate_ids") }

// Rule TL:95: a skipped call is answered and counts as neither executed nor failed; a refused one counts as executed only.
func TestSkippedCalls(t *testing.T) { plays(t, "terminate", "interruptions", "suspension") }

// Rule TP:529: the model reads the results and decides itself whether to call again.
// Rule TP:570: a completing tool, runtime-done, a hook's terminate, or a reply without calls ends the loop.
func TestEndsOfALoop(t *testing.T) {
	plays(t, "completing_tool", "runtime_done", "terminate", "story_plain", "story_segments")
}

// Rule TL:435: only a successful runtime-done ends the run; the same field in another tool's result is ordinary data.
// Rule REF plugins.md §9.3: the call itself is no business call, and the prose beside it is kept.
// Rule REF plugins.md §9.3: runtime-done cannot end a run whose contract is not met.
func TestRuntimeDone(t *testing.T) { plays(t, "runtime_done", "runtime_done_after_failure") }

// Rule TL:435: a runtime-done that a hook stops does not end a story; what was shown of it is a draft then.
func TestAnEndThatAHookStops(t *testing.T) {
	config := Config{Profile: ResolveProfile(StoryProfile), Story: true, Stream: true, Locale: "en"}
	s, _ := Step(State{}, Begin{Config: config, Messages: []model.Message{{Role: model.User, Content: "我讲完了吗？"}}})
	s, _ = Step(s, ModelDelta{Text: "雨停了。"})
	s, _ = Step(s, ModelReplied{Reply: model.Reply{Text: "雨停了。", ToolCalls: []model.ToolCall{{ID: "a", Name: RuntimeDone, Arguments: "{}"}}, FinishReason: model.FinishToolCalls}})
	s, effects := Step(s, ToolsFinished{Outcomes: []ToolOutcome{{CallID: "a", Skipped: true, ErrorCode: "refused"}}})
	if _, withdrawn := effects[0].(EmitReset); !withdrawn || s.Outcome != nil || s.Step != 2 {
		t.Errorf("step %d, outcome %+v, effects %+v", s.Step, s.Outcome, effects)
	}
}

// Rule TL:1561: a story that calls runtime-done out of habit is asked for its text within the remaining steps.
func TestStoryException(t *testing.T) { plays(t, "story_runtime_done") }

// Rule TP:575: a step limit is no success: one request with tools off asks for the final answer; without text it fails.
func TestStepLimit(t *testing.T) { plays(t, "step_limit", "story_tools") }

// Rule TP:575: within the deadline reserve no new step starts; waiting interjections are merged and the finalizer is sent.
func TestDeadlineReserve(t *testing.T) { plays(t, "deadline_reserve", "interjection") }

// Rule TP:577: an overflow after a complete tool step is finalized once and may be repaired; else its own text is kept.
func TestContextOverflow(t *testing.T) { plays(t, "context_overflow") }

// Rule DEC Execution allowances: past an allowance of calls or of time the run fails with budget-exceeded, whatever it was
// about; a call that was refused is not counted as made.
func TestBudget(t *testing.T) { plays(t, "budget") }

// Rule DEC Loop profiles: an identical call is met by a hint, then by tools-off (story, actor) or tool-loop (system).
// Rule BL-16: identical calls are cut at a small count with a reason that model and player can read.
func TestRepeatedCalls(t *testing.T) {
	plays(t, "tool_loop_broken", "tool_loop_story", "tool_loop_system", "deferred_tools")
}

// Rule REF plugins.md §9.4: an answer cut off at the output limit is tried once more for each request, briefly, then it fails.
// Rule REF plugins.md §9.4: the text of a story that is cut off without tool calls is kept and marked as cut off.
func TestTruncation(t *testing.T) { plays(t, "story_truncated", "system_truncated") }

// Rule REF plugins.md §9.4: what may pass is tried again within the retries and the time left; permanent errors are not.
// Rule BL-03: a text that a player has read is never glued to another attempt's.
func TestRetries(t *testing.T) { plays(t, "retries", "stream_breaks") }

// Rule TL:636: only a successful suspend call's sentinel suspends; the same field of another tool is data.
// Rule TL:666: later calls get a cancelled result; the answer replaces the placeholder by its id, in full.
// Rule TL:677: spent corrections, found tools, prose, a completing tool's output and prompt segments are kept.
// Rule TL:678: the context is not built again: the saved conversation is what the run goes on with.
// Rule TL:679: a resumed run may suspend again.
// Rule TL:680: a failure before the suspension that no success of its name resolved still counts.
func TestSuspension(t *testing.T) { plays(t, "suspension") }

// Rule TL:693: what search-tools finds joins the tools from the next call on, to the end of the run.
func TestDeferredTools(t *testing.T) { plays(t, "deferred_tools") }

// Rule TL:687: declaring tools.defer injects search-tools; TL:686: true defers the whole list, a list only its names.
// Rule TL:700: its description says how many tools wait and whose they are.
func TestDeferredOffers(t *testing.T) {
	offers := []ToolOffer{{Tool: model.Tool{Name: "look"}}, {Tool: model.Tool{Name: "paint"}}, {Tool: model.Tool{Name: RuntimeDone}}}
	for _, c := range []struct {
		agent manifest.Agent
		want  string
	}{
		{manifest.Agent{}, "look paint runtime-done"},
		{manifest.Agent{DeferTools: []string{"paint"}}, "look runtime-done search-tools"},
		{manifest.Agent{DeferAll: true}, "runtime-done search-tools"},
	} {
		config := NewConfig(manifest.Runtime{PluginID: "codex", Agent: c.agent}, offers, "en")
		m := machine{s: State{Config: config}}
		if got := strings.Join(names(m.offered()), " "); got != c.want {
			t.Errorf("%+v offers %s, want %s", c.agent, got, c.want)
		}
		// Rule TL:1556: deferred tools are authorised from the start.
		authorised := config.Authorised()
		slices.Sort(authorised)
		if got := strings.Join(authorised, " "); got != "look paint runtime-done" {
			t.Errorf("%+v authorises %s", c.agent, got)
		}
		if n := len(config.Deferred); n > 0 {
			about := config.searchTool().Description
			if !strings.Contains(about, `"codex"`) || !strings.Contains(about, map[int]string{1: "1 more", 2: "2 more"}[n]) {
				t.Errorf("description %q", about)
			}
		}
	}
}

// Rule TL:1555: runtime-done is authorised for runtimes that end by it and for stories, not where a completing tool must end the run.
// Rule TL:1561: a story is not offered runtime-done, even where its manifest lists it.
func TestWhoMayCallRuntimeDone(t *testing.T) {
	listed := []ToolOffer{{Tool: model.Tool{Name: "save"}}, {Tool: model.Tool{Name: RuntimeDone}}}
	save := listed[:1]
	for name, c := range map[string]struct {
		rt         manifest.Runtime
		tools      []ToolOffer
		offered    bool
		authorised bool
	}{
		"ends by it":        {manifest.Runtime{}, save, true, true},
		"explicit":          {manifest.Runtime{Agent: manifest.Agent{Require: RequireExplicit}}, save, true, true},
		"a completing tool": {manifest.Runtime{Agent: manifest.Agent{Require: RequireToolUse, AfterTools: []string{"save"}}}, save, false, false},
		"a schema":          {manifest.Runtime{IO: manifest.IO{OutputSchema: []byte(`{}`)}}, save, false, false},
		"declared":          {manifest.Runtime{IO: manifest.IO{OutputSchema: []byte(`{}`)}}, listed, true, true},
		"a story":           {manifest.Runtime{IO: manifest.IO{Visibility: "story"}}, save, false, true},
		"a story lists it":  {manifest.Runtime{IO: manifest.IO{Visibility: "story"}}, listed, false, true},
	} {
		config := NewConfig(c.rt, c.tools, "en")
		if got := config.offers(RuntimeDone); got != c.offered {
			t.Errorf("%s: offered %v", name, got)
		}
		if got := slices.Contains(config.Authorised(), RuntimeDone); got != c.authorised {
			t.Errorf("%s: authorised %v", name, got)
		}
		if n := len(slices.DeleteFunc(slices.Clone(config.Tools), func(o ToolOffer) bool { return o.Tool.Name != RuntimeDone })); n > 1 {
			t.Errorf("%s: offered %d times", name, n)
		}
	}
}

// Rule DEC Loop profiles: a sub-agent's profile can neither suspend nor read interjections.
// Rule TP:559: the turn asks the same resolver whether a runtime still reads the interjection queue.
func TestWhoReadsInterjections(t *testing.T) {
	on, off := true, false
	for _, c := range []struct {
		rt   manifest.Runtime
		want bool
	}{
		{manifest.Runtime{Type: "agent", IO: manifest.IO{Visibility: "story"}}, true},
		{manifest.Runtime{Type: "agent"}, false},
		{manifest.Runtime{Type: "agent", Agent: manifest.Agent{Steering: &on}}, true},
		{manifest.Runtime{Type: "agent", IO: manifest.IO{Visibility: "story"}, Agent: manifest.Agent{Steering: &off}}, false},
		{manifest.Runtime{Type: "agent", IO: manifest.IO{Visibility: "story"}, Agent: manifest.Agent{Profile: "actor"}}, false},
		{manifest.Runtime{Type: "function", IO: manifest.IO{Visibility: "story"}}, false},
	} {
		if got := ReadsInterjections(c.rt); got != c.want {
			t.Errorf("%+v: %v", c.rt, got)
		}
	}
	config := NewConfig(manifest.Runtime{Agent: manifest.Agent{Profile: "actor"}}, []ToolOffer{{Tool: model.Tool{Name: Suspend}}}, "en")
	if !config.NoSuspend || config.offers(Suspend) || slices.Contains(config.Authorised(), Suspend) {
		t.Errorf("an actor may suspend: %+v", config)
	}
}

// Rule TP:573: every way of ending maps to one stop reason, and each reason is reached by a script.
// Rule DEC Stop reasons: the reason is independent of success.
func TestEveryStopReasonIsReached(t *testing.T) {
	files, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	reached := map[StopReason]bool{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if words := strings.Fields(line); len(words) > 2 && words[0] == "finish" {
				reached[StopReason(words[2])] = true
			}
		}
	}
	for _, r := range StopReasons {
		if !reached[r] {
			t.Errorf("no script ends with %s", r)
		}
		delete(reached, r)
	}
	if len(reached) > 0 {
		t.Errorf("unknown stop reasons %v", reached)
	}
}
