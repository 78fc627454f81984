package projections_test

import (
	"fmt"
	"testing"

	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

func queued(id, runtime string) *eventsv1.JobQueued {
	return &eventsv1.JobQueued{
		JobId: id, RuntimeId: runtime, Plugin: &eventsv1.PluginRef{Id: "memory", Version: "1.0.0", Digest: "d"}, Activation: "stage",
		Incarnation: "i", MaxQueueMs: 1000, MaxExecutionMs: 1000, Input: &eventsv1.JobInput{Version: 1, Rendered: "我去码头。"},
	}
}

func runs(job, exec string, attempt uint32) *eventsv1.JobStarted {
	return &eventsv1.JobStarted{JobId: job, Node: "n", Activation: "a", Attempt: attempt, ExecutionId: exec}
}

// Rule REF api-and-protocol.md §5.2: the newest 20 ended jobs of a runtime are kept, and every one that is open.
func TestEndedJobsAreForgotten(t *testing.T) {
	s := begin(t)
	for i := range 25 {
		s.in("", queued(fmt.Sprint("记-", i), "memory/extract"))
	}
	s.in("", queued("other", "memory/other"), &eventsv1.JobCancelled{JobId: "other"})
	for i := range 22 {
		s.in("", &eventsv1.JobCancelled{JobId: fmt.Sprint("记-", 24-i)})
	}
	jobs := s.state().Jobs
	if len(jobs.Open()) != 3 || len(jobs) != 3+20+1 {
		t.Fatalf("%d open of %d", len(jobs.Open()), len(jobs))
	}
	if _, known := jobs.Find("记-24"); known {
		t.Error("the one that ended first is still there")
	}
	if _, known := jobs.Find("other"); !known {
		t.Error("another runtime's job was forgotten")
	}
}

// Rule TP:251: what comes late about a job that has ended changes nothing.
func TestAnEndedJobStaysAsItIs(t *testing.T) {
	s := begin(t).in("", queued("j", "r"), runs("j", "x", 1), &eventsv1.JobCancelled{JobId: "j"}).
		in("", &eventsv1.JobSucceeded{JobId: "j"}, runs("j", "y", 2), &eventsv1.JobRequeued{JobId: "j"})
	if j, _ := s.state().Jobs.Find("j"); j.Status != projections.JobCancelled || j.ExecutionID != "x" || len(j.Input) == 0 {
		t.Errorf("%+v", j)
	}
}

// Rule TP:390: after a normal shutdown the job is queued again under the same id; its next claim is another attempt. Rule
// TP:394: its queue time still counts from the first queueing.
func TestARequeuedJobKeepsItsPlace(t *testing.T) {
	s := begin(t).in("", queued("j", "r"))
	at := s.state().Jobs[0].EnqueuedAt
	s.in("", runs("j", "x", 1), &eventsv1.JobRequeued{JobId: "j"})
	j, _ := s.state().Jobs.Find("j")
	if j.Status != projections.JobQueued || j.Attempt != 1 || !j.EnqueuedAt.Equal(at) || j.Node != "" {
		t.Errorf("%+v", j)
	}
	s.in("", runs("j", "y", 2))
	if j, _ = s.state().Jobs.Find("j"); j.Attempt != 2 || j.ExecutionID != "y" || !j.EnqueuedAt.Equal(at) {
		t.Errorf("%+v", j)
	}
}

// Rule TP:237: the run of a job is no turn: it neither opens an execution of the session nor becomes its newest one.
func TestTheRunOfAJobIsNoTurn(t *testing.T) {
	s := begin(t).in("e1", say("e1", "r1", "我去码头。"), started("e1"), failed("e1")).in("", queued("j", "r"), runs("j", "x", 1))
	before := s.state()
	s.in("x", &eventsv1.ExecutionStarted{ExecutionId: "x", Origin: "background", JobId: "j"},
		&eventsv1.PluginDataChanged{PluginId: "memory", Changes: []*eventsv1.PluginDataChange{{Namespace: "blocks", Key: "玩家", Value: []byte(`1`), Revision: 1}}},
		&eventsv1.ExecutionCommitted{ExecutionId: "x"}, &eventsv1.JobSucceeded{JobId: "j"})
	after := s.state()
	if after.Session.Open != nil || after.Session.Last.ID != "e1" || after.Session.Draft == nil || after.History.Len() != before.History.Len() {
		t.Errorf("%+v", after.Session)
	}
	if _, written := after.PluginData.Get("memory", "blocks", "玩家"); !written {
		t.Error("what the job wrote is not there")
	}
	if j, _ := after.Jobs.Find("j"); j.Status != projections.JobSucceeded || j.Input != nil {
		t.Errorf("%+v", j)
	}
}
