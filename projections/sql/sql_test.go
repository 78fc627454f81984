package sql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/memory"
	"github.com/covel/covel/events/sqlite"
	"github.com/covel/covel/projections"
	"github.com/covel/covel/projections/engine"
	"github.com/covel/covel/projections/foldtest"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stores are the logs that read models are tested over.
var stores = map[string]func(t testing.TB) events.Store{
	"memory": func(t testing.TB) events.Store { return memory.New(memory.Options{}) },
	"sqlite": func(t testing.TB) events.Store {
		s, err := sqlite.Open(t.TempDir(), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	},
}

func onEveryStore(t *testing.T, f func(t *testing.T, store events.Store)) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			defer store.Close()
			f(t, store)
		})
	}
}

func openAt(t testing.TB, path string) *ReadModels {
	t.Helper()
	m, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func open(t testing.TB) *ReadModels { return openAt(t, filepath.Join(t.TempDir(), "read.db")) }

func catchUp(t testing.TB, store events.Store, m *ReadModels) {
	t.Helper()
	if _, err := engine.CatchUp(t.Context(), store, m); err != nil {
		t.Fatal(err)
	}
}

// put appends messages of one execution to a session in one append.
func put(t testing.TB, store events.Store, session, execution string, msgs ...proto.Message) {
	t.Helper()
	stream := "session-" + session
	at, err := store.StreamVersion(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	var evs []events.Event
	for i, m := range msgs {
		ev, err := events.Encode(events.NewID(stream, execution, int(at), i), &eventsv1.Metadata{CausationId: execution, AppendEnd: uint64(at) + uint64(len(msgs))}, m)
		if err != nil {
			t.Fatal(err)
		}
		evs = append(evs, ev)
	}
	if _, err := store.Append(t.Context(), stream, at, evs); err != nil {
		t.Fatal(err)
	}
}

func create(t testing.TB, store events.Store, session, world string) {
	t.Helper()
	put(t, store, session, "", &eventsv1.SessionCreated{SessionId: session, WorldName: world, Phase: "playing"})
}

// turn commits one line of the player and one page of story: four events, two messages.
func turn(t testing.TB, store events.Store, session, execution, line string) {
	t.Helper()
	put(t, store, session, execution,
		&eventsv1.ActionsSubmitted{RequestId: execution, Rendered: line, ExecutionId: execution, InputMessageId: "m-" + execution, Actions: []*eventsv1.Action{{Kind: "say", Text: line}}},
		&eventsv1.ExecutionStarted{ExecutionId: execution, Origin: "player"})
	put(t, store, session, execution,
		&eventsv1.NarrativeAppended{MessageId: "s-" + execution, Text: "答：" + line},
		&eventsv1.ExecutionCommitted{ExecutionId: execution})
}

// contents is everything the tables say, in an order that does not depend on how they came to say it.
func contents(t testing.TB, m *ReadModels) string {
	t.Helper()
	var out strings.Builder
	for _, q := range []string{
		`SELECT id, updated_at, open, hex(fold) FROM sessions ORDER BY id`, `SELECT session, version, CAST(body AS TEXT), '' FROM messages ORDER BY session, version`,
		`SELECT session, position, error, '' FROM parked ORDER BY session`,
	} {
		rows, err := m.read.Query(q)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var a, b, c, d string
			if err := rows.Scan(&a, &b, &c, &d); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&out, a, b, c, d)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}
	return out.String()
}

func sessionsOf(t testing.TB, m *ReadModels) []projections.Session {
	t.Helper()
	list, err := m.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func ids(list []projections.Session) (out []string) {
	for _, s := range list {
		out = append(out, s.ID)
	}
	return out
}

func messagesOf(t testing.TB, m *ReadModels, session string, before uint64, limit int) []projections.Message {
	t.Helper()
	list, err := m.Messages(t.Context(), session, before, limit)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func texts(list []projections.Message) (out []string) {
	for _, m := range list {
		out = append(out, m.Text)
	}
	return out
}

func expect(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}

var none []string

func TestReadModels(t *testing.T) {
	onEveryStore(t, func(t *testing.T, store events.Store) {
		m := open(t)
		names := map[string]string{"s-1": `O'Brien "x" -- ; DROP TABLE sessions`, "s-2": "潮汐镇 龙胆", "s-3": "🐉👩‍👩‍👧 E\u0301lodie"}
		for _, id := range []string{"s-1", "s-2", "s-3"} {
			create(t, store, id, names[id])
		}
		for i := range 3 {
			turn(t, store, "s-2", fmt.Sprint("e", i), fmt.Sprintf("第%d句 '%%_\"", i))
		}
		catchUp(t, store, m)
		for _, s := range sessionsOf(t, m) {
			expect(t, "world of "+s.ID, s.WorldName, names[s.ID])
		}
		expect(t, "messages", texts(messagesOf(t, m, "s-2", 0, 100)), []string{
			`第0句 '%_"`, `答：第0句 '%_"`, `第1句 '%_"`, `答：第1句 '%_"`, `第2句 '%_"`, `答：第2句 '%_"`,
		})
		expect(t, "messages of a session without", texts(messagesOf(t, m, "s-1", 0, 100)), none)
		expect(t, "messages of nobody", texts(messagesOf(t, m, "' OR '1'='1", 0, 100)), none)
	})
}

func TestMessagesPaging(t *testing.T) {
	store, m := memory.New(memory.Options{}), open(t)
	defer store.Close()
	create(t, store, "s", "w")
	for i := range 5 {
		turn(t, store, "s", fmt.Sprint("e", i), fmt.Sprint(i))
	}
	catchUp(t, store, m)
	var pages []string
	before := uint64(0)
	for {
		page := messagesOf(t, m, "s", before, 3)
		if len(page) == 0 {
			break
		}
		pages = append(pages, strings.Join(texts(page), " "))
		before = uint64(page[0].Version)
	}
	expect(t, "pages, newest first", pages, []string{"答：3 4 答：4", "2 答：2 3", "答：0 1 答：1", "0"})
	expect(t, "a page of nothing", texts(messagesOf(t, m, "s", 0, 0)), none)
	expect(t, "a negative page", texts(messagesOf(t, m, "s", 0, -5)), none)
	expect(t, "before a cursor no session has", len(messagesOf(t, m, "s", 1<<63, 100)), 10)
	expect(t, "before the first", len(messagesOf(t, m, "s", 1, 100)), 0)
}

func TestSessionsNewestFirst(t *testing.T) {
	now := foldtest.Epoch
	store, m := memory.New(memory.Options{Clock: func() time.Time { now = now.Add(time.Second); return now }}), open(t)
	defer store.Close()
	for _, id := range []string{"b", "a", "c"} {
		create(t, store, id, "w")
	}
	catchUp(t, store, m)
	expect(t, "sessions", ids(sessionsOf(t, m)), []string{"c", "a", "b"})
	turn(t, store, "b", "e1", "x")
	catchUp(t, store, m)
	expect(t, "sessions", ids(sessionsOf(t, m)), []string{"b", "c", "a"})
}

// Rule TP:377: the scan finds sessions whose jobs wait or run, also those that another process queued.
func TestDue(t *testing.T) {
	store, m := memory.New(memory.Options{}), open(t)
	defer store.Close()
	due := func() []string {
		t.Helper()
		catchUp(t, store, m)
		list, err := m.Due(t.Context(), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for _, id := range []string{"z", "a", "龙"} {
		create(t, store, id, "w")
	}
	expect(t, "due", due(), none)
	put(t, store, "z", "e1", &eventsv1.ExecutionStarted{ExecutionId: "e1"})
	put(t, store, "a", "e2", &eventsv1.ExecutionStarted{ExecutionId: "e2"})
	expect(t, "due", due(), []string{"a", "z"})
	put(t, store, "z", "e1", &eventsv1.ExecutionAborted{ExecutionId: "e1", Reason: "interrupted"})
	expect(t, "due", due(), []string{"a"})
	put(t, store, "z", "e3", &eventsv1.ExecutionStarted{ExecutionId: "e3"})
	put(t, store, "z", "e3", &eventsv1.JobQueued{JobId: "j1", RuntimeId: "painter", Plugin: &eventsv1.PluginRef{Id: "painter"}, MaxQueueMs: 1000, Input: &eventsv1.JobInput{Version: 1}},
		&eventsv1.ExecutionCommitted{ExecutionId: "e3"})
	expect(t, "due with a job that waits", due(), []string{"a", "z"})
	put(t, store, "z", "j2", &eventsv1.JobStarted{JobId: "j1", Attempt: 1, ExecutionId: "e4"})
	expect(t, "due with a job that runs", due(), []string{"a", "z"})
	put(t, store, "z", "j3", &eventsv1.JobSucceeded{JobId: "j1"})
	expect(t, "due", due(), []string{"a"})
	poison(t, store, "a")
	expect(t, "due when parked", due(), none)
}

// poison appends an event that this binary cannot decode.
func poison(t testing.TB, store events.Store, session string) {
	t.Helper()
	stream := "session-" + session
	at, err := store.StreamVersion(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	ev := events.Event{ID: uuid.New(), Type: "SeatChanged", SchemaVersion: 1, Data: []byte{0xff, 0xff}, Metadata: &eventsv1.Metadata{AppendEnd: uint64(at) + 1}}
	if _, err := store.Append(t.Context(), stream, at, []events.Event{ev}); err != nil {
		t.Fatal(err)
	}
}

// BL-14: an event that cannot be decoded, one that says nothing, and one that makes the fold panic park their sessions. All
// others go on, in the same batch and later; what was before the event stands.
func TestPoisonParksItsSessionOnly(t *testing.T) {
	foldEvent = func(x projections.Rows, r events.Recorded) (projections.Rows, []projections.Message, error) {
		if x.Session().WorldName == "bomb" {
			panic("the fold is broken: 龙胆")
		}
		return x.Apply(r)
	}
	defer func() { foldEvent = projections.Rows.Apply }()
	onEveryStore(t, func(t *testing.T, store events.Store) {
		m := open(t)
		for _, id := range []string{"undecodable", "senseless", "panics"} {
			create(t, store, id, map[bool]string{true: "bomb", false: "w"}[id == "panics"])
		}
		for _, id := range []string{"undecodable", "senseless"} {
			turn(t, store, id, "e1", "before")
		}
		const healthy = 100
		for i := range healthy {
			create(t, store, fmt.Sprint("healthy-", i), "w")
		}
		poison(t, store, "undecodable")
		put(t, store, "senseless", "", &eventsv1.SeatChanged{})
		put(t, store, "panics", "", &eventsv1.SessionPaused{})
		for _, id := range []string{"undecodable", "senseless", "panics"} {
			turn(t, store, id, "e2", "after")
		}
		for round := range 3 {
			for i := range healthy {
				turn(t, store, fmt.Sprint("healthy-", i), fmt.Sprint("e", round), "x")
			}
			catchUp(t, store, m)
			parked, err := m.Parked(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(parked) != 3 {
				t.Fatalf("parked %+v", parked)
			}
			for i, want := range []struct{ id, reason string }{{"panics", "panic: the fold is broken: 龙胆"}, {"senseless", "seat is missing"}, {"undecodable", "session-undecodable version 6"}} {
				p := parked[i]
				if p.SessionID != want.id || !strings.Contains(p.Error, want.reason) || p.Position == 0 {
					t.Errorf("parked %+v, want %+v", p, want)
				}
				if want.id == "panics" && !strings.Contains(p.Error, "sql_test.go") {
					t.Errorf("no stack in %q", p.Error)
				}
			}
			for i := range healthy {
				if n := len(messagesOf(t, m, fmt.Sprint("healthy-", i), 0, 100)); n != 2*(round+1) {
					t.Fatalf("round %d: healthy-%d has %d messages", round, i, n)
				}
			}
		}
		for _, id := range []string{"undecodable", "senseless"} {
			expect(t, "messages of "+id, texts(messagesOf(t, m, id, 0, 100)), []string{"before", "答：before"})
		}
		expect(t, "sessions", len(sessionsOf(t, m)), healthy+3)
		at, err := m.Checkpoint(t.Context())
		head, headErr := store.Head(t.Context())
		if err != nil || headErr != nil || at.Position != head {
			t.Errorf("stands at %d of %d (%v, %v)", at.Position, head, err, headErr)
		}
	})
}

// A session whose row was damaged on disk is parked when it goes on, and is missing from the list until then.
func TestDamagedRow(t *testing.T) {
	store := memory.New(memory.Options{})
	defer store.Close()
	path := filepath.Join(t.TempDir(), "read.db")
	m := openAt(t, path)
	create(t, store, "damaged", "w")
	create(t, store, "sound", "w")
	catchUp(t, store, m)
	if _, err := m.write.Exec(`UPDATE sessions SET fold = zeroblob(40) WHERE id = 'damaged'`); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m = openAt(t, path)
	expect(t, "sessions", ids(sessionsOf(t, m)), []string{"sound"})
	turn(t, store, "damaged", "e1", "x")
	turn(t, store, "sound", "e1", "x")
	catchUp(t, store, m)
	expect(t, "messages", len(messagesOf(t, m, "sound", 0, 9)), 2)
	parked, err := m.Parked(t.Context())
	if err != nil || len(parked) != 1 || parked[0].SessionID != "damaged" || !strings.Contains(parked[0].Error, "checksum") {
		t.Errorf("parked %+v (%v)", parked, err)
	}
}

// Deleted sessions are forgotten for good: also when the projector still carries their events, when their last snapshot
// comes late, and when the process died between the deletion and Forget.
func TestDeletedSessions(t *testing.T) {
	onEveryStore(t, func(t *testing.T, store events.Store) {
		m := open(t)
		create(t, store, "gone", "w")
		create(t, store, "here", "w")
		catchUp(t, store, m)
		at, err := m.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		create(t, store, "short-lived", "w")
		turn(t, store, "gone", "e1", "x")
		var late []events.Recorded
		for r, err := range store.ReadAll(t.Context(), at.Position) {
			if err != nil {
				t.Fatal(err)
			}
			late = append(late, r)
		}
		if err := m.Save(t.Context(), "gone", projections.State{Version: 1}); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"gone", "short-lived"} {
			if err := store.DeleteStream(t.Context(), "session-"+id); err != nil {
				t.Fatal(err)
			}
			if err := m.Forget(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		last := late[len(late)-1]
		if err := m.Apply(t.Context(), at, engine.Checkpoint{LogID: at.LogID, Position: last.Position, LastID: last.ID}, late); err != nil {
			t.Fatal(err)
		}
		if err := m.Save(t.Context(), "gone", projections.State{Version: 2}); err != nil {
			t.Fatal(err)
		}
		check := func() {
			t.Helper()
			expect(t, "sessions", ids(sessionsOf(t, m)), []string{"here"})
			expect(t, "messages", len(messagesOf(t, m, "gone", 0, 9)), 0)
			if _, ok, err := m.Load(t.Context(), "gone"); ok || err != nil {
				t.Errorf("a snapshot is left (%v)", err)
			}
			if parked, err := m.Parked(t.Context()); len(parked) > 0 || err != nil {
				t.Errorf("parked %+v (%v)", parked, err)
			}
		}
		check()

		create(t, store, "crashed", "w")
		turn(t, store, "crashed", "e1", "x")
		catchUp(t, store, m)
		if err := store.DeleteStream(t.Context(), "session-crashed"); err != nil {
			t.Fatal(err)
		}
		catchUp(t, store, m)
		check()
	})
}

func TestFencing(t *testing.T) {
	store := memory.New(memory.Options{})
	defer store.Close()
	path := filepath.Join(t.TempDir(), "read.db")
	first, second := openAt(t, path), openAt(t, path)
	create(t, store, "s", "w")
	catchUp(t, store, first)
	at, err := second.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	turn(t, store, "s", "e1", "x")
	catchUp(t, store, first)
	before := contents(t, first)
	var batch []events.Recorded
	for r := range store.ReadAll(t.Context(), at.Position) {
		batch = append(batch, r)
	}
	last := batch[len(batch)-1]
	err = second.Apply(t.Context(), at, engine.Checkpoint{LogID: at.LogID, Position: last.Position, LastID: last.ID}, batch)
	if !errors.Is(err, engine.ErrFenced) {
		t.Errorf("the second worker: %v", err)
	}
	expect(t, "tables", contents(t, first), before)
}

// Two workers that take turns: what one has in memory is never older than what the other wrote.
func TestWorkersTakeTurns(t *testing.T) {
	store := memory.New(memory.Options{})
	defer store.Close()
	path := filepath.Join(t.TempDir(), "read.db")
	workers := []*ReadModels{openAt(t, path), openAt(t, path)}
	create(t, store, "龙胆", "w")
	for i := range 6 {
		turn(t, store, "龙胆", fmt.Sprint("e", i), "x")
		catchUp(t, store, workers[i%2])
	}
	fresh := open(t)
	catchUp(t, store, fresh)
	expect(t, "tables", contents(t, workers[0]), contents(t, fresh))
	expect(t, "messages", len(messagesOf(t, workers[1], "龙胆", 0, 99)), 12)
}

// An event that comes twice changes nothing; one after a gap parks its session.
func TestRepeatedAndMissingEvents(t *testing.T) {
	store, m := memory.New(memory.Options{}), open(t)
	defer store.Close()
	create(t, store, "s", "w")
	turn(t, store, "s", "e1", "x")
	var all []events.Recorded
	for r := range store.ReadAll(t.Context(), 0) {
		all = append(all, r)
	}
	if err := m.Reset(t.Context(), store.LogID()); err != nil {
		t.Fatal(err)
	}
	at := engine.Checkpoint{LogID: store.LogID()}
	apply := func(batch ...events.Recorded) {
		t.Helper()
		to := engine.Checkpoint{LogID: at.LogID, Position: batch[len(batch)-1].Position, LastID: batch[len(batch)-1].ID}
		if err := m.Apply(t.Context(), at, to, batch); err != nil {
			t.Fatal(err)
		}
		at = to
	}
	apply(all...)
	once := contents(t, m)
	apply(all[:3]...)
	apply(append(slices.Clone(all), all...)...)
	expect(t, "tables", contents(t, m), once)
	next := all[4]
	next.Version = 7
	apply(next)
	if parked, _ := m.Parked(t.Context()); len(parked) != 1 || !strings.Contains(parked[0].Error, "not the next of its stream") {
		t.Errorf("parked %+v", parked)
	}
}

func TestOtherStreamsAreNoSessions(t *testing.T) {
	store, m := memory.New(memory.Options{}), open(t)
	defer store.Close()
	ev := events.Event{ID: uuid.New(), Type: "Whatever", SchemaVersion: 1}
	if _, err := store.Append(t.Context(), "node-1", 0, []events.Event{ev}); err != nil {
		t.Fatal(err)
	}
	catchUp(t, store, m)
	expect(t, "tables", contents(t, m), "")
}

// Tables of other folds, or of another shape, are made anew.
func TestOtherSchemaStartsOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "读 '模型' #1?.db")
	store := memory.New(memory.Options{})
	defer store.Close()
	create(t, store, "s", "w")
	turn(t, store, "s", "e1", "x")
	m := openAt(t, path)
	catchUp(t, store, m)
	want := contents(t, m)
	if err := m.Save(t.Context(), "s", projections.State{Version: 5}); err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		`UPDATE checkpoint SET schema = '0/covel-fold-0'`, `ALTER TABLE checkpoint DROP COLUMN last_id`, `DROP TABLE messages`, `CREATE TABLE messages (something INTEGER)`,
		`UPDATE sessions SET fold = x'00'`,
	} {
		if _, err := m.write.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m = openAt(t, path)
	catchUp(t, store, m)
	expect(t, "tables", contents(t, m), want)
	if _, ok, err := m.Load(t.Context(), "s"); ok || err != nil {
		t.Errorf("a snapshot of other folds is left (%v)", err)
	}
}

func TestSnapshots(t *testing.T) {
	m := open(t)
	state := func(v events.Version) projections.State {
		return projections.State{Version: v, LastID: fmt.Sprint("id-", v), Session: projections.Session{ID: "龙胆's"}}
	}
	load := func() events.Version {
		t.Helper()
		s, ok, err := m.Load(t.Context(), "龙胆's")
		if err != nil || ok != (s.Version > 0) {
			t.Fatalf("load: version %d, %v, %v", s.Version, ok, err)
		}
		return s.Version
	}
	expect(t, "none", load(), 0)
	for _, v := range []events.Version{1, 2, 3, 4, 5, 5} {
		if err := m.Save(t.Context(), "龙胆's", state(v)); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Save(t.Context(), "other", state(99)); err != nil {
		t.Fatal(err)
	}
	var kept int
	if err := m.read.QueryRow(`SELECT count(*) FROM snapshots WHERE session = ?`, "龙胆's").Scan(&kept); err != nil {
		t.Fatal(err)
	}
	expect(t, "kept", kept, keptSnapshots)
	expect(t, "newest", load(), 5)
	spoil := func(q string, args ...any) {
		t.Helper()
		if _, err := m.write.Exec(q, args...); err != nil {
			t.Fatal(err)
		}
	}
	spoil(`UPDATE snapshots SET state = substr(state, 1, 100) WHERE version = 5`)
	expect(t, "when the newest is damaged", load(), 4)
	spoil(`UPDATE snapshots SET fold = 'covel-fold-0' WHERE version = 4`)
	expect(t, "when the next is of other folds", load(), 3)
	spoil(`UPDATE snapshots SET state = x'' WHERE version = 3`)
	expect(t, "when none is left", load(), 0)
}

// Whatever the interleaving of sessions, batches, kills and reopenings, and over both stores: the tables say what a rebuild
// from zero says, and what the folds of the sessions say.
func TestTablesEqualARebuild(t *testing.T) {
	// One pair of files for all logs: each is another one and starts over.
	path, fresh := filepath.Join(t.TempDir(), "read.db"), open(t)
	m := openAt(t, path)
	rapid.Check(t, func(rt *rapid.T) {
		store := stores[rapid.SampledFrom([]string{"memory", "memory", "memory", "sqlite"}).Draw(rt, "store")](t)
		defer store.Close()
		lives := map[string][]foldtest.Append{}
		for _, id := range []string{"a", "b-龙胆", "c"}[:rapid.IntRange(1, 3).Draw(rt, "sessions")] {
			lives[id] = foldtest.Life(rt, id, 10)
		}
		for len(lives) > 0 {
			id := rapid.SampledFrom(slices.Sorted(maps.Keys(lives))).Draw(rt, "session")
			at, err := store.StreamVersion(t.Context(), "session-"+id)
			if err != nil {
				rt.Fatal(err)
			}
			if _, err := store.Append(t.Context(), "session-"+id, at, lives[id][0]); err != nil {
				rt.Fatal(err)
			}
			if lives[id] = lives[id][1:]; len(lives[id]) == 0 {
				delete(lives, id)
			}
			switch rapid.SampledFrom([]string{"go on", "go on", "catch up", "killed", "reopen"}).Draw(rt, "then") {
			case "catch up":
				catchUp(t, store, m)
			case "killed": // somewhere
				ctx, kill := context.WithCancel(t.Context())
				_, _ = engine.CatchUp(ctx, &killing{store, kill, rapid.IntRange(1, 12).Draw(rt, "at event")}, m)
				kill()
			case "reopen":
				if err := m.Close(); err != nil {
					rt.Fatal(err)
				}
				m = openAt(t, path)
			}
		}
		catchUp(t, store, m)
		catchUp(t, store, fresh)
		if got, want := contents(t, m), contents(t, fresh); got != want {
			rt.Fatalf("tables:\n got %s\nwant %s", got, want)
		}
		for _, s := range sessionsOf(t, m) {
			state := foldOf(rt, store, s.ID)
			state.Session.Requests, state.Session.SeatKeys = nil, nil // only the live session is asked for them
			if !reflect.DeepEqual(s, state.Session) {
				rt.Fatalf("session:\n got %+v\nwant %+v", s, state.Session)
			}
			// A life may end executions in any order; a session has one at a time, and its rows stand by version.
			want := state.History.Tail(1000)
			slices.SortStableFunc(want, func(a, b projections.Message) int { return cmp.Compare(a.Version, b.Version) })
			if got := messagesOf(t, m, s.ID, 0, 1000); len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
				rt.Fatalf("messages:\n got %+v\nwant %+v", got, want)
			}
		}
	})
}

// killing is a store whose reader is killed at the nth event it yields.
type killing struct {
	events.Store
	kill context.CancelFunc
	n    int
}

func (k *killing) ReadAll(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for r, err := range k.Store.ReadAll(context.WithoutCancel(ctx), after) {
			if k.n--; k.n == 0 {
				k.kill()
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func foldOf(t interface{ Fatal(...any) }, store events.Store, id string) projections.State {
	var s projections.State
	for r, err := range store.ReadStream(context.Background(), "session-"+id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if s, err = projections.Apply(s, r); err != nil {
			t.Fatal(err)
		}
	}
	return s
}
