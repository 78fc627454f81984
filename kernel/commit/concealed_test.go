package commit

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

func concealed(r turn.Result) turn.Result {
	r.Concealed = true
	return r
}

// Rule REF:plugins.md §8: the record keeps why a concealed run failed; what players read of it is a fixed text.
func TestConcealedFailures(t *testing.T) {
	const secret = "凶手是店主"
	bad := func(r turn.Result) turn.Result {
		r.Proposals = []sdk.Proposal{{Type: "plugin.data", Payload: json.RawMessage(`{"namespace":"_` + secret + `","key":"k","value":1}`)}}
		return concealed(r)
	}
	wrong := func(r turn.Result) turn.Result {
		r = concealed(failed(r))
		r.Error = secret
		return r
	}
	outcomeOf := func(out Out, id string) *eventsv1.RuntimeOutcome {
		t.Helper()
		last := out.Facts[len(out.Facts)-1].Message.(interface {
			GetOutcomes() []*eventsv1.RuntimeOutcome
		})
		for _, o := range last.GetOutcomes() {
			if o.RuntimeId == id {
				return o
			}
		}
		t.Fatalf("nothing is told of %s", id)
		return nil
	}
	// Beside a story: the outcome alone tells, marked.
	for _, r := range []turn.Result{bad(ran("plot")), wrong(ran("plot"))} {
		o := outcomeOf(Plan(in(playing(t), teller(), r)), "plot")
		if !o.Concealed || !strings.Contains(o.Error, secret) {
			t.Errorf("outcome %v", o)
		}
	}
	// Without one the execution fails, and says so without the words.
	out := Plan(in(playing(t), bad(ran("plot"))))
	if ev, ok := out.Facts[0].Message.(*eventsv1.ExecutionFailed); !ok || ev.Error != "plot: it failed" || !strings.Contains(outcomeOf(out, "plot").Error, secret) {
		t.Errorf("%v", told(out))
	}
	// A set-up runtime's last error stands in the session.
	s := fold(t, session(t, projections.PhaseSetup, &eventsv1.SetupRuntime{RuntimeId: "plot", Status: projections.SetupPending, Generation: 1}), "e1",
		&eventsv1.ExecutionStarted{ExecutionId: "e1", Origin: OriginPlayer, LogicalTurn: 1, Phase: projections.PhaseSetup})
	setup := wrong(ran("plot"))
	setup.Stage = manifest.Setup
	out = Plan(in(s, setup))
	after := fold(t, s, "e1", messages(out)...)
	if su, _ := after.Session.SetupOf("plot"); su.LastError != turn.ConcealedFailure {
		t.Errorf("last error %q", su.LastError)
	}
}

// Rule REF:plugins.md §11: what a failed run has called is not committed, and the record says so.
func TestCallsOfAFailedRun(t *testing.T) {
	caller := failed(ran("notes"))
	caller.Nested = []turn.Result{ran("notes/part", dataWrite("1")), failed(ran("notes/other"))}
	out := Plan(in(playing(t), teller(), caller))
	dropped := map[string]bool{}
	for _, o := range out.Facts[len(out.Facts)-1].Message.(*eventsv1.ExecutionCommitted).Outcomes {
		dropped[o.RuntimeId] = o.Dropped
	}
	if !dropped["notes/part"] || dropped["notes/other"] || dropped["notes"] || dropped["narrator"] {
		t.Errorf("dropped %v", dropped)
	}
	for _, line := range told(out) {
		if strings.Contains(line, "n/k") {
			t.Errorf("it was written: %s", line)
		}
	}
	// Who read it goes with it, as with every read of what is not committed.
	reader := ran("reader", dataWrite("2"))
	reader.Reads = []string{"run-notes/part"}
	out = Plan(in(playing(t), teller(), caller, reader))
	for _, o := range out.Facts[len(out.Facts)-1].Message.(*eventsv1.ExecutionCommitted).Outcomes {
		if o.RuntimeId == "reader" && !o.Dropped {
			t.Error("the reader is committed")
		}
	}
}

func dataWrite(value string) sdk.Proposal {
	return propose(sdk.PluginDataWrite{Namespace: "n", Key: "k", Value: json.RawMessage(value)})
}
