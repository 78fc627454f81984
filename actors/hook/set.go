// Package hook calls plugins' hooks: outside of any mailbox, each within its time, each with a copy of its own. What the
// answers come to is decided in kernel/hook.
package hook

import (
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/covel/covel/events/trace"
	kernel "github.com/covel/covel/kernel/hook"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
)

// Set is the hooks of one execution, or of one moment of a session, fixed when it began: hooks run only where their plugin
// is active. A nil Set has no hooks. Its methods may be called concurrently.
type Set struct {
	Config
	handlers map[sdk.HookEvent][]kernel.Handler

	mu     sync.Mutex
	asked  map[string]bool  // plugins whose hooks were called
	faults map[string]error // by plugin: the first failure of one of its hooks
}

// Config is what a Set is made of.
type Config struct {
	Plugins   *registry.Generation
	Active    []string         // ids of the session's active plugins, in their order
	Framework []kernel.Handler // the framework's own hooks; PluginID is ""
	SessionID string
	Locale    string
	// LogicalTurn is the frozen number of the execution, 0 outside of one.
	LogicalTurn int
	Settings    map[string]map[string]json.RawMessage // by plugin
	Trace       *trace.Writer                         // may be nil
	Log         *slog.Logger
}

// New gives the hooks of the active plugins, nil when there are none.
func New(c Config) *Set {
	handlers := slices.Clone(c.Framework)
	for _, id := range c.Active {
		if p, ok := c.Plugins.Plugins[id]; ok {
			for _, h := range p.Entry.Hooks {
				handlers = append(handlers, kernel.Handler{PluginID: id, Hook: h})
			}
		}
	}
	if len(handlers) == 0 {
		return nil
	}
	return &Set{Config: c, handlers: kernel.Order(handlers), asked: map[string]bool{}, faults: map[string]error{}}
}

// Has says whether anybody listens to an event. Where nobody does, the caller goes on without asking.
func (s *Set) Has(event sdk.HookEvent) bool { return s != nil && len(s.handlers[event]) > 0 }

// Health tells how the plugins did whose hooks were called: nil, or the first failure (seed: turn-pipeline.txt, "The Hook
// pipeline separately reports handler outcomes against the registering plugin").
func (s *Set) Health() map[string]error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]error, len(s.asked))
	for id := range s.asked {
		out[id] = s.faults[id]
	}
	return out
}

// HealthOf is Health in the words of kernelsession.TurnEnded.
func HealthOf(s *Set) map[string]string {
	out := map[string]string{}
	for plugin, err := range s.Health() {
		out[plugin] = ""
		if err != nil {
			out[plugin] = err.Error()
		}
	}
	return out
}

func (s *Set) note(plugin string, failure error) {
	if plugin == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[plugin] = true
	if failure != nil && s.faults[plugin] == nil {
		s.faults[plugin] = failure
	}
}

// context is what a handler gets to know beside the payload; it may do with it what it likes.
func (s *Set) context(event sdk.HookEvent, about trace.Scope, plugin string) *sdk.HookContext {
	settings := make(map[string]json.RawMessage, len(s.Settings[plugin]))
	for k, v := range maps.All(s.Settings[plugin]) {
		settings[k] = slices.Clone(v)
	}
	return &sdk.HookContext{
		Event: event, SessionID: s.SessionID, TurnID: about.TurnID, LogicalTurn: s.LogicalTurn, Locale: s.Locale, PluginID: about.PluginID, RuntimeID: about.RuntimeID,
		ActivePluginIDs: slices.Clone(s.Active), OwnSettings: settings,
	}
}
