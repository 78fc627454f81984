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
	if _, begin := in.(Begin); m.s.Phase == Stopped && !begin {
		return m.s, nil
	}
	switch in := in.(type) {
	case Begin:
		m.begin(in)
	case PreStepDone:
		m.expect(AwaitPreStep, in)
		m.preStepDone(in)
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
	if err != nil {
		m.fail(StopInternal, err.Error(), nil)
		return
	}
	if n := len(m.s.Messages); n == 0 || m.s.Messages[n-1].Role == model.Assistant {
		m.fail(StopInvalidContext, "the context is empty or ends on an assistant message", nil)
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
		m.finalize(StopDeadline)
		return
	}
	m.s.Offer, m.s.Narrowed, m.s.StepChoice, m.s.Reply = nil, false, nil, nil
	m.to(AwaitingPreStep)
	m.s.Await = AwaitPreStep
	m.emit(PreStep{Step: m.s.Step + 1})
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
	if m.s.Config.Profile.Steering {
		for _, line := range in.Interjections {
			m.tell(model.User, line)
		}
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
	if !m.s.Config.Stream {
		return
	}
	if shown := m.s.Stream.Write(in.Text); shown != "" {
		m.s.Shown = m.s.Shown.add(shown)
		m.emit(EmitDelta{Text: shown})
	}
}

// withdraw takes back what was shown: it turned out to be a draft.
func (m *machine) withdraw() {
	if len(m.s.Shown) > 0 {
		m.s.Shown = nil
		m.emit(EmitReset{})
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
	if m.s.Config.Review {
		reply.ToolCalls = slices.Clone(calls)
		m.s.Await = AwaitReview
		m.emit(Review{Step: m.s.Step, Reply: reply})
		return
	}
	m.accept()
}

// reviewDone accepts or rejects the reply (seed: turn-pipeline.txt, "Output review happens before tools run").
func (m *machine) reviewDone(in ReviewDone) {
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
