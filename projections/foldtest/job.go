package foldtest

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// job draws one append about a job, most of the time one that was queued. A job that comes to its end with writes has an
// execution of its own in that append.
func (l *life) job() []fact {
	if l.jobs == 0 || l.yes("another job") {
		l.jobs++
		q := &eventsv1.JobQueued{
			JobId: fmt.Sprintf("job-%d", l.jobs), RuntimeId: l.runtime(), Plugin: &eventsv1.PluginRef{Id: l.plugin(), Version: "1.0.0", Digest: "x"},
			Activation: l.pick("activation", "stage", "event", "manual"), SourceTurnId: l.execution(), Incarnation: "inc-1", Settle: l.yes("settle"),
			MaxQueueMs: 1000, MaxExecutionMs: 1000, Input: &eventsv1.JobInput{Version: 1, Payload: l.json("payload"), Rendered: l.text("rendered")},
		}
		if l.yes("by request") {
			q.RequestId, q.SeatId, q.BodyHash = fmt.Sprintf("请求-%d", l.number("request", 20)), l.seatID(), []byte{7}
		}
		return []fact{{"", q}}
	}
	n := l.number("job", uint32(l.jobs+1))
	id, exec := fmt.Sprintf("job-%d", n), fmt.Sprintf("job-exec-%d", n)
	switch l.pick("job event", "start", "start", "requeue", "succeed", "succeed", "fail", "other") {
	case "start":
		return []fact{{"", &eventsv1.JobStarted{JobId: id, Node: "n", Activation: "a", Attempt: 1 + l.number("attempt", 2), ExecutionId: exec}}}
	case "requeue":
		return []fact{{"", &eventsv1.JobRequeued{JobId: id}}}
	case "succeed":
		facts := []fact{{exec, &eventsv1.ExecutionStarted{ExecutionId: exec, Origin: "background", JobId: id}}, {exec, l.worldEvent()}}
		return append(facts, fact{exec, &eventsv1.ExecutionCommitted{ExecutionId: exec}}, fact{exec, &eventsv1.JobSucceeded{JobId: id}})
	case "fail":
		return []fact{{"", &eventsv1.JobFailed{JobId: id, Reason: "execution-failed", Error: l.text("error")}}}
	}
	return []fact{{"", []proto.Message{
		&eventsv1.JobTimedOut{JobId: id, Reason: "queue-timeout"}, &eventsv1.JobCancelled{JobId: id}, &eventsv1.JobStale{JobId: id, Reason: "plugin-changed"},
		&eventsv1.JobOrphaned{JobId: id},
	}[l.number("end of a job", 3)]}}
}
