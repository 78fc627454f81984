package loop

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/text"
	"github.com/covel/covel/plugins/tools"
)

// Authorised are the names the executor may run (seed: tools.txt, "Authorization"). Deferring changes only what the model
// sees at first.
func (c Config) Authorised() []string {
	var out []string
	for _, t := range slices.Concat(c.Tools, c.Deferred) {
		out = append(out, t.Tool.Name)
	}
	if c.Story && !slices.Contains(out, RuntimeDone) {
		out = append(out, RuntimeDone)
	}
	return out
}

func (c Config) offers(name string) bool {
	return slices.ContainsFunc(c.Tools, func(t ToolOffer) bool { return t.Tool.Name == name })
}

// parallel: calls of this tool may run beside others. What the loop draws its own consequences from is a barrier, whatever it
// declares.
func (c Config) parallel(name string) bool {
	if framework(name) {
		return false
	}
	if i := slices.IndexFunc(c.Tools, func(t ToolOffer) bool { return t.Tool.Name == name }); i >= 0 {
		return c.Tools[i].Parallel
	}
	t, ok := c.deferred(name)
	return ok && t.Parallel
}

// endsStory: runtime-done beside a written story ends it; the call adds nothing.
func (m *machine) endsStory() bool {
	if !m.s.Config.Story || slices.ContainsFunc(m.s.Reply.Calls, func(c model.ToolCall) bool { return c.Name != RuntimeDone || !doneArguments(c.Arguments) }) {
		return false
	}
	story, _ := ParseStory(m.s.Reply.Text)
	return len(story.Segments) > 0
}

func (m *machine) runTools() {
	if !m.endsStory() {
		m.withdraw() // text beside tool calls is a draft
	}
	m.to(RunningTools)
	m.s.Await = AwaitTools
	m.emit(RunTools{Step: m.s.Step, Batches: m.s.Config.Batches(m.s.Reply.Calls)})
}

func (m *machine) toolsFinished(in ToolsFinished) {
	m.setLeft(in.Left)
	batch := m.takeOutcomes(in.Outcomes)
	c := m.s.Config
	if !batch.done {
		m.withdraw() // a hook refused the runtime-done that would have ended the story
	}
	if batch.suspension == nil {
		m.to(Deciding)
	}
	switch {
	case in.Exceeded != "" && batch.suspension == nil:
		m.fail(StopBudgetExceeded, text.Clean(in.Exceeded), nil)
	case batch.suspension != nil:
		m.suspend(*batch.suspension, batch.suspender)
	case batch.terminate:
		m.end(StopCompleted)
	case batch.completed && !c.Story && len(batch.failed.Unresolved) == 0:
		m.end(StopToolFinished)
	case batch.done && c.Story && !m.endsStory():
		m.tell(model.System, c.sayStoryMissing())
		m.nextStep()
	case batch.done:
		if !c.Story || !m.carryOn() {
			m.end(StopCompleted)
		}
	case c.LoopDetection > 0 && m.s.Repeat.Count >= c.LoopDetection:
		m.repeated()
	default:
		m.nextStep()
	}
}

// batchResult is what one reply's calls came to.
type batchResult struct {
	completed bool // a tool of completeAfterTools succeeded
	done      bool // runtime-done was called
	terminate bool // a hook ends the loop
	// suspension is what a suspend call asks the player, and suspender that call.
	suspension *Suspension
	suspender  string
	failed     work // only of this batch
}

// takeOutcomes answers every call of the reply in the conversation and counts what it achieved.
func (m *machine) takeOutcomes(outcomes []ToolOutcome) batchResult {
	c := m.s.Config
	byID := make(map[string]ToolOutcome, len(outcomes))
	for _, o := range outcomes {
		if _, twice := byID[o.CallID]; !twice {
			byID[o.CallID] = o
		}
	}
	var res batchResult
	asked := model.Message{Role: model.Assistant, Content: m.s.Reply.Text}
	var answers []model.Message
	for _, call := range m.s.Reply.Calls {
		o := completeOutcome(call, byID)
		if doneBy(o) {
			res.done, m.s.Work.Done = true, true
			if !c.Story && slices.Contains(c.AfterTools, RuntimeDone) {
				res.completed, m.s.Work.After = true, true
			}
			asked.ToolCalls = append(asked.ToolCalls, model.ToolCall{ID: call.ID, Name: o.Name, Arguments: o.Arguments})
			answers = append(answers, model.Message{Role: model.ToolRole, ToolCallID: call.ID}) // filled in below
			continue
		}
		if s := suspensionOf(o); s != nil && res.suspension == nil {
			res.suspension, res.suspender, o.Result = s, call.ID, resultWaiting
		}
		if !framework(o.Name) {
			after := slices.Contains(c.AfterTools, o.Name)
			m.s.Work = m.s.Work.add(o.Name, o, after)
			res.failed = res.failed.add(o.Name, o, after)
			res.completed = res.completed || after && o.OK
		}
		m.activate(o)
		res.terminate = res.terminate || o.Terminate
		m.s.Repeat = m.s.Repeat.add(call)
		m.count(o)
		asked.ToolCalls = append(asked.ToolCalls, model.ToolCall{ID: call.ID, Name: o.Name, Arguments: o.Arguments})
		answers = append(answers, model.Message{Role: model.ToolRole, ToolCallID: call.ID, Content: o.Result})
	}
	for i := range answers {
		if answers[i].Content == "" {
			answers[i].Content = m.doneResult()
		}
	}
	m.s.Messages = append(append(slices.Clip(m.s.Messages), asked), answers...)
	m.s.Reply = &pendingReply{Text: m.s.Reply.Text, Calls: m.s.Reply.Calls, Truncated: m.s.Reply.Truncated, Recorded: true}
	return res
}

// framework: a call of these is no business of the runtime's, whether it succeeds or fails.
func framework(name string) bool {
	return name == RuntimeDone || name == SearchTools || name == Suspend
}

// doneBy: only a successful runtime-done with its own sentinel ends the run. The same field in another tool's result is
// ordinary data (seed: tools.txt, "runtime-done").
func doneBy(o ToolOutcome) bool {
	var mark tools.Done
	return o.Name == RuntimeDone && o.OK && json.Unmarshal(o.Content, &mark) == nil && mark.Done
}

// doneArguments: runtime-done takes an optional reason. Nothing at all is how some providers write a call without arguments.
func doneArguments(raw string) bool {
	if strings.TrimSpace(raw) == "" {
		return true
	}
	fixed, _, err := tools.Repair(raw)
	var args struct {
		Reason *string `json:"reason"`
	}
	return err == nil && strings.HasPrefix(strings.TrimSpace(fixed), "{") && json.Unmarshal([]byte(fixed), &args) == nil
}

// doneResult is the answer to runtime-done.
func (m *machine) doneResult() string {
	switch {
	case m.s.Config.Story && !m.endsStory():
		return resultStoryMissing
	case !m.s.Config.contractMet(m.s.Work):
		return resultNotOver
	}
	return resultDone
}

// completeOutcome fills in what an outcome leaves out. A call without an outcome was not executed.
func completeOutcome(call model.ToolCall, byID map[string]ToolOutcome) ToolOutcome {
	o, ok := byID[call.ID]
	if !ok {
		o = ToolOutcome{Skipped: true, ErrorCode: codeCancelled, Result: resultNotExecuted}
	}
	o.CallID = call.ID
	o.Name = orElse(text.Clean(o.Name), call.Name)
	o.Arguments = orElse(text.Clean(o.Arguments), tools.HistoryArguments(call.Arguments))
	switch o.Result = text.Clean(o.Result); {
	case o.Result != "":
	case o.OK:
		o.Result = resultDone
	default:
		o.Result = resultNotExecuted
	}
	if len(o.Content) > 0 {
		content, err := text.CleanJSON(o.Content)
		if err != nil { // a tool's content that is no JSON is kept as the text it is
			content, _ = json.Marshal(text.Clean(string(o.Content)))
		}
		o.Content = content
	}
	return o
}

// count records a call. runtime-done leaves a record only where it failed.
func (m *machine) count(o ToolOutcome) {
	if o.Name == RuntimeDone && (o.OK || o.Skipped) {
		return
	}
	m.s.Records = append(slices.Clip(m.s.Records), ToolRecord{
		Step: m.s.Step, CallID: o.CallID, Name: o.Name, Arguments: o.Arguments,
		OK: o.OK, Skipped: o.Skipped, Refused: o.Refused, ErrorCode: o.ErrorCode,
	})
	if o.Skipped {
		return
	}
	m.countUsage(func(u *Usage) { u.ToolCalls++ })
	if open := m.s.OpenStep; open != nil {
		next := *open
		next.ToolCalls++
		if !o.OK && !o.Refused {
			next.Failed++
		}
		m.s.OpenStep = &next
	}
}

// recordUnexecuted puts a reply that is not used into the conversation: its calls are answered without being executed.
func (m *machine) recordUnexecuted() {
	r := m.s.Reply
	if r == nil || r.Recorded {
		return
	}
	if len(r.Calls) > 0 {
		asked := model.Message{Role: model.Assistant, Content: r.Text}
		var answers []model.Message
		for _, call := range r.Calls {
			o := completeOutcome(call, nil)
			m.count(o)
			asked.ToolCalls = append(asked.ToolCalls, model.ToolCall{ID: call.ID, Name: call.Name, Arguments: o.Arguments})
			answers = append(answers, model.Message{Role: model.ToolRole, ToolCallID: call.ID, Content: o.Result})
		}
		m.s.Messages = append(append(slices.Clip(m.s.Messages), asked), answers...)
	} else if strings.TrimSpace(r.Text) != "" {
		m.s.Messages = append(slices.Clip(m.s.Messages), model.Message{Role: model.Assistant, Content: r.Text})
	}
	m.s.Reply = nil
}

// repeated answers a loop of identical calls: a hint first, then the profile's fallback (fault case BL-16).
func (m *machine) repeated() {
	c, r := m.s.Config, m.s.Repeat
	m.s.Because = "tool-loop-detected"
	if m.s.Spent.Perturbation < c.Profile.Corrections.Perturbation {
		m.s.Spent.Perturbation++
		m.tell(model.System, c.sayRepeat(r))
		m.nextStep()
		return
	}
	if c.Profile.Fallback != FallbackToolsOff || !c.contractMet(m.s.Work) {
		m.fail(StopToolLoop, fmt.Sprintf("the model called %s %d times in a row with the same arguments", r.Name, r.Count), nil)
		return
	}
	m.s.ToolsOff = true
	m.tell(model.System, c.sayToolsOff(r))
	m.nextStep()
}
