package runtime

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/pkg/errors"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/internal/safego"
	"github.com/covel/covel/kernel/allowance"
	"github.com/covel/covel/kernel/extension"
	"github.com/covel/covel/kernel/loop"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/prompt"
	"github.com/covel/covel/kernel/prompt/budget"
	"github.com/covel/covel/plugins/points"
	"github.com/covel/covel/plugins/sdk"
)

// contextBuilt is the context of an agent, made outside of the mailbox: providers of extension points may take their time.
type contextBuilt struct {
	config   loop.Config
	in       prompt.In
	messages []model.Message
	err      error
}

// assemble builds the context and tells the actor (seed: turn-pipeline.txt, the node buildContext of the diagram). The run is
// not charged for it: what providers and a compaction may take has limits of its own, and the compaction is for the whole turn.
func (a *agent) assemble(c actor.Context, cfg loop.Config) {
	a.clock.run(false)
	self, root, parent := c.Self(), c.ActorSystem().Root, c.Parent()
	ctx := a.r.ctx
	safego.Go("context", func() {
		done := contextBuilt{config: cfg, err: errors.New("building the context failed unexpectedly")}
		defer func() { root.Send(self, done) }()
		done.in, done.messages, done.err = a.r.buildContext(ctx, func(n notice) { root.Send(parent, n.progress()) })
	})
}

// buildContext puts the prompt together: segments of plugins, the projected history, and for the first agent that reads the
// shared view a compaction against the prompt it really has, after which the context is built again. tell shows the player
// what concerns them.
func (r *runtime) buildContext(ctx context.Context, tell func(notice)) (prompt.In, []model.Message, error) {
	f, rt := r.run.frozen, r.run.start.Runtime
	in := r.run.prompt()
	segments, err := f.Shared.call(ctx, points.PromptSegment, sdk.SegmentInput{TurnID: f.Execution.ID, PlayerMessage: in.PlayerMessage})
	if err != nil {
		return in, nil, err
	}
	in.Segments = extension.Segments(segments)
	if b := r.run.start.Subagent; b != nil {
		in = r.briefed(in, *b)
		return in, prompt.Build(in), nil
	}
	if !prompt.Shared(rt) {
		return r.withHistory(ctx, in, f.Shared.history(f))
	}
	// Whoever comes later waits here and reads what the first one's compaction left.
	view, err := f.Shared.compactOnce(ctx, r, prompt.System(in), tell)
	if err != nil {
		return in, nil, err
	}
	return r.withHistory(ctx, in, view)
}

// historyView is the conversation before the current turn: what no summary stands for, and the summaries.
type historyView struct {
	messages  []sdk.HistoryMessage
	summaries []sdk.Summary
}

// withHistory projects a view through the providers of prompt.history-transform@1 and the runtime's own filter.
func (r *runtime) withHistory(ctx context.Context, in prompt.In, view historyView) (prompt.In, []model.Message, error) {
	f, rt := r.run.frozen, r.run.start.Runtime
	result, err := f.Shared.call(ctx, points.HistoryTransform, sdk.HistoryTransform{Messages: orEmpty(view.messages), TurnID: f.Execution.ID})
	if err != nil {
		return in, nil, err
	}
	var summaries bool
	in.History, summaries = prompt.Visible(rt, extension.Transformed(view.messages, result))
	in.Summaries = nil
	if summaries {
		for _, s := range view.summaries {
			in.Summaries = append(in.Summaries, s.Content)
		}
	}
	return in, prompt.Build(in), nil
}

func orEmpty(m []sdk.HistoryMessage) []sdk.HistoryMessage {
	if m == nil {
		return []sdk.HistoryMessage{}
	}
	return m
}

func (a *agent) built(c actor.Context, m contextBuilt) {
	a.clock.run(true)
	if m.err != nil {
		a.fail(c, loop.StopInternal, m.err.Error())
		return
	}
	a.assembled(c, m.config, m.in, m.messages)
}

// fit makes the copy of a request that is sent small enough for its model, and charges the call. A request that cannot be
// made small enough, or that nothing is left for, is refused.
func (a *agent) fit(e loop.CallModel) (model.Request, *loop.CallRefused) {
	req, ledger, report, err := budget.Apply(a.ledger, e.Request, budget.Options{
		Capacity: model.CapacityOf(a.r.Model, e.Request.Slot), Newest: e.Trim, Chinese: a.r.run.frozen.Instructions == prompt.Chinese,
	})
	if err != nil {
		stop := loop.StopContextOverflow
		if errors.Is(err, budget.ErrInvalid) {
			stop = loop.StopInvalidContext
		}
		return req, &loop.CallRefused{Stop: stop, Detail: err.Error(), Left: a.clock.left()}
	}
	if err := a.r.run.frozen.Account.admit(allowance.ModelCall); err != nil {
		return req, &loop.CallRefused{Stop: loop.StopBudgetExceeded, Detail: err.Error(), Left: a.clock.left()}
	}
	a.ledger = ledger
	if report.Changed() {
		a.r.emit(trace.ContextPruned, trace.Pruned{
			Messages: report.Pruned, Images: report.Images, Elided: report.Elided, Collapsed: report.Collapsed, Truncated: report.Truncated,
			TokensBefore: report.Before, TokensAfter: report.After, Budget: report.Budget,
		})
	}
	return req, nil
}
