package play

import (
	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/job"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// job gives the frames of an event about a job: the announcement, once its turn is committed, and how it stands.
func (b *framer) job(r events.Recorded, msg proto.Message) {
	id := msg.(interface{ GetJobId() string }).GetJobId()
	if q, ok := msg.(*eventsv1.JobQueued); ok && q.Activation != job.Manual {
		b.add(r, "runtime.deferred", map[string]any{"runtimeId": q.RuntimeId, "pluginId": q.Plugin.GetId(), "jobId": id, "sourceTurnId": q.SourceTurnId})
	}
	j, ok := b.after.Jobs.Find(id)
	if !ok {
		return
	}
	status := job.StatusAfter(msg)
	data := map[string]any{"originTurnId": j.SourceTurnID, "durableStatus": status}
	payload := map[string]any{
		"sessionId": b.after.Session.ID, "progressScopeId": id, "jobId": id, "pluginId": j.PluginID, "runtimeId": j.RuntimeID,
		"state": job.WireState(status), "sequence": r.Version, "createdAt": r.RecordedAt, "data": data,
	}
	if j.Status == status && !j.Open() {
		if j.Reason != "" {
			data["reason"] = j.Reason
		}
		if text := job.ErrorText(j); text != "" {
			data["error"] = text
		}
	}
	b.add(r, "job-status.updated", payload)
}

// settle tells of the background jobs that the execution went on without.
func (b *framer) settle(r events.Recorded, m *eventsv1.SettleReport) {
	if ids := m.GetTimedOut(); len(ids) > 0 {
		b.add(r, "execution.settle-timeout", map[string]any{"jobIds": ids})
	}
	if ids := m.GetSkipped(); len(ids) > 0 {
		b.add(r, "execution.settle-skipped", map[string]any{"jobIds": ids})
	}
}
