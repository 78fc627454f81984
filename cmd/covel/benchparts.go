package main

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
	"github.com/pkg/errors"
)

// part is a piece of a turn's work and the packages that do it.
type part struct {
	name     string
	packages []string
}

const module = "github.com/covel/covel/"

// parts are the pieces a turn is made of. A sample of the profile belongs to the part whose function is the innermost of its
// stack, so that the database driver counts for the store that calls it, and JSON for whoever encodes.
var parts = []part{
	{"schedule (kernel/turn, actors/turn)", []string{module + "kernel/turn", module + "actors/turn"}},
	{"context (kernel/prompt, kernel/compaction, kernel/extension)", []string{module + "kernel/prompt", module + "kernel/compaction", module + "kernel/extension"}},
	{"loop (kernel/loop)", []string{module + "kernel/loop"}},
	{"runs (actors/runtime, plugins, kernel/world)", []string{module + "actors/runtime", module + "plugins", module + "kernel/world"}},
	{"commit (kernel/commit)", []string{module + "kernel/commit"}},
	{"session (kernel/session, actors/session, its folds)", []string{module + "kernel/session", module + "actors/session", module + "projections."}},
	{"append (the store)", []string{module + "events"}},
	{"read models", []string{module + "projections/"}},
	{"the model's double", []string{module + "gateway/llm"}},
	{"messages (protoactor)", []string{"github.com/asynkron/protoactor-go"}},
	{"garbage collection", []string{"runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.bgscavenge"}},
}

// elsewhere is what belongs to no part: the scheduler of Go, and the measurement itself.
const elsewhere = "everything else"

// share is how much processor time a part took.
type share struct {
	part string
	took time.Duration
}

// shares reads a CPU profile and gives the time of each part, the largest first.
func shares(cpu []byte) ([]share, error) {
	p, err := profile.Parse(bytes.NewReader(cpu))
	if err != nil {
		return nil, errors.Wrap(err, "read the profile")
	}
	spent := map[string]time.Duration{}
	for _, s := range p.Sample {
		spent[partOf(s)] += time.Duration(s.Value[len(s.Value)-1])
	}
	var out []share
	for name, took := range spent {
		out = append(out, share{name, took})
	}
	slices.SortFunc(out, func(a, b share) int {
		return cmp.Or(cmp.Compare(b.took, a.took), cmp.Compare(a.part, b.part))
	})
	return out, nil
}

func partOf(s *profile.Sample) string {
	for _, at := range s.Location { // from the leaf
		for _, l := range at.Line {
			for _, p := range parts {
				if slices.ContainsFunc(p.packages, func(prefix string) bool { return strings.HasPrefix(l.Function.Name, prefix) }) {
					return p.name
				}
			}
		}
	}
	return elsewhere
}
