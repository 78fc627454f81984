package loop

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/text"
)

func (m *machine) modelFailed(in ModelFailed) {
	m.setLeft(in.Left)
	err := in.Err
	if err == nil {
		err = &model.Error{Kind: model.Transient, Message: "the model failed without saying why"}
	}
	m.callFailed(err)
}

// callFailed tries the request again or ends the run. From the second attempt on a small hint stands behind the request
// (reference: plugins.md §9.4, "Between retries").
func (m *machine) callFailed(err *model.Error) {
	m.waited()
	if err.Kind == model.Overflow {
		m.overflow(text.Clean(err.Message))
		return
	}
	if err.Kind == model.Cancelled {
		m.fail(StopCancelledParent, "the model call was cancelled", nil)
		return
	}
	if !m.mayRetry(err) {
		failed := &ModelError{Kind: err.Kind, Status: err.Status, Message: text.Clean(err.Message)}
		m.failCall(StopModelError, describe(failed), failed)
		return
	}
	m.s.Call.Retries++
	m.s.Call.Reason = retryReason(err)
	m.attempt(orElse(m.s.Call.Hint, m.s.Config.sayAgain()), retryAfter(err))
}

// waited adds what the latest attempt took to what its request has waited for.
func (m *machine) waited() {
	if c := &m.s.Call; c.SentLeft > 0 && m.s.Left > 0 {
		c.Waited += max(c.SentLeft-m.s.Left, 0)
	}
}

// mayRetry: text that a player has already read is never followed by another attempt, so that two answers are not glued
// together (fault case BL-03); the run fails and the text stays as a draft. A wait that does not fit into the time left is
// not begun.
func (m *machine) mayRetry(err *model.Error) bool {
	policy := m.s.Config.Retry
	if len(m.s.Shown) > 0 || m.s.Call.Retries >= policy.MaxRetries || !slices.Contains(policy.Kinds, err.Kind) || m.callSpent() {
		return false
	}
	return m.s.Left == 0 || max(retryAfter(err), Backoff(m.s.Call.Attempt+1))+FinalizerNeeds <= m.s.Left
}

func retryAfter(err *model.Error) time.Duration { return min(max(err.RetryAfter, 0), MaxRetryAfter) }

// tooLong: an answer that was cut off at the output limit is tried once more with the request to be brief, then fails
// (reference: plugins.md §9.4).
func (m *machine) tooLong() {
	m.withdraw()
	m.waited()
	if m.s.Call.Truncated || m.callSpent() {
		m.failCall(StopInvalidOutput, "the answer was cut off by the model's output limit, also when it was asked to be brief", nil)
		return
	}
	m.s.Call.Truncated = true
	m.s.Call.Reason = "truncated"
	m.attempt(m.s.Config.sayBrief(), 0)
}

// keepsTruncated: a story of which there is text, and no tool call that may be incomplete, is kept.
func (m *machine) keepsTruncated(answer string, calls []model.ToolCall) bool {
	if !m.s.Config.Story || !m.s.Config.Profile.KeepTruncated || len(calls) > 0 {
		return false
	}
	story, _ := ParseStory(answer)
	return len(story.Segments) > 0
}

// failCall ends the run because of the present request. A finalizer keeps the reason for which it was sent, a repair the
// one that the answer was invalid.
func (m *machine) failCall(stop StopReason, why string, cause *ModelError) {
	switch m.s.Call.Purpose {
	case ForFinalizer:
		if stop = m.s.Ending.Stop; stop == StopContextOverflow {
			why = m.s.Ending.Why // the original failure
			break
		}
		why = m.s.Ending.Why + "; the request for a final answer failed: " + why
	case ForRepair:
		stop, why = StopInvalidOutput, "the request to repair the answer failed: "+why
	}
	m.fail(stop, why, cause)
}

// describe keeps the provider's own words and status.
func describe(e *ModelError) string {
	msg := orElse(e.Message, "no message")
	if e.Status != 0 {
		return fmt.Sprintf("the model failed: %s (%s, status %d)", msg, e.Kind, e.Status)
	}
	return fmt.Sprintf("the model failed: %s (%s)", msg, e.Kind)
}

// retryReason names why an attempt is repeated (reference: plugins.md §9.4, "Retry reasons").
func retryReason(err *model.Error) string {
	switch err.Kind {
	case model.Timeout:
		for _, reason := range []string{"first-token-timeout", "idle-timeout", "call-timeout"} {
			if strings.Contains(err.Message, reason) {
				return reason
			}
		}
		return "call-timeout"
	case model.RateLimited:
		return "rate-limited"
	case model.Transient, model.Interrupted, model.Empty:
		return "transient-error"
	}
	return "unknown"
}
