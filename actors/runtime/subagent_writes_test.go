package runtime

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

func operation(id string) turn.Operation {
	return turn.Operation{ID: id, PluginID: "bag", Service: "inventory@1", Proposals: []sdk.Proposal{write("k", "1"), write("l", "2")}}
}

func alone(do func() error) error { return do() }

// awaiting is a run whose sub-agent has answered already.
func awaiting(t *testing.T, res turn.Result) (*runtime, startSubagent) {
	t.Helper()
	system := actor.NewActorSystem()
	t.Cleanup(system.Shutdown)
	r := &runtime{run: started(t), self: mailbox{system.Root.Spawn(actor.PropsFromFunc(func(actor.Context) {})), system.Root}, ctx: context.Background()}
	m := startSubagent{who: manifest.Runtime{ID: "scout", PluginID: "scout"}, answer: make(chan subagentAnswer, 1)}
	m.answer <- subagentAnswer{result: res}
	return r, m
}

// Rule TP:706: successful operations of a sub-agent join the caller's commit unit, named after the sub-agent that asked.
// Rule TL:717: what this delegation staged is counted, and only that.
// Rule TP:705: what it has read of upstream writes, its caller has read.
func TestOperationsOfASubagentJoinTheCaller(t *testing.T) {
	res := turn.Result{RuntimeID: "scout", PluginID: "scout", RunID: "sub-1", Status: turn.Succeeded, Output: json.RawMessage(`1`), Operations: []turn.Operation{operation("a")}, Reads: []string{"run-0"}}
	child := &runtime{run: started(t)}
	child.run.start.Subagent = &turn.Brief{}
	handed := child.withoutWrites(res)
	r, m := awaiting(t, handed)
	r.run.operations = []turn.Operation{operation("own")}
	_, done, err := r.await(context.Background(), m, alone)
	if err != nil || len(done.Staged) != 2 || done.Staged[0] != "plugin.data" {
		t.Fatalf("%+v %v", done, err)
	}
	got := r.run.result(turn.Result{Status: turn.Succeeded})
	if len(got.Operations) != 2 || got.Operations[1].ID != "a" || got.Operations[1].InvokedBy != (turn.InvokedBy{RuntimeID: "scout", PluginID: "scout", RunID: "sub-1"}) {
		t.Errorf("%+v", got.Operations)
	}
	expect(t, "reads", got.Reads, []string{"run-0"})
	if failed := r.run.result(turn.Result{Status: turn.Failed}); failed.Operations != nil {
		t.Errorf("a caller that failed keeps %+v", failed.Operations)
	}
}

// Rule TP:706: a failed sub-agent discards its own operations; direct writes are dropped whatever its end.
// Rule TL:1488: what a sub-agent staged is taken back when the call that made it fails or is given up.
func TestWhatASubagentMayNotWrite(t *testing.T) {
	child := &runtime{run: started(t)}
	child.run.start.Subagent = &turn.Brief{}
	res := child.withoutWrites(turn.Result{Status: turn.Failed, Operations: []turn.Operation{operation("a")}, Proposals: []sdk.Proposal{write("k", "1")}, Events: []sdk.EmittedEvent{{Topic: "a.b"}}, Done: true, RecordAs: "x"})
	if res.Operations != nil || res.Proposals != nil || res.Events != nil || res.Done || res.RecordAs != "" {
		t.Errorf("%+v", res)
	}
	r, m := awaiting(t, turn.Result{Status: turn.Succeeded, Operations: []turn.Operation{operation("a")}})
	given, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := r.await(given, m, alone); err == nil || len(r.run.operations) != 0 {
		t.Errorf("a call that nobody waits for stages %+v, %v", r.run.operations, err)
	}
}

// Rule TP:1176: what a suspended run has staged through write services waits with it.
func TestOperationsWaitWithASuspension(t *testing.T) {
	r := started(t)
	r.operations = []turn.Operation{operation("a")}
	res := r.result(turn.Result{Status: turn.Suspended, Suspension: &turn.Suspension{Reason: "？"}})
	if len(res.Operations) != 1 {
		t.Fatalf("%+v", res)
	}
	c, err := turn.EncodeContinuation(res)
	if err != nil || len(c.Operations) == 0 {
		t.Fatal(err)
	}
	again := started(t)
	again.restore(&turn.Resumed{Continuation: turn.Continuation{Operations: res.Operations}})
	if got := again.result(turn.Result{Status: turn.Succeeded}); len(got.Operations) != 1 || got.Operations[0].ID != "a" {
		t.Errorf("%+v", got.Operations)
	}
}
