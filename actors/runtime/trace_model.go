package runtime

import (
	"strings"
	"time"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/kernel/loop"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/turn"
)

// maxReasoning is how much of what a model thinks aloud in one answer the trace keeps, in bytes.
const maxReasoning = 64 << 10

// modelCall is one call of a model as the trace tells it.
type modelCall struct {
	r         *runtime
	id        string
	slot      string
	attempt   int
	began     time.Time
	first     time.Time // of the first piece of the answer
	reasoning strings.Builder
}

// emitCall tells that a model is asked, with the whole request: what the copy that is sent leaves out to fit its model, the
// event context.pruned before it tells (seed: turn-pipeline.txt, "traces … retain their full content").
func (r *runtime) emitCall(e loop.CallModel, n string, waited time.Duration) *modelCall {
	c := &modelCall{r: r, id: r.run.start.RunID + "-" + n, slot: e.Request.Slot, attempt: e.Attempt, began: time.Now()}
	q := e.Request
	call := trace.LLMCall{
		CallID: c.id, Purpose: string(e.Purpose), Step: e.Step, Attempt: e.Attempt, Slot: orElse(q.Slot, "story"), Model: model.NameOf(r.Model, q.Slot),
		Streaming: q.Stream, Messages: q.Messages, Tools: q.Tools, MaxOutputTokens: q.MaxOutputTokens, WaitMs: waited.Milliseconds(), RetryReason: e.Reason,
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

// heard takes a piece of the answer and says whether it is the first one.
func (c *modelCall) heard(d model.Delta) (first bool) {
	if c.first.IsZero() {
		c.first, first = time.Now(), true
	}
	if c.reasoning.Len()+len(d.Reasoning) <= maxReasoning {
		c.reasoning.WriteString(d.Reasoning)
	}
	return first
}

func (c *modelCall) ended(reply model.Reply, err error) {
	now := time.Now()
	out := trace.LLMReply{
		CallID: c.id, Attempt: c.attempt, Model: reply.Model, Text: reply.Text, Reasoning: c.reasoning.String(), FinishReason: string(reply.FinishReason),
		DurationMs: now.Sub(c.began).Milliseconds(), Usage: priced(c.r.Model, c.slot, reply.Usage),
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

// gatewayCall is one request of plugin code to a model as the trace tells it.
type gatewayCall struct {
	trace *trace.Writer
	about trace.Scope
	model model.Provider
	entry trace.Gateway
	began time.Time
}

// emitGateway tells that plugin code asks a model. caller is the extension point whose provider asks, "" for a guard or a handler.
func emitGateway(w *trace.Writer, about trace.Scope, m model.Provider, id, caller string, req model.Request) *gatewayCall {
	c := &gatewayCall{trace: w, about: about, model: m, began: time.Now()}
	c.entry = trace.Gateway{CallID: id, Caller: caller, Method: "generateText", Slot: req.Slot, Model: model.NameOf(m, req.Slot)}
	if req.ResponseFormat != nil {
		c.entry.Method = "generateObject"
	}
	asked := c.entry
	asked.Prompt = req.Messages
	w.Emit(about, trace.GatewayCalling, asked)
	return c
}

// ended tells of the answer and gives what it cost.
func (c *gatewayCall) ended(reply model.Reply, err error) trace.Usage {
	c.entry.Text, c.entry.FinishReason, c.entry.Model = reply.Text, string(reply.FinishReason), orElse(reply.Model, c.entry.Model)
	c.entry.Usage, c.entry.DurationMs = priced(c.model, c.entry.Slot, reply.Usage), time.Since(c.began).Milliseconds()
	outcome := trace.GatewayResponded
	if err != nil {
		c.entry.Error, outcome = err.Error(), trace.GatewayFailed
	}
	c.trace.Emit(c.about, outcome, c.entry)
	return c.entry.Usage
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

// usageOf is what calls of models took as the log keeps it: also those that failed, which no loop counts. counted says how
// many there were.
func usageOf(u trace.Usage, counted turn.Usage) turn.Usage {
	return turn.Usage{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CachedInputTokens: u.CachedInputTokens, CostMicros: u.CostMicros, Unpriced: u.Unpriced,
		ModelCalls: counted.ModelCalls, ToolCalls: counted.ToolCalls,
	}
}

// spend adds up what the calls of this run took.
func (r *runtime) spend(u trace.Usage) {
	r.spending.Lock()
	defer r.spending.Unlock()
	r.spent, r.spentInStep = r.spent.Plus(u), r.spentInStep.Plus(u)
}

func (r *runtime) total() trace.Usage {
	r.spending.Lock()
	defer r.spending.Unlock()
	return r.spent
}

// stepBegins begins to count anew what the calls of a step take.
func (r *runtime) stepBegins() {
	r.spending.Lock()
	defer r.spending.Unlock()
	r.spentInStep = trace.Usage{}
}

func (r *runtime) stepTotal() trace.Usage {
	r.spending.Lock()
	defer r.spending.Unlock()
	return r.spentInStep
}
