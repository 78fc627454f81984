package runtime

import (
	"context"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/covel/covel/kernel/allowance"
	"github.com/covel/covel/kernel/loop"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/turn"
)

// Account is the budget of one root execution. Agents, functions, nested calls, sub-agents and extensions of the execution
// draw on the same one, at the same time (seed: turn-pipeline.txt, "Function, agent, recursive and direct pipeline entries
// share a root budget, with atomic admission before provider loading"). A nil Account has no limits.
type Account struct {
	mu     sync.Mutex
	budget allowance.Budget
	begun  time.Time
}

// NewAccount opens the account of an execution that begins now; before is what its chain of suspensions has spent.
func NewAccount(l allowance.Limits, before allowance.Spent) *Account {
	return &Account{budget: allowance.Budget{Limits: l, Spent: before}, begun: time.Now()}
}

// admit takes one call out of the budget, before it is made. The error is allowance.ErrExceeded or allowance.ErrPoolFull.
func (a *Account) admit(k allowance.Kind) error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var err error
	a.budget, err = a.budget.Admit(k, time.Since(a.begun))
	return err
}

// subagentEnded gives the place of a sub-agent back.
func (a *Account) subagentEnded() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.budget = a.budget.Ended()
}

// Spent is what is used up by now.
func (a *Account) Spent() allowance.Spent {
	if a == nil {
		return allowance.Spent{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.budget.Total(time.Since(a.begun))
}

// Provider charges the calls of a provider: every one is admitted before it reaches the provider.
func (a *Account) Provider(p model.Provider) model.Provider {
	if a == nil || p == nil {
		return p
	}
	return charged{p, a}
}

type charged struct {
	model.Provider
	account *Account
}

// Generate implements model.Provider.
func (c charged) Generate(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	if err := c.account.admit(allowance.ModelCall); err != nil {
		return model.Reply{}, &model.Error{Kind: model.Permanent, Message: err.Error(), Err: err}
	}
	return c.Provider.Generate(ctx, req, onDelta)
}

// Capacity implements model.Sized.
func (c charged) Capacity(slot string) model.Capacity { return model.CapacityOf(c.Provider, slot) }

// Price implements model.Priced.
func (c charged) Price(slot string) *model.Price { return model.PriceOf(c.Provider, slot) }

// ModelName implements model.Named.
func (c charged) ModelName(slot string) string { return model.NameOf(c.Provider, slot) }

// timeSpent: the time of the execution's allowance is used up while this run goes on.
type timeSpent struct{ why string }

// watchTime ends the run when the execution's time is used up.
func (r *runtime) watchTime(c actor.Context) {
	a := r.run.frozen.Account
	if a == nil {
		return
	}
	a.mu.Lock()
	left := a.budget.Left(time.Since(a.begun))
	why := (&allowance.Exceeded{Kind: allowance.Duration, Limit: a.budget.Limits.Duration.String()}).Error()
	a.mu.Unlock()
	self, root := c.Self(), c.ActorSystem().Root
	r.budgetTimer = time.AfterFunc(left, func() { root.Send(self, timeSpent{why}) })
}

func (r *runtime) outOfTime(c actor.Context, m timeSpent) {
	switch {
	case r.ended: // only hooks are still asked
	case r.agent != nil:
		r.agent.step(c, loop.Cancel{Reason: loop.StopBudgetExceeded, Detail: m.why})
	default:
		r.cancel()
		r.end(c, turn.Result{Status: turn.Failed, StopReason: string(loop.StopBudgetExceeded), Error: m.why})
	}
}
