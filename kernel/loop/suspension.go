package loop

import (
	"encoding/json"
	"slices"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/text"
)

// suspensionOf reads the sentinel of a suspend call. Only a successful call of this name suspends: the same field in another
// tool's result is ordinary data (seed: tools.txt, "suspend").
func suspensionOf(o ToolOutcome) *Suspension {
	if o.Name != Suspend || !o.OK || o.Skipped {
		return nil
	}
	var mark struct {
		Suspend      bool            `json:"_covelSuspend"`
		Reason       string          `json:"reason"`
		ResumeSchema json.RawMessage `json:"resumeSchema"`
	}
	if json.Unmarshal(o.Content, &mark) != nil || !mark.Suspend {
		return nil
	}
	schema, err := compact(mark.ResumeSchema)
	if err != nil || string(schema) == "null" {
		schema = nil
	}
	return &Suspension{Reason: text.Clean(mark.Reason), ResumeSchema: schema}
}

// IsSuspension says whether the executor must run no further call of the reply after this outcome.
func IsSuspension(o ToolOutcome) bool { return suspensionOf(o) != nil }

// suspend ends the run until the player answers. Everything the loop goes on from stays in the State.
func (m *machine) suspend(s Suspension, callID string) {
	m.closeStep()
	m.refuseQueue()
	m.to(Waiting)
	m.s.Await, m.s.Reply, m.s.Call, m.s.Suspender = AwaitNothing, nil, modelCall{}, callID
	o := Outcome{
		Status: Suspended, Stop: StopSuspended, Suspension: &s, ToolCalls: m.s.Records, Usage: m.s.Usage, Merged: m.s.Merged,
		PartialText: m.draft(),
	}
	m.s.Outcome = &o
	m.emit(Finish{Outcome: o})
}

// resume goes on from a suspension: the answer takes the placeholder's place, and the next step begins. Corrections, found
// tools, kept prose and what the tools achieved are as they were; usage counts anew, since the suspended run has accounted
// for its own (seed: tools.txt, "Resuming continues the execution that was suspended").
func (m *machine) resume(in Resume) {
	if m.s.Phase != Waiting {
		m.defect("Resume without a suspension")
	}
	m.s.Left = in.Left
	m.s.Outcome, m.s.Usage, m.s.Merged = nil, Usage{}, nil
	m.answerSuspender(in.Answer)
	m.to(RunningTools)
	m.to(Deciding)
	if in.Offers {
		if err := m.reoffer(in.Tools, in.Deferred); err != nil {
			m.fail(StopInternal, err.Error(), nil)
			return
		}
	}
	if len(m.s.Kept) > 0 && m.s.Config.Stream {
		m.emit(EmitDelta{Text: DeriveNarrative(m.s.Kept)}) // another execution: nothing is shown of it yet
	}
	m.nextStep()
}

// answerSuspender puts the player's data where the placeholder stood, whatever it said. The data is kept in full: it is the
// player's, and no bookkeeping of ours is in it.
func (m *machine) answerSuspender(answer json.RawMessage) {
	data, err := text.CleanJSON(answer)
	if err != nil {
		data = json.RawMessage("null")
	}
	content, err := plainjson.Marshal(struct {
		Summary string          `json:"summary"`
		Data    json.RawMessage `json:"data"`
	}{"The player answered.", data})
	if err != nil { // a string and JSON that was read always encode
		content = []byte(resultDone)
	}
	m.s.Messages = slices.Clone(m.s.Messages)
	for i, msg := range m.s.Messages {
		if msg.Role == model.ToolRole && msg.ToolCallID == m.s.Suspender {
			m.s.Messages[i].Content = string(content)
		}
	}
	m.s.Suspender = ""
}

// reoffer takes the tools the runtime offers now. A found tool that is no longer deferred is skipped.
func (m *machine) reoffer(offers, deferred []ToolOffer) error {
	var err error
	if m.s.Config.Tools, err = normaliseOffers(offers); err != nil {
		return err
	}
	if m.s.Config.Deferred, err = normaliseOffers(deferred); err != nil {
		return err
	}
	m.s.Activated = slices.DeleteFunc(slices.Clone(m.s.Activated), func(name string) bool {
		_, ok := m.s.Config.deferred(name)
		return !ok
	})
	return nil
}
