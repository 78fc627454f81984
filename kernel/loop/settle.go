package loop

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/text"
)

// textAnswer decides about a reply without tool calls.
func (m *machine) textAnswer() {
	if m.carryOn() {
		return
	}
	if m.s.ToolsOff && strings.TrimSpace(m.s.Reply.Text) == "" && len(m.s.Kept) == 0 {
		m.fail(StopToolLoop, fmt.Sprintf("the model repeated %s until the tools were switched off, and then gave no answer", m.s.Repeat.Name), nil)
		return
	}
	m.end(StopCompleted)
}

// finalAnswer decides about the reply to a finalizer or a repair.
func (m *machine) finalAnswer() {
	if m.s.Call.Purpose == ForFinalizer && strings.TrimSpace(m.s.Reply.Text) == "" {
		m.failCall(m.s.Ending.Stop, "the model gave no text", nil)
		return
	}
	m.settle()
}

// end ends the step loop when the completion contract holds, and asks for what is missing otherwise.
func (m *machine) end(stop StopReason) {
	if !m.s.Config.contractMet(m.s.Work) {
		m.correct()
		return
	}
	m.s.Ending = &ending{Stop: stop}
	m.settle()
}

// correct tells the model once what the completion contract still needs (reference: plugins.md §9.3).
func (m *machine) correct() {
	c := m.s.Config
	if m.s.Spent.ToolUse >= c.Profile.Corrections.ToolUse {
		m.fail(StopInvalidOutput, m.contractProblem(), nil)
		return
	}
	m.s.Spent.ToolUse++
	m.withdraw()
	m.recordUnexecuted()
	if c.Require == RequireToolUse {
		m.s.ForceTool = true
		m.tell(model.System, c.sayToolUse())
	} else {
		m.tell(model.System, c.sayExplicit(m.s.Work.Unresolved))
	}
	m.nextStep()
}

func (m *machine) contractProblem() string {
	c := m.s.Config
	if c.Require == RequireExplicit && len(m.s.Work.Unresolved) > 0 {
		return "the run ended with failed tool calls that were not made good: " + strings.Join(m.s.Work.Unresolved, ", ")
	}
	need := "a successful tool call"
	switch {
	case len(c.AfterTools) > 0:
		need = "a successful call of " + strings.Join(c.AfterTools, " or ")
	case c.Require == RequireExplicit:
		need = "a write or a call of " + RuntimeDone
	}
	return fmt.Sprintf("the run ended without %s (completion requires %s)", need, c.Require)
}

// stepsUsedUp: a step limit is no success. A finalizer may still get an answer.
func (m *machine) stepsUsedUp() {
	why := fmt.Sprintf("no final answer within %d steps", m.s.StepLimit)
	if m.s.Config.Profile.Finalizer.MaxSteps && m.mayFinalize() {
		m.finalize(StopMaxSteps, why)
		return
	}
	m.fail(StopMaxSteps, why, nil)
}

// callRefused: the request was not sent (seed: turn-pipeline.txt, "A context overflow can also be finalized").
func (m *machine) callRefused(in CallRefused) {
	m.setLeft(in.Left)
	m.countUsage(func(u *Usage) { u.ModelCalls-- }) // it was not made
	why := text.Clean(orElse(in.Detail, "the request could not be sent: "+string(in.Stop)))
	switch in.Stop {
	case StopContextOverflow:
		m.overflow(why)
	case StopBudgetExceeded:
		m.fail(StopBudgetExceeded, why, nil)
	case StopInvalidContext:
		m.failCall(StopInvalidContext, why, nil)
	default:
		m.failCall(StopInternal, why, nil)
	}
}

// overflow: the request is too long. Work that is done, a complete tool step, is worth one more try with the tools off.
func (m *machine) overflow(why string) {
	complete := slices.ContainsFunc(m.s.Records, func(r ToolRecord) bool { return !r.Skipped })
	if m.s.Call.Purpose == ForStep && complete && m.s.Config.Profile.Finalizer.MaxSteps && m.mayFinalize() {
		m.withdraw()
		m.finalize(StopContextOverflow, why)
		return
	}
	m.failCall(StopContextOverflow, why, nil)
}

// mayFinalize: seed turn-pipeline.txt, "A step limit is not a success".
func (m *machine) mayFinalize() bool {
	return !m.s.Config.outputFromTool() && m.s.Config.contractMet(m.s.Work) && m.timeForMore()
}

func (m *machine) timeForMore() bool { return m.s.Left == 0 || m.s.Left >= FinalizerNeeds }

// finalize sends one more request with the tools off. Lines of the player that wait are merged: nothing comes after it.
func (m *machine) finalize(stop StopReason, why string) {
	m.s.Ending = &ending{Stop: stop, Finalizer: true, Why: why}
	m.to(Finalizing)
	m.closeStep()
	m.s.Reply = nil
	m.merge()
	m.tell(model.System, m.s.Config.sayStepLimit())
	m.call(ForFinalizer)
}

// answer is what a run hands over.
type answer struct {
	text     string
	segments []Segment
	output   json.RawMessage
}

// settle checks the result and ends the run with it, or has it repaired.
func (m *machine) settle() {
	a, problem, err := m.read()
	switch {
	case err != nil:
		m.fail(StopInternal, err.Error(), nil)
	case problem == "":
		m.succeed(a)
	case !m.s.Config.Story && len(m.s.Config.OutputSchema) == 0 && len(m.s.Work.Unresolved) > 0:
		m.fail(StopToolsFailed, "tools failed and nothing else came of the run: "+strings.Join(m.s.Work.Unresolved, ", "), nil)
	default:
		m.repair(problem)
	}
}

// read takes the result out of the reply or the completing tool. problem says what is wrong with it, err that the check
// itself is impossible.
func (m *machine) read() (a answer, problem string, err error) {
	c, r := m.s.Config, m.s.Reply
	if c.Story {
		story, err := ParseStory(r.Text)
		blank := strings.TrimSpace(r.Text) == "" && len(m.s.Kept) > 0 // nothing to add to what is told
		if err != nil && !blank && (!r.Truncated || len(story.Segments) == 0) {
			return a, err.Error(), nil
		}
		segments := slices.Concat(m.s.Kept, story.Segments)
		return answer{text: DeriveNarrative(segments), segments: segments, output: story.Object}, "", nil
	}
	if (c.outputFromTool() || m.s.Ending.Stop == StopToolFinished) && m.s.Call.Purpose == ForStep {
		a = answer{text: strings.TrimSpace(r.Text), output: m.s.Work.Output}
		switch {
		case !c.outputFromTool():
		case len(a.output) > 0:
			problem, err = checkOutput(c.OutputSchema, a.output)
		case !m.s.Work.Done: // runtime-done, where it is listed, ends the run without output
			problem = "the completing tool gave no result"
		}
		return a, problem, err
	}
	if len(c.OutputSchema) > 0 {
		if a.output, err = parseOutput(r.Text); err != nil {
			return a, err.Error(), nil
		}
		problem, err = checkOutput(c.OutputSchema, a.output)
		return a, problem, err
	}
	a.text = strings.TrimSpace(r.Text)
	if a.text == "" && !m.s.Work.Business && (!m.s.Work.Done || len(m.s.Work.Unresolved) > 0) {
		return a, "it is empty and no tool has succeeded", nil
	}
	return a, "", nil
}

// repair asks once more, with the tools off, for an answer that replaces the invalid one.
func (m *machine) repair(problem string) {
	if m.s.Spent.Output >= m.s.Config.Profile.Corrections.Output || !m.timeForMore() {
		m.fail(StopInvalidOutput, problem, nil)
		return
	}
	m.s.Spent.Output++
	m.withdraw()
	if m.s.Phase != Finalizing {
		m.to(Finalizing)
	}
	m.closeStep()
	m.recordUnexecuted()
	m.tell(model.System, m.s.Config.sayRepair(problem))
	m.call(ForRepair)
}

// succeed shows what is not shown yet, so that the deltas since the last reset are exactly the text of the outcome.
func (m *machine) succeed(a answer) {
	if m.s.Config.Stream {
		m.showRest(a.text)
	}
	m.finish(Outcome{
		Status: Success, Stop: m.s.Ending.Stop, Finalizer: m.s.Ending.Finalizer,
		Text: a.text, Segments: a.segments, Output: a.output, Truncated: m.s.Reply.Truncated,
	})
}

// showRest shows what is missing of a text of which a beginning is shown; what does not fit is taken back first.
func (m *machine) showRest(text string) {
	rest, ok := strings.CutPrefix(text, m.draft())
	if !ok {
		m.withdraw()
		rest = strings.TrimPrefix(text, m.draft())
	}
	if len(m.s.Shown) == 0 && len(m.s.Kept) > 0 {
		rest = strings.TrimPrefix(rest, paragraphBreak) // show puts it there
	}
	if rest != "" {
		m.show(rest)
	}
}

// fail ends the run without a result. What was shown stays as a draft.
func (m *machine) fail(stop StopReason, why string, cause *ModelError) {
	m.finish(Outcome{Status: Failed, Stop: stop, Error: why, ModelError: cause, PartialText: m.draft()})
}

func (m *machine) finish(o Outcome) {
	if r := m.s.Reply; r != nil && !r.Recorded {
		for _, call := range r.Calls { // known as not executed
			m.count(completeOutcome(call, nil))
		}
	}
	m.closeStep()
	if m.s.Phase != Finalizing {
		m.to(Finalizing)
	}
	m.to(Stopped)
	m.refuseQueue()
	o.ToolCalls, o.Usage, o.Merged = m.s.Records, m.s.Usage, m.s.Merged
	m.s.Await, m.s.Reply, m.s.Outcome = AwaitNothing, nil, &o
	m.emit(Finish{Outcome: o})
}
