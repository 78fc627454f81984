package turn_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/goleak"

	"github.com/covel/covel/actors/nodetest"
	"github.com/covel/covel/actors/runtime"
	"github.com/covel/covel/actors/turn"
	kernelsession "github.com/covel/covel/kernel/session"
	kernel "github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/projections"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, nodetest.LeakOptions()...) }

// parent is the session of a turn under test: it collects what the turn tells.
type parent struct {
	props *actor.Props
	turn  *actor.PID
	ended chan kernelsession.TurnEnded
	told  chan kernelsession.Progress
	gone  chan struct{}
}

func (p *parent) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		p.turn = c.Spawn(p.props)
		c.Watch(p.turn)
	case kernelsession.TurnEnded:
		p.ended <- m
	case kernelsession.Progress:
		p.told <- m
	case turn.Cancel:
		c.Send(p.turn, m)
	case *actor.Terminated: // comes twice: to the parent, and to the watcher
		if p.turn != nil {
			p.turn = nil
			close(p.gone)
		}
	}
}

// child is a run that does what a test says.
type child func(c actor.Context, msg any)

func (f child) Receive(c actor.Context) { f(c, c.Message()) }

var generation = func() *registry.Generation {
	g := &registry.Generation{Plugins: map[string]*registry.Loaded{}}
	for _, id := range []string{"before", "teller", "beside"} {
		stage := manifest.Narrative
		if id == "before" {
			stage = manifest.PreTurn
		}
		g.Plugins[id] = &registry.Loaded{Manifest: manifest.Plugin{ID: id, Runtimes: []manifest.Runtime{
			{ID: id, PluginID: id, Schedule: manifest.Schedule{Stage: stage, Trigger: manifest.TriggerAuto, Every: 1}},
		}}}
	}
	return g
}()

func start(t *testing.T, freezeErr error, run func(id string) child) (*parent, *actor.ActorSystem, *actor.PID) {
	t.Helper()
	var active []manifest.Runtime
	for _, id := range []string{"before", "beside", "teller"} {
		active = append(active, generation.Plugins[id].Manifest.Runtimes...)
	}
	p := &parent{ended: make(chan kernelsession.TurnEnded, 1), told: make(chan kernelsession.Progress, 100), gone: make(chan struct{})}
	p.props = turn.Props(turn.Deps{
		Log: slog.New(slog.DiscardHandler),
		Freeze: func(context.Context, kernelsession.StartTurn) (runtime.Frozen, error) {
			return runtime.Frozen{Generation: generation, Active: active}, freezeErr
		},
		Run: func(_ runtime.Frozen, r kernel.Run, _ *registry.Loaded) *actor.Props {
			f := run(r.Runtime.ID)
			return actor.PropsFromProducer(func() actor.Actor {
				return child(func(c actor.Context, msg any) {
					if _, ok := msg.(*actor.Started); ok && f == nil {
						c.Send(c.Parent(), runtime.Ended{Result: kernel.Result{RunID: r.RunID, RuntimeID: r.Runtime.ID, Status: kernel.Succeeded}})
						c.Stop(c.Self())
					} else if f != nil {
						f(c, msg)
					}
					if cancel, ok := msg.(runtime.Cancel); ok {
						c.Send(c.Parent(), runtime.Ended{Result: kernel.Result{RunID: r.RunID, RuntimeID: r.Runtime.ID, Status: kernel.Failed, Error: cancel.Reason}})
						c.Stop(c.Self())
					}
				})
			})
		},
	}, kernelsession.StartTurn{Execution: projections.Execution{ID: "e1", Phase: projections.PhasePlaying, LogicalTurn: 1}})
	system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
	t.Cleanup(system.Shutdown)
	return p, system, system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return p }))
}

func (p *parent) end(t *testing.T) kernelsession.TurnEnded {
	t.Helper()
	select {
	case e := <-p.ended:
		return e
	case <-time.After(nodetest.Patience):
		t.Fatal("the turn does not end")
		panic("unreachable")
	}
}

// A run whose actor panics has failed; its siblings, the later stages and the turn go on.
func TestPanicInARuntimeFailsThatRun(t *testing.T) {
	p, _, _ := start(t, nil, func(id string) child {
		if id != "beside" {
			return nil
		}
		return func(c actor.Context, msg any) {
			if _, ok := msg.(*actor.Started); ok {
				panic("龙胆")
			}
		}
	})
	e := p.end(t)
	status := map[string]kernel.Status{}
	for _, r := range e.Results {
		status[r.RuntimeID] = r.Status
	}
	if e.Crash != "" || status["before"] != kernel.Succeeded || status["teller"] != kernel.Succeeded || status["beside"] != kernel.Failed {
		t.Errorf("crash %q, results %v", e.Crash, status)
	}
}

// What an execution needs cannot be loaded: it ends with the reason, and no run was started.
func TestFreezeFails(t *testing.T) {
	p, _, _ := start(t, errors.New("the world is gone"), func(string) child {
		t.Error("a run was started")
		return nil
	})
	if e := p.end(t); e.Crash != "the world is gone" {
		t.Errorf("crash %q", e.Crash)
	}
}

// A cancelled turn cancels its runs and still reports, once; nothing of a later stage starts.
func TestCancel(t *testing.T) {
	started := make(chan string, 9)
	p, system, pid := start(t, nil, func(id string) child {
		return func(c actor.Context, msg any) {
			if _, ok := msg.(*actor.Started); ok {
				started <- id
			}
		}
	})
	if id := <-started; id != "before" {
		t.Fatalf("%s started first", id)
	}
	system.Root.Send(pid, turn.Cancel{Reason: kernelsession.AbortPlayer})
	e := p.end(t)
	if len(e.Results) != 1 || e.Results[0].Error != kernelsession.AbortPlayer {
		t.Errorf("results %+v", e.Results)
	}
	select {
	case <-p.gone:
	case <-time.After(nodetest.Patience):
		t.Fatal("the turn actor stays")
	}
	if len(started) != 0 {
		t.Errorf("%s started after the cancel", <-started)
	}
}
