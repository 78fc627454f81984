// Package node is the root of the actors of one process: it finds or starts the actor of a session, wakes sessions that
// nobody has open, and drains all of them on the way out. It is the SessionRouter of a single node.
package node

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"
	"github.com/pkg/errors"

	jobs "github.com/covel/covel/actors/job"
	"github.com/covel/covel/actors/runtime"
	"github.com/covel/covel/actors/session"
	"github.com/covel/covel/actors/turn"
	"github.com/covel/covel/events"
	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/internal/safego"
	"github.com/covel/covel/kernel/allowance"
	kerneljob "github.com/covel/covel/kernel/job"
	"github.com/covel/covel/kernel/latch"
	"github.com/covel/covel/kernel/model"
	kernel "github.com/covel/covel/kernel/session"
	kernelturn "github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/tools"
	"github.com/covel/covel/projections"
)

// Due finds sessions that need to be woken: an execution was open the last time anybody looked.
type Due interface {
	Due(ctx context.Context, now time.Time) ([]string, error)
}

// Config is what a node is made of. Zero durations take the defaults.
type Config struct {
	Store     events.Store
	Blobs     events.BlobStore
	Snapshots session.Snapshots // may be nil
	Due       Due               // may be nil
	Model     model.Provider
	Trace     *trace.Writer               // what happened beside the log; may be nil
	Plugins   func() *registry.Generation // the published generation
	// ModelReady says whether a model slot has what it needs to be called; nil: every one has.
	ModelReady func(slot string) bool

	// InstructionLocale, "zh" or "en", overrides the language of instructions to the model for all sessions.
	InstructionLocale string

	// Allowances are the most an execution may spend; zeros take the defaults. A session can lower them.
	Allowances allowance.Limits
	// AdvanceLimit is how many rounds of automatic advancement one input may have; 0 takes the default. A session can lower it.
	AdvanceLimit uint32

	Name      string        // of the node; fresh at every start of the process
	IdleAfter time.Duration // passivation of a session nobody uses
	DueEvery  time.Duration // between two due scans
	// SuspensionTTL is how long a question to the player waits: 0 seven days, below 0 for ever.
	SuspensionTTL time.Duration
	NewID         func() string // UUIDv7
	// OwnerAlive says whether an activation on another node still lives; nil means no other node lives.
	OwnerAlive func(kernel.Owner) bool
	Log        *slog.Logger
}

// Defaults.
const (
	DefaultIdleAfter = 10 * time.Minute
	DefaultDueEvery  = 30 * time.Second
	dueRetry         = time.Second // after a scan that failed (seed: turn-pipeline.txt §2.3, "If a scan fails, it retries 1 second later")
	requestTimeout   = 10 * time.Second
)

// Errors of requests to a session.
var (
	ErrNotFound = session.ErrNotFound
	ErrExists   = errors.New("node: session already exists")
	ErrDraining = errors.New("node: the server is shutting down")
	ErrBusy     = errors.New("node: the session did not answer in time")
)

// Node is a running node. Its methods may be called concurrently.
type Node struct {
	Config
	system *actor.ActorSystem
	tools  *tools.Executor
	pool   *actor.PID // places for background jobs
	packs  *packs

	compactions runtime.Failures
	stop        context.CancelFunc
	// running ends when the node has drained: what still runs in the background then is cut short.
	running context.Context
	loops   sync.WaitGroup

	mu       sync.Mutex
	sessions map[string]activation
	latches  map[string]latch.Latch // by session: faults of its plugins, in memory only
	deleting map[string]bool        // sessions that nobody may start any more
	draining bool
}

type activation struct {
	pid *actor.PID
	id  string
}

// Start starts a node: it follows the log for events of others and scans for sessions that are due.
func Start(cfg Config) *Node {
	if cfg.IdleAfter == 0 {
		cfg.IdleAfter = DefaultIdleAfter
	}
	if cfg.DueEvery == 0 {
		cfg.DueEvery = DefaultDueEvery
	}
	if cfg.NewID == nil {
		cfg.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if cfg.Name == "" {
		cfg.Name = "node-" + cfg.NewID()
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	n := &Node{
		Config: cfg, tools: &tools.Executor{}, packs: newPacks(cfg.Blobs), sessions: map[string]activation{}, latches: map[string]latch.Latch{}, deleting: map[string]bool{},
		system: actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return quiet(cfg.Log) })),
	}
	n.pool = n.system.Root.Spawn(jobs.PoolProps(kerneljob.PoolSize, cfg.Log))
	ctx, stop := context.WithCancel(context.Background())
	n.stop, n.running = stop, ctx
	n.loop("follow the log", func() { n.follow(ctx) })
	if n.Due != nil {
		n.loop("due scan", func() { n.scan(ctx) })
	}
	return n
}

func (n *Node) loop(name string, f func()) {
	n.loops.Add(1)
	safego.Go(name, func() {
		defer n.loops.Done()
		f()
	})
}

// request sends a message to the actor of a session, starting it if need be, and gives its response. A session that is
// just leaving is started anew.
func (n *Node) request(ctx context.Context, sessionID string, msg any) (any, error) {
	for {
		pid, err := n.locate(ctx, sessionID)
		if err != nil {
			return nil, err
		}
		res, err := n.system.Root.RequestFuture(pid, msg, requestTimeout).Result()
		switch {
		case err == nil:
			return res, nil
		case errors.Is(err, actor.ErrDeadLetter):
			n.forget(sessionID, pid)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		default:
			return nil, errors.Wrapf(ErrBusy, "session %s: %v", sessionID, err)
		}
	}
}

// locate gives the actor of a session that exists.
func (n *Node) locate(ctx context.Context, sessionID string) (*actor.PID, error) {
	n.mu.Lock()
	a, ok := n.sessions[sessionID]
	draining, deleting := n.draining, n.deleting[sessionID]
	n.mu.Unlock()
	switch {
	case deleting:
		return nil, errors.Wrapf(ErrNotFound, "session %s is being deleted", sessionID)
	case ok:
		return a.pid, nil
	case draining:
		return nil, ErrDraining
	}
	v, err := n.Store.StreamVersion(ctx, kernel.StreamOf(sessionID))
	if err != nil {
		return nil, errors.Wrapf(err, "look up session %s", sessionID)
	}
	if v == 0 {
		return nil, errors.Wrapf(ErrNotFound, "session %s", sessionID)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if a, ok := n.sessions[sessionID]; ok {
		return a.pid, nil
	}
	if n.deleting[sessionID] {
		return nil, errors.Wrapf(ErrNotFound, "session %s is being deleted", sessionID)
	}
	if n.draining {
		return nil, ErrDraining
	}
	id := n.NewID()
	a = activation{id: id}
	props := session.Props(session.Deps{
		SessionID: sessionID, Self: kernel.Owner{Node: n.Name, Activation: id}, Store: n.Store, Snapshots: n.Snapshots, NewID: n.NewID,
		OwnerAlive: n.ownerAlive(sessionID, id), Validate: n.validate, Installed: n.installed, OutOfDate: n.outOfDate, SuspensionTTL: n.SuspensionTTL, AdvanceLimit: n.AdvanceLimit, IdleAfter: n.IdleAfter, Trace: n.Trace, Log: n.Log,
		Latch: func() latch.Latch { return n.latchOf(sessionID) }, KeepLatch: func(l latch.Latch) { n.keepLatch(sessionID, l) },
		Ended: func(s projections.State) { n.sessionEnded(s.Session, "ended") },
		Turn: func(e kernel.StartTurn) *actor.Props {
			return turn.Props(turn.Deps{Freeze: n.freeze, Run: n.run, Trace: n.Trace, Log: n.Log}, e)
		},
		CancelMsg: func(reason string) any { return turn.Cancel{Reason: reason} },
		SayMsg:    func(line kernelturn.Interjection) any { return turn.Say{Interjection: line} },
		Kinds:     n.actionKinds,
		Choose:    n.choose,
		Job: func(e kernel.StartJob) *actor.Props {
			return jobs.Props(turn.Deps{Run: n.run, Log: n.Log}, n.freezeJob, e)
		},
		Pool: n.pool, ModelReady: n.ModelReady, Digest: n.digest,
		Gone: func() { n.gone(sessionID, id) },
		// Counted, so that Drain waits for it and nobody closes the read models before.
		Background: n.loop,
	})
	pid, err := n.system.Root.SpawnNamed(props, "session/"+sessionID+"/"+id)
	if err != nil {
		return nil, errors.Wrapf(err, "start session %s", sessionID)
	}
	a.pid = pid
	n.sessions[sessionID] = a
	return pid, nil
}

func (n *Node) run(f runtime.Frozen, start kernelturn.Run, plugin *registry.Loaded) *actor.Props {
	return runtime.Props(runtime.Deps{Model: n.Model, Tools: n.tools, Trace: n.Trace, Log: n.Log}, f, start, plugin)
}

func (n *Node) gone(sessionID, id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sessions[sessionID].id == id {
		delete(n.sessions, sessionID)
	}
}

func (n *Node) forget(sessionID string, pid *actor.PID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a := n.sessions[sessionID]; a.pid != nil && a.pid.Equal(pid) {
		delete(n.sessions, sessionID)
	}
}

// ownerAlive says whether an activation other than self still lives.
func (n *Node) ownerAlive(sessionID, self string) func(kernel.Owner) bool {
	return func(o kernel.Owner) bool {
		if o.Node != n.Name {
			return n.OwnerAlive != nil && n.OwnerAlive(o)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		return o.Activation != self && n.sessions[sessionID].id == o.Activation
	}
}

// follow tells active sessions how far their streams have come, so that an event of another activation is noticed.
func (n *Node) follow(ctx context.Context) {
	head, err := n.Store.Head(ctx)
	for ctx.Err() == nil {
		if err == nil {
			for r, readErr := range n.Store.Subscribe(ctx, head) {
				if err = readErr; err != nil {
					break
				}
				head = r.Position
				if id, ok := sessionOf(r.Stream); ok {
					n.mu.Lock()
					a, active := n.sessions[id]
					n.mu.Unlock()
					if active {
						n.system.Root.Send(a.pid, session.Seen{Version: uint64(r.Version)})
					}
				}
			}
		}
		if ctx.Err() == nil {
			n.Log.Warn("following the log was interrupted", "error", err)
			if !sleep(ctx, time.Second) {
				return
			}
			if head == 0 {
				head, err = n.Store.Head(ctx)
			} else {
				err = nil
			}
		}
	}
}

// scan wakes sessions that nobody has open and that have something to end.
func (n *Node) scan(ctx context.Context) {
	for {
		next := n.DueEvery
		ids, err := n.Due.Due(ctx, time.Now())
		if err != nil && ctx.Err() == nil {
			n.Log.Warn("due scan failed", "error", err)
			next = min(next, dueRetry)
		}
		for _, id := range ids {
			if err := n.Wake(ctx, id); err != nil && ctx.Err() == nil && !errors.Is(err, ErrNotFound) {
				n.Log.Warn("due session not woken", "session", id, "error", err)
			}
		}
		if !sleep(ctx, next) {
			return
		}
	}
}

// Drain stops admission, lets every session end what it appends, and stops the node. Sessions that take longer than ctx
// allows are left; the next start closes what they left open.
func (n *Node) Drain(ctx context.Context) error {
	n.mu.Lock()
	n.draining = true
	open := make([]activation, 0, len(n.sessions))
	for _, a := range n.sessions {
		open = append(open, a)
	}
	n.mu.Unlock()
	for _, a := range open {
		n.system.Root.Send(a.pid, session.Leave{})
	}
	var err error
	for n.active() > 0 {
		if !sleep(ctx, 5*time.Millisecond) {
			err = errors.Wrapf(ctx.Err(), "%d sessions did not finish", n.active())
			break
		}
	}
	n.stop()
	n.loops.Wait()
	if n.system.IsStopped() {
		return err
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if toolErr := n.tools.Close(closing); err == nil {
		err = toolErr
	}
	n.system.Shutdown()
	return err
}

func (n *Node) active() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.sessions)
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
