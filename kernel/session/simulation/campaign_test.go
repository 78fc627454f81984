package simulation

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// shortCampaign is how many lives `make test` plays.
const shortCampaign = 60

// progress is after how many lives a long campaign says how far it is.
const progress = 10_000

// Rule DESIGN:§16: random commands, faults, two activations, timers and crashes against a simple reference model; a failing
// seed prints its script.
// Rule TP:193: what an execution writes is committed or rolled back together.
// Rule TP:183: executions of one logical turn count it once.
// Rule DESIGN:§5: a read never appends, one append is in flight, a foreign event makes an activation refold.
// Rule DESIGN:§8: a move of the head voids open suspensions and cancels open jobs in the same append.
// Lives by seed. SEED=n plays one and prints it, SEEDS=n so many, SOAK=10m as many as the time allows, on all cores; FROM=n
// says with which seed to begin.
func TestLives(t *testing.T) {
	if one := os.Getenv("SEED"); one != "" {
		seed := number64(t, "SEED", 0)
		steps := draw(seed)
		what, remarks := played(steps, sound, "")
		t.Logf("seed %d\n%s", seed, printed(steps, remarks))
		if what != "" {
			t.Errorf("seed %d: %s", seed, told(smallest(steps, what, sound, ""), sound, ""))
		}
		return
	}
	from, seeds := number64(t, "FROM", 0), number64(t, "SEEDS", shortCampaign)
	var until time.Time
	if soak := os.Getenv("SOAK"); soak != "" {
		d, err := time.ParseDuration(soak)
		if err != nil {
			t.Fatalf("SOAK: %v", err)
		}
		until, seeds = time.Now().Add(d), 1<<62
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // lives are made of small states that die young
	var next, steps, failed atomic.Uint64
	begun := time.Now()
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				n := next.Add(1) - 1
				if n > 0 && n%progress == 0 {
					t.Logf("%d lives from seed %d, %d steps, in %.0fs, %d failed", n, from, steps.Load(), time.Since(begun).Seconds(), failed.Load())
				}
				if n >= seeds || failed.Load() > 3 || !until.IsZero() && time.Now().After(until) {
					return
				}
				script := draw(from + n)
				steps.Add(uint64(len(script)))
				if what, _ := played(script, sound, ""); what != "" {
					failed.Add(1)
					t.Errorf("seed %d: %s", from+n, told(smallest(script, what, sound, ""), sound, ""))
				}
			}
		})
	}
	workers.Wait()
	took := time.Since(begun)
	lives := min(next.Load(), seeds)
	t.Logf("%d lives from seed %d, %d steps, in %.1fs: %.0f lives a second, %d failed", lives, from, steps.Load(), took.Seconds(), float64(lives)/took.Seconds(), failed.Load())
}

func number64(t *testing.T, name string, without uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return without
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}
