package commit

import (
	"fmt"
	"testing"

	"github.com/covel/covel/kernel/turn"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Rule TP:628: a committed run publishes its output under io.output.recordAs, with a growing revision; what failed, was
// dropped or gave nothing publishes nothing. Calls come before their callers, those from before a suspension first.
func TestExports(t *testing.T) {
	export := func(name, output string) func(*turn.Result) {
		return func(r *turn.Result) { r.RecordAs, r.Output, r.Contract = name, []byte(output), "k@1" }
	}
	s := fold(t, playing(t), "", &eventsv1.OutputExported{PluginId: "notes", RuntimeId: "notes", Name: "事实", Value: []byte(`0`), Revision: 4})
	nested := with(ran("notes/child"), export("child", `"within"`))
	guarded := with(ran("guarded"), export("g", `1`))
	guarded.Status, guarded.SkipReason = turn.Skipped, turn.SkipGuard
	skipped := with(ran("skipped"), export("x", `1`))
	skipped.Status, skipped.SkipReason = turn.Skipped, "handler"
	failed := with(ran("failed"), export("x", `1`))
	failed.Status = turn.Failed
	out := Plan(in(s, teller(),
		with(ran("notes"), func(r *turn.Result) {
			export("事实", `{"n":1}`)(r)
			r.Nested = []turn.Result{nested}
			r.Exports = []turn.Export{{RuntimeID: "notes/child", PluginID: "notes", RunID: "before", Name: "child", Value: []byte(`"then"`)}}
		}),
		guarded, skipped, failed, with(ran("empty"), export("x", ``)), with(ran("plain"), func(r *turn.Result) { r.Output = []byte(`1`) }),
		with(ran("dropped", bad), export("x", `1`))))
	var got []string
	for _, f := range out.Facts {
		if m, ok := f.Message.(*eventsv1.OutputExported); ok {
			got = append(got, fmt.Sprint(m.RuntimeId, " ", m.Name, " ", string(m.Value), " ", m.Revision, " ", m.Contract, " ", f.RunID == m.RunId))
		}
	}
	if g, w := fmt.Sprint(got), fmt.Sprint([]string{`notes/child child "then" 1  true`, `notes/child child "within" 2 k@1 true`, `notes 事实 {"n":1} 5 k@1 true`, `guarded g 1 1 k@1 true`}); g != w || out.Failed {
		t.Errorf("exports\n got %s\nwant %s", g, w)
	}
}
