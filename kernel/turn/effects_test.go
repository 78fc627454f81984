package turn

import (
	"strings"
	"testing"

	"github.com/covel/covel/plugins/manifest"
)

// Rule REF api-and-protocol.md §4.2: two runs of one level whose declared effects clash run in parallel all the same, and it
// is reported; whoever says that siblings may run beside it is believed.
func TestEffectClashes(t *testing.T) {
	declares := func(id, plugin string, effects manifest.Effects) manifest.Runtime {
		return auto(id, manifest.PostTurn, func(r *manifest.Runtime) { r.PluginID, r.Effects = plugin, effects })
	}
	w := func(list ...string) manifest.Effects { return manifest.Effects{Writes: list} }
	rd := func(list ...string) manifest.Effects { return manifest.Effects{Reads: list} }
	for _, c := range []struct {
		name string
		a, b manifest.Runtime
		want string
	}{
		{"both write", declares("a", "p", w("characters:*")), declares("b", "q", w("characters:*")), "characters:*"},
		{"one writes what the other reads", declares("a", "p", rd("state:*")), declares("b", "q", w("state:*")), "state:*"},
		{"both read", declares("a", "p", rd("state:*")), declares("b", "q", rd("state:*")), ""},
		{"data of one plugin", declares("a", "p", w("plugin-data:self:n")), declares("b", "p", rd("plugin-data:self:n")), "plugin-data:self:n"},
		{"data of two plugins", declares("a", "p", w("plugin-data:self:n")), declares("b", "q", rd("plugin-data:self:n")), ""},
		{"what cannot meet", declares("a", "p", w("assets:*", "ui:*")), declares("b", "q", w("assets:*", "ui:*")), ""},
		{"safe", declares("a", "p", w("state:*")), declares("b", "q", manifest.Effects{Writes: []string{"state:*"}, ParallelSafe: true}), ""},
		{"undeclared", declares("a", "p", w("state:*")), declares("b", "q", manifest.Effects{}), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := planned(t, func(*Plan) {}, c.a, c.b).play()
			got := ""
			for _, d := range s.ended.Diagnostics {
				got += d.Data["effect"]
				expect(t, "diagnostic", []any{d.Code, d.RuntimeID, d.Data["with"]}, []any{HazardEffects, "b", "a"})
			}
			expect(t, "effect", got, c.want)
			if log := strings.Join(s.log, "; "); !strings.HasPrefix(log, "start a; start b") {
				t.Errorf("log %s", log)
			}
		})
	}
}
