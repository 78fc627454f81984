// Package points is the table of the kernel's extension points: which jobs the kernel hands to plugins, how several
// providers are combined, how long one may take, what a failure costs, and the shape of what goes in and comes out (seed:
// extension-points.txt, "Combination modes"). kernel/extension combines by it, the registry checks plugins against it.
package points

import (
	"slices"
	"sync"
	"time"

	"github.com/covel/covel/plugins/schema"
)

// Mode is how several providers of a point are combined.
type Mode string

// Modes.
const (
	Single   Mode = "single"   // one valid provider; without one the call site has its default
	Collect  Mode = "collect"  // the outputs of all providers that pass validation
	Pipeline Mode = "pipeline" // each gets the previous valid result, in declared order
)

// OnError is what a provider's failure costs.
type OnError string

// Failure policies.
const (
	Skip     OnError = "skip"      // this provider is skipped
	FailTurn OnError = "fail-turn" // the whole turn fails
)

// The points by name.
const (
	PromptSegment    = "prompt.segment@1"
	HistoryTransform = "prompt.history-transform@1"
	UISlot           = "ui.slot@1"
	ImageFlow        = "media.image-flow@1"
	WorldContext     = "session.world-context@1"
	HistoryCompact   = "history.compact@2"
)

// Point is one extension point. Each has only its current version: the kernel does not negotiate.
type Point struct {
	ID      string
	Mode    Mode
	Timeout time.Duration
	OnError OnError

	in, out string // JSON Schemas
}

// All is the table.
var All = []Point{
	{PromptSegment, Collect, 500 * time.Millisecond, Skip, segmentInput, segmentOutput},
	{HistoryTransform, Pipeline, 500 * time.Millisecond, Skip, transformInput, transformOutput},
	{UISlot, Pipeline, 500 * time.Millisecond, Skip, slotInput, slotOutput},
	{ImageFlow, Single, 500 * time.Millisecond, Skip, emptyInput, imageFlowOutput},
	{WorldContext, Single, 500 * time.Millisecond, FailTurn, emptyInput, worldContextOutput},
	{HistoryCompact, Single, 60 * time.Second, Skip, compactInput, compactOutput},
}

// Find gives the point of an id.
func Find(id string) (Point, bool) {
	i := slices.IndexFunc(All, func(p Point) bool { return p.ID == id })
	if i < 0 {
		return Point{}, false
	}
	return All[i], true
}

// IsKernel says whether a contract id belongs to the kernel: a point or a slot.
func IsKernel(contract string) bool {
	_, point := Find(contract)
	return point || slices.Contains(Slots, contract)
}

// compiled holds the schemas of the table, compiled when they are first asked for.
var compiled = sync.OnceValue(func() map[string]*schema.Schema {
	out := map[string]*schema.Schema{}
	add := func(id, raw string) {
		s, err := schema.Compile([]byte(raw))
		if err != nil {
			panic("points: " + id + ": " + err.Error()) // constants of this package
		}
		out[raw] = s
	}
	for _, p := range All {
		add(p.ID, p.in)
		add(p.ID, p.out)
	}
	for _, id := range Slots {
		add(id, slotValues[id])
	}
	return out
})

// CheckInput holds an input against the point's schema; nil when it fits.
func (p Point) CheckInput(raw []byte) error { return check(p.in, raw) }

// CheckOutput holds a provider's output against the point's schema; nil when it fits.
func (p Point) CheckOutput(raw []byte) error { return check(p.out, raw) }

func check(s string, raw []byte) error {
	if f := compiled()[s].CheckJSON(raw); f != nil {
		return f
	}
	return nil
}
