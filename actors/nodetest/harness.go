// Package nodetest starts nodes for tests: the bundled plugins and world, a scripted model, a store that can fail. It plays
// a session the way a client does and waits on events, never on time.
package nodetest

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/covel/covel/actors/node"
	"github.com/covel/covel/actors/session"
	"github.com/covel/covel/events"
	"github.com/covel/covel/events/memory"
	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/kernel/model"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/plugins/bundled"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/projections"
	"github.com/covel/covel/worlds"
)

// Patience bounds every wait: a test that hangs says where.
const Patience = time.Minute

// Plugins builds the bundled plugins; more adds a test's own.
func Plugins(t testing.TB, more ...registry.Source) *registry.Generation {
	t.Helper()
	var sources []registry.Source
	for _, p := range bundled.All() {
		sources = append(sources, registry.Bundled(p.ID, p.Package))
	}
	gen := registry.Build(append(sources, more...))
	for _, e := range gen.Errors {
		t.Fatalf("plugin %s: %v", e.PluginID, e.Err)
	}
	return gen
}

// World gives the bundled world in a language.
func World(t testing.TB, locale string) worlds.View {
	t.Helper()
	lib, err := worlds.Open()
	if err != nil {
		t.Fatal(err)
	}
	list := lib.List(locale)
	if len(list) == 0 {
		t.Fatalf("no bundled world: %v", lib.Errors())
	}
	p, _ := lib.Get(list[0].ID)
	return p.In(locale)
}

// LeakOptions tells goleak what the actor library leaves for a second after a dead letter: its throttle.
func LeakOptions() []goleak.Option {
	return []goleak.Option{goleak.IgnoreAnyFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1")}
}

// Options of a node; zero values are the usual ones.
type Options struct {
	Store      events.Store // nil: a new memory store
	Blobs      events.BlobStore
	Model      model.Provider
	Trace      *trace.Writer
	Plugins    *registry.Generation
	Snapshots  session.Snapshots
	IdleAfter  time.Duration
	OwnerAlive func(kernel.Owner) bool
	Name       string
	Log        *slog.Logger
}

// Node is a node under test.
type Node struct {
	*node.Node
	t testing.TB
}

// Start starts a node and drains it when the test ends.
func Start(t testing.TB, o Options) *Node {
	t.Helper()
	if o.Store == nil {
		o.Store = memory.New(memory.Options{})
	}
	if o.Blobs == nil {
		o.Blobs = &memory.Blobs{}
	}
	if o.Plugins == nil {
		o.Plugins = Plugins(t)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	n := &Node{node.Start(node.Config{
		Store: o.Store, Blobs: o.Blobs, Snapshots: o.Snapshots, Model: o.Model, Plugins: func() *registry.Generation { return o.Plugins },
		IdleAfter: o.IdleAfter, OwnerAlive: o.OwnerAlive, Name: o.Name, Trace: o.Trace, Log: o.Log,
	}), t}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		if err := n.Drain(ctx); err != nil {
			t.Errorf("drain: %v", err)
		}
	})
	return n
}

var requests atomic.Int64

// Player plays one session on a node.
type Player struct {
	n     *Node
	t     testing.TB
	ID    string
	sub   *node.Subscription
	View  node.View         // the newest known state
	since events.Version    // of the newest accepted command
	Seen  []events.Recorded // every event that was published to this player, in order
	Text  string            // streamed story text of the running execution
	Tells []kernel.Progress
}

// Create makes a session of the bundled world and follows it.
func (n *Node) Create(id, locale string) *Player {
	n.t.Helper()
	if _, err := n.Node.Create(n.ctx(), id, World(n.t, locale), node.Choice{}); err != nil {
		n.t.Fatalf("create: %v", err)
	}
	return n.Join(id)
}

// Join follows an existing session.
func (n *Node) Join(id string) *Player {
	n.t.Helper()
	p := &Player{n: n, t: n.t, ID: id, sub: node.NewSubscription()}
	v, err := n.Follow(n.ctx(), id, p.sub)
	if err != nil {
		n.t.Fatalf("follow: %v", err)
	}
	p.View = v
	return p
}

// Leave ends the following.
func (p *Player) Leave() { p.sub.Close() }

func (n *Node) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	n.t.Cleanup(cancel)
	return ctx
}

// Send submits a command and gives its first answer that is not "queued".
func (p *Player) Send(cmd kernel.Command) kernel.Answer {
	p.t.Helper()
	answers := make(chan kernel.Answer, 4)
	if cmd.RequestID == "" {
		cmd.RequestID = fmt.Sprintf("r-%d", requests.Add(1))
	}
	if cmd.BodyHash == "" {
		cmd.BodyHash = "00"
	}
	if err := p.n.Submit(p.n.ctx(), p.ID, cmd, func(a kernel.Answer) { answers <- a }); err != nil {
		p.t.Fatalf("submit: %v", err)
	}
	for {
		select {
		case a := <-answers:
			if a.Status != kernel.Queued {
				p.since = max(p.since, a.Version)
				return a
			}
		case <-time.After(Patience):
			p.t.Fatal("no answer to a command")
		}
	}
}

// Say sends a line.
func (p *Player) Say(text string) kernel.Answer {
	p.t.Helper()
	return p.Send(kernel.Command{Type: kernel.SubmitActions, Actions: []projections.Action{{Kind: "say", Text: text}}})
}

// Begin starts the session.
func (p *Player) Begin() kernel.Answer {
	p.t.Helper()
	return p.Send(kernel.Command{Type: kernel.StartSession})
}

// Answer answers the open form with the given values beside its defaults.
func (p *Player) Answer(values string) kernel.Answer {
	p.t.Helper()
	open := p.View.State.Interactions.Open("")
	if len(open) == 0 {
		p.t.Fatal("no question is open")
	}
	q := open[len(open)-1].InteractionRef
	return p.Send(kernel.Command{Type: kernel.SubmitActions, Actions: []projections.Action{{Interaction: &q, Fields: projections.RawJSON(values)}}})
}

// Until takes updates until the condition holds.
func (p *Player) Until(what string, holds func() bool) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	for !holds() {
		u, err := p.sub.Next(ctx)
		if err != nil {
			p.t.Fatalf("waiting until %s: %v", what, err)
		}
		p.take(u)
	}
}

func (p *Player) take(u node.Update) {
	switch {
	case u.Publish != nil:
		p.View.State = u.Publish.After
		p.Seen = append(p.Seen, u.Publish.Events...)
		for _, r := range u.Publish.Events {
			if r.Type == "ExecutionStarted" {
				p.Text = ""
			}
		}
	case u.Progress != nil:
		p.Tells = append(p.Tells, *u.Progress)
		if u.Progress.Kind == kernel.NarrativeDelta {
			if u.Progress.Reset {
				p.Text = ""
			}
			p.Text += u.Progress.Delta
		}
	case u.Reset != "":
		p.sub = node.NewSubscription()
		v, err := p.n.Follow(p.n.ctx(), p.ID, p.sub)
		if err != nil {
			p.t.Fatalf("follow anew after %s: %v", u.Reset, err)
		}
		p.View = v
	}
}

// Settled takes updates until the request that is running has ended: no execution is open and nothing follows.
func (p *Player) Settled() projections.State {
	p.t.Helper()
	p.Until("the request has ended", func() bool {
		s := p.View.State.Session
		return p.View.State.Version >= p.since && s.Open == nil && s.Last != nil && (s.Last.End != projections.EndCommitted || s.Last.Next == "")
	})
	return p.View.State
}

// Play brings a new session to its first page and gives the state.
func (p *Player) Play(name string) projections.State {
	p.t.Helper()
	if a := p.Begin(); a.Refusal != nil {
		p.t.Fatalf("start: %v", a.Refusal)
	}
	p.Settled()
	if a := p.Answer(fmt.Sprintf(`{"characterName":%q}`, name)); a.Refusal != nil {
		p.t.Fatalf("form: %v %v", a.Refusal, a.Refusal.Issues)
	}
	p.Until("the opening is committed", func() bool {
		s := p.View.State
		return s.Version >= p.since && s.Session.Open == nil && s.History.Stories > 0
	})
	return p.View.State
}
