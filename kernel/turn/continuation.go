package turn

import (
	"encoding/json"

	"github.com/pkg/errors"
	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// ContinuationVersion changes whenever an older continuation can no longer be gone on with.
const ContinuationVersion = 1

// ErrContinuationVersion: the continuation was saved by a program of another version. Its suspension is void.
var ErrContinuationVersion = errors.New("turn: continuation of another version")

// Continuation is what a suspended run keeps beside its question, to go on as if it had never stopped.
type Continuation struct {
	Proposals    []sdk.Proposal
	Events       []sdk.EmittedEvent
	Operations   []Operation
	Exports      []Export          // of calls that ended before
	Interactions []json.RawMessage // asked and not proposed yet: the last of each id counts
	Inputs       map[string]sdk.Input
	Event        *sdk.EmittedEvent // what set off an event or a manual run
	// PlayerMessage and PlayerActions are the input of the execution that began the chain.
	PlayerMessage string
	PlayerActions []sdk.Action
	Loop          []byte // loop.Encode of an agent; nil for a function, whose handler is called again
}

// Resumed is what a run goes on with after the player's answer.
type Resumed struct {
	SuspensionID string
	Answer       json.RawMessage
	TurnNumber   int // completed player turns when the chain began
	Continuation
}

// EncodeContinuation writes out what a suspended run keeps.
func EncodeContinuation(r Result) (*eventsv1.Continuation, error) {
	out := &eventsv1.Continuation{Version: ContinuationVersion, Loop: r.Suspension.Loop}
	for _, p := range r.Proposals {
		out.Proposals = append(out.Proposals, &eventsv1.StagedProposal{Type: p.Type, Payload: p.Payload})
	}
	for _, e := range r.Events {
		out.Events = append(out.Events, &eventsv1.StagedEvent{Topic: e.Topic, Data: e.Data})
	}
	k := r.Suspension.Kept
	for _, i := range k.Interactions {
		out.Interactions = append(out.Interactions, i)
	}
	if k.Event != nil {
		out.ActivationSource, out.ActivationTopic, out.ActivationPayload = "event", k.Event.Topic, k.Event.Data
		if k.Event.Topic == "" {
			out.ActivationSource = "manual"
		}
	}
	out.PlayerMessage = k.PlayerMessage
	var err error
	encode := func(v any, there bool) []byte {
		if !there || err != nil {
			return nil
		}
		var b []byte
		b, err = plainjson.Marshal(v)
		return b
	}
	out.Inputs = encode(k.Inputs, len(k.Inputs) > 0)
	out.PlayerActions = encode(k.PlayerActions, len(k.PlayerActions) > 0)
	out.Operations = encode(r.Operations, len(r.Operations) > 0)
	out.Exports = encode(r.Exports, len(r.Exports) > 0)
	return out, errors.Wrapf(err, "what %s keeps cannot be written as JSON", r.RuntimeID)
}

// DecodeContinuation reads it back.
func DecodeContinuation(b []byte) (Continuation, error) {
	var in eventsv1.Continuation
	if err := proto.Unmarshal(b, &in); err != nil {
		return Continuation{}, errors.Wrap(ErrContinuationVersion, err.Error())
	}
	if in.Version != ContinuationVersion {
		return Continuation{}, errors.Wrapf(ErrContinuationVersion, "version %d, this program continues %d", in.Version, ContinuationVersion)
	}
	out := Continuation{PlayerMessage: in.PlayerMessage, Loop: in.Loop}
	for _, p := range in.Proposals {
		out.Proposals = append(out.Proposals, sdk.Proposal{Type: p.Type, Payload: p.Payload})
	}
	for _, e := range in.Events {
		out.Events = append(out.Events, sdk.EmittedEvent{Topic: e.Topic, Data: e.Data})
	}
	for _, i := range in.Interactions {
		out.Interactions = append(out.Interactions, i)
	}
	if in.ActivationSource != "" {
		out.Event = &sdk.EmittedEvent{Topic: in.ActivationTopic, Data: in.ActivationPayload}
	}
	for _, part := range []struct {
		from []byte
		into any
	}{{in.Inputs, &out.Inputs}, {in.PlayerActions, &out.PlayerActions}, {in.Operations, &out.Operations}, {in.Exports, &out.Exports}} {
		if len(part.from) == 0 {
			continue
		}
		if err := json.Unmarshal(part.from, part.into); err != nil {
			return Continuation{}, errors.Wrap(ErrContinuationVersion, err.Error())
		}
	}
	return out, nil
}

// Resumption gives the run that goes on with a suspension its execution has claimed. Its source producers have settled, so
// it has no upstream any more: it reads current committed data and its own saved buffer (seed: turn-pipeline.txt, "Resume
// reads current committed world data and its own saved buffer").
func Resumption(x projections.Suspension, r manifest.Runtime) (Run, error) {
	kept, err := DecodeContinuation(x.Continuation)
	if err != nil {
		return Run{}, err
	}
	run := Run{Runtime: r, Inputs: kept.Inputs, Event: kept.Event}
	if kept.Event != nil && kept.Event.Topic == "" {
		run.Manual, run.Payload, run.Event = true, kept.Event.Data, nil
	}
	run.Resumed = &Resumed{SuspensionID: x.ID, TurnNumber: int(x.TurnNumber), Continuation: kept}
	if x.Claim != nil {
		run.Resumed.Answer = json.RawMessage(x.Claim.Answer)
	}
	return run, nil
}

// Activation is what set off an event run, or, without a topic, a manual one; nil for a run of a stage.
func (r Run) Activation() *sdk.EmittedEvent {
	if r.Manual {
		return &sdk.EmittedEvent{Data: r.Payload}
	}
	return r.Event
}

// Awake leaves out the setup runtimes that wait for the player: they are not due, and to run one again would give up its
// question and use up a try (seed: turn-pipeline.txt §2.1, "A setup runtime that is suspended and waits for the player uses
// up no retry").
func Awake(active []manifest.Runtime, waiting projections.Suspensions) []manifest.Runtime {
	if len(waiting.Waiting) == 0 {
		return active
	}
	out := make([]manifest.Runtime, 0, len(active))
	for _, r := range active {
		if _, asleep := waiting.Of(r.ID); !asleep || r.Schedule.Stage != manifest.Setup {
			out = append(out, r)
		}
	}
	return out
}

// resume starts the one run of an execution that goes on with a suspension. No gate is asked again: it was let through when
// it began.
func (s State) resume() (State, []Effect) {
	s.bands, s.band = [][]manifest.Runtime{}, -1
	s.runs++
	run := *s.plan.Resume
	run.RunID = s.plan.RunID(run.Runtime.ID, s.runs)
	s.running = map[string]Run{run.RunID: run}
	return s, []Effect{StartRun{run}}
}
