// Package session is the session of design §5 as a pure machine: Step takes a state, an input and the fresh values of the
// moment and gives the next state and effects. The session actor carries effects out and feeds their outcomes back in;
// it owns failure and cancellation and decides nothing. A crash between any two effects is a test without a process.
package session

import (
	"encoding/json"
	"time"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/allowance"
	"github.com/covel/covel/kernel/compaction"
	"github.com/covel/covel/kernel/latch"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	"github.com/covel/covel/worlds"
)

// Phase is where a session stands.
type Phase string

// Phases: recovering → idle ⇄ settling → running → committing → (advancing →) idle; uncertain while the outcome of an
// append is not known; draining on the way out; stopped at the end.
const (
	Recovering Phase = "recovering"
	Idle       Phase = "idle"
	Settling   Phase = "settling"
	Running    Phase = "running"
	Committing Phase = "committing"
	Advancing  Phase = "advancing"
	Uncertain  Phase = "uncertain"
	Draining   Phase = "draining"
	Stopped    Phase = "stopped"
)

// MaxQueue is how many commands wait behind a running turn; one more is refused as busy.
const MaxQueue = 8

// State is everything a session knows that is not in the log, beside the fold of the log.
type State struct {
	Phase Phase
	Hot   projections.State
	Self  Owner // this activation

	Queue   []Command
	Current *Command // being settled or accepted
	ready   *Settled // the settling of Current has ended; it is accepted as soon as no append is in flight
	Changes []Change // session-scope changes that wait for the append in flight

	// Execution is the live execution this activation runs, "" when there is none.
	Execution string
	// Ended is the outcome of the live execution until its commit is appended.
	Ended *TurnEnded
	// Committed is the execution that this activation committed last; what its commit announced follows here, "" when that
	// was stopped.
	Committed string
	// Said are the lines that players said into the live execution.
	Said []Said
	// Stop is why the live execution must not commit: AbortPlayer, AbortShutdown, AbortEnded; "" lets it.
	Stop string

	InFlight *Append        // the one append that is under way
	saved    events.Version // up to where snapshots have been thought of
	resume   Phase          // where an uncertain append came from

	// Jobs are the background jobs that are claimed, run or wait for their commit here, by id; never written in place.
	Jobs        map[string]LiveJob
	awake       bool            // somebody asked for more than a look: jobs may be worked on
	wanted      []string        // jobs the node was told may start
	ownersAlive map[string]bool // jobs that another living activation runs
	wakeAt      time.Time       // the next Tick that was asked for
	barrier     *barrier        // of the execution that is about to start
	waits       bool            // Current waits at the barrier
	Settles     SettleWait      // what clients were told to be waited for there

	// told: those who follow know already that what they have is no prefix of the stream any more.
	told bool

	Latch      latch.Latch   // faults of the session's plugins, as the node remembers them
	foreground latch.Verdict // of the input that is being played
	report     *latch.Report // of the execution whose end is being appended

	// OwnerAlive: the open execution belongs to another activation that still lives; it is left alone.
	OwnerAlive bool
	// closeOpen: close what a dead owner left open even if no command waits for it.
	closeOpen bool
	// sweep: somebody asked for more than a look since this activation began; suspensions may expire.
	sweep    bool
	draining bool
}

// Owner names an activation of a session.
type Owner struct {
	Node       string
	Activation string
}

// Command is a client's request. Tokens are the reply handles of everyone who sent it.
type Command struct {
	RequestID   string
	Type        string // see the command types
	SeatID      string // "" stands for the primary seat
	Holder      string // the seat whose token the sender has, "" for the owner
	Actions     []projections.Action
	BodyHash    string // hex SHA-256 of the canonical body
	Base        *events.Version
	ExecutionID string // fresh; used when the command starts an execution
	Tokens      []uint64

	Targets      []projections.Target // run_runtimes: what is named to run
	SourceTurnID string               // run_runtimes: the turn whose runs are tried again, "" for a plain manual run
	SuspensionID string               // resume_suspension
	Answer       projections.RawJSON  // resume_suspension: what the player gives

	TurnID    string // move_head: "" takes the newest turn back; regenerate: "" is the newest; name_turn
	MessageID string // revise_message
	Text      string // revise_message, name_turn

	Lore *sdk.LorebookEntry // edit_lore

	seatless bool                     // it names no seat; SeatID was given to it
	admitted bool                     // Base was held against the head
	stopped  bool                     // the player stopped it before it began
	gathered []projections.Submission // of a turn that begins with what several seats want, in seat order
}

// Command types.
const (
	StartSession     = "start_session"
	SubmitActions    = "submit_actions"
	RetryTurn        = "retry_turn"
	RunRuntimes      = "run_runtimes"      // a manual run, or a retry of failed runs of a turn
	Interject        = "interject"         // a line for the turn that runs; where none does, an action
	ResumeSuspension = "resume_suspension" // goes on with a suspended run
	MoveHead         = "move_head"         // takes the newest turn back, or goes to another turn
	Regenerate       = "regenerate"        // plays the input of a turn again: another take
	ReviseMessage    = "revise_message"    // changes what is shown of a message
	EditLore         = "edit_lore"         // writes an entry of the player's own lorebook
	NameTurn         = "name_turn"         // names a turn and what goes on from it
)

// Change is a session-scope change that does not start an execution.
type Change struct {
	Kind    ChangeKind
	Runtime string // of SetupRetry and SetupWaive
	// SuspensionID is the item of AbandonSuspension and voidSuspension, Reason why it is void.
	SuspensionID, Reason string
	JobID                string // of CancelJobChange and RetryJobChange
	PluginID             string // of ResumePlugin
	Run                  *ManualJob
	SeatID               string
	Seat                 *SeatChange
	Settings             *SettingsChange
	Plugins              *PluginChange
	ID                   string // fresh; names the append
	Token                uint64
}

// ChangeKind says what is changed.
type ChangeKind string

// Changes of a session's status, and what the player decides about a blocked setup runtime.
const (
	Pause           ChangeKind = "pause"
	Resume          ChangeKind = "resume"
	End             ChangeKind = "end"
	CancelJobChange ChangeKind = "job-cancel"
	RetryJobChange  ChangeKind = "job-retry" // a new job with the same frozen input
	RunJobChange    ChangeKind = "job-run"   // a manual run in the background

	CloseGathering     ChangeKind = "gathering-close"     // the turn begins with the submissions that wait
	WithdrawSubmission ChangeKind = "submission-withdraw" // of SeatID, "" for the primary seat

	ResumePlugin ChangeKind = "plugin-resume" // PluginID was paused after repeated errors

	SetupRetry ChangeKind = "setup-retry" // blocked → pending, with all its tries again
	SetupWaive ChangeKind = "setup-waive" // blocked → done, without it

	ChangeSeat     ChangeKind = "seat"
	ChangeSettings ChangeKind = "settings"
	ChangePlugins  ChangeKind = "plugins"

	AbandonSuspension ChangeKind = "suspension-abandon" // the player gives a question up
	voidSuspension    ChangeKind = "suspension-void"    // it turned out to be out of date
)

// Append is an append under way. It is repeated only with the same expected version and the same events.
type Append struct {
	Kind     AppendKind
	Expected events.Version
	Events   []events.Event
	Attempt  int
	Change   *Change    // of a change append
	Job      *JobAppend // of an append about a job
}

// AppendKind is what an append is for.
type AppendKind string

// Kinds of append.
const (
	AppendAccept AppendKind = "accept" // the input and the start of its execution
	AppendCommit AppendKind = "commit" // the end of an execution, whichever
	AppendOpen   AppendKind = "open"   // the start of what a request goes on with: the opening, another round
	AppendChange AppendKind = "change"
	AppendHead   AppendKind = "head"   // the head moves, a message is revised, a turn named
	AppendGather AppendKind = "gather" // a submission waits for others, or does no more
	AppendExpire AppendKind = "expire" // suspensions whose time is over
	AppendJob    AppendKind = "job"
	AppendClose  AppendKind = "close" // the end of an execution whose owner is dead, or of a request that goes on no further
)

// Abort reasons on the wire (seed: turn-pipeline.txt; reference: api-and-protocol.md §3.5).
const (
	AbortPlayer      = "aborted-by-player"
	AbortInterrupted = "interrupted"
	AbortShutdown    = "shutdown"
	AbortEnded       = "session-ended"
	AbortLost        = "lost-to-another-activation"
)

// TurnEnded is the outcome of a live execution as the turn actor reports it.
type TurnEnded struct {
	ExecutionID string
	Results     []turn.Result
	Deferred    []turn.Deferred // to be queued as jobs with the commit
	Diagnostics []turn.Diagnostic
	Compaction  *compaction.Result
	Spent       allowance.Spent // with what its chain of suspensions had spent before
	Policy      string          // runtime that the execution asks for turn-policy@1, "" for none
	Usage       turn.Usage      // of what providers of extension points asked of models: no run's
	Pack        worlds.View
	Topics      map[string]json.RawMessage
	Crash       string // a panic of the turn itself
	Refused     string // the reason of a TurnStart hook that let nothing run
	Stale       string // of a job: why it could not be started at all
	// Health tells how the plugins did whose hooks and extensions were called: "", or the first failure.
	Health map[string]string
	// Digests of the code that ran, by plugin.
	Digests map[string]string
	// DimensionProvider is the one plugin that provides world.dimensions@1, "" when there is none or more than one.
	DimensionProvider string
}
