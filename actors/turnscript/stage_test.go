package turnscript

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/pkg/errors"

	"github.com/covel/covel/actors/node"
	"github.com/covel/covel/events"
	"github.com/covel/covel/events/memory"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	"github.com/covel/covel/worlds"
)

const sessionID = "s1"

// stage is everything a script plays on. It outlives the nodes: a crash takes the node away and leaves the rest.
type stage struct {
	t     *testing.T
	file  string
	at    line
	store *fuse
	blobs *memory.Blobs
	snapshots
	plugins *registry.Generation
	world   worlds.View
	cast    *cast
	node    *node.Node
	nodes   int
	ids     int
	idsMu   sync.Mutex
	script  transcript
	seen    events.Version
	asked   int // requests of players
	newest  []string
}

// play runs a script and gives its transcript.
func play(t *testing.T, file string, s script, store events.Store) string {
	st := &stage{t: t, file: file, store: &fuse{Store: store}, blobs: &memory.Blobs{}, cast: newCast()}
	st.world = worlds.View{Locale: "zh-CN", DefaultLocale: "zh-CN", Record: sdk.WorldRecord{ID: "swamp", Name: "云梦泽", Summary: "A swamp.", Locale: "zh-CN", Lore: "雾里有灯。"}}
	st.plugins = st.load(s)
	st.open()
	t.Cleanup(func() { // in the bubble, also after a failure
		st.crash()
		_ = store.Close()
		time.Sleep(5 * time.Second) // the actor library's throttle of dead letters ends
		synctest.Wait()
	})
	if _, err := st.node.Create(context.Background(), sessionID, st.world); err != nil {
		t.Fatalf("%s: create: %v", file, err)
	}
	st.settle()
	st.tell()
	for _, l := range s.lines {
		st.at = l
		verb, ok := verbs[l.verb]
		if !ok {
			st.fail("unknown command %q", l.verb)
		}
		st.script.command(l)
		verb(st, l)
		if l.verb != "expect" {
			st.settle()
			for _, note := range st.cast.taken() {
				st.script.note("%s", note)
			}
			st.newest = st.tell()
		}
	}
	st.close()
	return st.script.String()
}

func (st *stage) fail(format string, args ...any) {
	st.t.Helper()
	st.t.Fatalf("%s:%d: %s %s: %s\n\n%s", st.file, st.at.number, st.at.verb, st.at.rest, fmt.Sprintf(format, args...), st.script.String())
}

// load builds the plugins of the script: the teller, unless the script brings its own, and what the script's files are.
// Every function, guard and tool that they declare plays what the script says.
func (st *stage) load(s script) *registry.Generation {
	files := map[string]fstest.MapFS{"teller": {"PLUGIN.md": {Data: []byte(teller)}}}
	for _, f := range s.files {
		_, path, ok := strings.Cut(f.Name, "plugins/")
		id, rest, ok2 := strings.Cut(path, "/")
		if !ok || !ok2 {
			st.t.Fatalf("%s: -- %s --: write plugins/<id>/<file>", st.file, f.Name)
		}
		if files[id] == nil || id == "teller" && rest == "PLUGIN.md" {
			files[id] = fstest.MapFS{}
		}
		files[id][rest] = &fstest.MapFile{Data: f.Data}
	}
	var sources []registry.Source
	for id, fsys := range files {
		sources = append(sources, registry.Source{ID: id, FS: fs.FS(fsys), Register: st.cast.register(st.t, id, fsys)})
		st.world.PluginPolicy.Requested = append(st.world.PluginPolicy.Requested, id)
	}
	gen := registry.Build(sources)
	for _, e := range gen.Errors {
		st.t.Fatalf("%s: plugin %s: %v", st.file, e.PluginID, e.Err)
	}
	return gen
}

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

func (st *stage) open() {
	st.nodes++
	st.store.mend()
	st.node = node.Start(node.Config{
		Store: st.store, Blobs: st.blobs, Snapshots: &st.snapshots, Model: st.cast, Plugins: func() *registry.Generation { return st.plugins },
		Name: fmt.Sprint("node-", st.nodes), IdleAfter: 24 * 365 * time.Hour, NewID: st.newID, Log: slog.New(slog.DiscardHandler),
	})
}

// newID gives ids that are the same in every run and in time order.
func (st *stage) newID() string {
	st.idsMu.Lock()
	defer st.idsMu.Unlock()
	st.ids++
	return uuid.UUID{1, 0x9c, 0, 0, byte(st.ids >> 8), byte(st.ids), 0x70, 0, 0x80, 15: byte(st.ids)}.String()
}

// settle lets everything happen that needs no more than a moment.
func (st *stage) settle() {
	time.Sleep(20 * time.Millisecond)
	synctest.Wait()
}

func (st *stage) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := st.node.Drain(ctx); err != nil {
		st.fail("drain: %v", err)
	}
}

// crash takes the node away as it stands: nothing that it still tries to write arrives.
func (st *stage) crash() {
	st.store.blow()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = st.node.Drain(ctx)
}

func (st *stage) state() projections.State {
	v, err := st.node.View(context.Background(), sessionID)
	if err != nil {
		st.fail("view: %v", err)
	}
	return v.State
}

// send submits a command; the answers stand in the transcript.
func (st *stage) send(cmd kernel.Command) {
	st.asked++
	if cmd.RequestID == "" {
		cmd.RequestID = fmt.Sprint("r-", st.asked)
	}
	if cmd.BodyHash == "" {
		cmd.BodyHash = "00"
	}
	err := st.node.Submit(context.Background(), sessionID, cmd, func(a kernel.Answer) { st.script.answer(a) })
	if err != nil {
		st.script.note("not delivered: %v", err)
	}
}

// tell writes the events since the last time into the transcript and gives their lines.
func (st *stage) tell() []string {
	var out []string
	for r, err := range st.store.ReadStream(context.Background(), kernel.StreamOf(sessionID), st.seen+1) {
		if err != nil {
			st.fail("read: %v", err)
		}
		st.seen = r.Version
		out = append(out, st.script.event(r))
	}
	return out
}

// snapshots keeps the newest snapshot, written out as on a disk.
type snapshots struct {
	mu   sync.Mutex
	body []byte
}

// Load implements session.Snapshots.
func (s *snapshots) Load(context.Context, string) (projections.State, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.body == nil {
		return projections.State{}, false, nil
	}
	state, err := projections.DecodeState(s.body)
	return state, err == nil, err
}

// Save implements session.Snapshots.
func (s *snapshots) Save(_ context.Context, _ string, state projections.State) error {
	body, err := state.Encode()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.body = body
	}
	return err
}

// fuse is the store as a node sees it: once blown, nothing gets through, as for a process that is dead.
type fuse struct {
	events.Store
	mu     sync.Mutex
	blown  bool
	before func([]events.Event) bool // the next append that it accepts blows the fuse, unwritten
	after  func([]events.Event) bool // the same, written
	lose   bool                      // the next append is written and its acknowledgement lost
}

var errDead = errors.New("the process is dead")

func (f *fuse) blow() { f.mu.Lock(); defer f.mu.Unlock(); f.blown = true }

func (f *fuse) mend() { f.mu.Lock(); defer f.mu.Unlock(); f.blown, f.before, f.after = false, nil, nil }

// Append implements events.Store.
func (f *fuse) Append(ctx context.Context, stream string, expected events.Version, evs []events.Event) (events.Appended, error) {
	f.mu.Lock()
	if f.before != nil && f.before(evs) {
		f.blown = true
	}
	dies := f.after != nil && f.after(evs)
	blown, lose := f.blown, f.lose
	f.lose = false
	f.mu.Unlock()
	if blown {
		return events.Appended{}, errDead
	}
	done, err := f.Store.Append(ctx, stream, expected, evs)
	if dies {
		f.blow()
		return events.Appended{}, errDead
	}
	if lose && err == nil {
		return events.Appended{}, events.ErrUnknown
	}
	return done, err
}
