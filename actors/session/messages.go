package session

import (
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
)

// Submit hands in a command. The actor responds Received at once, then calls Reply for every answer (queued, then
// accepted or refused) on its own goroutine: Reply must not block.
type Submit struct {
	Command kernel.Command
	Reply   func(kernel.Answer)
}

// ChangeStatus changes the session itself; answered like Submit.
type ChangeStatus struct {
	Kind         kernel.ChangeKind
	Runtime      string // of a setup decision
	SuspensionID string // that is given up
	JobID        string // of a change of a job
	PluginID     string // of a plugin that is to run again
	SeatID       string
	Run          *kernel.ManualJob
	Seat         *kernel.SeatChange
	Settings     *kernel.SettingsChange
	Plugins      *kernel.PluginChange
	Reply        func(kernel.Answer)
}

// StopTurn is the player's stop; answered like Submit.
type StopTurn struct{ Reply func(kernel.Answer) }

// Received says that a message arrived at a living session.
type Received struct{}

// Read asks for the state; the actor responds View.
type Read struct{}

// Follow adds a follower and responds View: the updates of the subscription go on from exactly there.
type Follow struct{ Subscription *Subscription }

// View is a session as it is now.
type View struct {
	State projections.State
	Live  *kernel.Live // the running execution, nil when none runs here
	// Settling is what an execution that is about to start waits for, nil when none does.
	Settling *kernel.Progress
	// Working: this activation is at something a client waits for; a turn runs, or is about to.
	Working bool
	Err     error // the session cannot be read
	// JobPhases tells how far the jobs at work here are: claimed, running, committing.
	JobPhases map[string]string
	// PausedPlugins do not run in the session, after repeated errors.
	PausedPlugins []string
}

// Wake asks to close what a dead owner left open, and to look whether it still is one.
type Wake struct{}

// Leave asks to finish and stop.
type Leave struct{}

// Seen tells that the stream has reached a version.
type Seen struct{ Version uint64 }
