package projections

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// How a suspension came to its end.
const (
	SuspensionResolved  = "resolved"
	SuspensionContinued = "continued" // its run suspended again; the chain goes on with another item
	SuspensionVoided    = "voided"
	SuspensionExpired   = "expired"
	SuspensionAbandoned = "abandoned"
)

// maxClosedSuspensions is how many ended items are remembered, so that a late answer is told what became of its question.
const maxClosedSuspensions = 64

// Suspensions are the runs of a session that wait for the player.
type Suspensions struct {
	Waiting []Suspension       `json:"waiting,omitempty"` // oldest first
	Closed  []ClosedSuspension `json:"closed,omitempty"`  // newest last
	Held    []HeldTurn         `json:"held,omitempty"`    // turns that are not counted yet, by logical turn id
	Played  *PlayedTurn        `json:"played,omitempty"`
}

// Suspension is one run that waits, with all that it needs to go on.
type Suspension struct {
	ID            string         `json:"id"`
	RootID        string         `json:"rootId"` // the execution that began the chain
	ExecutionID   string         `json:"executionId"`
	RunID         string         `json:"runId"`
	RuntimeID     string         `json:"runtimeId"`
	PluginID      string         `json:"pluginId"`
	PluginVersion string         `json:"pluginVersion,omitempty"`
	PluginDigest  string         `json:"pluginDigest,omitempty"`
	Stage         string         `json:"stage,omitempty"`
	Phase         string         `json:"phase"`
	Origin        string         `json:"origin"`
	LogicalTurn   uint32         `json:"logicalTurn"`
	LogicalTurnID string         `json:"logicalTurnId"`
	TurnNumber    uint32         `json:"turnNumber"`
	Locale        string         `json:"locale"`
	Reason        string         `json:"reason"`
	ResumeSchema  RawJSON        `json:"resumeSchema,omitempty"`
	Noted         []NotedRecord  `json:"noted,omitempty"`
	Spent         Spent          `json:"spent"`
	Frozen        FrozenStart    `json:"frozen"`
	Continuation  []byte         `json:"continuation,omitempty"` // eventsv1.Continuation
	Claim         *Claim         `json:"claim,omitempty"`
	CreatedAt     time.Time      `json:"createdAt"`
	ExpiresAt     time.Time      `json:"expiresAt,omitzero"` // zero: never
	Version       events.Version `json:"version"`
}

// FrozenStart is what the execution that began a chain fixed at its start; every later one of the chain reads the same (seed:
// turn-pipeline.txt, "Character composition and durable execution allowances").
type FrozenStart struct {
	History events.Version `json:"history"`          // stories that were committed after it are not known
	Policy  string         `json:"policy,omitempty"` // runtime that is asked for turn-policy@1, "" for none
}

// Claim says which execution goes on with an item, and with what. It ends with the execution.
type Claim struct {
	ExecutionID string  `json:"executionId"`
	Answer      RawJSON `json:"answer,omitempty"`
}

// NotedRecord is what a record that the saved writes would change held at the suspension; Digest "" is no record.
type NotedRecord struct {
	Kind   string `json:"kind"`
	Key    string `json:"key"`
	Digest string `json:"digest,omitempty"`
}

// Spent is what a chain has used of its execution allowance; a failed resume gives nothing back.
type Spent struct {
	ModelCalls uint32 `json:"modelCalls,omitempty"`
	ToolCalls  uint32 `json:"toolCalls,omitempty"`
	Subagents  uint32 `json:"subagents,omitempty"`
	DurationMs uint64 `json:"durationMs,omitempty"`
}

func spentOf(m *eventsv1.Spent) Spent {
	return Spent{m.GetModelCalls(), m.GetToolCalls(), m.GetSubagents(), m.GetDurationMs()}
}

// ClosedSuspension is what is kept of an item that ended.
type ClosedSuspension struct {
	ID          string `json:"id"`
	RootID      string `json:"rootId"`
	ExecutionID string `json:"executionId"`
	RuntimeID   string `json:"runtimeId"`
	Locale      string `json:"locale"`
	TurnNumber  uint32 `json:"turnNumber"`
	End         string `json:"end"`
	Reason      string `json:"reason,omitempty"`
}

// HeldTurn is a turn that waits: what its end counts and queues.
type HeldTurn struct {
	LogicalTurnID string      `json:"logicalTurnId"`
	Counts        bool        `json:"counts,omitempty"`
	Events        []HeldEvent `json:"events,omitempty"`
}

// HeldEvent is an event that the end of a held turn appends.
type HeldEvent struct {
	Type     string `json:"type"`
	Data     []byte `json:"data,omitempty"`
	RunID    string `json:"runId,omitempty"`
	PluginID string `json:"pluginId,omitempty"`
}

// PlayedTurn is the newest turn of the player that committed.
type PlayedTurn struct {
	LogicalTurnID string         `json:"logicalTurnId"`
	Version       events.Version `json:"version"`
}

// Find gives an item that waits.
func (s Suspensions) Find(id string) (Suspension, bool) {
	return find(s.Waiting, func(x Suspension) bool { return x.ID == id })
}

// Of gives the item of a runtime that waits; there is one at most.
func (s Suspensions) Of(runtimeID string) (Suspension, bool) {
	return find(s.Waiting, func(x Suspension) bool { return x.RuntimeID == runtimeID })
}

// Ended gives what is remembered of an item that ended.
func (s Suspensions) Ended(id string) (ClosedSuspension, bool) {
	return find(s.Closed, func(x ClosedSuspension) bool { return x.ID == id })
}

// HeldOf gives what a turn holds back while runs of it wait.
func (s Suspensions) HeldOf(logicalTurnID string) (HeldTurn, bool) {
	return find(s.Held, func(x HeldTurn) bool { return x.LogicalTurnID == logicalTurnID })
}

// Due gives the items that have expired by a moment, oldest first; one that an execution goes on with does not expire.
func (s Suspensions) Due(now time.Time) []Suspension {
	var out []Suspension
	for _, x := range s.Waiting {
		if !x.ExpiresAt.IsZero() && !now.Before(x.ExpiresAt) && x.Claim == nil {
			out = append(out, x)
		}
	}
	return out
}

// NextExpiry is when the first item expires, zero when none does.
func (s Suspensions) NextExpiry() time.Time {
	var next time.Time
	for _, x := range s.Waiting {
		if !x.ExpiresAt.IsZero() && (next.IsZero() || x.ExpiresAt.Before(next)) {
			next = x.ExpiresAt
		}
	}
	return next
}

// expiries keeps only what says when the items expire; the read models need no more.
func (s Suspensions) expiries() Suspensions {
	var out Suspensions
	for _, x := range s.Waiting {
		out.Waiting = append(out.Waiting, Suspension{ID: x.ID, RuntimeID: x.RuntimeID, LogicalTurnID: x.LogicalTurnID, ExpiresAt: x.ExpiresAt, CreatedAt: x.CreatedAt, Version: x.Version})
	}
	return out
}

func find[T any](list []T, is func(T) bool) (T, bool) {
	if i := slices.IndexFunc(list, is); i >= 0 {
		return list[i], true
	}
	var none T
	return none, false
}

// apply folds one event. open is the execution that is open before it.
func (s Suspensions) apply(r events.Recorded, msg proto.Message, open *Execution) Suspensions {
	switch m := msg.(type) {
	case *eventsv1.SuspensionSaved:
		return s.saved(r, m)
	case *eventsv1.SuspensionClaimed:
		return s.claimed(func(x Suspension) (*Claim, bool) {
			return &Claim{ExecutionID: m.ExecutionId, Answer: RawJSON(m.Answer)}, x.ID == m.SuspensionId
		})
	case *eventsv1.SuspensionContinued:
		return s.closed(m.SuspensionId, SuspensionContinued, "", false)
	case *eventsv1.SuspensionResolved:
		return s.closed(m.SuspensionId, SuspensionResolved, "", m.Last)
	case *eventsv1.SuspensionVoided:
		return s.closed(m.SuspensionId, SuspensionVoided, m.Reason, m.Last)
	case *eventsv1.SuspensionExpired:
		return s.closed(m.SuspensionId, SuspensionExpired, "", m.Last)
	case *eventsv1.SuspensionAbandoned:
		return s.closed(m.SuspensionId, SuspensionAbandoned, "", m.Last)
	case *eventsv1.ExecutionCommitted:
		if open != nil && open.ID == m.ExecutionId && open.Origin == "player" && open.Phase == PhasePlaying {
			s.Played = &PlayedTurn{open.LogicalTurnID, r.Version}
		}
		return s.released(m.ExecutionId, m.Spent, open)
	case *eventsv1.ExecutionFailed:
		return s.released(m.ExecutionId, m.Spent, open)
	case *eventsv1.ExecutionAborted:
		return s.released(m.ExecutionId, m.Spent, open)
	}
	return s
}

func (s Suspensions) saved(r events.Recorded, m *eventsv1.SuspensionSaved) Suspensions {
	x := Suspension{
		ID: m.SuspensionId, RootID: m.RootId, ExecutionID: m.ExecutionId, RunID: m.RunId, RuntimeID: m.RuntimeId, PluginID: m.PluginId,
		PluginVersion: m.PluginVersion, PluginDigest: m.PluginDigest, Stage: m.Stage, Phase: m.Phase, Origin: m.Origin,
		LogicalTurn: m.LogicalTurn, LogicalTurnID: m.LogicalTurnId, TurnNumber: m.TurnNumber, Locale: m.Locale, Reason: m.Reason,
		ResumeSchema: RawJSON(m.ResumeSchema), CreatedAt: r.RecordedAt, Version: r.Version,
		Spent: spentOf(m.Spent), Frozen: FrozenStart{events.Version(m.GetFrozen().GetHistory()), m.GetFrozen().GetPolicy()},
	}
	if m.TtlMs > 0 {
		x.ExpiresAt = r.RecordedAt.Add(time.Duration(min(m.TtlMs, maxTTLMs)) * time.Millisecond)
	}
	for _, n := range m.Noted {
		x.Noted = append(x.Noted, NotedRecord{n.Kind, n.Key, n.Digest})
	}
	if m.Continuation != nil {
		x.Continuation, _ = proto.MarshalOptions{Deterministic: true}.Marshal(m.Continuation) // it was decoded a moment ago
	}
	waiting := slices.DeleteFunc(slices.Clone(s.Waiting), func(y Suspension) bool { return y.ID == x.ID })
	s.Waiting = append(waiting, x)
	held, _ := s.HeldOf(m.LogicalTurnId)
	held.LogicalTurnID = m.LogicalTurnId
	held.Counts = held.Counts || m.Counts
	held.Events = slices.Clone(held.Events)
	for _, h := range m.Held {
		held.Events = append(held.Events, HeldEvent{h.Type, h.Data, h.RunId, h.PluginId})
	}
	s.Held = putBy(s.Held, held, func(h HeldTurn) string { return h.LogicalTurnID })
	return s
}

// maxTTLMs is the longest time a time.Duration holds, in milliseconds.
const maxTTLMs = uint64(1<<63-1) / uint64(time.Millisecond)

// closed moves an item to those that ended. With last the turn holds back nothing any more.
func (s Suspensions) closed(id, end, reason string, last bool) Suspensions {
	x, ok := s.Find(id)
	if !ok {
		return s
	}
	s.Waiting = slices.DeleteFunc(slices.Clone(s.Waiting), func(y Suspension) bool { return y.ID == id })
	if len(s.Waiting) == 0 {
		s.Waiting = nil
	}
	kept := s.Closed[max(0, len(s.Closed)+1-maxClosedSuspensions):]
	s.Closed = append(slices.Clone(kept), ClosedSuspension{x.ID, x.RootID, x.ExecutionID, x.RuntimeID, x.Locale, x.TurnNumber, end, reason})
	if last {
		s.Held = slices.DeleteFunc(slices.Clone(s.Held), func(h HeldTurn) bool { return h.LogicalTurnID == x.LogicalTurnID })
		if len(s.Held) == 0 {
			s.Held = nil
		}
	}
	return s
}

// claimed sets the claim of the items that change names.
func (s Suspensions) claimed(change func(Suspension) (*Claim, bool)) Suspensions {
	for i, x := range s.Waiting {
		if claim, ok := change(x); ok {
			s.Waiting = slices.Clone(s.Waiting)
			s.Waiting[i].Claim = claim
		}
	}
	return s
}

// released ends the claim of an execution that ended, and tells every item of its chain that still waits what the chain has
// spent by now (seed: turn-pipeline.txt, "Failed resumes retain spent calls").
func (s Suspensions) released(execution string, spent *eventsv1.Spent, open *Execution) Suspensions {
	s = s.claimed(func(x Suspension) (*Claim, bool) { return nil, x.Claim != nil && x.Claim.ExecutionID == execution })
	if open == nil || open.ID != execution || open.SuspensionID == "" || spent == nil {
		return s
	}
	root := s.rootOf(open.SuspensionID)
	for i, x := range s.Waiting {
		if root != "" && x.RootID == root {
			s.Waiting = slices.Clone(s.Waiting)
			s.Waiting[i].Spent = spentOf(spent)
		}
	}
	return s
}

func (s Suspensions) rootOf(id string) string {
	if x, ok := s.Find(id); ok {
		return x.RootID
	}
	x, _ := s.Ended(id)
	return x.RootID
}
