package session

import (
	"encoding/json"
	"time"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
)

// Env holds the fresh values one Step may use.
type Env struct {
	FreshID string // a UUIDv7 not used before
	Now     time.Time
	// SuspensionTTL is how long a question waits: 0 the default, below 0 for ever.
	SuspensionTTL time.Duration
	// AdvanceLimit is the host's limit of rounds within one input; 0 takes AdvanceLimit.
	AdvanceLimit uint32
	// ModelReady says whether a model slot can be used now; nil: every one can.
	ModelReady func(slot string) bool
	// Digest is of the code of a plugin that is installed now, "" when it is not; nil: nobody knows.
	Digest func(pluginID string) string
	// Choose tells what a choice of plugins comes to with those that are installed now; nil: none are.
	Choose Choose
	// Kinds finds the action kinds that the session's plugins declare now.
	Kinds Kinds
}

// Input is something that happened to a session.
type Input interface{ sessionInput() }

// Recovered brings the fold of the log, at the start and after a refold. OwnerAlive says whether the owner of an open
// execution still lives somewhere.
type Recovered struct {
	State      projections.State
	OwnerAlive bool
	// JobOwnersAlive names the running jobs whose owner is another activation that still lives.
	JobOwnersAlive map[string]bool
}

// Submit is a command of a client.
type Submit struct{ Command Command }

// Settled ends the settling of the current command: the waiting is over and plugin validators have looked at the answers.
type Settled struct {
	ExecutionID string // of the command that was settled; a late one is ignored
	Issues      []Issue
	OutOfDate   string // of a resume: the code that suspended is not what is installed now
	// Installed are the session's plugins as they are installed now, nil when nobody looked.
	Installed *Installed
}

// Installed is what the plugins of a session bring with them.
type Installed struct {
	Runtimes []manifest.Runtime // after provider resolution
	Versions map[string]string  // of the plugins that are installed, by id
	Digests  map[string]string  // of their code
	// Contracts are their public schemas, by contract.
	Contracts map[string]json.RawMessage
}

// ChangeStatus asks for a session-scope change.
type ChangeStatus struct{ Change Change }

// StopTurn is the player's stop.
type StopTurn struct{ Token uint64 }

// AppendDone: the append in flight is durable.
type AppendDone struct {
	RecordedAt time.Time
	Position   uint64
}

// AppendLost: the stream was not at the expected version. Another activation writes.
type AppendLost struct{}

// AppendUnknown: the append may or may not have happened.
type AppendUnknown struct{}

// AppendRefused: the store refuses to write (full disk, too large); nothing was written.
type AppendRefused struct{ Error string }

// Foreign: an event that this activation did not write stands in the stream.
type Foreign struct{}

// Wake asks to close what a dead owner left open.
type Wake struct {
	OwnerAlive     bool
	JobOwnersAlive map[string]bool
}

// IdleTimeout: nobody asked for anything for a while.
type IdleTimeout struct{}

// Drain asks to finish and leave.
type Drain struct{}

func (Recovered) sessionInput()     {}
func (Submit) sessionInput()        {}
func (Settled) sessionInput()       {}
func (TurnEnded) sessionInput()     {}
func (ChangeStatus) sessionInput()  {}
func (StopTurn) sessionInput()      {}
func (AppendDone) sessionInput()    {}
func (AppendLost) sessionInput()    {}
func (AppendUnknown) sessionInput() {}
func (AppendRefused) sessionInput() {}
func (Foreign) sessionInput()       {}
func (Wake) sessionInput()          {}
func (IdleTimeout) sessionInput()   {}
func (Drain) sessionInput()         {}

func (e Env) ready(slot string) bool { return e.ModelReady == nil || e.ModelReady(slot) }
