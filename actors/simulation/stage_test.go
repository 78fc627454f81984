// Package simulation plays random sessions through the real actors, in fake time: two nodes on one store that fails, a model
// that fails, clients that repeat themselves, crashes and shutdowns in the middle of everything. What must hold is seen from
// outside: the log against kernel/session/reference, the answers of clients against the log, the frames of followers.
package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/actors/node"
	"github.com/covel/covel/actors/nodetest"
	"github.com/covel/covel/events"
	"github.com/covel/covel/events/memory"
	"github.com/covel/covel/gateway/llm/scripted"
	"github.com/covel/covel/kernel/model"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	"github.com/covel/covel/worlds"
)

const sessionID = "s1"

// chance gives numbers that follow from a seed and from what they are for, so that the order in which goroutines ask does not
// matter.
type chance struct {
	seed  uint64
	mu    sync.Mutex
	asked map[string]uint64
}

func (c *chance) roll(what string, n int) int {
	c.mu.Lock()
	c.asked[what]++
	z := c.seed ^ c.asked[what]*0x9e3779b97f4a7c15
	c.mu.Unlock()
	for _, b := range []byte(what) {
		z = (z ^ uint64(b)) * 0x100000001b3
	}
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(n))
}

// Generate implements model.Provider: the bundled game, slowly, or a failure.
func (c *chance) Generate(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	select {
	case <-time.After(time.Duration(1+c.roll("pace of "+req.Subject, 40)) * 50 * time.Millisecond):
	case <-ctx.Done():
		return model.Reply{}, &model.Error{Kind: model.Cancelled, Message: "cancelled", Err: ctx.Err()}
	}
	switch c.roll("fate of "+req.Subject, 12) {
	case 0:
		return model.Reply{}, &model.Error{Kind: model.Permanent, Message: "no"}
	case 1:
		return model.Reply{}, &model.Error{Kind: model.Transient, Message: "not now"}
	}
	return scripted.New(scripted.Script{Otherwise: scripted.BundledGame()}).Generate(ctx, req, onDelta)
}

func source(id, schedule string, run func(context.Context, *sdk.Runtime) (sdk.Result, error)) registry.Source {
	return registry.Bundled(id, sdk.Package{
		FS: fstest.MapFS{"PLUGIN.md": {Data: []byte("---\nid: " + id + "\nkind: core\nversion: 1.0.0\ndescription: Plays.\nruntime:\n  type: function\n  description: Plays.\n" +
			"  schedule: " + schedule + "\n  function: { handler: play }\n  effects: { writes: [\"plugin-data:self:notes\"] }\n---\nIt plays.\n")}},
		Register: func(c *sdk.Covel) { c.RegisterHandler("play", run) },
	})
}

// plugins are a teller, somebody who asks, somebody who remembers in the background, and somebody who is named to paint.
func (c *chance) plugins(t testing.TB) *registry.Generation {
	write := func(rt *sdk.Runtime) (sdk.Result, error) {
		err := rt.PluginData.Set("notes", fmt.Sprint("k", c.roll("key", 3)), json.RawMessage(fmt.Sprint(c.roll("value", 100))))
		return sdk.Result{Outcome: sdk.Success, Value: map[string]any{"ok": true}}, err
	}
	slow := func(ctx context.Context, rt *sdk.Runtime) (sdk.Result, error) {
		select {
		case <-time.After(time.Duration(c.roll("work of "+rt.RuntimeID, 20)) * 500 * time.Millisecond):
		case <-ctx.Done():
			return sdk.Result{}, ctx.Err()
		}
		if c.roll("luck of "+rt.RuntimeID, 6) == 0 {
			return sdk.Result{Outcome: sdk.Failed, Error: "顔料がない"}, nil
		}
		return write(rt)
	}
	gen := registry.Build([]registry.Source{
		registry.Bundled("teller", sdk.Package{FS: fstest.MapFS{"PLUGIN.md": {Data: []byte("---\nid: teller\nkind: core\nversion: 1.0.0\ndescription: Tells.\nruntime:\n  type: agent\n" +
			"  description: Tells.\n  schedule: { stage: narrative }\n  io: { visibility: story }\n  agent: {}\n---\nTell what happens next.\n")}}, Register: func(*sdk.Covel) {}}),
		source("seer", "{ stage: post-turn }", func(_ context.Context, rt *sdk.Runtime) (sdk.Result, error) {
			switch {
			case c.roll("seer", 8) == 0:
				panic("龙胆")
			case rt.PlayerMessage != "" && c.roll("seer asks", 4) == 0:
				return sdk.Result{Outcome: sdk.Suspended, Reason: "然后？", ResumeSchema: json.RawMessage(`{"type":"string"}`)}, nil
			}
			return write(rt)
		}),
		source("memory", "{ stage: post-turn, detached: { settle: true, maxSettleWaitMs: 8000 } }", slow),
		source("painter", "{ trigger: manual, background: true }", slow),
	})
	for _, e := range gen.Errors {
		t.Fatalf("plugin %s: %v", e.PluginID, e.Err)
	}
	return gen
}

// disk is the store both nodes share, and what it does wrong to the next append.
type disk struct {
	events.Store
	mu    sync.Mutex
	fault string
}

func (d *disk) breaks(fault string) { d.mu.Lock(); defer d.mu.Unlock(); d.fault = fault }

func (d *disk) next() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.fault
	d.fault = ""
	return f
}

// Append implements events.Store.
func (d *disk) Append(ctx context.Context, stream string, expected events.Version, evs []events.Event) (events.Appended, error) {
	f := d.next()
	switch f {
	case "refuse":
		return events.Appended{}, errors.New("disk full")
	case "lose":
		return events.Appended{}, events.ErrUnknown
	case "lie": // for the test that this is found
		return events.Appended{Version: expected + events.Version(len(evs))}, nil
	case "slow":
		select {
		case <-time.After(3 * time.Second):
		case <-ctx.Done():
			return events.Appended{}, ctx.Err()
		}
	}
	done, err := d.Store.Append(ctx, stream, expected, evs)
	if f == "unseen" && err == nil {
		return events.Appended{}, events.ErrUnknown
	}
	return done, err
}

// process is the disk as one node sees it: once the node is dead nothing of it gets through.
type process struct {
	*disk
	mu   sync.Mutex
	dead bool
}

func (p *process) die() { p.mu.Lock(); defer p.mu.Unlock(); p.dead = true }

// Append implements events.Store.
func (p *process) Append(ctx context.Context, stream string, expected events.Version, evs []events.Event) (events.Appended, error) {
	p.mu.Lock()
	dead := p.dead
	p.mu.Unlock()
	if dead {
		return events.Appended{}, errors.New("the process is dead")
	}
	return p.disk.Append(ctx, stream, expected, evs)
}

// running is one node, and a client that follows the session there.
type running struct {
	*node.Node
	*process
	name   string
	cancel context.CancelFunc
	follow sync.WaitGroup
}

// stage is everything a life is played on. It outlives the nodes.
type stage struct {
	*chance
	t       *testing.T
	disk    *disk
	blobs   memory.Blobs
	snaps   nodetest.Snapshots
	gen     *registry.Generation
	world   worlds.View
	nodes   [2]*running
	started int

	mu       sync.Mutex
	breaches []string
	asks     []*ask
}

func (st *stage) blame(format string, args ...any) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.breaches = append(st.breaches, fmt.Sprintf(format, args...))
}

func (st *stage) open(at int) *running {
	if n := st.nodes[at]; n != nil {
		return n
	}
	st.started++
	n := &running{process: &process{disk: st.disk}, name: fmt.Sprint("node-", st.started)}
	n.Node = node.Start(node.Config{
		Store: n.process, Blobs: &st.blobs, Snapshots: &st.snaps, Model: st.chance, Plugins: func() *registry.Generation { return st.gen },
		Name: n.name, IdleAfter: time.Minute, OwnerAlive: st.alive, Log: slog.New(slog.DiscardHandler),
	})
	st.mu.Lock()
	st.nodes[at] = n
	st.mu.Unlock()
	return n
}

func (st *stage) alive(o kernel.Owner) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, n := range st.nodes {
		if n != nil && n.name == o.Node {
			return true
		}
	}
	return false
}

// watch follows the session on a node: every frame goes on from the one before, and shows what the log has.
func (st *stage) watch(n *running) {
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	n.follow.Go(func() {
		for ctx.Err() == nil {
			sub := node.NewSubscription()
			v, err := n.Follow(ctx, sessionID, sub)
			if err != nil {
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
				continue
			}
			st.watchFrom(ctx, n, v.State, sub)
			sub.Close()
		}
	})
}

func (st *stage) watchFrom(ctx context.Context, n *running, state projections.State, sub *node.Subscription) {
	executions := map[string]uint64{}
	for {
		u, err := sub.Next(ctx)
		if err != nil || u.Reset != "" {
			return
		}
		if p := u.Progress; p != nil {
			if _, begun := executions[p.ExecutionID]; p.Kind == kernel.TurnSettling && !begun {
				continue // before its first progress; it has no number
			}
			ofNone := p.Kind == kernel.PausedPlugin || p.Kind == kernel.ResumedPlugin
			if p.N <= executions[p.ExecutionID] && !ofNone || (p.ExecutionID == "") != ofNone {
				st.blame("%s shows progress %d of %s after %d", n.name, p.N, p.ExecutionID, executions[p.ExecutionID])
			}
			executions[p.ExecutionID] = p.N
			continue
		}
		for _, r := range u.Publish.Events {
			if r.Version != state.Version+1 {
				st.blame("%s shows version %d after version %d", n.name, r.Version, state.Version)
				return
			}
			if next, err := projections.Apply(state, r); err == nil {
				state = next
			} else if state.Version = r.Version; !errors.Is(err, projections.ErrWholeNeeded) {
				st.blame("%s shows what does not fold: %v", n.name, err)
			}
		}
		state = u.Publish.After
	}
}

// stop takes a node away: as a crash, after which nothing of it is written, or as a shutdown.
func (st *stage) close(at int, crash bool) {
	st.mu.Lock()
	n := st.nodes[at]
	st.nodes[at] = nil
	st.mu.Unlock()
	if n == nil {
		return
	}
	if crash {
		n.die()
	}
	if n.cancel != nil {
		n.cancel()
		n.follow.Wait()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := n.Drain(ctx); err != nil && !crash {
		st.blame("%s does not leave: %v", n.name, err)
	}
}

// in plays f in a bubble of fake time and lets the actor library's throttle of dead letters end.
func in(t *testing.T, f func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		f(t)
		time.Sleep(5 * time.Second)
		synctest.Wait()
	})
}
