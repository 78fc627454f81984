// Package simulation plays random sessions on the pure kernel: clients, a store that fails, two activations that know of each
// other only through the log, turns and jobs of every outcome, clocks, crashes between any two effects. Every life follows
// from a seed; what must hold is said by kernel/session/reference and by what clients and followers hear. A life in which
// something does not hold is shrunk and printed as a script.
package simulation

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// step is one thing that happens: a verb and what it picks from what is there. A step that finds nothing to act on does
// nothing, so that any steps may be left out of a script.
type step struct {
	verb string
	args [3]uint32
}

func (s step) String() string {
	out := s.verb
	last := len(s.args)
	for last > 0 && s.args[last-1] == 0 {
		last--
	}
	for _, a := range s.args[:last] {
		out += " " + strconv.Itoa(int(a))
	}
	return out
}

// parse reads a script: a step per line, what follows # is a remark.
func parse(t testing.TB, text string) []step {
	t.Helper()
	var out []step
	for n, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		s := step{verb: words[0]}
		if _, known := verbs[s.verb]; !known || len(words) > 4 {
			t.Fatalf("line %d: %q is no step", n+1, line)
		}
		for i, w := range words[1:] {
			a, err := strconv.ParseUint(w, 10, 32)
			if err != nil {
				t.Fatalf("line %d: %v", n+1, err)
			}
			s.args[i] = uint32(a)
		}
		out = append(out, s)
	}
	return out
}

// draw gives the script of a seed.
func draw(seed uint64) []step {
	rng := rand.New(rand.NewPCG(seed, 0x5eed))
	steps := lengthOf(rng)
	out := make([]step, 0, steps+8)
	if rng.IntN(3) > 0 { // most lives are played, and do not end in the set-up
		out = append(out, step{verb: "start"}, step{verb: "calm"}, step{verb: "answer"}, step{verb: "calm"})
	}
	// A life has its own taste: some verbs come often in it, some never.
	weights := make([]int, len(drawn))
	total := 0
	for i, d := range drawn {
		weights[i] = d.weight * []int{0, 0, 0, 1, 2, 4}[rng.IntN(6)]
		if d.always {
			weights[i] = max(weights[i], d.weight)
		}
		total += weights[i]
	}
	for range steps {
		at := rng.IntN(total)
		for i, w := range weights {
			if at -= w; at < 0 {
				s := step{verb: drawn[i].verb}
				for a := range s.args {
					s.args[a] = uint32(rng.IntN(1000))
				}
				s.args[0] = uint32(rng.IntN(100))
				out = append(out, s)
				break
			}
		}
	}
	return out
}

// lengthOf gives how many steps a life has. Most are short: what goes wrong needs few steps, and many short lives go more ways
// than few long ones. Some are long, for what only adds up.
func lengthOf(rng *rand.Rand) int {
	switch n := rng.IntN(20); {
	case n < 12:
		return 12 + rng.IntN(40)
	case n < 18:
		return 50 + rng.IntN(50)
	}
	return 100 + rng.IntN(150)
}

// drawn are the verbs of random lives and how often they come.
var drawn = []struct {
	verb   string
	weight int
	always bool
}{
	{"deliver", 40, true}, {"turn", 40, true}, {"job", 15, true}, {"calm", 4, false},
	{"say", 14, true}, {"play", 8, true}, {"table", 2, false}, {"say-2", 5, false}, {"close-table", 1, false}, {"withdraw", 1, false}, {"start", 2, false}, {"answer", 4, true}, {"retry", 4, false}, {"run", 4, false}, {"again", 4, false},
	{"resume", 20, true}, {"abandon", 3, false}, {"undo", 4, false}, {"move", 3, false}, {"regenerate", 4, false}, {"revise", 3, false}, {"name", 1, false},
	{"repeat", 4, false}, {"stale", 1, false}, {"stop", 3, false}, {"pause", 1, false}, {"unpause", 3, true}, {"end", 1, false},
	{"setup-retry", 2, false}, {"setup-waive", 1, false}, {"cancel-job", 3, false}, {"retry-job", 3, false}, {"run-job", 4, false},
	{"fault", 8, false}, {"zombie", 3, false}, {"crash", 2, false}, {"fuse", 2, false}, {"wake", 3, false}, {"read", 2, false}, {"idle", 2, false},
	{"drain", 1, false}, {"tick", 1, false}, {"foreign", 1, false}, {"late", 3, false}, {"time", 6, true}, {"week", 1, false}, {"lie", 2, false}, {"keys", 1, false},
	{"seat-add", 2, false}, {"seat-edit", 3, false}, {"invite", 3, false}, {"take", 3, false}, {"free", 3, false}, {"seat-remove", 1, false}, {"say-as", 6, false},
	{"settings", 3, false}, {"interject", 5, false}, {"chat", 6, false}, {"hear", 6, false}, {"hooks", 2, false}, {"sick", 2, false}, {"resume-plugin", 2, false},
	{"again-failed", 4, false}, {"run-any", 2, false},
	{"busy", 1, false}, {"upgrade", 1, false}, {"look", 2, false}, {"forget", 1, false},
}

// printed is a script with what its steps came to.
func printed(steps []step, remarks []string) string {
	var b strings.Builder
	for i, s := range steps {
		line := s.String()
		if i < len(remarks) && remarks[i] != "" {
			line = fmt.Sprintf("%-22s # %s", line, remarks[i])
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
