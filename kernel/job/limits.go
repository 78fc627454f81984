package job

import (
	"time"

	"github.com/covel/covel/projections"
)

// Limits of a runtime that names none (reference: api-and-protocol.md §8, "Example job limits"), and how long the next
// execution waits for a settle job that names no limit.
const (
	DefaultMaxQueueMs      = 120_000
	DefaultMaxExecutionMs  = 120_000
	DefaultMaxSettleWaitMs = 30_000
)

// QueuedUntil is when a job has waited too long to be claimed. It counts from the first queueing, also after a shutdown has
// put the job back (seed: turn-pipeline.txt §2.3, "The queue time limit still counts from when the job was first queued").
func QueuedUntil(j projections.Job) time.Time { return j.EnqueuedAt.Add(ms(j.MaxQueueMs)) }

// QueueExpired says whether a queued job is past its limit.
func QueueExpired(j projections.Job, now time.Time) bool {
	return j.Status == projections.JobQueued && !now.Before(QueuedUntil(j))
}

func ms(n uint64) time.Duration { return time.Duration(min(n, 1<<40)) * time.Millisecond }
