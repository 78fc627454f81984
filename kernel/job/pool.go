package job

import (
	"maps"
	"slices"
)

// PoolSize is how many jobs a node runs at once (seed: turn-pipeline.txt §2.3, "By default, up to 4 different runtimes run at
// the same time").
const PoolSize = 4

// Pool gives out the places of a node, in turns across sessions. A holder is an activation of a session. The zero value has
// no places.
type Pool struct {
	size    int
	running map[Place]bool
	turns   []string            // holders that want something, in the order they are served
	wants   map[string][]string // by holder: jobs, in the order it wants them
}

// Place is what a holder was given for one of its jobs.
type Place struct{ Holder, Job string }

// NewPool gives a pool of size places.
func NewPool(size int) Pool {
	return Pool{size: size, running: map[Place]bool{}, wants: map[string][]string{}}
}

// Want says which jobs a holder wants to run now; what it wanted before is forgotten. The places given out are returned.
func (p Pool) Want(holder string, jobs []string) (Pool, []Place) {
	p = p.copy()
	jobs = slices.DeleteFunc(slices.Clone(jobs), func(j string) bool { return p.running[Place{holder, j}] })
	p.want(holder, jobs)
	return p.give()
}

// Release gives a place back.
func (p Pool) Release(place Place) (Pool, []Place) {
	p = p.copy()
	delete(p.running, place)
	return p.give()
}

// Forget takes back everything a holder has and wants: it is gone.
func (p Pool) Forget(holder string) (Pool, []Place) {
	p = p.copy()
	maps.DeleteFunc(p.running, func(pl Place, _ bool) bool { return pl.Holder == holder })
	p.want(holder, nil)
	return p.give()
}

// Running is how many places are taken.
func (p Pool) Running() int { return len(p.running) }

func (p Pool) copy() Pool {
	p.running, p.wants, p.turns = maps.Clone(p.running), maps.Clone(p.wants), slices.Clone(p.turns)
	return p
}

func (p *Pool) want(holder string, jobs []string) {
	if len(jobs) == 0 {
		delete(p.wants, holder)
		p.turns = slices.DeleteFunc(p.turns, func(h string) bool { return h == holder })
		return
	}
	p.wants[holder] = jobs
	if !slices.Contains(p.turns, holder) {
		p.turns = append(p.turns, holder)
	}
}

// give serves the next session in turn while there is a place; who was served goes to the end of the line.
func (p Pool) give() (Pool, []Place) {
	var out []Place
	for len(p.running) < p.size && len(p.turns) > 0 {
		holder := p.turns[0]
		place := Place{holder, p.wants[holder][0]}
		rest := slices.Clone(p.wants[holder][1:])
		p.turns = p.turns[1:]
		delete(p.wants, holder)
		p.want(holder, rest)
		p.running[place] = true
		out = append(out, place)
	}
	return p, out
}
