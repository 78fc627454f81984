// Package job is the shell around background work: the node's pool of places, and the actor of one job, which is the actor
// of an execution that holds a single frozen run. kernel/job decides, the session's own machine commits.
package job

import (
	"log/slog"
	"runtime/debug"

	"github.com/asynkron/protoactor-go/actor"

	kernel "github.com/covel/covel/kernel/job"
)

// Want tells the pool which jobs its sender may start now. The pool answers Granted for each one it has a place for.
type Want struct {
	From *actor.PID
	Jobs []string
}

// Release gives a place back.
type Release struct {
	From *actor.PID
	Job  string
}

// Forget gives back all that an actor has: it starts over.
type Forget struct{ From *actor.PID }

// Granted is told to whom a place was given.
type Granted struct{ Job string }

// PoolProps makes the pool of a node. A session that stops gives back everything by it.
func PoolProps(size int, log *slog.Logger) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		return &pool{state: kernel.NewPool(size), pids: map[string]*actor.PID{}, log: log}
	})
}

type pool struct {
	state kernel.Pool
	pids  map[string]*actor.PID // by holder
	log   *slog.Logger
}

func (p *pool) Receive(c actor.Context) {
	defer func() {
		if r := recover(); r != nil {
			p.log.Error("job pool panicked", "panic", r, "stack", string(debug.Stack()))
			panic(r)
		}
	}()
	var given []kernel.Place
	switch m := c.Message().(type) {
	case Want:
		holder := m.From.String()
		if _, known := p.pids[holder]; !known {
			p.pids[holder] = m.From
			c.Watch(m.From)
		}
		p.state, given = p.state.Want(holder, m.Jobs)
	case Release:
		p.state, given = p.state.Release(kernel.Place{Holder: m.From.String(), Job: m.Job})
	case Forget:
		p.state, given = p.state.Forget(m.From.String())
	case *actor.Terminated:
		delete(p.pids, m.Who.String())
		p.state, given = p.state.Forget(m.Who.String())
	}
	for _, place := range given {
		c.Send(p.pids[place.Holder], Granted{place.Job})
	}
}
