package runtime

import (
	"encoding/json"
	"slices"

	"github.com/covel/covel/actors/hook"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
	"github.com/covel/covel/projections"
	"github.com/covel/covel/worlds"
)

// Frozen is what an execution fixed at its start; every run of it reads the same. It is never written.
type Frozen struct {
	Execution  projections.Execution
	State      projections.State // committed state at the start
	Pack       worlds.View
	World      sdk.World // the committed world at the start
	Generation *registry.Generation
	Active     []manifest.Runtime
	Topics     []tools.Topic              // advertised topics of the session
	Declared   map[string]json.RawMessage // every topic an active plugin declares, with the schema of its data, nil for any
	Hooks      *hook.Set                  // of the active plugins; nil when they have none
	Paused     []string                   // plugins that do not run, after repeated errors
	// Only is the one run of a job, nil for an execution that the stages or names decide.
	Only      *turn.Run
	Contracts map[string]json.RawMessage // public schemas of the active plugins' contracts
	Shared    *Shared                    // what the runs have in common
	// Account is what the execution may spend; nil: as much as it likes.
	Account *Account
	// Policy is the runtime that is asked for turn-policy@1, "" for none.
	Policy string
	// Instructions is the language of instructions to the model: "zh" or "en".
	Instructions string
}

// Plugins are the ids of the session's plugins that are installed and not paused, in the session's order.
func (f Frozen) Plugins() []string {
	var out []string
	for _, p := range f.State.Session.Plugins {
		if f.Generation != nil && f.Generation.Plugins[p.ID] != nil && !slices.Contains(f.Paused, p.ID) {
			out = append(out, p.ID)
		}
	}
	return out
}

// Input is the player's submission of this execution, nil when it has none.
func (f Frozen) Input() *projections.Input {
	if in := f.State.Session.Input; in != nil && in.ExecutionID == f.Execution.ID {
		return in
	}
	return nil
}

// Digests names the code that runs, by plugin.
func (f Frozen) Digests() map[string]string {
	if f.Generation == nil {
		return nil
	}
	out := map[string]string{}
	for _, p := range f.State.Session.Plugins {
		if loaded, ok := f.Generation.Plugins[p.ID]; ok {
			out[p.ID] = loaded.Manifest.Digest
		}
	}
	return out
}

// PlayerMessage is the rendered input of this execution, "" when it has none.
func (f Frozen) PlayerMessage() string {
	if in := f.Input(); in != nil {
		return in.Rendered
	}
	return ""
}

// Locale is the content language of the execution: the session's, or that of the moment its run suspended.
func (f Frozen) Locale() string {
	if x, ok := f.State.Suspensions.Find(f.Execution.SuspensionID); ok {
		return x.Locale
	}
	return f.State.Session.Locale
}

// Ended is what a runtime actor tells its parent, once.
type Ended struct{ Result turn.Result }

// Cancel stops a runtime actor; it still reports Ended.
type Cancel struct{ Reason string }
