package sqlite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/events/trace/memory"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// calendar is a clock that a test turns.
type calendar struct{ now time.Time }

func (c *calendar) time() time.Time { return c.now }

func (c *calendar) days(n int) { c.now = c.now.AddDate(0, 0, n) }

func open(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	if o.Clock == nil {
		o.Clock = func() time.Time { return noon }
	}
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func entry(seq uint64, session string) trace.Entry {
	return trace.Entry{
		Seq: seq, At: noon.Add(time.Duration(seq) * time.Microsecond), Type: trace.StepStarted,
		Scope:   trace.Scope{SessionID: session, TurnID: "t" + fmt.Sprint(seq/10), RunID: "r", RuntimeID: "编剧/旁白", PluginID: "编剧", ParentCallID: "c", Concealed: seq%2 == 0},
		Payload: json.RawMessage(fmt.Sprintf(`{"step":%d,"说":"雾港"}`, seq)),
	}
}

func add(t *testing.T, s trace.Store, entries ...trace.Entry) {
	t.Helper()
	if err := s.Append(t.Context(), entries, false); err != nil {
		t.Fatal(err)
	}
}

func seqs(t *testing.T, s trace.Store, q trace.Query) []uint64 {
	t.Helper()
	got, err := s.Read(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	out := []uint64{}
	for _, e := range got {
		out = append(out, e.Seq)
	}
	return out
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	list, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range list {
		out = append(out, f.String())
	}
	return out
}

// What is selected is the same in every store.
func TestReading(t *testing.T) {
	for name, s := range map[string]trace.Store{"memory": &memory.Store{}, "sqlite": open(t, t.TempDir(), Options{MaxBytes: 1})} {
		t.Run(name, func(t *testing.T) {
			for i := range uint64(40) {
				session := "s"
				if i%4 == 3 {
					session = "另一个"
				}
				e := entry(i+1, session)
				if i == 5 {
					e.Type, e.Payload = trace.TurnStarted, nil
				}
				add(t, s, e)
			}
			for what, c := range map[string]struct {
				q    trace.Query
				want []uint64
			}{
				"nothing":        {trace.Query{SessionID: "x"}, []uint64{}},
				"a session":      {trace.Query{SessionID: "另一个"}, []uint64{4, 8, 12, 16, 20, 24, 28, 32, 36, 40}},
				"a turn":         {trace.Query{SessionID: "s", TurnID: "t1"}, []uint64{10, 11, 13, 14, 15, 17, 18, 19}},
				"the newest":     {trace.Query{SessionID: "s", Limit: 3}, []uint64{37, 38, 39}},
				"an older page":  {trace.Query{SessionID: "s", Limit: 3, Before: 37}, []uint64{33, 34, 35}},
				"the first page": {trace.Query{SessionID: "s", Limit: 5, Before: 3}, []uint64{1, 2}},
				"of a type":      {trace.Query{SessionID: "s", Types: []trace.Type{trace.TurnStarted, trace.TurnCompleted}}, []uint64{6}},
				"bytes":          {trace.Query{SessionID: "s", Bytes: 60}, []uint64{37, 38, 39}},
			} {
				if diff := cmp.Diff(c.want, seqs(t, s, c.q)); diff != "" {
					t.Errorf("%s: %s", what, diff)
				}
			}
			got, err := s.Read(t.Context(), trace.Query{SessionID: "s", TurnID: "t0"})
			if err != nil {
				t.Fatal(err)
			}
			want := entry(1, "s")
			if diff := cmp.Diff(want, got[0]); diff != "" {
				t.Error(diff)
			}
			if last, err := s.Last(t.Context()); last != 40 || err != nil {
				t.Errorf("last %d %v", last, err)
			}
			if err := s.Forget(t.Context(), "s"); err != nil {
				t.Fatal(err)
			}
			if a, b := seqs(t, s, trace.Query{SessionID: "s"}), seqs(t, s, trace.Query{SessionID: "另一个"}); len(a) != 0 || len(b) != 10 {
				t.Errorf("after forgetting: %v %v", a, b)
			}
		})
	}
}

// Rule DESIGN §4: the trace stands in files of its own beside the log; a trace that is opened again goes on where it was.
func TestReopening(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "数据", DirName)
	for i := range uint64(5) {
		s := open(t, dir, Options{})
		if last, err := s.Last(t.Context()); last != i || err != nil {
			t.Fatalf("last is %d, want %d (%v)", last, i, err)
		}
		add(t, s, entry(i+1, "s"))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read(t.Context(), dir, trace.Query{SessionID: "s"})
	if err != nil || len(got) != 5 {
		t.Errorf("%d entries (%v)", len(got), err)
	}
	if diff := cmp.Diff([]string{"trace-20261201-001.db"}, files(t, dir)); diff != "" {
		t.Error(diff)
	}
	if _, err := Read(t.Context(), filepath.Join(dir, "x"), trace.Query{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

// Rule DESIGN §4: old traces go by dropping whole files; the newest one stays, however old it is.
func TestRetention(t *testing.T) {
	dir := t.TempDir()
	at := &calendar{noon}
	s := open(t, dir, Options{Clock: at.time, KeepDays: 2})
	for i := range uint64(6) {
		add(t, s, entry(i+1, "s"))
		at.days(1)
	}
	if diff := cmp.Diff([]string{"trace-20261204-001.db", "trace-20261205-001.db", "trace-20261206-001.db"}, files(t, dir)); diff != "" {
		t.Error(diff)
	}
	if got := seqs(t, s, trace.Query{SessionID: "s"}); !slices.Equal(got, []uint64{4, 5, 6}) {
		t.Errorf("kept %v", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	at.days(100)
	s = open(t, dir, Options{Clock: at.time, KeepDays: 2})
	if diff := cmp.Diff([]string{"trace-20261206-001.db"}, files(t, dir)); diff != "" {
		t.Error(diff)
	}
	if last, err := s.Last(t.Context()); last != 6 || err != nil {
		t.Errorf("last %d %v", last, err)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left { // also the write-ahead logs went
		if !strings.HasPrefix(f.Name(), "trace-20261206-001.db") {
			t.Errorf("%s was left behind", f.Name())
		}
	}
	t.Run("0 keeps all", func(t *testing.T) {
		dir, at := t.TempDir(), &calendar{noon}
		s := open(t, dir, Options{Clock: at.time})
		for i := range uint64(3) {
			add(t, s, entry(i+1, "s"))
			at.days(400)
		}
		if got := files(t, dir); len(got) != 3 {
			t.Errorf("%v", got)
		}
	})
}

func TestALargeFileIsFollowedByAnother(t *testing.T) {
	dir := t.TempDir()
	at := &calendar{noon}
	s := open(t, dir, Options{Clock: at.time, MaxBytes: 1})
	add(t, s, entry(1, "s"))
	add(t, s, entry(2, "s"))
	at.days(-3) // a clock that goes back opens no older file
	add(t, s, entry(3, "s"))
	if diff := cmp.Diff([]string{"trace-20261201-001.db", "trace-20261201-002.db", "trace-20261201-003.db"}, files(t, dir)); diff != "" {
		t.Error(diff)
	}
	if got := seqs(t, s, trace.Query{SessionID: "s"}); !slices.Equal(got, []uint64{1, 2, 3}) {
		t.Errorf("%v", got)
	}
}

// A file that is damaged costs what stood in it: whoever traces goes on, and whoever reads is told.
func TestDamage(t *testing.T) {
	garbage := bytes.Repeat([]byte("雾"), 3000)
	newer := func(t *testing.T, path string) {
		w, err := openWriting(t.Context(), filepath.Dir(path), name{20261201, 1})
		if err != nil {
			t.Fatal(err)
		}
		defer w.close()
		if _, err := w.db.Exec("PRAGMA user_version = 99"); err != nil {
			t.Fatal(err)
		}
	}
	for what, c := range map[string]struct {
		damage func(t *testing.T, path string)
		open   bool // while the store has the file open
	}{
		"no database at all": {func(t *testing.T, path string) { write(t, path, 0, garbage) }, false},
		"a torn head":        {func(t *testing.T, path string) { write(t, path, 30, garbage[:60]) }, false},
		"a newer program's":  {newer, false},
		"torn while open":    {func(t *testing.T, path string) { write(t, path, 0, garbage) }, true},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			var log bytes.Buffer
			o := Options{Log: slog.New(slog.NewTextHandler(&log, nil))}
			s := open(t, dir, o)
			for i := range uint64(200) {
				add(t, s, entry(i+1, "s"))
			}
			if c.open { // nothing of it may be only in the write-ahead log
				if _, err := s.cur.db.Exec("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA cache_size = 0"); err != nil {
					t.Fatal(err)
				}
			} else if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			c.damage(t, filepath.Join(dir, "trace-20261201-001.db"))
			if !c.open {
				s = open(t, dir, o)
			}
			if _, err := s.Last(t.Context()); err != nil {
				t.Errorf("last: %v", err)
			}
			add(t, s, entry(300, "s"))
			add(t, s, entry(301, "s"))
			got, err := s.Read(t.Context(), trace.Query{SessionID: "s", Limit: 10})
			var damaged *trace.Damaged
			if !errors.As(err, &damaged) || !slices.Equal(damaged.Files, []string{"trace-20261201-001.db"}) {
				t.Errorf("read: %v", err)
			}
			if n := len(got); n < 2 || got[n-2].Seq != 300 || got[n-1].Seq != 301 {
				t.Errorf("%d entries", n)
			}
			if !strings.Contains(log.String(), "trace-20261201-001.db") && !c.open {
				t.Errorf("the log says %q", log.String())
			}
			if err := s.Forget(t.Context(), "s"); err == nil || !strings.Contains(err.Error(), "trace-20261201-001.db") {
				t.Errorf("forget: %v", err)
			}
			if got, _ := s.Read(t.Context(), trace.Query{SessionID: "s"}); len(got) != 0 {
				t.Errorf("%d entries after forgetting", len(got))
			}
		})
	}
}

func write(t *testing.T, path string, at int64, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}

// What was forgotten stands in none of the files any more.
func TestForgettingOverwrites(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	const secret = "das-steht-nirgends-mehr"
	e := entry(1, "s")
	e.Payload = json.RawMessage(`{"text":"` + strings.Repeat(secret, 500) + `"}`)
	add(t, s, e, entry(2, "other"))
	if err := s.Forget(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte(secret)) {
			t.Errorf("%s still holds it", f.Name())
		}
	}
}

const dieIn = "COVEL_TEST_TRACE_DIR"

// TestMain lets the test binary be a process that writes and is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(dieIn); dir != "" {
		s, err := Open(dir, Options{})
		if err != nil {
			panic(err)
		}
		if err := s.Append(context.Background(), []trace.Entry{entry(1, "s")}, false); err != nil {
			panic(err)
		}
		if err := s.Append(context.Background(), []trace.Entry{entry(2, "s")}, true); err != nil {
			panic(err)
		}
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		select {}
	}
	os.Exit(m.Run())
}

// Rule DESIGN §5: what was flushed before an outside call is there after a crash.
func TestAKilledProcessLosesNothingThatWasFlushed(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), dieIn+"="+dir)
	if err := cmd.Run(); err == nil {
		t.Fatal("the process ended by itself")
	}
	got, err := Read(t.Context(), dir, trace.Query{SessionID: "s"}) // beside its write-ahead log
	if err != nil || len(got) != 2 {
		t.Fatalf("%d entries (%v)", len(got), err)
	}
	s := open(t, dir, Options{})
	add(t, s, entry(3, "s"))
	if got := seqs(t, s, trace.Query{SessionID: "s"}); !slices.Equal(got, []uint64{1, 2, 3}) {
		t.Errorf("%v", got)
	}
}

func TestNames(t *testing.T) {
	for file, want := range map[string]bool{
		"trace-20261201-001.db": true, "trace-20261201-1000.db": true, "trace-20261201-01.db": false, "trace-20261201-001.db-wal": false,
		"trace-2026120x-001.db": false, "events.db": false, "trace-20261201_001.db": false, "": false, "trace-20261201-001.txt": false, "trace--0261201-001.db": false,
	} {
		if f, ok := parse(file); ok != want || ok && f.String() != file {
			t.Errorf("%q: %v %v", file, f, ok)
		}
	}
}

// A reader beside the writer waits for nobody.
func TestReadingBesideTheWriter(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	add(t, s, entry(1, "s"))
	db, err := openReading(t.Context(), filepath.Join(dir, "trace-20261201-001.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	count := func() (n int) {
		if err := tx.QueryRow("SELECT count(*) FROM entries").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if count() != 1 {
		t.Error("the first entry is missing")
	}
	add(t, s, entry(2, "s"))
	if count() != 1 || len(seqs(t, s, trace.Query{SessionID: "s"})) != 2 {
		t.Error("a reader sees a moment, the next one what came after")
	}
}
