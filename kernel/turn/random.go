package turn

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"
)

// Random is the chance of one run. Draw n of a run is the same whenever a recorded execution runs again, and parallel runs
// do not disturb each other (design §2.5). It may be used concurrently.
type Random struct {
	mu   sync.Mutex
	seed string
	n    uint64
}

// NewRandom makes the chance of a run.
func NewRandom(executionID, runID string) *Random { return &Random{seed: executionID + "\x00" + runID} }

// Int gives min ≤ n < max, each as likely as the others, and min when the range is empty.
func (r *Random) Int(min, max int) int {
	if max <= min {
		return min
	}
	span := uint64(max) - uint64(min) // right also where max-min overflows
	for limit := -span % span; ; {
		if v := r.next(); v >= limit {
			return min + int(v%span)
		}
	}
}

func (r *Random) next() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("random\x00"+r.seed+"\x00"), r.n))
	return binary.BigEndian.Uint64(sum[:8])
}
