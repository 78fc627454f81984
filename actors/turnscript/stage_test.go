package turnscript

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/covel/covel/actors/node"
	"github.com/covel/covel/actors/nodetest"
	"github.com/covel/covel/events"
	"github.com/covel/covel/events/memory"
	"github.com/covel/covel/events/trace"
	tracememory "github.com/covel/covel/events/trace/memory"
	"github.com/covel/covel/kernel/allowance"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/plugins/bundled"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	"github.com/covel/covel/worlds"
)

const sessionID = "s1"

// stage is everything a script plays on. It outlives the nodes: a crash takes a node away and leaves the rest.
type stage struct {
	t         *testing.T
	s         script
	at        line
	disk      *disk
	blobs     *memory.Blobs
	snapshots nodetest.Snapshots
	plugins   atomic.Pointer[registry.Generation]
	world     worlds.View
	cast      *cast
	nodes     map[string]*running // by the name the script gives them
	name      string              // of the one that commands go to
	started   int                 // nodes so far
	allowed   allowance.Limits    // of nodes from the next start on
	rounds    uint32              // of automatic advancement, likewise
	ids       int
	idsMu     sync.Mutex
	story     transcript
	seen      events.Version
	asked     int             // requests of players
	last      *kernel.Command // the newest of them
	marks     map[string]events.Version
	keyless   map[string]bool // model slots without credentials
	keysMu    sync.Mutex
	newest    []string
	traces    tracememory.Store
	traced    uint64 // shown
	awaited   string // the type of an event at which a node should have died and did not
}

// running is one node.
type running struct {
	*node.Node
	process *process
	trace   *trace.Writer
	id      string // fresh at every start
}

func newStage(t *testing.T, s script, store events.Store) *stage {
	return &stage{
		t: t, s: s, disk: &disk{Store: store}, blobs: &memory.Blobs{}, cast: newCast(), nodes: map[string]*running{}, name: "first",
		marks: map[string]events.Version{}, keyless: map[string]bool{},
	}
}

// play runs the script and gives its transcript, or a *failure.
func (st *stage) play() (story string, err error) {
	defer func() { // in the bubble, also after a failure
		failed := recover()
		for name := range maps.Clone(st.nodes) {
			st.crash(name)
		}
		_ = st.disk.Close()
		time.Sleep(5 * time.Second) // the actor library's throttle of dead letters ends
		synctest.Wait()
		if failed != nil {
			f, ok := failed.(*failure)
			if !ok {
				panic(failed)
			}
			story, err = "", f
		}
	}()
	st.world = worlds.View{Locale: "zh-CN", DefaultLocale: "zh-CN", Record: sdk.WorldRecord{ID: "swamp", Name: "云梦泽", Summary: "A swamp.", Locale: "zh-CN", Lore: "雾里有灯。"}}
	st.plugins.Store(st.load(""))
	st.open(st.name)
	if _, err := st.node().Create(context.Background(), sessionID, st.world, node.Choice{}); err != nil {
		st.fail("create: %v", err)
	}
	st.settle()
	st.tell()
	for _, l := range st.s.lines {
		st.at = l
		st.story.command(l)
		verbs[l.verb].play(st, l)
		if l.verb != "expect" {
			st.happen()
		}
	}
	for _, name := range sortedKeys(st.nodes) {
		st.awaited = cmp.Or(st.awaited, st.nodes[name].process.awaits())
		st.leave(name)
	}
	if d, ok := st.cast.unplayed(); ok {
		st.at.number = d.number
		st.fail("%s was never called for this", d.role)
	}
	if typ := st.awaited; typ != "" {
		st.fail("no %s ever came for the crash at it", typ)
	}
	if f, ok := st.disk.unplayed(); ok {
		st.fail("the store never came to this: %s %s", f.kind, f.typ)
	}
	return st.story.String(), nil
}

// happen lets what a command set off happen, and tells it.
func (st *stage) happen() {
	st.settle()
	for _, note := range st.cast.taken() {
		st.story.note("%s", note)
	}
	st.newest = st.tell()
}

// fail ends the script at the line that is played.
func (st *stage) fail(format string, args ...any) {
	panic(&failure{file: st.s.file, number: st.at.number, message: strings.TrimSpace(st.at.verb+" "+st.at.rest) + ": " + fmt.Sprintf(format, args...), story: st.story.String()})
}

func (st *stage) must(err error) {
	if err != nil {
		st.fail("%v", err)
	}
}

// load builds the plugins of the script: the teller, unless the script brings its own, and what the script's files are, with
// those of a version in place of the others. Every function, guard, tool and hook that they declare plays what the script says.
func (st *stage) load(version string) *registry.Generation {
	files := map[string]fstest.MapFS{"teller": {"PLUGIN.md": {Data: []byte(teller)}}}
	for _, want := range []string{"", version} {
		for _, f := range st.s.files {
			of, path, ok := strings.Cut("/"+f.Name, "/plugins/")
			id, rest, ok2 := strings.Cut(path, "/")
			if !ok || !ok2 {
				st.fail("-- %s --: write plugins/<id>/<file>, or <version>/plugins/<id>/<file>", f.Name)
			}
			if of = strings.Trim(of, "/"); of != want {
				continue
			}
			if files[id] == nil || id == "teller" && rest == "PLUGIN.md" {
				files[id] = fstest.MapFS{}
			}
			files[id][rest] = &fstest.MapFile{Data: f.Data}
		}
	}
	var sources []registry.Source
	for _, id := range sortedKeys(files) {
		if i := slices.IndexFunc(bundled.All(), func(p bundled.Plugin) bool { return p.ID == id }); i >= 0 && files[id][asBundled] != nil {
			sources = append(sources, registry.Bundled(id, bundled.All()[i].Package))
			continue
		}
		register, err := st.cast.register(id, files[id])
		st.must(err)
		sources = append(sources, registry.Source{ID: id, FS: fs.FS(files[id]), Register: register})
		if version == "" {
			st.world.PluginPolicy.Requested = append(st.world.PluginPolicy.Requested, id)
		}
	}
	gen := registry.Build(sources)
	for _, e := range gen.Errors {
		st.fail("plugin %s: %v", e.PluginID, e.Err)
	}
	return gen
}

// asBundled is a file that says: the plugin of this id that is bundled with the program plays itself.
const asBundled = "BUNDLED"

const teller = `---
description: Tells the story.
runtime:
  type: agent
  schedule: { stage: narrative }
  io: { visibility: story }
  agent: {}
---
Tell what happens next.
`

func (st *stage) node() *node.Node {
	n := st.nodes[st.name]
	if n == nil {
		st.fail("no node %q runs", st.name)
	}
	return n.Node
}

func (st *stage) open(name string) {
	st.started++
	n := &running{process: &process{disk: st.disk}, id: fmt.Sprint("node-", st.started)}
	var err error
	n.trace, err = trace.NewWriter(context.Background(), &st.traces, slog.New(slog.DiscardHandler))
	st.must(err)
	n.Node = node.Start(node.Config{
		Store: n.process, Blobs: st.blobs, Snapshots: &st.snapshots, Model: st.cast, Plugins: st.plugins.Load,
		ModelReady: st.ready, OwnerAlive: st.alive, Trace: n.trace,
		Allowances: st.allowed, AdvanceLimit: st.rounds,
		Name: n.id, IdleAfter: 24 * 365 * time.Hour, NewID: st.newID, Log: slog.New(slog.DiscardHandler),
	})
	st.idsMu.Lock()
	defer st.idsMu.Unlock()
	st.nodes[name] = n
}

func (st *stage) alive(o kernel.Owner) bool {
	st.idsMu.Lock()
	defer st.idsMu.Unlock()
	for _, n := range st.nodes {
		if n.id == o.Node {
			return true
		}
	}
	return false
}

func (st *stage) ready(slot string) bool {
	st.keysMu.Lock()
	defer st.keysMu.Unlock()
	return !st.keyless[slot]
}

// newID gives ids that are the same in every run and in time order.
func (st *stage) newID() string {
	st.idsMu.Lock()
	defer st.idsMu.Unlock()
	st.ids++
	return uuid.UUID{1, 0x9c, 0, 0, byte(st.ids >> 8), byte(st.ids), 0x70, 0, 0x80, 15: byte(st.ids)}.String()
}

// settle lets everything happen that needs no more than a moment: until nothing more is written from one moment to the next.
func (st *stage) settle() {
	for {
		before, err := st.disk.StreamVersion(context.Background(), kernel.StreamOf(sessionID))
		st.must(err)
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		if after, err := st.disk.StreamVersion(context.Background(), kernel.StreamOf(sessionID)); err != nil || after == before {
			st.must(err)
			return
		}
	}
}

// leave ends a node as at a normal shutdown.
func (st *stage) leave(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n := st.take(name)
	if n == nil {
		return
	}
	err := n.Drain(ctx)
	n.trace.Close()
	if err != nil {
		st.fail("drain: %v", err)
	}
}

// crash takes a node away as it stands: nothing that it still tries to write arrives.
func (st *stage) crash(name string) {
	n := st.take(name)
	if n == nil {
		return
	}
	st.awaited = cmp.Or(st.awaited, n.process.awaits())
	n.process.die()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = n.Drain(ctx)
	n.trace.Close()
}

func (st *stage) take(name string) *running {
	st.idsMu.Lock()
	defer st.idsMu.Unlock()
	n := st.nodes[name]
	delete(st.nodes, name)
	return n
}

func (st *stage) state() projections.State {
	v, err := st.node().View(context.Background(), sessionID)
	st.must(err)
	return v.State
}

// send submits a command; the answers stand in the transcript.
func (st *stage) send(cmd kernel.Command) {
	if cmd.RequestID == "" {
		st.asked++
		cmd.RequestID = fmt.Sprint("r-", st.asked)
	}
	if cmd.BodyHash == "" { // of what is asked for, as the gateway makes it
		body, err := json.Marshal([]any{cmd.Type, cmd.SeatID, cmd.Actions, cmd.TurnID, cmd.MessageID, cmd.Text, cmd.Targets, cmd.SourceTurnID, cmd.SuspensionID, cmd.Answer})
		st.must(err)
		cmd.BodyHash = hashed(string(body))
	}
	st.last = &cmd
	answer := st.heard(st.story.answerer())
	if err := st.node().Submit(context.Background(), sessionID, cmd, answer); err != nil {
		st.story.note("not delivered: %v", err)
	}
}

// heard lets an answer through while the node lives: a dead process tells nobody anything.
func (st *stage) heard(answer func(kernel.Answer)) func(kernel.Answer) {
	p := st.nodes[st.name].process
	return func(a kernel.Answer) {
		p.mu.Lock()
		dead := p.dead
		p.mu.Unlock()
		if !dead {
			answer(a)
		}
	}
}

// tell writes the events since the last time into the transcript and gives their lines.
func (st *stage) tell() []string {
	var out []string
	for r, err := range st.disk.ReadStream(context.Background(), kernel.StreamOf(sessionID), st.seen+1) {
		st.must(err)
		st.seen = r.Version
		out = append(out, st.story.event(r))
	}
	return out
}
