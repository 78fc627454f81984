package storyteller

import (
	"fmt"
	"hash/fnv"
	"sync"
)

// shelf keeps the worlds of the latest sessions as they were read: a world's text is the same in every turn, and reading
// it is the larger part of the work. A world is never changed once it is built. The shelf changes how long an answer
// takes and nothing about the answer.
type shelf struct {
	mu     sync.Mutex
	worlds map[uint64]*world
	order  []uint64 // oldest first
}

// shelfSize is how many worlds are kept: a few hundred kilobytes each.
const shelfSize = 32

func newShelf() *shelf { return &shelf{worlds: map[uint64]*world{}} }

// world gives the world of a story request, from the shelf when it stands there.
func (s *shelf) world(b *brief) *world {
	key := b.worldKey()
	s.mu.Lock()
	w := s.worlds[key]
	s.mu.Unlock()
	if w != nil {
		return w
	}
	w = buildWorld(b, true)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.worlds[key] == nil {
		s.worlds[key] = w
		s.order = append(s.order, key)
	}
	for len(s.order) > shelfSize {
		delete(s.worlds, s.order[0])
		s.order = s.order[1:]
	}
	return s.worlds[key]
}

// worldKey is a hash of everything that buildWorld reads.
func (b *brief) worldKey() uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d|%v|%q|%q|%q|%q|%q|%q", b.tongue, b.tagged, b.world, b.tone, b.lore, b.opening, b.beginnings(), b.entries)
	for _, c := range append([]*character{b.player}, b.cast...) {
		if c != nil {
			_, _ = fmt.Fprintf(h, "|%q|%q|%q|%q|%q", c.name, c.aliases, c.kind, c.description, c.fields)
		}
	}
	return h.Sum64()
}
