package turnscript

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/events"
)

// disk is the store that all nodes of a script share, with what it does wrong.
type disk struct {
	events.Store
	mu     sync.Mutex
	faults []*fault
}

// fault is what a disk does to the next appends.
type fault struct {
	kind  string // fails | loses acknowledgement | loses append | delays
	delay time.Duration
	times int    // how often yet; below 0: until it recovers
	typ   string // only appends with an event of this type; "" all
}

var errDisk = errors.New("the disk is broken")

func (d *disk) next(evs []events.Event) fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.faults {
		if f.times != 0 && (f.typ == "" || holds(evs, f.typ)) {
			f.times--
			return *f
		}
	}
	return fault{}
}

// unplayed gives the first fault that never came.
func (d *disk) unplayed() (fault, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.faults, func(f *fault) bool { return f.times > 0 })
	if i < 0 {
		return fault{}, false
	}
	return *d.faults[i], true
}

func (d *disk) breaks(f fault) { d.mu.Lock(); defer d.mu.Unlock(); d.faults = append(d.faults, &f) }

func (d *disk) recovers() { d.mu.Lock(); defer d.mu.Unlock(); d.faults = nil }

// Append implements events.Store.
func (d *disk) Append(ctx context.Context, stream string, expected events.Version, evs []events.Event) (events.Appended, error) {
	f := d.next(evs)
	switch f.kind {
	case "fails":
		return events.Appended{}, errDisk
	case "loses append":
		return events.Appended{}, events.ErrUnknown
	case "delays":
		select {
		case <-time.After(f.delay):
		case <-ctx.Done():
			return events.Appended{}, ctx.Err()
		}
	}
	done, err := d.Store.Append(ctx, stream, expected, evs)
	if f.kind == "loses acknowledgement" && err == nil {
		return events.Appended{}, events.ErrUnknown
	}
	return done, err
}

func holds(evs []events.Event, typ string) bool {
	return slices.ContainsFunc(evs, func(e events.Event) bool { return e.Type == typ })
}

// process is the disk as one node sees it: once dead, nothing of the node gets through.
type process struct {
	*disk
	mu     sync.Mutex
	dead   bool
	before string // the next append with an event of this type kills it, unwritten
	after  string // the same, written
}

var errDead = errors.New("the process is dead")

func (p *process) die() { p.mu.Lock(); defer p.mu.Unlock(); p.dead = true }

// awaits gives the type of event that was to kill the process, "" when it has, or none was.
func (p *process) awaits() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return ""
	}
	return p.before + p.after
}

// Append implements events.Store.
func (p *process) Append(ctx context.Context, stream string, expected events.Version, evs []events.Event) (events.Appended, error) {
	p.mu.Lock()
	p.dead = p.dead || p.before != "" && holds(evs, p.before)
	dies := p.after != "" && holds(evs, p.after)
	dead := p.dead
	p.mu.Unlock()
	if dead {
		return events.Appended{}, errDead
	}
	done, err := p.disk.Append(ctx, stream, expected, evs)
	if dies {
		p.die()
		return events.Appended{}, errDead
	}
	return done, err
}
