package loop

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/text"
)

// Step advances a loop by one input and says what has to be done. It is pure: the State it gets stays as it was. An input
// that the state does not wait for is a defect of the caller and panics with a *TransitionError; after Finish late inputs
// are ignored.
func Step(s State, in Input) (State, []Effect) {
	m := machine{s: s}
	if m.s.Phase == "" {
		m.s.Version, m.s.Phase = StateVersion, Preparing
	}
	if m.over(in) {
		return m.s, m.effects
	}
	switch in := in.(type) {
	case Begin:
		m.begin(in)
	case Resume:
		m.resume(in)
	case Interject:
		m.interject(in)
	case PreStepDone:
		m.expect(AwaitPreStep, in)
		m.preStepDone(in)
	case PreCallDone:
		m.expect(AwaitPreCall, in)
		m.preCallDone(in)
	case CallRefused:
		m.expect(AwaitModel, in)
		m.callRefused(in)
	case ModelDelta:
		m.expect(AwaitModel, in)
		m.modelDelta(in)
	case ModelReplied:
		m.expect(AwaitModel, in)
		m.modelReplied(in)
	case ModelFailed:
		m.expect(AwaitModel, in)
		m.modelFailed(in)
	case ReviewDone:
		m.expect(AwaitReview, in)
		m.reviewDone(in)
	case ToolsFinished:
		m.expect(AwaitTools, in)
		m.toolsFinished(in)
	case TimeUp:
		m.fail(StopTimeout, "the time limit of the run passed", nil)
	case Cancel:
		m.cancel(in)
	default:
		m.defect(fmt.Sprintf("unknown input %T", in))
	}
	return m.s, m.effects
}

// over: a loop that has finished ignores what comes late, and refuses interjections. One that is suspended can be resumed.
func (m *machine) over(in Input) bool {
	if m.s.Phase != Stopped && m.s.Phase != Waiting {
		return false
	}
	switch in := in.(type) {
	case Begin:
		return false
	case Resume:
		return m.s.Phase == Stopped
	case Interject:
		m.emit(InterjectionRefused{ID: in.ID})
	}
	return true
}

// machine is one Step being made. Slices of the state are only ever replaced or appended to a clipped copy.
type machine struct {
	s       State
	effects []Effect
}

func (m *machine) emit(e Effect) { m.effects = append(m.effects, e) }

func (m *machine) defect(detail string) {
	panic(&TransitionError{Phase: m.s.Phase, Await: m.s.Await, Detail: detail})
}

func (m *machine) expect(a Await, in Input) {
	if m.s.Await != a {
		m.defect(fmt.Sprintf("input %T", in))
	}
	if a != AwaitModel || !isDelta(in) {
		m.s.Await = AwaitNothing
	}
}

func isDelta(in Input) bool { _, ok := in.(ModelDelta); return ok }

func (m *machine) to(p Phase) {
	if !CanMove(m.s.Phase, p) {
		m.defect("to phase " + string(p))
	}
	m.s.Phase = p
}

func (m *machine) setLeft(d time.Duration) {
	if d > 0 {
		m.s.Left = d
	}
}

// tell appends a message of the loop to the conversation.
func (m *machine) tell(role model.Role, content string) {
	m.s.Messages = append(slices.Clip(m.s.Messages), model.Message{Role: role, Content: text.Clean(strings.TrimSpace(content))})
}

func (m *machine) begin(in Begin) {
	if m.s.Phase != Preparing {
		m.defect("Begin twice")
	}
	m.setLeft(in.Left)
	config, err := in.Config.normalise()
	m.s.Config, m.s.StepLimit = config, config.MaxSteps
	m.s.Messages = cleanMessages(in.Messages)
	m.setSegments(in.PromptSegments)
	if err != nil {
		m.fail(StopInternal, err.Error(), nil)
		return
	}
	if n := len(m.s.Messages); n == 0 || m.s.Messages[n-1].Role == model.Assistant {
		m.fail(StopInvalidContext, noContext, nil)
		return
	}
	m.nextStep()
}

// nextStep asks for permission to start another step, or ends the step loop.
func (m *machine) nextStep() {
	if m.s.Step >= m.s.StepLimit {
		m.stepsUsedUp()
		return
	}
	if m.reserveBegan() && m.mayFinalize() {
		m.finalize(StopDeadline, "the time that is reserved for the final answer began")
		return
	}
	m.s.Offer, m.s.Narrowed, m.s.StepChoice, m.s.Reply = nil, false, nil, nil
	m.merge()
	m.to(AwaitingPreStep)
	if !m.s.Config.Hooks.PreStep {
		m.preStepDone(PreStepDone{})
		return
	}
	m.s.Await = AwaitPreStep
	m.emit(PreStep{Step: m.s.Step + 1, StepsLeft: m.s.StepLimit - m.s.Step, Tools: names(m.offered()), ToolChoice: m.s.Config.ToolChoice})
}

func (m *machine) reserveBegan() bool {
	reserve := time.Duration(m.s.Config.Profile.Finalizer.DeadlineReserveMs) * time.Millisecond
	return reserve > 0 && m.s.Left > 0 && m.s.Left < reserve
}

func (m *machine) preStepDone(in PreStepDone) {
	m.setLeft(in.Left)
	if in.End {
		m.fail(StopCancelled, orElse(in.Reason, "a PreStep hook ended the loop"), nil)
		return
	}
	if in.StepsLeft != nil {
		m.s.StepLimit = min(m.s.StepLimit, m.s.Step+max(*in.StepsLeft, 0))
	}
	if m.s.Step >= m.s.StepLimit {
		m.stepsUsedUp()
		return
	}
	m.s.Offer, m.s.Narrowed, m.s.StepChoice = slices.Clone(in.Tools), in.Tools != nil, in.ToolChoice
	m.closeStep()
	m.s.Step++
	m.s.OpenStep = &stepStats{}
	m.emit(StepStarted{Step: m.s.Step})
	m.to(RequestingModel)
	m.call(ForStep)
}

func (m *machine) closeStep() {
	if o := m.s.OpenStep; o != nil {
		m.emit(StepCompleted{Step: m.s.Step, ToolCalls: o.ToolCalls, Failed: o.Failed, Usage: o.Usage})
		m.s.OpenStep = nil
	}
}

func (m *machine) modelDelta(in ModelDelta) {
	if !m.s.Config.Stream || m.s.Call.Silent {
		return
	}
	if shown := m.s.Stream.Write(in.Text); shown != "" {
		m.show(shown)
	}
}

// show shows more of the present answer. After prose that is kept it begins a new paragraph.
func (m *machine) show(shown string) {
	if len(m.s.Shown) == 0 && len(m.s.Kept) > 0 {
		m.emit(EmitDelta{Text: paragraphBreak + shown})
	} else {
		m.emit(EmitDelta{Text: shown})
	}
	m.s.Shown = m.s.Shown.add(shown)
}

const paragraphBreak = "\n\n"

// withdraw takes back what was shown of the present answer: it turned out to be a draft.
func (m *machine) withdraw() {
	if len(m.s.Shown) == 0 {
		return
	}
	m.s.Shown = nil
	m.emit(EmitReset{})
	if len(m.s.Kept) > 0 {
		m.emit(EmitDelta{Text: DeriveNarrative(m.s.Kept)})
	}
}

// draft is all that is shown.
func (m *machine) draft() string {
	if len(m.s.Kept) == 0 || !m.s.Config.Stream {
		return m.s.Shown.String()
	}
	if kept := DeriveNarrative(m.s.Kept); len(m.s.Shown) > 0 {
		return kept + paragraphBreak + m.s.Shown.String()
	} else {
		return kept
	}
}

func (m *machine) modelReplied(in ModelReplied) {
	m.setLeft(in.Left)
	m.countUsage(func(u *Usage) {
		u.InputTokens += in.Reply.Usage.InputTokens
		u.OutputTokens += in.Reply.Usage.OutputTokens
		u.CachedInputTokens += in.Reply.Usage.CachedInputTokens
	})
	reply := cleanReply(in.Reply)
	switch reply.FinishReason {
	case model.FinishError:
		kind := model.Transient
		if reply.Text != "" {
			kind = model.Interrupted
		}
		m.callFailed(&model.Error{Kind: kind, Message: "the model ended its answer with an error"})
		return
	case model.FinishContentFilter:
		m.callFailed(&model.Error{Kind: model.Permanent, Message: "the provider's content filter stopped the answer"})
		return
	}
	m.s.ForceTool = false
	calls := distinctCalls(reply.ToolCalls, m.s.Step, m.s.Records)
	if m.s.ToolsOff || m.s.Call.Purpose != ForStep {
		calls = nil // the tools are off: whatever the model calls, only its text counts
	}
	truncated := reply.FinishReason == model.FinishLength
	if truncated && !m.keepsTruncated(reply.Text, calls) {
		m.tooLong()
		return
	}
	m.s.Reply = &pendingReply{Text: reply.Text, Calls: calls, Truncated: truncated}
	if m.s.Phase == RequestingModel {
		m.to(Reviewing)
	}
	if m.s.Config.Hooks.Review {
		reply.ToolCalls = slices.Clone(calls)
		m.s.Await = AwaitReview
		m.emit(Review{Step: m.s.Step, Purpose: m.s.Call.Purpose, Sent: m.sent().Messages, Reply: reply})
		return
	}
	m.accept()
}

// reviewDone accepts or rejects the reply (seed: turn-pipeline.txt, "Output review happens before tools run").
func (m *machine) reviewDone(in ReviewDone) {
	if in.Reply != nil {
		m.replaceReply(*in.Reply)
	}
	if in.Correction == "" {
		m.accept()
		return
	}
	m.withdraw()
	if m.s.Spent.Review >= m.s.Config.Profile.Corrections.Review {
		m.fail(StopInvalidOutput, "the review rejected the answer again: "+text.Clean(in.Correction), nil)
		return
	}
	m.s.Spent.Review++
	m.recordUnexecuted()
	m.tell(model.System, in.Correction)
	if m.s.Phase == Finalizing {
		m.call(m.s.Call.Purpose)
		return
	}
	m.nextStep()
}

// replaceReply puts a hook's reply in place of the model's. What was shown of the other one is taken back.
func (m *machine) replaceReply(r model.Reply) {
	r = cleanReply(r)
	next := pendingReply{Text: r.Text, Truncated: m.s.Reply.Truncated}
	if !m.s.ToolsOff && m.s.Call.Purpose == ForStep {
		next.Calls = distinctCalls(r.ToolCalls, m.s.Step, m.s.Records)
	}
	if next.Text != m.s.Reply.Text {
		m.withdraw()
	}
	m.s.Reply = &next
}

func (m *machine) accept() {
	switch {
	case m.s.Phase == Finalizing:
		m.finalAnswer()
	case len(m.s.Reply.Calls) > 0:
		m.runTools()
	default:
		m.to(Deciding)
		m.textAnswer()
	}
}

func (m *machine) cancel(in Cancel) {
	stop := in.Reason
	if stop == "" {
		stop = StopInternal
	}
	m.fail(stop, text.Clean(orElse(in.Detail, "the run was cancelled: "+string(stop))), nil)
}

func (m *machine) countUsage(add func(*Usage)) {
	add(&m.s.Usage)
	if m.s.OpenStep != nil {
		open := *m.s.OpenStep
		add(&open.Usage)
		m.s.OpenStep = &open
	}
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}
