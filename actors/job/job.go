package job

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/covel/covel/actors/runtime"
	"github.com/covel/covel/actors/turn"
	kernelsession "github.com/covel/covel/kernel/session"
)

// Props makes the actor of one job: an execution of the one run it was frozen with, and of the event runs that this run sets
// off. It holds nothing of the session's turn; it tells its parent kernelsession.TurnEnded, and only the session commits.
// freeze gives what the execution reads, with the run in Frozen.Only.
func Props(d turn.Deps, freeze func(context.Context, kernelsession.StartJob) (runtime.Frozen, error), start kernelsession.StartJob) *actor.Props {
	d.Freeze = func(ctx context.Context, _ kernelsession.StartTurn) (runtime.Frozen, error) {
		return freeze(ctx, start)
	}
	return turn.Props(d, kernelsession.StartTurn{Execution: start.Execution, View: start.View})
}
