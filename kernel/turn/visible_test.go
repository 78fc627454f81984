package turn

import (
	"testing"

	"github.com/covel/covel/plugins/sdk"
)

// Rule TP:648–651: a run sees the committable writes of earlier runs, child before parent; failed and skipped runs, and
// whole subtrees of a retry or a job, show nothing.
func TestVisibleWrites(t *testing.T) {
	p := func(typ string) []sdk.Proposal { return []sdk.Proposal{{Type: typ}} }
	var got []string
	for _, w := range VisibleWrites([]Result{
		{RunID: "1", PluginID: "a", Status: Succeeded, Proposals: p("own"), Operations: []Operation{{PluginID: "provider", Proposals: p("operation")}},
			Nested: []Result{{RunID: "1.1", PluginID: "a", Status: Succeeded, Proposals: p("child")}, {RunID: "1.2", PluginID: "a", Status: Failed, Proposals: p("x")}}},
		{RunID: "2", PluginID: "b", Status: Failed, Proposals: p("x"), Nested: []Result{{RunID: "2.1", Status: Succeeded, Proposals: p("x")}}},
		{RunID: "3", PluginID: "b", Status: Succeeded, Seed: true, Proposals: p("x"), Nested: []Result{{RunID: "3.1", Status: Succeeded, Proposals: p("x")}}},
		{RunID: "4", PluginID: "b", Status: Skipped, SkipReason: SkipGuard, Proposals: p("guard's")},
		{RunID: "5", PluginID: "b", Status: Skipped, SkipReason: SkipDependency, Proposals: p("x")},
		{RunID: "6", PluginID: "b", Status: Suspended, Proposals: p("x")},
		{RunID: "7", PluginID: "b", Status: Succeeded},
	}) {
		for _, pr := range w.Proposals {
			got = append(got, w.RunID+" "+w.PluginID+" "+pr.Type)
		}
	}
	expect(t, "visible", got, []string{"1.1 a child", "1 a own", "1 provider operation", "4 b guard's"})
}
