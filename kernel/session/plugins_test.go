package session

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Rule TP:320: explicit choices made when enabling and disabling are saved, beside what they come to.
// Rule TP:315: an explicit exclusion also works for core plugins.
// Rule TP:318: a choice that a clash rejects changes nothing.
func TestPluginChanges(t *testing.T) {
	// core is always there, 龙灯 clashes with seer, tale steps aside for memory, lost is not installed any more.
	installed := []string{"core", "memory", "seer", "tale", "龙灯"}
	env := Env{
		Digest: func(id string) string {
			if slices.Contains(installed, id) {
				return "new-" + id
			}
			return ""
		},
		Choose: func(choice projections.PluginSelection, requires []string) Chosen {
			out := Chosen{Rejected: map[string]string{}, Aside: map[string]string{}}
			in := append(slices.Clone(choice.Requested), "core")
			slices.Sort(in)
			in = slices.Compact(in)
			for _, id := range in {
				switch {
				case slices.Contains(choice.Excluded, id) || !slices.Contains(installed, id):
				case id == "龙灯" && slices.Contains(in, "seer"):
					out.Rejected[id] = "龙灯 cannot run beside seer"
				case id == "tale":
					out.Aside[id] = "tale steps aside for memory"
				default:
					out.Plugins = append(out.Plugins, projections.PluginRef{ID: id, Version: "2", Digest: "new-" + id})
				}
			}
			for _, c := range requires {
				if c == "sight@1" && !slices.Contains(in, "seer") {
					out.Unmet = "the world needs sight@1"
				}
			}
			return out
		},
	}
	now := projections.Session{
		Plugins:   []projections.PluginRef{{ID: "core", Version: "1", Digest: "old"}, {ID: "lost", Version: "1"}, {ID: "seer", Version: "1"}},
		Selection: projections.PluginSelection{Requested: []string{"lost", "seer"}},
	}
	type outcome struct {
		Requested, Excluded, Plugins []string // id and version
		Code, Message                string
	}
	for name, c := range map[string]struct {
		change PluginChange
		want   outcome
	}{
		"enable":                     {PluginChange{Enable: "memory"}, outcome{Requested: []string{"lost", "seer", "memory"}, Plugins: []string{"core 1", "lost 1", "memory 2", "seer 1"}}},
		"disable a core plugin":      {PluginChange{Disable: "core"}, outcome{Requested: []string{"lost", "seer"}, Excluded: []string{"core"}, Plugins: []string{"lost 1", "seer 1"}}},
		"disable what was asked for": {PluginChange{Disable: "seer"}, outcome{Requested: []string{"lost"}, Excluded: []string{"seer"}, Plugins: []string{"core 1", "lost 1"}}},
		"disable what is not there, so that nobody brings it in": {PluginChange{Disable: "memory"}, outcome{Requested: []string{"lost", "seer"}, Excluded: []string{"memory"}, Plugins: []string{"core 1", "lost 1", "seer 1"}}},
		"disable what is not installed":                          {PluginChange{Disable: "lost"}, outcome{Requested: []string{"seer"}, Excluded: []string{"lost"}, Plugins: []string{"core 1", "seer 1"}}},
		"enable what is asked for already":                       {PluginChange{Enable: "seer"}, outcome{}},
		"enable what is there for another reason":                {PluginChange{Enable: "core"}, outcome{Requested: []string{"lost", "seer", "core"}, Plugins: []string{"core 1", "lost 1", "seer 1"}}},
		"a clash":                         {PluginChange{Enable: "龙灯"}, outcome{Code: "plugin_rejected", Message: "龙灯 cannot run beside seer"}},
		"a default that would step aside": {PluginChange{Enable: "tale"}, outcome{Code: "plugin_rejected", Message: "tale steps aside for memory"}},
		"nobody knows it":                 {PluginChange{Enable: "ghost"}, outcome{Code: "plugin_not_found", Message: `there is no plugin "ghost"`}},
		"the world needs it":              {PluginChange{Disable: "seer", Requires: []string{"sight@1"}}, outcome{Code: "world_requirement_unmet", Message: "the world needs sight@1"}},
	} {
		t.Run(name, func(t *testing.T) {
			msgs, refusal := decidePlugins(now, c.change, env)
			var got outcome
			if refusal != nil {
				got.Code, got.Message = refusal.Code, refusal.Message
			}
			for _, m := range msgs {
				m := m.(*eventsv1.PluginSelectionChanged)
				got.Requested, got.Excluded = m.Selection.Requested, m.Selection.Excluded
				for _, p := range m.Plugins {
					got.Plugins = append(got.Plugins, p.Id+" "+p.Version)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := now.Selection.Requested; !slices.Equal(got, []string{"lost", "seer"}) {
		t.Errorf("the session was changed: %v", got)
	}
}
