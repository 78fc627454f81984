package simulation

import (
	"testing"

	"github.com/covel/covel/kernel/session/reference"
)

// within is how many seeds may pass before a rule that is wrong must have been found.
const within = 400

// found looks for a seed that fails, and shrinks it.
func found(t *testing.T, sab sabotage, flip reference.Rule) {
	t.Helper()
	for seed := range uint64(within) {
		steps := draw(seed)
		what, _ := played(steps, sab, flip)
		if what == "" {
			continue
		}
		small := smallest(steps, what, sab, flip)
		now, _ := played(small, sab, flip)
		switch {
		case now == "" || kindOf(now) != kindOf(what):
			t.Fatalf("seed %d fails with %q, shrunk with %q", seed, what, now)
		case len(small) > 30:
			t.Errorf("seed %d is shrunk from %d to %d steps:\n%s", seed, len(steps), len(small), told(small, sab, flip))
		default:
			t.Logf("seed %d, %d steps, shrunk to %d: %s", seed, len(steps), len(small), kindOf(now))
		}
		return
	}
	t.Errorf("not found in %d seeds", within)
}

// A simulation that finds nothing is worth something only if it would find what is wrong: a reference with one rule turned
// around disagrees with the kernel soon, and the script of that is short.
func TestAFlippedRuleIsFound(t *testing.T) {
	for _, rule := range reference.Flippable {
		t.Run(string(rule), func(t *testing.T) { t.Parallel(); found(t, sound, rule) })
	}
}

// So does a world that breaks what the kernel relies on.
func TestABrokenWorldIsFound(t *testing.T) {
	for _, sab := range sabotages {
		t.Run(string(sab), func(t *testing.T) { t.Parallel(); found(t, sab, "") })
	}
}

// The shrinker keeps what the failure needs and nothing else.
func TestShrink(t *testing.T) {
	var steps []step
	for i := range 100 {
		steps = append(steps, step{verb: "say", args: [3]uint32{uint32(i)}})
	}
	small := shrink(steps, func(s []step) bool { // fails with a 40, behind it a 70
		for i, x := range s {
			for _, y := range s[i+1:] {
				if x.args[0] >= 40 && y.args[0] >= 70 {
					return true
				}
			}
		}
		return false
	})
	if len(small) != 2 || small[0].args[0] != 40 || small[1].args[0] != 70 {
		t.Errorf("%v", small)
	}
}
