package session_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/pkg/errors"
	"go.uber.org/goleak"

	"github.com/covel/covel/actors/nodetest"
	"github.com/covel/covel/actors/session"
	"github.com/covel/covel/events"
	"github.com/covel/covel/events/memory"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
	"github.com/covel/covel/worlds"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, nodetest.LeakOptions()...) }

// rig runs one session actor with a turn of the test's own.
type rig struct {
	t      *testing.T
	store  *memory.Store
	system *actor.ActorSystem
	pid    *actor.PID
	ids    atomic.Int64
	newID  func() string
	turn   func(kernel.StartTurn) *actor.Props
	gone   chan struct{}
	saved  snapshots
}

// snapshots keeps what a session saves.
type snapshots chan projections.State

func (s snapshots) Load(context.Context, string) (projections.State, bool, error) {
	return projections.State{}, false, nil
}

func (s snapshots) Save(_ context.Context, _ string, st projections.State) error {
	s <- st
	return nil
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, store: memory.New(memory.Options{}), gone: make(chan struct{}), saved: make(snapshots, 8)}
	r.newID = func() string { return fmt.Sprint("id-", r.ids.Add(1)) }
	var pack worlds.View
	pack.Record.ID, pack.Record.Locale = "w", "en"
	evs, err := kernel.Create(kernel.Creation{SessionID: "s1", Incarnation: "i", Pack: pack})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.store.Append(context.Background(), "session-s1", events.NoStream, evs); err != nil {
		t.Fatal(err)
	}
	r.system = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
	t.Cleanup(r.system.Shutdown)
	return r
}

func (r *rig) start() {
	r.pid = r.system.Root.Spawn(session.Props(session.Deps{
		SessionID: "s1", Snapshots: r.saved, Self: kernel.Owner{Node: "n", Activation: "a"}, Store: r.store, NewID: func() string { return r.newID() },
		OwnerAlive: func(kernel.Owner) bool { return false },
		Validate:   func(context.Context, projections.State, kernel.Command) []kernel.Issue { return nil },
		Turn:       func(s kernel.StartTurn) *actor.Props { return r.turn(s) }, CancelMsg: func(string) any { return "cancel" },
		Gone: func() { close(r.gone) }, Log: slog.New(slog.DiscardHandler),
	}))
	r.t.Cleanup(func() { _ = r.system.Root.PoisonFuture(r.pid).Wait() })
}

func (r *rig) ask(msg any) any {
	r.t.Helper()
	res, err := r.system.Root.RequestFuture(r.pid, msg, nodetest.Patience).Result()
	if err != nil {
		r.t.Fatal(err)
	}
	return res
}

func (r *rig) say(id string) chan kernel.Answer {
	r.t.Helper()
	answers := make(chan kernel.Answer, 4)
	r.ask(session.Submit{Command: kernel.Command{
		RequestID: id, BodyHash: "aa", Type: kernel.SubmitActions, ExecutionID: "exec-" + id, Actions: []projections.Action{{Kind: "say", Text: "嗨"}},
	}, Reply: func(a kernel.Answer) { answers <- a }})
	return answers
}

func (r *rig) until(what string, holds func(projections.State) bool) projections.State {
	r.t.Helper()
	sub := session.NewSubscription()
	defer sub.Close()
	v := r.ask(session.Follow{Subscription: sub}).(session.View)
	st := v.State
	ctx, cancel := context.WithTimeout(context.Background(), nodetest.Patience)
	defer cancel()
	for !holds(st) {
		u, err := sub.Next(ctx)
		if err != nil {
			r.t.Fatalf("waiting until %s: %v", what, err)
		}
		if u.Publish != nil {
			st = u.Publish.After
		}
	}
	return st
}

// A panic in the turn's own actor fails the execution with its line kept, and the session goes on.
func TestPanicInATurnFailsTheExecution(t *testing.T) {
	r := newRig(t)
	r.turn = func(kernel.StartTurn) *actor.Props {
		return actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(*actor.Started); ok {
				panic("at the start")
			}
		})
	}
	r.start()
	for i := range 2 {
		id := fmt.Sprint("q", i)
		<-r.say(id)
		st := r.until("the execution has failed", func(s projections.State) bool {
			return s.Session.Last != nil && s.Session.Last.ID == "exec-"+id
		})
		if st.Session.Last.End != projections.EndFailed || st.Session.Draft == nil || st.Session.Open != nil {
			t.Errorf("after the panic: %+v", st.Session.Last)
		}
	}
}

// A panic in the session itself starts it over from the log; its followers are told to start over too, and nothing that
// was accepted is lost.
func TestPanicInASessionStartsItOver(t *testing.T) {
	r := newRig(t)
	r.turn = func(s kernel.StartTurn) *actor.Props { return actor.PropsFromFunc(func(actor.Context) {}) }
	var broken atomic.Bool
	fresh := r.newID
	r.newID = func() string {
		if broken.Swap(false) {
			panic("no more ids")
		}
		return fresh()
	}
	r.start()
	sub := session.NewSubscription()
	r.ask(session.Follow{Subscription: sub})
	<-r.say("q1")
	broken.Store(true)
	r.system.Root.Send(r.pid, session.Wake{})
	ctx, cancel := context.WithTimeout(context.Background(), nodetest.Patience)
	defer cancel()
	for {
		u, err := sub.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if u.Reset != "" {
			break
		}
	}
	v := r.ask(session.Read{}).(session.View)
	if v.Err != nil || v.State.Session.Open == nil || v.Working {
		t.Fatalf("after the restart: open %v, working %v, %v", v.State.Session.Open, v.Working, v.Err)
	}
	if a := <-r.say("q1"); !a.Repeat {
		t.Errorf("the accepted request is forgotten: %+v", a)
	}
	<-r.say("q2") // the next line closes what the former life left open
	st := r.until("the old execution is closed", func(s projections.State) bool { return s.Session.Open != nil && s.Session.Open.ID == "exec-q2" })
	if st.Session.Last.ID != "exec-q1" || st.Session.Last.Reason != kernel.AbortInterrupted {
		t.Errorf("the old execution: %+v", st.Session.Last)
	}
}

// A session whose log cannot be folded says so and writes nothing.
func TestUnreadableSession(t *testing.T) {
	r := newRig(t)
	if _, err := r.store.Append(context.Background(), "session-s1", 1, []events.Event{{ID: events.NewID("x", "y", 0, 0), Type: "FromTheFuture", SchemaVersion: 9}}); err != nil {
		t.Fatal(err)
	}
	r.turn = func(kernel.StartTurn) *actor.Props { return nil }
	r.start()
	v := r.ask(session.Read{}).(session.View)
	if !errors.Is(v.Err, events.ErrUnknownType) {
		t.Errorf("error %v", v.Err)
	}
	if a := <-r.say("q1"); a.Refusal == nil || a.Refusal.Code != "session_unreadable" {
		t.Errorf("a command: %+v", a)
	}
	r.system.Root.Send(r.pid, session.Leave{})
	select {
	case <-r.gone:
	case <-time.After(nodetest.Patience):
		t.Fatal("it stays")
	}
	if n, _ := r.store.StreamVersion(context.Background(), "session-s1"); n != 2 {
		t.Errorf("version %d", n)
	}
}

// A session that leaves keeps a snapshot of what it knew.
func TestSnapshotOnLeaving(t *testing.T) {
	r := newRig(t)
	r.start()
	v := r.ask(session.Read{}).(session.View)
	r.system.Root.Send(r.pid, session.Leave{})
	select {
	case st := <-r.saved:
		if st.Version != v.State.Version {
			t.Errorf("version %d was kept of %d", st.Version, v.State.Version)
		}
	case <-time.After(nodetest.Patience):
		t.Fatal("nothing was kept")
	}
}
