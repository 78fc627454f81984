package projections

import (
	"encoding/hex"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Status and phase values of a session (seed: turn-pipeline.txt §2.1).
const (
	StatusActive = "active"
	StatusPaused = "paused"
	StatusEnded  = "ended"

	PhaseSetup   = "setup"
	PhasePlaying = "playing"

	SetupPending = "pending"
	SetupDone    = "done"
	SetupBlocked = "blocked"
)

// Session is who a session is, its clock, and what runs in it.
type Session struct {
	ID                   string          `json:"id"`
	Incarnation          string          `json:"incarnation"`
	WorldID              string          `json:"worldId"`
	WorldDigest          string          `json:"worldDigest"`
	WorldName            string          `json:"worldName"`
	Locale               string          `json:"locale"`
	Plugins              []PluginRef     `json:"plugins"`   // that take part, by id
	Selection            PluginSelection `json:"selection"` // what was chosen of them
	Status               string          `json:"status"`
	Phase                string          `json:"phase"`
	CompletedPlayerTurns uint32          `json:"completedPlayerTurns"`
	LastCounted          string          `json:"lastCounted,omitempty"` // logicalTurnId of the newest counted turn
	Setup                []SetupRuntime  `json:"setup"`                 // by runtime id
	Seats                []Seat          `json:"seats"`
	SeatKeys             []SeatKeys      `json:"seatKeys"` // by seat id
	Ledger               []LedgerEntry   `json:"ledger"`   // by runtime id
	CreatedAt            time.Time       `json:"createdAt"`
	UpdatedAt            time.Time       `json:"updatedAt"`
	Open                 *Execution      `json:"open,omitempty"` // started and without an end
	Last                 *EndedExecution `json:"last,omitempty"`
	Input                *Input          `json:"input,omitempty"`      // of the open execution
	Draft                *Input          `json:"draft,omitempty"`      // the newest player's line that did not commit
	Unfinished           *EndedExecution `json:"unfinished,omitempty"` // whose line the draft is
	Requests             []*Request      `json:"requests"`             // newest last, at most MaxRequests; never changed
	Settings             Settings        `json:"settings"`
	Gathering            Gathering       `json:"gathering,omitzero"` // submissions that wait for those of other seats
	// NotApplied are the failed operations of the newest committed player's or continuation execution.
	NotApplied []FailedOperation `json:"notApplied,omitempty"`
}

// PluginRef is a plugin of the session as it was selected.
type PluginRef struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
}

// PluginSelection is what was chosen of the plugins of a session, explicitly: which ones take part follows from it.
type PluginSelection struct {
	Requested []string `json:"requested"` // in the order in which they were asked for
	Excluded  []string `json:"excluded"`
}

// Seat is a place at the table.
type Seat struct {
	ID                 string   `json:"id"`
	Name               string   `json:"name"`
	Role               string   `json:"role"`
	Control            string   `json:"control"`
	CharacterIDs       []string `json:"characterIds"`
	CurrentCharacterID string   `json:"currentCharacterId,omitempty"`
	Primary            bool     `json:"primary,omitempty"`
}

// SeatKeys are the hashes (lower-case hex SHA-256) of the token that takes a seat and of the one whose holder has it, "" for
// nobody. They are for the door of the server alone.
type SeatKeys struct {
	SeatID string `json:"seatId"`
	Invite string `json:"invite,omitempty"`
	Token  string `json:"token,omitempty"`
}

// SetupRuntime mirrors how far one setup runtime has come.
type SetupRuntime struct {
	RuntimeID     string `json:"runtimeId"`
	Status        string `json:"status"`
	Generation    uint32 `json:"generation"`
	Attempts      uint32 `json:"attempts"`
	MaxAttempts   uint32 `json:"maxAttempts,omitempty"`
	LastError     string `json:"lastError,omitempty"`
	Resolution    string `json:"resolution,omitempty"`
	Reason        string `json:"reason,omitempty"`
	PluginVersion string `json:"pluginVersion,omitempty"`
}

// LedgerEntry counts committed runs of a runtime.
type LedgerEntry struct {
	RuntimeID          string `json:"runtimeId"`
	Runs               uint32 `json:"runs"`
	LastCompletedTurns uint32 `json:"lastCompletedTurns"`
}

// Execution is one attempt to run stages; its id is the turnId of the protocol.
type Execution struct {
	ID            string         `json:"id"`
	Origin        string         `json:"origin"`
	LogicalTurn   uint32         `json:"logicalTurn"`
	LogicalTurnID string         `json:"logicalTurnId"`
	RequestID     string         `json:"requestId"`
	Node          string         `json:"node"`
	Activation    string         `json:"activation"`
	Phase         string         `json:"phase"`
	StartedAt     time.Time      `json:"startedAt"`
	Version       events.Version `json:"version"`
	SourceTurnID  string         `json:"sourceTurnId,omitempty"` // retry: the turn whose runs are tried again
	Targets       []Target       `json:"targets,omitempty"`      // named to run; none: by the stages
	SuspensionID  string         `json:"suspensionId,omitempty"` // origin resume
	JobID         string         `json:"jobId,omitempty"`        // origin background
	Round         uint32         `json:"round,omitempty"`        // of automatic advancement, 0 for the first
	AdvanceLimit  uint32         `json:"advanceLimit,omitempty"` // rounds the root input may have, frozen with it
}

// Target names a runtime to run and what it is given.
type Target struct {
	RuntimeID string  `json:"runtimeId"`
	Payload   RawJSON `json:"payload,omitempty"`
}

// How an execution ended.
const (
	EndCommitted = "committed"
	EndFailed    = "failed"
	EndAborted   = "aborted"
)

// EndedExecution is the newest execution that has an end.
type EndedExecution struct {
	Execution
	End    string `json:"end"`
	Reason string `json:"reason,omitempty"`
	Error  string `json:"error,omitempty"`
	Next   string `json:"next,omitempty"`  // committed: what was to follow
	Draft  string `json:"draft,omitempty"` // partial prose of a failed turn
}

// Input is a player's submission.
type Input struct {
	RequestID   string         `json:"requestId"`
	Type        string         `json:"type"`
	ExecutionID string         `json:"executionId"`
	SeatID      string         `json:"seatId,omitempty"`
	Actions     []Action       `json:"actions"`
	Rendered    string         `json:"rendered"`
	MessageID   string         `json:"messageId"`
	Version     events.Version `json:"version"` // of the newest submission it came with; a retry takes it along
	At          time.Time      `json:"at"`      // when the player sent it first
}

// Action is one thing of a submission.
type Action struct {
	Kind        string          `json:"kind"`
	SeatID      string          `json:"seatId,omitempty"`
	CharacterID string          `json:"characterId,omitempty"`
	Source      string          `json:"source,omitempty"`
	Text        string          `json:"text"`
	Interaction *InteractionRef `json:"interaction,omitempty"`
	Fields      RawJSON         `json:"fields,omitempty"`
}

// InteractionRef names an interaction.
type InteractionRef struct {
	TurnID        string `json:"turnId"`
	InteractionID string `json:"interactionId"`
	Type          string `json:"type"`
}

// PrimarySeat is the seat that missing seats stand for.
func (s Session) PrimarySeat() (Seat, bool) {
	for _, seat := range s.Seats {
		if seat.Primary {
			return seat, true
		}
	}
	return Seat{}, false
}

// SeatByID finds a seat.
func (s Session) SeatByID(id string) (Seat, bool) {
	for _, seat := range s.Seats {
		if seat.ID == id {
			return seat, true
		}
	}
	return Seat{}, false
}

// KeysOf gives the hashes of a seat.
func (s Session) KeysOf(seatID string) SeatKeys {
	for _, k := range s.SeatKeys {
		if k.SeatID == seatID {
			return k
		}
	}
	return SeatKeys{SeatID: seatID}
}

// SeatInvited finds the seat that an invite takes, by its hash.
func (s Session) SeatInvited(hash string) (Seat, bool) {
	return s.seatWith(hash, func(k SeatKeys) string { return k.Invite })
}

// SeatHeld finds the seat that the holder of a token has, by its hash.
func (s Session) SeatHeld(hash string) (Seat, bool) {
	return s.seatWith(hash, func(k SeatKeys) string { return k.Token })
}

func (s Session) seatWith(hash string, of func(SeatKeys) string) (Seat, bool) {
	for _, k := range s.SeatKeys {
		if hash != "" && of(k) == hash {
			return s.SeatByID(k.SeatID)
		}
	}
	return Seat{}, false
}

// SetupComplete says whether no setup runtime is left to do.
func (s Session) SetupComplete() bool {
	for _, r := range s.Setup {
		if r.Status != SetupDone {
			return false
		}
	}
	return true
}

// SetupOf finds the mirror of a setup runtime.
func (s Session) SetupOf(runtimeID string) (SetupRuntime, bool) {
	for _, r := range s.Setup {
		if r.RuntimeID == runtimeID {
			return r, true
		}
	}
	return SetupRuntime{}, false
}

// LedgerOf gives the committed runs of a runtime.
func (s Session) LedgerOf(runtimeID string) LedgerEntry {
	for _, e := range s.Ledger {
		if e.RuntimeID == runtimeID {
			return e
		}
	}
	return LedgerEntry{RuntimeID: runtimeID}
}

// NextLogicalTurn is the number of the turn an input would start now.
func (s Session) NextLogicalTurn() uint32 { return s.CompletedPlayerTurns + 1 }

func (s Session) rememberRequest(r events.Recorded, q *eventsv1.Request) Session {
	if q == nil {
		return s
	}
	return s.remember(r, q.RequestId, q.SeatId, q.BodyHash, r.Metadata.GetCausationId())
}

func (s Session) pendingInput(execution string) *Input {
	if s.Input == nil || s.Input.ExecutionID != execution || len(s.Input.Actions) == 0 {
		return nil
	}
	return s.Input
}

func (s Session) apply(r events.Recorded, msg proto.Message) Session {
	switch m := msg.(type) {
	case *eventsv1.SessionCreated:
		s = Session{
			ID: m.SessionId, Incarnation: m.Incarnation, WorldID: m.WorldId, WorldDigest: m.WorldDigest, WorldName: m.WorldName,
			Locale: m.Locale, Status: StatusActive, Phase: m.Phase, CreatedAt: r.RecordedAt,
		}
		s.Plugins, s.Selection = pluginsOf(m.Plugins), selectionOf(m.Selection)
		for _, seat := range m.Seats {
			s.Seats = append(s.Seats, seatOf(seat))
		}
		for _, su := range m.SetupRuntimes {
			s.Setup = putBy(s.Setup, setupOf(su), func(x SetupRuntime) string { return x.RuntimeID })
		}
	case *eventsv1.SessionPaused:
		s.Status = StatusPaused
	case *eventsv1.SessionResumed:
		s.Status = StatusActive
	case *eventsv1.SessionEnded:
		s.Status = StatusEnded
	case *eventsv1.SeatChanged:
		s.Seats = replaceSeat(s.Seats, seatOf(m.Seat))
	case *eventsv1.SuspensionClaimed:
		s = s.remember(r, m.RequestId, m.SeatId, m.BodyHash, m.ExecutionId)
	case *eventsv1.HeadMoved:
		s = s.rememberRequest(r, m.Request)
	case *eventsv1.BranchNamed:
		s = s.rememberRequest(r, m.Request)
	case *eventsv1.MessageRevised:
		s = s.rememberRequest(r, m.Request)
	case *eventsv1.LoreEdited:
		s = s.rememberRequest(r, m.Request)
	case *eventsv1.SeatRemoved:
		s.Seats = slices.DeleteFunc(slices.Clone(s.Seats), func(x Seat) bool { return x.ID == m.SeatId })
		s.SeatKeys = slices.DeleteFunc(slices.Clone(s.SeatKeys), func(x SeatKeys) bool { return x.SeatID == m.SeatId })
	case *eventsv1.SeatKeysChanged:
		s.SeatKeys = putBy(s.SeatKeys, SeatKeys{m.SeatId, hex.EncodeToString(m.InviteHash), hex.EncodeToString(m.TokenHash)}, func(x SeatKeys) string { return x.SeatID })
	case *eventsv1.InterjectionMerged:
		s = s.rememberRequest(r, m.Request)
	case *eventsv1.PluginSelectionChanged:
		s.Plugins, s.Selection = pluginsOf(m.Plugins), selectionOf(m.Selection)
	case *eventsv1.SettingsChanged:
		s.Settings = settingsOf(m.Settings)
	case *eventsv1.AdvanceStopped:
		if s.Last != nil && s.Last.ID == m.ExecutionId {
			last := *s.Last
			last.Next = ""
			s.Last = &last
		}
	case *eventsv1.SubmissionGathered, *eventsv1.SubmissionWithdrawn, *eventsv1.GatheringClosed:
		s = s.gather(r, msg)
	case *eventsv1.ActionsSubmitted:
		s = s.gather(r, m).remember(r, m.RequestId, m.SeatId, m.BodyHash, m.ExecutionId)
		for _, g := range m.Gathered {
			s = s.remember(r, g.RequestId, g.SeatId, g.BodyHash, m.ExecutionId)
		}
		if !carriesLine(m.Type) {
			break
		}
		in := inputOf(r, m)
		if len(m.Actions) == 0 && s.Draft != nil { // a retry takes up the line that did not commit
			adopted := *s.Draft
			adopted.ExecutionID, adopted.RequestID, adopted.Type, adopted.Version = m.ExecutionId, m.RequestId, m.Type, r.Version
			in = adopted
		}
		s.Draft, s.Unfinished = nil, nil
		s.Input = &in
	case *eventsv1.ExecutionStarted:
		s.Open = &Execution{
			ID: m.ExecutionId, Origin: m.Origin, LogicalTurn: m.LogicalTurn, LogicalTurnID: m.LogicalTurnId, RequestID: m.RequestId,
			Node: m.Node, Activation: m.Activation, Phase: m.Phase, StartedAt: r.RecordedAt, Version: r.Version,
			SourceTurnID: m.SourceTurnId, SuspensionID: m.SuspensionId, JobID: m.JobId, Round: m.Round, AdvanceLimit: m.AdvanceLimit,
		}
		for _, t := range m.Targets {
			s.Open.Targets = append(s.Open.Targets, Target{t.RuntimeId, t.Payload})
		}
	case *eventsv1.ExecutionCommitted:
		s.NotApplied = s.notApplied(m)
		s = s.ended(m.ExecutionId, EndedExecution{End: EndCommitted, Next: m.Next})
		if s.Input != nil && s.Input.ExecutionID == m.ExecutionId {
			s.Input = nil
		}
	case *eventsv1.ExecutionFailed:
		s = s.ended(m.ExecutionId, EndedExecution{End: EndFailed, Reason: m.Reason, Error: m.Error, Draft: draftText(m.Draft)})
		s = s.attempted(m.SetupAttempts).keepDraft(m.ExecutionId)
	case *eventsv1.ExecutionAborted:
		s = s.ended(m.ExecutionId, EndedExecution{End: EndAborted, Reason: m.Reason, Draft: draftText(m.Draft)})
		s = s.attempted(m.SetupAttempts).keepDraft(m.ExecutionId)
	case *eventsv1.JobQueued:
		if m.RequestId != "" { // a manual run: a repeat queues nothing twice
			s = s.remember(r, m.RequestId, m.SeatId, m.BodyHash, m.JobId)
		}
	case *eventsv1.PhaseAdvanced:
		s.Phase = m.Phase
	case *eventsv1.SetupRuntimeChanged:
		s.Setup = putBy(s.Setup, setupOf(m.Setup), func(x SetupRuntime) string { return x.RuntimeID })
	case *eventsv1.PlayerTurnCounted:
		s.CompletedPlayerTurns = m.CompletedPlayerTurns
		s.LastCounted = m.LogicalTurnId
	case *eventsv1.TriggerLedgerUpdated:
		for _, e := range m.Entries {
			s.Ledger = putBy(s.Ledger, LedgerEntry{e.RuntimeId, e.Runs, e.LastCompletedTurns}, func(x LedgerEntry) string { return x.RuntimeID })
		}
	}
	s.UpdatedAt = r.RecordedAt
	return s
}

func pluginsOf(refs []*eventsv1.PluginRef) (out []PluginRef) {
	for _, p := range refs {
		out = append(out, PluginRef{p.Id, p.Version, p.Digest})
	}
	return out
}

func selectionOf(m *eventsv1.PluginSelection) PluginSelection {
	return PluginSelection{m.GetRequested(), m.GetExcluded()}
}

func (s Session) ended(execution string, end EndedExecution) Session {
	end.ID = execution
	if s.Open != nil && s.Open.ID == execution {
		end.Execution = *s.Open
		s.Open = nil
	}
	s.Last = &end
	return s
}

// keepDraft turns the input of an execution that did not commit into a draft (seed: turn-pipeline.txt, "Player input
// saved separately is retained").
func (s Session) keepDraft(execution string) Session {
	if s.Input == nil || s.Input.ExecutionID != execution {
		return s
	}
	if len(s.Input.Actions) > 0 {
		s.Draft, s.Unfinished = s.Input, s.Last
	}
	s.Input = nil
	return s
}

func (s Session) attempted(attempts []*eventsv1.SetupAttempt) Session {
	for _, a := range attempts {
		su, ok := s.SetupOf(a.RuntimeId)
		if !ok {
			continue
		}
		su.Attempts, su.LastError = a.Attempts, a.LastError
		if a.Blocked {
			su.Status, su.Reason = SetupBlocked, a.Reason
		}
		s.Setup = putBy(s.Setup, su, func(x SetupRuntime) string { return x.RuntimeID })
	}
	return s
}
