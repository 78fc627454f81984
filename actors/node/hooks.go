package node

import (
	"github.com/covel/covel/actors/hook"
	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	"github.com/covel/covel/worlds"
)

// hooks fixes the hooks of a session's active plugins. logicalTurn is of the execution they are for, 0 for none.
func (n *Node) hooks(gen *registry.Generation, active []string, s projections.Session, pack worlds.View, logicalTurn uint32) *hook.Set {
	return hook.New(hook.Config{
		Plugins: gen, Active: active, SessionID: s.ID, Locale: s.Locale, LogicalTurn: int(logicalTurn), Settings: pack.PluginSettings, Trace: n.Trace, Log: n.Log,
	})
}

// sessionStarted tells the SessionStart hooks of a session that is stored. Nobody waits for them.
func (n *Node) sessionStarted(s projections.Session) {
	tell(n, s, sdk.OnSessionStart, sdk.SessionStarted{SessionID: s.ID, WorldID: s.WorldID})
}

// sessionEnded tells the SessionEnd hooks: reason is ended or deleted.
func (n *Node) sessionEnded(s projections.Session, reason string) {
	tell(n, s, sdk.OnSessionEnd, sdk.SessionEnded{SessionID: s.ID, Reason: reason})
}

func tell[P, R any](n *Node, s projections.Session, event sdk.Event[P, R], payload P) {
	gen := n.Plugins()
	var active []string
	listens := false
	for _, p := range s.Plugins {
		if loaded, ok := gen.Plugins[p.ID]; ok {
			active = append(active, p.ID)
			for _, h := range loaded.Entry.Hooks {
				listens = listens || h.Event == event.Name
			}
		}
	}
	if !listens {
		return
	}
	n.loop(string(event.Name), func() {
		pack, err := n.World(n.running, s)
		if err != nil { // its settings are not known, the hook runs all the same
			n.Log.Warn("the world of a session cannot be read for its hooks", "session", s.ID, "error", err)
		}
		hook.Run(n.running, n.hooks(gen, active, s, pack, 0), event, trace.Scope{SessionID: s.ID}, payload)
	})
}
