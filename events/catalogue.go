package events

import (
	"google.golang.org/protobuf/proto"

	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Scope says what becomes of an event's effect when the head of a session moves (design §4).
type Scope string

// Scopes.
const (
	ScopeSession Scope = "session" // linear, never undone
	ScopePath    Scope = "path"    // follows the head
)

// Effect says from when on an event counts.
type Effect string

// Effects.
const (
	AtOnce   Effect = "at-once"
	OnCommit Effect = "on-commit" // only at the ExecutionCommitted of its execution, in order
)

// View is who may be shown an event. It is the only way out to view, socket, replay and export.
type View string

// View levels, from narrow to wide. ViewSeat events name their seat in the metadata.
const (
	ViewOperator View = "operator"
	ViewHost     View = "host"
	ViewSeat     View = "seat"
	ViewAll      View = "all"
)

// Entry describes one event type.
type Entry struct {
	Type          string
	SchemaVersion uint32 // the version written today; older ones pass the upcasters
	New           func() proto.Message
	Scope         Scope
	Effect        Effect
	View          View
	Frames        []string // protocol events a viewer may get from it
	Projections   []string // folds and read models that read it
}

func entry[T proto.Message](typ string, newT func() T, scope Scope, effect Effect, view View, frames, projections []string) Entry {
	return Entry{typ, 1, func() proto.Message { return newT() }, scope, effect, view, frames, projections}
}

// Catalogue lists every event type there is, in the order of the design's table. Tests walk it.
var Catalogue = []Entry{
	entry("SessionCreated", func() *eventsv1.SessionCreated { return new(eventsv1.SessionCreated) }, ScopeSession, AtOnce, ViewAll, nil, []string{"session", "sessions"}),
	entry("SessionPaused", func() *eventsv1.SessionPaused { return new(eventsv1.SessionPaused) }, ScopeSession, AtOnce, ViewAll, []string{"session.changed"}, []string{"session", "sessions"}),
	entry("SessionResumed", func() *eventsv1.SessionResumed { return new(eventsv1.SessionResumed) }, ScopeSession, AtOnce, ViewAll, []string{"session.changed"}, []string{"session", "sessions"}),
	entry("SessionEnded", func() *eventsv1.SessionEnded { return new(eventsv1.SessionEnded) }, ScopeSession, AtOnce, ViewAll, []string{"session.changed"}, []string{"session", "sessions"}),
	entry("SeatChanged", func() *eventsv1.SeatChanged { return new(eventsv1.SeatChanged) }, ScopeSession, AtOnce, ViewAll, []string{"seats.changed", "gathering.changed"}, []string{"session"}),
	entry("SeatRemoved", func() *eventsv1.SeatRemoved { return new(eventsv1.SeatRemoved) }, ScopeSession, AtOnce, ViewAll, []string{"seats.changed", "gathering.changed"}, []string{"session"}),
	entry("SeatKeysChanged", func() *eventsv1.SeatKeysChanged { return new(eventsv1.SeatKeysChanged) }, ScopeSession, AtOnce, ViewOperator, nil, []string{"session"}),
	entry("PluginSelectionChanged", func() *eventsv1.PluginSelectionChanged { return new(eventsv1.PluginSelectionChanged) }, ScopeSession, AtOnce, ViewAll, []string{"session.changed"}, []string{"session", "sessions"}),
	entry("SettingsChanged", func() *eventsv1.SettingsChanged { return new(eventsv1.SettingsChanged) }, ScopeSession, AtOnce, ViewAll, []string{"session.changed", "gathering.changed"}, []string{"session"}),

	entry("ActionsSubmitted", func() *eventsv1.ActionsSubmitted { return new(eventsv1.ActionsSubmitted) }, ScopeSession, AtOnce, ViewAll, []string{"actions.accepted", "interaction.submitted", "gathering.changed"}, []string{"session", "history", "interactions", "messages"}),

	entry("SubmissionGathered", func() *eventsv1.SubmissionGathered { return new(eventsv1.SubmissionGathered) }, ScopeSession, AtOnce, ViewAll, []string{"gathering.changed", "execution.completed"}, []string{"session", "sessions"}),
	entry("SubmissionWithdrawn", func() *eventsv1.SubmissionWithdrawn { return new(eventsv1.SubmissionWithdrawn) }, ScopeSession, AtOnce, ViewAll, []string{"gathering.changed", "execution.completed"}, []string{"session", "sessions"}),
	entry("GatheringClosed", func() *eventsv1.GatheringClosed { return new(eventsv1.GatheringClosed) }, ScopeSession, AtOnce, ViewAll, []string{"gathering.changed"}, []string{"session"}),

	entry("ExecutionStarted", func() *eventsv1.ExecutionStarted { return new(eventsv1.ExecutionStarted) }, ScopeSession, AtOnce, ViewAll, []string{"execution.started", "execution.settle-timeout", "execution.settle-skipped"}, []string{"session", "sessions"}),
	entry("ExecutionCommitted", func() *eventsv1.ExecutionCommitted { return new(eventsv1.ExecutionCommitted) }, ScopeSession, AtOnce, ViewAll, []string{"session.changed", "proposal.failed", "operation.failed", "turn.completed", "tree.changed", "execution.completed"}, []string{"session", "history", "sessions", "messages"}),
	entry("ExecutionFailed", func() *eventsv1.ExecutionFailed { return new(eventsv1.ExecutionFailed) }, ScopeSession, AtOnce, ViewAll, []string{"session.changed", "proposal.failed", "turn.completed", "execution.completed"}, []string{"session", "sessions", "messages"}),
	entry("ExecutionAborted", func() *eventsv1.ExecutionAborted { return new(eventsv1.ExecutionAborted) }, ScopeSession, AtOnce, ViewAll, []string{"session.changed", "turn.completed", "execution.completed"}, []string{"session", "sessions", "messages"}),

	entry("AdvanceStopped", func() *eventsv1.AdvanceStopped { return new(eventsv1.AdvanceStopped) }, ScopeSession, AtOnce, ViewAll, []string{"execution.completed"}, []string{"session"}),

	entry("ExecutionResults", func() *eventsv1.ExecutionResults { return new(eventsv1.ExecutionResults) }, ScopePath, OnCommit, ViewOperator, nil, []string{"latest"}),
	entry("InterjectionMerged", func() *eventsv1.InterjectionMerged { return new(eventsv1.InterjectionMerged) }, ScopePath, OnCommit, ViewAll, []string{"message.appended"}, []string{"history", "messages", "session"}),
	entry("NarrativeAppended", func() *eventsv1.NarrativeAppended { return new(eventsv1.NarrativeAppended) }, ScopePath, OnCommit, ViewAll, []string{"narrative.completed"}, []string{"history", "messages"}),
	entry("MessageAppended", func() *eventsv1.MessageAppended { return new(eventsv1.MessageAppended) }, ScopePath, OnCommit, ViewAll, []string{"message.appended"}, []string{"history", "messages"}),
	entry("HistoryCompacted", func() *eventsv1.HistoryCompacted { return new(eventsv1.HistoryCompacted) }, ScopePath, OnCommit, ViewOperator, nil, []string{"history"}),
	entry("InteractionRequested", func() *eventsv1.InteractionRequested { return new(eventsv1.InteractionRequested) }, ScopePath, OnCommit, ViewAll, []string{"interaction.requested"}, []string{"interactions", "messages"}),
	entry("UIRendered", func() *eventsv1.UIRendered { return new(eventsv1.UIRendered) }, ScopePath, OnCommit, ViewAll, []string{"ui.rendered"}, []string{"history", "messages"}),
	entry("DomainEventEmitted", func() *eventsv1.DomainEventEmitted { return new(eventsv1.DomainEventEmitted) }, ScopePath, OnCommit, ViewAll, []string{"event.emitted"}, nil),

	entry("CharacterSchemaSet", func() *eventsv1.CharacterSchemaSet { return new(eventsv1.CharacterSchemaSet) }, ScopePath, OnCommit, ViewAll, []string{"character-schema.changed"}, []string{"characters"}),
	entry("CharacterUpserted", func() *eventsv1.CharacterUpserted { return new(eventsv1.CharacterUpserted) }, ScopePath, OnCommit, ViewAll, []string{"character.upserted"}, []string{"characters"}),
	entry("LorebookUpserted", func() *eventsv1.LorebookUpserted { return new(eventsv1.LorebookUpserted) }, ScopePath, OnCommit, ViewOperator, nil, []string{"lorebook"}),

	entry("OutputExported", func() *eventsv1.OutputExported { return new(eventsv1.OutputExported) }, ScopePath, OnCommit, ViewOperator, nil, []string{"exports"}),
	entry("DimensionsInitialized", func() *eventsv1.DimensionsInitialized { return new(eventsv1.DimensionsInitialized) }, ScopePath, OnCommit, ViewAll, []string{"dimensions.changed"}, []string{"dimensions"}),
	entry("DimensionsUpdated", func() *eventsv1.DimensionsUpdated { return new(eventsv1.DimensionsUpdated) }, ScopePath, OnCommit, ViewAll, []string{"dimensions.changed", "dimensions.settlement.changed"}, []string{"dimensions"}),
	entry("AssetGenerated", func() *eventsv1.AssetGenerated { return new(eventsv1.AssetGenerated) }, ScopePath, OnCommit, ViewAll, []string{"asset.generated"}, []string{"assets"}),

	entry("PluginDataChanged", func() *eventsv1.PluginDataChanged { return new(eventsv1.PluginDataChanged) }, ScopePath, OnCommit, ViewAll, []string{"plugin-data.changed"}, []string{"plugindata"}),

	entry("PhaseAdvanced", func() *eventsv1.PhaseAdvanced { return new(eventsv1.PhaseAdvanced) }, ScopePath, OnCommit, ViewAll, []string{"session.changed"}, []string{"session", "sessions"}),
	entry("SetupRuntimeChanged", func() *eventsv1.SetupRuntimeChanged { return new(eventsv1.SetupRuntimeChanged) }, ScopePath, OnCommit, ViewAll, []string{"session.changed"}, []string{"session"}),
	entry("PlayerTurnCounted", func() *eventsv1.PlayerTurnCounted { return new(eventsv1.PlayerTurnCounted) }, ScopePath, OnCommit, ViewAll, []string{"session.changed"}, []string{"session", "sessions"}),
	entry("TriggerLedgerUpdated", func() *eventsv1.TriggerLedgerUpdated { return new(eventsv1.TriggerLedgerUpdated) }, ScopePath, OnCommit, ViewOperator, nil, []string{"session"}),

	entry("HeadMoved", func() *eventsv1.HeadMoved { return new(eventsv1.HeadMoved) }, ScopeSession, AtOnce, ViewAll, []string{"head.moved"}, []string{"tree", "session", "sessions", "messages"}),
	entry("BranchNamed", func() *eventsv1.BranchNamed { return new(eventsv1.BranchNamed) }, ScopeSession, AtOnce, ViewAll, []string{"branch.named"}, []string{"tree"}),
	entry("MessageRevised", func() *eventsv1.MessageRevised { return new(eventsv1.MessageRevised) }, ScopePath, AtOnce, ViewAll, []string{"message.revised"}, []string{"history", "messages"}),

	entry("LoreEdited", func() *eventsv1.LoreEdited { return new(eventsv1.LoreEdited) }, ScopePath, AtOnce, ViewAll, []string{"lorebook.changed"}, []string{"lorebook", "session"}),

	// Suspensions do not come back when the head moves: what waits then is voided in the same append.
	entry("SuspensionSaved", func() *eventsv1.SuspensionSaved { return new(eventsv1.SuspensionSaved) }, ScopeSession, OnCommit, ViewAll, []string{"turn.suspended"}, []string{"suspensions", "sessions"}),
	entry("SuspensionClaimed", func() *eventsv1.SuspensionClaimed { return new(eventsv1.SuspensionClaimed) }, ScopeSession, AtOnce, ViewOperator, nil, []string{"session", "suspensions"}),
	entry("SuspensionContinued", func() *eventsv1.SuspensionContinued { return new(eventsv1.SuspensionContinued) }, ScopeSession, OnCommit, ViewAll, []string{"turn.resumed"}, []string{"suspensions", "sessions"}),
	entry("SuspensionResolved", func() *eventsv1.SuspensionResolved { return new(eventsv1.SuspensionResolved) }, ScopeSession, OnCommit, ViewAll, []string{"turn.resumed"}, []string{"suspensions", "sessions"}),
	entry("SuspensionVoided", func() *eventsv1.SuspensionVoided { return new(eventsv1.SuspensionVoided) }, ScopeSession, OnCommit, ViewAll, []string{"suspension.closed"}, []string{"suspensions", "sessions"}),
	entry("SuspensionExpired", func() *eventsv1.SuspensionExpired { return new(eventsv1.SuspensionExpired) }, ScopeSession, AtOnce, ViewAll, []string{"suspension.closed"}, []string{"suspensions", "sessions"}),
	entry("SuspensionAbandoned", func() *eventsv1.SuspensionAbandoned { return new(eventsv1.SuspensionAbandoned) }, ScopeSession, AtOnce, ViewAll, []string{"suspension.closed"}, []string{"suspensions", "sessions"}),

	entry("JobQueued", func() *eventsv1.JobQueued { return new(eventsv1.JobQueued) }, ScopeSession, AtOnce, ViewAll, []string{"runtime.deferred", "job-status.updated"}, []string{"jobs", "session", "sessions"}),
	entry("JobStarted", func() *eventsv1.JobStarted { return new(eventsv1.JobStarted) }, ScopeSession, AtOnce, ViewAll, []string{"job-status.updated"}, []string{"jobs", "sessions"}),
	entry("JobSucceeded", func() *eventsv1.JobSucceeded { return new(eventsv1.JobSucceeded) }, ScopeSession, AtOnce, ViewAll, []string{"job-status.updated"}, []string{"jobs", "sessions"}),
	entry("JobFailed", func() *eventsv1.JobFailed { return new(eventsv1.JobFailed) }, ScopeSession, AtOnce, ViewAll, []string{"job-status.updated"}, []string{"jobs", "sessions"}),
	entry("JobTimedOut", func() *eventsv1.JobTimedOut { return new(eventsv1.JobTimedOut) }, ScopeSession, AtOnce, ViewAll, []string{"job-status.updated"}, []string{"jobs", "sessions"}),
	entry("JobCancelled", func() *eventsv1.JobCancelled { return new(eventsv1.JobCancelled) }, ScopeSession, AtOnce, ViewAll, []string{"job-status.updated"}, []string{"jobs", "sessions"}),
	entry("JobStale", func() *eventsv1.JobStale { return new(eventsv1.JobStale) }, ScopeSession, AtOnce, ViewAll, []string{"job-status.updated"}, []string{"jobs", "sessions"}),
	entry("JobOrphaned", func() *eventsv1.JobOrphaned { return new(eventsv1.JobOrphaned) }, ScopeSession, AtOnce, ViewAll, []string{"job-status.updated"}, []string{"jobs", "sessions"}),
	entry("JobRequeued", func() *eventsv1.JobRequeued { return new(eventsv1.JobRequeued) }, ScopeSession, AtOnce, ViewAll, []string{"job-status.updated"}, []string{"jobs", "sessions"}),
}
