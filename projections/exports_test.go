package projections_test

import (
	"testing"

	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Rule TP:628: the newest committed value of a runtime under a name is read; what did not commit never is.
func TestExports(t *testing.T) {
	export := func(runtime, name, value string, revision uint64) *eventsv1.OutputExported {
		return &eventsv1.OutputExported{PluginId: "p", RuntimeId: runtime, Name: name, Value: []byte(value), Revision: revision}
	}
	log := begin(t).in("e1", started("e1"), export("p/b", "事实", `{"n": 1}`, 1), export("p/a", "facts", `1`, 1), committed("e1")).
		in("e2", started("e2"), export("p/b", "事实", `{"n": 2}`, 2), failed("e2"))
	before := log.state()
	after := log.in("e3", started("e3"), export("p/b", "事实", `null`, 2), export("p/b", "facts", `[]`, 1), committed("e3")).state()
	if e, ok := before.Exports.Find("p/b", "事实"); !ok || string(e.Value) != `{"n":1}` || e.Revision != 1 {
		t.Errorf("before: %+v %v", e, ok)
	}
	if e, ok := after.Exports.Find("p/b", "事实"); !ok || len(e.Value) != 0 || e.Revision != 2 {
		t.Errorf("after: %+v %v", e, ok)
	}
	if _, ok := after.Exports.Find("p/a", "事实"); ok {
		t.Error("a name of another runtime is found")
	}
	var names []string
	for _, e := range after.Exports {
		names = append(names, e.RuntimeID+" "+e.Name)
	}
	expect(t, "exports", names, []string{"p/a facts", "p/b facts", "p/b 事实"})
}
