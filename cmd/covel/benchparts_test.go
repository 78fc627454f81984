package main

import (
	"testing"

	"github.com/google/pprof/profile"
)

// A sample counts for the innermost part of its stack, whatever library that part calls.
func TestPartOfASample(t *testing.T) {
	for _, c := range []struct {
		want  string
		stack []string // from the leaf
	}{
		{"append (the store)", []string{"modernc.org/sqlite/lib._sqlite3Step", "github.com/covel/covel/events/sqlite.(*Store).write", "runtime.goexit"}},
		{"read models", []string{"modernc.org/sqlite/lib._sqlite3Step", "github.com/covel/covel/projections/sql.(*ReadModels).Apply"}},
		{"session (kernel/session, actors/session, its folds)", []string{"runtime.mallocgc", "github.com/covel/covel/projections.State.Apply", "github.com/covel/covel/actors/session.(*session).Receive"}},
		{"context (kernel/prompt, kernel/compaction, kernel/extension)", []string{"strings.Repeat", "github.com/covel/covel/kernel/prompt/budget.Apply", "github.com/covel/covel/actors/runtime.(*run).agent"}},
		{"messages (protoactor)", []string{"sync.(*Mutex).Lock", "github.com/asynkron/protoactor-go/actor.(*defaultMailbox).run"}},
		{"garbage collection", []string{"runtime.scanobject", "runtime.gcBgMarkWorker"}},
		{elsewhere, []string{"runtime.findRunnable", "runtime.schedule"}},
	} {
		var s profile.Sample
		for _, name := range c.stack {
			s.Location = append(s.Location, &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: name}}}})
		}
		if got := partOf(&s); got != c.want {
			t.Errorf("%s counts for %q, want %q", c.stack[0], got, c.want)
		}
	}
}
