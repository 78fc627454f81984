package runtime

import (
	"context"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/sdk"
)

// callRun asks the actor to start a called run as its child; the answer comes on reply, which takes one.
type callRun struct {
	run   turn.Run
	reply chan<- turn.Result
}

// callOff stops a called run; its result still comes.
type callOff struct{ runID string }

// gone is a child that has stopped, in the order of its messages.
type gone struct{ pid *actor.PID }

// nested are the called runs that are under way, by run id.
type nested map[string]calledRun

type calledRun struct {
	pid   *actor.PID
	run   turn.Run
	reply chan<- turn.Result
}

func (n *nested) receive(c actor.Context, r *runtime, msg any) {
	switch m := msg.(type) {
	case callRun:
		if r.ended {
			m.reply <- turn.Ended(m.run, "cancelled-by-parent", "the run that called it has ended")
			return
		}
		pid := c.Spawn(Props(r.Deps, r.run.frozen, m.run, r.run.plugin))
		c.Watch(pid)
		if *n == nil {
			*n = nested{}
		}
		(*n)[m.run.RunID] = calledRun{pid, m.run, m.reply}
	case callOff:
		if call, ok := (*n)[m.runID]; ok {
			c.Send(call.pid, Cancel{Reason: "cancelled-by-parent"})
		}
	case Ended:
		if call, ok := (*n)[m.Result.RunID]; ok {
			delete(*n, m.Result.RunID)
			call.reply <- m.Result
		}
	case *actor.Terminated: // overtakes what the child sent before it ended
		c.Send(c.Self(), gone{m.Who})
	case gone:
		for id, call := range *n {
			if call.pid.Equal(m.pid) {
				delete(*n, id)
				call.reply <- turn.Ended(call.run, "internal", "the runtime stopped unexpectedly")
			}
		}
	}
}

// cancel stops all called runs: nobody waits for them any more.
func (n *nested) cancel(c actor.Context, reason string) {
	for id, call := range *n {
		delete(*n, id)
		c.Send(call.pid, Cancel{Reason: "cancelled-by-parent"})
		call.reply <- turn.Ended(call.run, "cancelled-by-parent", reason)
	}
}

// recurse is ctx.recursiveCall.
func (k *code) recurse(ctx context.Context, call sdk.RecursiveCall) (sdk.RecursiveResult, error) {
	k.order.Lock()
	defer k.order.Unlock()
	r, f := k.r, k.run.frozen
	var run turn.Run
	err := k.do(func() (err error) {
		run, err = turn.Recurse(turn.Recursion{
			ExecutionID: f.Execution.ID, Caller: k.run.start, Earlier: k.run.nested, Active: turn.Awake(f.Active, f.State.Suspensions),
			Contracts: f.Contracts, N: len(k.run.nested) + 1,
		}, call)
		return err
	})
	if err != nil {
		r.emit(trace.RecursiveFailed, trace.Recursive{RuntimeID: call.RuntimeID, Reason: call.Reason, Status: "refused", Error: err.Error()})
		return sdk.RecursiveResult{}, err
	}
	told := trace.Recursive{RunID: run.RunID, RuntimeID: run.Runtime.ID, Depth: len(run.Callers), Reason: call.Reason}
	r.emit(trace.RecursiveCalling, told)
	res, err := k.await(ctx, run)
	if err != nil {
		return sdk.RecursiveResult{}, err
	}
	told.Status, told.StopReason, told.Error = string(res.Status), res.StopReason, res.Error
	ended := trace.RecursiveCompleted
	if res.Status == turn.Failed {
		ended = trace.RecursiveFailed
	}
	r.emit(ended, told)
	err = k.do(func() error {
		if err := k.run.flush(); err != nil {
			return err
		}
		k.run.nested = append(slices.Clone(k.run.nested), res)
		k.run.look()
		return nil
	})
	if err != nil {
		return sdk.RecursiveResult{}, err
	}
	k.look()
	return turn.RecursiveOf(res), nil
}

// await starts a run and waits until it has ended; it is called off when ctx is.
func (k *code) await(ctx context.Context, run turn.Run) (turn.Result, error) {
	reply := make(chan turn.Result, 1)
	k.r.self.send(callRun{run, reply})
	for done := ctx.Done(); ; {
		select {
		case res := <-reply:
			return turn.SettleRecursive(res), nil
		case <-done:
			done = nil
			k.r.self.send(callOff{run.RunID})
		case <-k.r.ctx.Done(): // the caller is over; nobody is left to answer
			return turn.Result{}, errOver
		}
	}
}
