package runtime

import (
	"time"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/kernel/loop"
	"github.com/covel/covel/kernel/model"
)

// modelCall is one call of a model as the trace tells it.
type modelCall struct {
	r       *runtime
	id      string
	slot    string
	attempt int
	began   time.Time
	first   time.Time // of the first piece of the answer
}

// emitCall tells that a model is asked, with the whole request: what the copy that is sent leaves out to fit its model, the
// event context.pruned before it tells (seed: turn-pipeline.txt, "traces … retain their full content").
func (r *runtime) emitCall(e loop.CallModel, n string, waited time.Duration) *modelCall {
	c := &modelCall{r: r, id: r.run.start.RunID + "-" + n, slot: e.Request.Slot, attempt: e.Attempt, began: time.Now()}
	q := e.Request
	call := trace.LLMCall{
		CallID: c.id, Purpose: string(e.Purpose), Step: e.Step, Attempt: e.Attempt, Slot: orElse(q.Slot, "story"), Streaming: q.Stream,
		Messages: q.Messages, Tools: q.Tools, MaxOutputTokens: q.MaxOutputTokens, WaitMs: waited.Milliseconds(), RetryReason: e.Reason,
	}
	if q.ToolChoice != (model.ToolChoice{}) {
		call.ToolChoice = q.ToolChoice
	}
	if q.ResponseFormat != nil {
		call.ResponseFormat = q.ResponseFormat
	}
	r.emit(trace.LLMCalling, call)
	return c
}

func (c *modelCall) ended(reply model.Reply, err error) {
	now := time.Now()
	out := trace.LLMReply{
		CallID: c.id, Attempt: c.attempt, Model: reply.Model, Text: reply.Text, FinishReason: string(reply.FinishReason), DurationMs: now.Sub(c.began).Milliseconds(),
		Usage: priced(c.r.Model, c.slot, reply.Usage),
	}
	c.r.spend(out.Usage)
	if len(reply.ToolCalls) > 0 {
		out.ToolCalls = reply.ToolCalls
	}
	if !c.first.IsZero() {
		out.FirstMs = c.first.Sub(c.began).Milliseconds()
	}
	if err != nil {
		failed := asModelError(err)
		out.Error, out.ErrorKind = failed.Error(), string(failed.Kind)
	}
	c.r.emit(trace.LLMResponded, out)
}

// priced is what one call took, with its cost where the price of the model is known.
func priced(p model.Provider, slot string, u model.Usage) trace.Usage {
	out := trace.Usage{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CachedInputTokens: u.CachedInputTokens, Unpriced: 1}
	if price := model.PriceOf(p, slot); price != nil {
		cost := price.Cost(u)
		out.CostMicros, out.Unpriced = &cost, 0
	}
	return out
}

// spend adds up what the calls of this run took.
func (r *runtime) spend(u trace.Usage) {
	r.spending.Lock()
	defer r.spending.Unlock()
	r.spent = r.spent.Plus(u)
}

func (r *runtime) total() trace.Usage {
	r.spending.Lock()
	defer r.spending.Unlock()
	return r.spent
}

func usage(u loop.Usage) trace.Usage {
	return trace.Usage{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CachedInputTokens: u.CachedInputTokens}
}
