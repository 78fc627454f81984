package node_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/covel/covel/actors/nodetest"
	"github.com/covel/covel/events/memory"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

// painter is a plugin whose one runtime works in the background until it is let go on, and then writes what it was given.
type painter struct {
	begun  chan string   // the payload of each run that began
	goOn   chan struct{} // one for each run that may end
	halted chan struct{} // one for each run that was stopped
	fails  atomic.Bool
}

func newPainter() *painter {
	return &painter{begun: make(chan string, 16), goOn: make(chan struct{}, 16), halted: make(chan struct{}, 16)}
}

func (p *painter) source(version string) registry.Source {
	return registry.Bundled("painter", sdk.Package{
		FS: fstest.MapFS{"PLUGIN.md": {Data: []byte("---\nid: painter\nkind: core\nversion: " + version + "\ndescription: Paints.\nruntime:\n  type: function\n  description: Paints.\n" +
			"  schedule: { trigger: manual, background: true }\n  function: { handler: paint, timeoutMs: 600000 }\n---\nIt paints.\n")}},
		Register: func(c *sdk.Covel) {
			c.RegisterHandler("paint", func(ctx context.Context, rt *sdk.Runtime) (sdk.Result, error) {
				p.begun <- string(rt.Activation)
				select {
				case <-p.goOn:
				case <-ctx.Done():
					p.halted <- struct{}{}
					return sdk.Result{}, ctx.Err()
				}
				if p.fails.Load() {
					return sdk.Result{Outcome: sdk.Failed, Error: "sk-geheim: 顔料がない"}, nil
				}
				if err := rt.PluginData.Set("pictures", "最新", json.RawMessage(rt.Activation)); err != nil {
					return sdk.Result{}, err
				}
				return sdk.Result{Outcome: sdk.Success, Value: map[string]any{"done": true}, Effects: sdk.Effects{Narrative: "I painted."}}, nil
			})
		},
	})
}

func paint(payload, request string) kernel.Command {
	return kernel.Command{Type: kernel.RunRuntimes, RequestID: request, Targets: []projections.Target{{RuntimeID: "painter", Payload: projections.RawJSON(payload)}}}
}

func wake(t *testing.T, n *nodetest.Node) {
	t.Helper()
	if err := n.Wake(context.Background(), "s1"); err != nil {
		t.Fatal(err)
	}
}

func status(p *nodetest.Player, id, want string) projections.Job {
	p.Until("job "+id+" is "+want, func() bool {
		j, _ := p.View.State.Jobs.Find(id)
		return j.Status == want
	})
	j, _ := p.View.State.Jobs.Find(id)
	return j
}

// Rule TP:179: what runs in the background counts no turn.
// Rule TP:230: a manual run of a background runtime is queued, and runs beside the player's turns; Rule TP:232: what it
// writes and its end are one commit; Rule TP:239: it appends no message and counts no turn.
func TestAManualRunInTheBackground(t *testing.T) {
	pt := newPainter()
	n := nodetest.Start(t, nodetest.Options{Model: free(), Plugins: nodetest.Plugins(t, pt.source("1.0.0"))})
	p := n.Create("s1", "en")
	p.Play("陆青云")
	a := p.Send(paint(`"港の夜"`, "r-paint"))
	if a.Refusal != nil || a.JobID == "" {
		t.Fatalf("%+v %v", a, a.Refusal)
	}
	if got := <-pt.begun; got != `"港の夜"` {
		t.Errorf("it was given %s", got)
	}
	if again := p.Send(paint(`"港の夜"`, "r-paint")); again.JobID != a.JobID || !again.Repeat {
		t.Errorf("the same request again: %+v", again)
	}
	p.Say("I go on.") // the turn does not wait for it
	s := p.Settled()
	if s.Session.CompletedPlayerTurns != 1 {
		t.Fatalf("%d turns", s.Session.CompletedPlayerTurns)
	}
	rows := s.History.Len()
	pt.goOn <- struct{}{}
	j := status(p, a.JobID, projections.JobSucceeded)
	s = p.View.State
	if rec, ok := s.PluginData.Get("painter", "pictures", "最新"); !ok || string(rec.Value) != `"港の夜"` {
		t.Errorf("written: %+v", rec)
	}
	if s.History.Len() != rows || s.Session.CompletedPlayerTurns != 1 || s.Session.Last.ID == j.ExecutionID || s.Session.LedgerOf("painter").Runs != 0 {
		t.Errorf("the job left more than its data: %d rows of %d, %+v", s.History.Len(), rows, s.Session.Last)
	}
	var types []string
	for _, r := range p.Seen[len(p.Seen)-5:] {
		types = append(types, r.Type)
	}
	if got := strings.Join(types, " "); got != "ExecutionStarted PluginDataChanged ExecutionResults ExecutionCommitted JobSucceeded" {
		t.Errorf("the commit: %s", got)
	}
}

// Rule TP:251: a cancelled job's late result is not committed. Rule TP:386: a retry is a new job.
func TestCancelAndRetry(t *testing.T) {
	pt := newPainter()
	n := nodetest.Start(t, nodetest.Options{Model: free(), Plugins: nodetest.Plugins(t, pt.source("1.0.0"))})
	p := n.Create("s1", "zh")
	p.Play("陆青云")
	id := p.Send(paint(`"雨"`, "")).JobID
	<-pt.begun
	if a, err := n.ChangeJob(context.Background(), "s1", id, kernel.CancelJobChange); err != nil || a.Refusal != nil {
		t.Fatal(err, a.Refusal)
	}
	status(p, id, projections.JobCancelled)
	<-pt.halted // else it may take the place of the retry
	if a, _ := n.ChangeJob(context.Background(), "s1", id, kernel.CancelJobChange); a.Refusal == nil || a.Refusal.Code != "runtime_job_not_cancellable" {
		t.Errorf("cancelled twice: %+v", a)
	}
	a, err := n.ChangeJob(context.Background(), "s1", id, kernel.RetryJobChange)
	if err != nil || a.Refusal != nil || a.JobID == id || a.JobID == "" {
		t.Fatal(err, a)
	}
	if got := <-pt.begun; got != `"雨"` {
		t.Errorf("the retry was given %s", got)
	}
	pt.goOn <- struct{}{}
	if j := status(p, a.JobID, projections.JobSucceeded); j.RetryOf != id {
		t.Errorf("%+v", j)
	}
	if a, _ := n.ChangeJob(context.Background(), "s1", a.JobID, kernel.RetryJobChange); a.Refusal == nil || a.Refusal.Code != "runtime_job_not_retryable" {
		t.Errorf("a retry of what succeeded: %+v", a)
	}
	if a, _ := n.ChangeJob(context.Background(), "s1", "nobody", kernel.CancelJobChange); a.Refusal == nil || a.Refusal.Code != "runtime_job_not_found" {
		t.Errorf("a job nobody knows: %+v", a)
	}
}

// Rule TP:399: when the work fails nothing of it is written, and no provider's words reach a client.
func TestAJobThatFails(t *testing.T) {
	pt := newPainter()
	pt.fails.Store(true)
	n := nodetest.Start(t, nodetest.Options{Model: free(), Plugins: nodetest.Plugins(t, pt.source("1.0.0"))})
	p := n.Create("s1", "en")
	p.Play("Mira")
	last := p.View.State.Session.Last.ID
	id := p.Send(paint(`1`, "")).JobID
	<-pt.begun
	pt.goOn <- struct{}{}
	j := status(p, id, projections.JobFailed)
	if j.Reason != "execution-failed" || strings.Contains(j.Error, "geheim") || p.View.State.Session.Last.ID != last {
		t.Errorf("%+v", j)
	}
}

// Rule TP:388–390: a normal shutdown stops the job, puts it back, and the next node runs it again under the same id.
func TestAShutdownPutsAJobBack(t *testing.T) {
	pt := newPainter()
	store, blobs := memory.New(memory.Options{}), &memory.Blobs{}
	plugins := nodetest.Plugins(t, pt.source("1.0.0"))
	n := nodetest.Start(t, nodetest.Options{Model: free(), Plugins: plugins, Store: store, Blobs: blobs, Name: "node-a"})
	p := n.Create("s1", "en")
	p.Play("Mira")
	id := p.Send(paint(`"海"`, "")).JobID
	<-pt.begun
	if err := n.Drain(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(pt.halted) != 1 {
		t.Error("the run was not stopped")
	}
	n = nodetest.Start(t, nodetest.Options{Model: free(), Plugins: plugins, Store: store, Blobs: blobs, Name: "node-b"})
	p = n.Join("s1")
	if j, _ := p.View.State.Jobs.Find(id); j.Status != projections.JobQueued || j.Attempt != 1 {
		t.Fatalf("after the shutdown: %+v", j)
	}
	wake(t, n)
	<-pt.begun
	pt.goOn <- struct{}{}
	if j := status(p, id, projections.JobSucceeded); j.Attempt != 2 {
		t.Errorf("%+v", j)
	}
}

// Rule TP:384: a job whose process died is orphaned and not run again.
func TestADeadOwnersJobIsOrphaned(t *testing.T) {
	pt := newPainter()
	store, blobs := memory.New(memory.Options{}), &memory.Blobs{}
	plugins := nodetest.Plugins(t, pt.source("1.0.0"))
	n := nodetest.Start(t, nodetest.Options{Model: free(), Plugins: plugins, Store: store, Blobs: blobs, Name: "node-a"})
	p := n.Create("s1", "en")
	p.Play("Mira")
	id := p.Send(paint(`1`, "")).JobID
	<-pt.begun
	other := nodetest.Start(t, nodetest.Options{Model: free(), Plugins: plugins, Store: store, Blobs: blobs, Name: "node-b"})
	q := other.Join("s1") // a read changes nothing
	if j, _ := q.View.State.Jobs.Find(id); j.Status != projections.JobRunning {
		t.Fatalf("%+v", j)
	}
	wake(t, other)
	status(q, id, projections.JobOrphaned)
	pt.goOn <- struct{}{} // the old owner's result comes too late
	status(p, id, projections.JobOrphaned)
	if _, written := q.View.State.PluginData.Get("painter", "pictures", "最新"); written {
		t.Error("a late result was committed")
	}
}

// Rule TP:241: a result is dropped when the player paused the session meanwhile.
func TestAPausedSessionDropsTheResult(t *testing.T) {
	pt := newPainter()
	n := nodetest.Start(t, nodetest.Options{Model: free(), Plugins: nodetest.Plugins(t, pt.source("1.0.0"))})
	p := n.Create("s1", "en")
	p.Play("Mira")
	id := p.Send(paint(`1`, "")).JobID
	<-pt.begun
	if a, err := n.ChangeStatus(context.Background(), "s1", kernel.Pause); err != nil || a.Refusal != nil {
		t.Fatal(err, a.Refusal)
	}
	pt.goOn <- struct{}{}
	if j := status(p, id, projections.JobStale); j.Reason != "session-inactive" {
		t.Errorf("%+v", j)
	}
	if a := p.Send(paint(`2`, "")); a.Refusal == nil || a.Refusal.Code != "session_not_active" {
		t.Errorf("a run in a paused session: %+v", a)
	}
}

// Rule DESIGN §5: a plugin with other code makes the job stale, and so does an input of another version.
func TestOtherCodeMakesAJobStale(t *testing.T) {
	pt := newPainter()
	store, blobs := memory.New(memory.Options{}), &memory.Blobs{}
	n := nodetest.Start(t, nodetest.Options{Model: free(), Plugins: nodetest.Plugins(t, pt.source("1.0.0")), Store: store, Blobs: blobs})
	p := n.Create("s1", "en")
	p.Play("Mira")
	id := p.Send(paint(`1`, "")).JobID
	<-pt.begun
	if err := n.Drain(context.Background()); err != nil {
		t.Fatal(err)
	}
	n = nodetest.Start(t, nodetest.Options{Model: free(), Plugins: nodetest.Plugins(t, pt.source("1.1.0")), Store: store, Blobs: blobs})
	p = n.Join("s1")
	wake(t, n)
	if j := status(p, id, projections.JobStale); j.Reason != "plugin-changed" {
		t.Errorf("%+v", j)
	}
}

// Rule TP:249: the same runtime runs only one job at a time. Rule TP:376: the end of a job wakes its session for the next one.
// Rule TP:375: one run of a runtime at a time in a session; Rule TP:240: the next one begins when it has ended.
func TestRunsOfOneRuntimeAreSerial(t *testing.T) {
	pt := newPainter()
	n := nodetest.Start(t, nodetest.Options{Model: free(), Plugins: nodetest.Plugins(t, pt.source("1.0.0"))})
	p := n.Create("s1", "en")
	p.Play("Mira")
	first, second := p.Send(paint(`1`, "")).JobID, p.Send(paint(`2`, "")).JobID
	<-pt.begun
	pt.goOn <- struct{}{}
	status(p, first, projections.JobSucceeded)
	if got := <-pt.begun; got != "2" {
		t.Errorf("then ran %s", got)
	}
	pt.goOn <- struct{}{}
	status(p, second, projections.JobSucceeded)
	running := 0
	for _, r := range p.Seen {
		switch r.Type {
		case "JobStarted":
			running++
		case "JobSucceeded":
			running--
		}
		if running > 1 {
			t.Fatal("two ran at once")
		}
	}
}
