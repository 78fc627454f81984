package play

import (
	"encoding/json"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Frame is what one append shows to a player.
type Frame struct {
	Type   string         `json:"type"` // frame
	Seq    events.Version `json:"seq"`
	LastID string         `json:"lastId"`
	Events []Event        `json:"events"`

	total int      // events of the append that players may see
	lost  []string // of those, what could not be shown
}

// frameOf computes the frame of one append. after is the state it led to. An append with nothing for a player gives an
// empty frame, so that seq never jumps.
func frameOf(recorded []events.Recorded, after projections.State) Frame {
	f := Frame{Type: "frame", Seq: after.Version, LastID: after.LastID, Events: []Event{}}
	b := framer{after: after, frame: &f}
	for _, r := range recorded {
		if e, ok := events.Lookup(r.Type); !ok || e.View != events.ViewAll {
			continue // other levels have no frames yet; nobody but the operator sees them
		}
		f.total++
		b.one(r, b.event)
	}
	if len(f.lost) > 0 {
		b.resync()
	}
	if b.gathering || b.seats && len(after.Session.Gathering.Submissions) > 0 {
		b.add(recorded[len(recorded)-1], "gathering.changed", map[string]any{"gathering": gatheringOf(after.Session)})
	}
	if b.session {
		b.add(recorded[len(recorded)-1], "session.changed", map[string]any{"session": sessionOf(after.Session)})
	}
	f.Events = append(f.Events, b.last...)
	return f
}

// framesOf splits events that were read from the log into the frames of their appends, beginning at base.
func framesOf(base projections.State, recorded []events.Recorded) ([]Frame, error) {
	var out []Frame
	state, from := base, 0
	for i, r := range recorded {
		next, err := projections.Apply(state, r)
		if err != nil {
			return nil, err
		}
		state = next
		if end := events.Version(r.Metadata.GetAppendEnd()); end <= r.Version || i == len(recorded)-1 {
			out = append(out, frameOf(recorded[from:i+1], state))
			from = i + 1
		}
	}
	return out, nil
}

type framer struct {
	after   projections.State
	frame   *Frame
	session bool    // the session record changed
	last    []Event // what ends the frame

	gathering bool // who has said what they want to do changed
	seats     bool // who there is to wait for may have changed
}

func (b *framer) make(r events.Recorded, typ string, payload any) Event {
	return Event{Type: typ, TurnID: r.Metadata.GetCausationId(), RequestID: r.Metadata.GetCorrelationId(), Timestamp: r.RecordedAt, Payload: payload}
}

func (b *framer) add(r events.Recorded, typ string, payload any) {
	b.frame.Events = append(b.frame.Events, b.make(r, typ, payload))
}

func (b *framer) event(r events.Recorded, msg proto.Message) {
	switch m := msg.(type) {
	case *eventsv1.SessionPaused, *eventsv1.SessionResumed, *eventsv1.SessionEnded, *eventsv1.PluginSelectionChanged:
		b.session = true
	case *eventsv1.SettingsChanged:
		b.session, b.gathering = true, true
	case *eventsv1.SubmissionGathered:
		b.gathering = true
		if m.Replaces != "" && m.Replaces != m.RequestId {
			b.left(r, m.Replaces, "replaced")
		}
	case *eventsv1.SubmissionWithdrawn:
		b.gathering = true
		b.left(r, m.RequestId, m.Reason)
	case *eventsv1.GatheringClosed:
		b.gathering = true
	case *eventsv1.SeatChanged, *eventsv1.SeatRemoved:
		b.seats = true
		b.add(r, "seats.changed", map[string]any{"seats": nonNil(b.after.Session.Seats)})
	case *eventsv1.AdvanceStopped:
		b.completed(r, true)
	case *eventsv1.InterjectionMerged:
		b.message(r, "message.appended", m.MessageId)
	case *eventsv1.ActionsSubmitted:
		b.submitted(r, m)
	case *eventsv1.JobQueued, *eventsv1.JobStarted, *eventsv1.JobSucceeded, *eventsv1.JobFailed, *eventsv1.JobTimedOut, *eventsv1.JobCancelled,
		*eventsv1.JobStale, *eventsv1.JobOrphaned, *eventsv1.JobRequeued:
		b.job(r, msg)
	case *eventsv1.HeadMoved:
		b.session = true
		b.add(r, "head.moved", map[string]any{"to": m.To, "reason": m.Reason, "turnId": b.after.Tree.Head})
	case *eventsv1.BranchNamed:
		b.add(r, "branch.named", map[string]any{"turnId": m.TurnId, "name": m.Name})
	case *eventsv1.MessageRevised:
		b.message(r, "message.revised", m.MessageId)
	case *eventsv1.LoreEdited:
		for _, e := range b.after.Lorebook.Of(projections.OwnerPlayer) {
			if e.ID == m.Entry.Id {
				b.add(r, "lorebook.changed", map[string]any{"entry": loreOf(e)})
			}
		}
	case *eventsv1.ExecutionStarted:
		if m.JobId != "" {
			return // a job has its own frames
		}
		b.settle(r, m.Settle)
		payload := map[string]any{
			"executionId": m.ExecutionId, "origin": m.Origin, "logicalTurn": m.LogicalTurn, "phase": m.Phase, "requestId": m.RequestId,
		}
		var targets []string
		for _, t := range m.Targets {
			targets = append(targets, t.RuntimeId)
		}
		b.scope(payload, m.SourceTurnId, targets)
		b.add(r, "execution.started", payload)
	case *eventsv1.NarrativeAppended:
		b.message(r, "narrative.completed", m.MessageId)
	case *eventsv1.MessageAppended:
		b.message(r, "message.appended", m.MessageId)
	case *eventsv1.InteractionRequested:
		b.requested(r, m)
	case *eventsv1.UIRendered:
		b.add(r, "ui.rendered", map[string]any{"messageId": m.MessageId, "block": json.RawMessage(m.Render)})
	case *eventsv1.DomainEventEmitted:
		b.add(r, "event.emitted", map[string]any{"topic": m.Topic, "data": rawOrNull(m.Data), "pluginId": m.PluginId})
	case *eventsv1.CharacterSchemaSet:
		b.add(r, "character-schema.changed", map[string]any{"schema": schemaOf(b.after.Characters)})
	case *eventsv1.CharacterUpserted:
		if c, ok := b.after.Characters.Find(m.Record.Id); ok {
			b.add(r, "character.upserted", map[string]any{"character": characterOf(c)})
		}
	case *eventsv1.DimensionsInitialized:
		b.initialized(r, m)
	case *eventsv1.DimensionsUpdated:
		b.updated(r, m)
	case *eventsv1.AssetGenerated:
		b.asset(r, m)
	case *eventsv1.PluginDataChanged:
		b.data(r, m)
	case *eventsv1.SuspensionSaved:
		b.suspended(r, m)
	case *eventsv1.SuspensionContinued:
		b.resumed(r, m.SuspensionId, m.NextId)
	case *eventsv1.SuspensionResolved:
		b.resumed(r, m.SuspensionId, "")
	case *eventsv1.SuspensionVoided:
		b.suspensionClosed(r, m.SuspensionId, projections.SuspensionVoided, m.Reason)
	case *eventsv1.SuspensionExpired:
		b.suspensionClosed(r, m.SuspensionId, projections.SuspensionExpired, "")
	case *eventsv1.SuspensionAbandoned:
		b.suspensionClosed(r, m.SuspensionId, projections.SuspensionAbandoned, "")
	case *eventsv1.PhaseAdvanced, *eventsv1.SetupRuntimeChanged, *eventsv1.PlayerTurnCounted:
		b.session = true
	case *eventsv1.ExecutionCommitted:
		b.refused(r, m.Outcomes)
		b.operations(r, m.Operations)
		b.ended(r, true, m.ExecutionId, m.Outcomes, m.Next)
		b.grown(r, m.ExecutionId)
	case *eventsv1.ExecutionFailed:
		b.refused(r, m.Outcomes)
		b.ended(r, false, m.ExecutionId, m.Outcomes, "")
	case *eventsv1.ExecutionAborted:
		b.ended(r, false, m.ExecutionId, nil, "")
	}
}

func (b *framer) submitted(r events.Recorded, m *eventsv1.ActionsSubmitted) {
	var results []map[string]any
	for _, a := range m.Actions {
		if a.Interaction != nil {
			results = append(results, map[string]any{
				"turnId": a.Interaction.TurnId, "interactionId": a.Interaction.InteractionId, "values": rawOrNull(a.Fields), "filledNarrative": a.Text,
			})
		}
	}
	if results != nil {
		b.add(r, "interaction.submitted", map[string]any{"results": results})
	}
	payload := map[string]any{"type": m.Type}
	if requests := gatheredRequests(m); requests != nil {
		payload["gathered"] = requests
		b.gathering = true
	}
	if in := b.after.Session.Input; in != nil && in.ExecutionID == m.ExecutionId {
		if msg := inputMessage(*in, b.after); msg != nil {
			payload["message"] = msg
		}
	}
	b.add(r, "actions.accepted", payload)
}

func (b *framer) message(r events.Recorded, typ, id string) {
	if m, ok := b.after.History.Find(id); ok {
		b.add(r, typ, map[string]any{"message": messageOf(m, b.after)})
	}
}

func (b *framer) requested(r events.Recorded, m *eventsv1.InteractionRequested) {
	i, ok := b.after.Interactions.Find(m.TurnId, m.InteractionId)
	if !ok {
		return
	}
	payload := map[string]any{"messageId": m.MessageId, "interaction": interactionOf(i)}
	if msg, ok := b.after.History.Find(m.MessageId); ok {
		payload["message"] = messageOf(msg, b.after)
	}
	b.add(r, "interaction.requested", payload)
}

func (b *framer) data(r events.Recorded, m *eventsv1.PluginDataChanged) {
	var changes []map[string]any
	for _, c := range m.Changes {
		if !visibleNamespace(c.Namespace) {
			continue
		}
		op := "set"
		if c.Removed {
			op = "delete"
		}
		changes = append(changes, map[string]any{"namespace": c.Namespace, "key": c.Key, "value": rawOrNull(c.Value), "operation": op})
	}
	if changes != nil {
		b.add(r, "plugin-data.changed", map[string]any{"pluginId": m.PluginId, "changes": changes})
	}
}

func (b *framer) ended(r events.Recorded, committed bool, id string, outcomes []*eventsv1.RuntimeOutcome, next string) {
	if b.after.Jobs.Runs(id) {
		return
	}
	b.session = true
	list := []map[string]any{}
	for _, o := range outcomes {
		x := map[string]any{"runtimeId": o.RuntimeId, "status": o.Status}
		if text := shownError(o); text != "" {
			x["error"] = text
		}
		if o.ParentRunId != "" {
			x["runId"], x["parentRunId"] = o.RunId, o.ParentRunId
		}
		list = append(list, x)
	}
	payload := map[string]any{"executionId": id, "committed": committed, "outcomes": list}
	if next != "" {
		payload["next"] = next
	}
	if last := b.after.Session.Last; last != nil && last.ID == id {
		var targets []string
		for _, t := range last.Targets {
			targets = append(targets, t.RuntimeID)
		}
		b.scope(payload, last.SourceTurnID, targets)
	}
	b.last = append(b.last, b.make(r, "turn.completed", payload))
	if next != "" {
		return // the request goes on
	}
	b.completed(r, committed)
}

// scope says which runtimes were named, and for a retry what still has failed in its turn (reference:
// api-and-protocol.md §2.5).
func (b *framer) scope(payload map[string]any, source string, targets []string) {
	if len(targets) == 0 {
		return
	}
	payload["runtimeIds"] = targets
	if source != "" {
		payload["sourceTurnId"], payload["sourceCommitted"] = source, true
		payload["sourceFailedRuntimeIds"] = nonNil(kernel.FailedRuns(b.after))
	}
}

// completed ends a request; what an older request left undone is not told with it.
func (b *framer) completed(r events.Recorded, committed bool) {
	after := b.after
	after.Session.Unfinished = nil
	x := executionOf(after, false)
	payload := map[string]any{"committed": committed}
	if x.Error != "" {
		payload["error"] = x.Error
	}
	if x.AbortReason != "" {
		payload["abortReason"] = x.AbortReason
	}
	if x.Draft != nil {
		payload["draft"] = x.Draft
	}
	if x.Retry != nil {
		payload["retry"] = x.Retry
	}
	if x.Input != nil {
		payload["input"] = x.Input
	}
	b.last = append(b.last, b.make(r, "execution.completed", payload))
}

// Transient is progress of a running turn.
type Transient struct {
	Type        string `json:"type"` // transient
	ExecutionID string `json:"executionId"`
	N           uint64 `json:"n"`
	Event       Event  `json:"event"`
}

func transientOf(p kernel.Progress, now time.Time) Transient {
	payload := map[string]any{"runtimeId": p.RuntimeID, "pluginId": p.PluginID}
	put := func(key, value string) {
		if value != "" {
			payload[key] = value
		}
	}
	put("parentRunId", p.ParentRunID)
	switch p.Kind {
	case kernel.NarrativeDelta:
		payload["delta"] = p.Delta
		if p.Reset {
			payload["reset"] = true
		}
	case kernel.ToolCalling, kernel.ToolCompleted, kernel.ToolFailed:
		put("toolName", p.ToolName)
		put("toolCallId", p.ToolCallID)
		put("label", p.Label)
		put("error", p.Error)
	case kernel.ModelWaiting:
		put("label", p.Label)
		put("reason", p.Reason)
		payload["waitMs"], payload["attempt"] = p.WaitMs, p.Attempt
	case kernel.JobStatusUpdated:
		reported(p, put, payload)
	case kernel.AssetProgressed:
		assetProgress(p, put, payload)
	case kernel.TurnSettling:
		payload = map[string]any{"jobs": nonNil(p.Settle.Jobs)}
		if !p.Settle.Until.IsZero() {
			payload["until"] = p.Settle.Until.UTC()
		}
	case kernel.PausedPlugin, kernel.ResumedPlugin: // of no execution
		payload = map[string]any{"pluginId": p.PluginID}
		put("reason", p.Reason)
	case kernel.SchedulingHazard:
		put("code", p.Hazard.Code)
		put("message", p.Hazard.Message)
		for k, v := range p.Hazard.Data {
			put(k, v)
		}
	default:
		put("runId", p.RunID)
		put("label", p.Label)
		put("stage", p.Stage)
		put("status", p.Status)
		put("error", p.Error)
		put("skipReason", p.SkipReason)
		if p.Kind != kernel.RuntimeStarted {
			payload["durationMs"] = p.DurationMs
		}
	}

	return Transient{Type: "transient", ExecutionID: p.ExecutionID, N: p.N, Event: Event{Type: string(p.Kind), TurnID: p.ExecutionID, Timestamp: now, Payload: payload}}
}

// reported is what a run tells of a piece of its work. progressScopeId keeps it apart from what jobs tell of themselves.
func reported(p kernel.Progress, put func(key, value string), payload map[string]any) {
	r := p.Report
	put("jobId", r.JobID)
	put("progressScopeId", p.RunID)
	put("state", string(r.State))
	put("message", r.Message)
	payload["sequence"] = r.Sequence
	if r.Progress > 0 {
		payload["progress"] = r.Progress
	}
	if len(r.Data) > 0 {
		payload["data"] = r.Data
	}
}

// assetProgress is what a run tells of a file that it makes.
func assetProgress(p kernel.Progress, put func(key, value string), payload map[string]any) {
	a := p.Asset
	payload["turnId"] = p.ExecutionID
	put("assetId", a.AssetID)
	put("phase", a.Phase)
	put("modality", a.Modality)
	put("message", a.Message)
	if a.Percent > 0 {
		payload["percent"] = a.Percent
	}
	if len(a.Meta) > 0 {
		payload["meta"] = a.Meta
	}
}

func rawOrNull(b []byte) json.RawMessage {
	if len(b) == 0 {
		return json.RawMessage("null")
	}
	return b
}
