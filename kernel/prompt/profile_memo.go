package prompt

import (
	"hash/maphash"
	"math"
	"sync"

	"github.com/covel/covel/plugins/sdk"
)

// maxRemembered is how many profile lines are remembered; past it they are forgotten together.
const maxRemembered = 4096

// profileLines remembers the lines of characters: most people of a world do not change from turn to turn, and every agent
// is told of all of them. A line depends on nothing but its key.
var profileLines = struct {
	sync.Mutex
	seed  maphash.Seed
	lines map[profileKey]string
}{seed: maphash.MakeSeed(), lines: map[profileKey]string{}}

type profileKey struct{ character, schema uint64 }

func remembered(k profileKey, make func() string) string {
	profileLines.Lock()
	line, ok := profileLines.lines[k]
	profileLines.Unlock()
	if ok {
		return line
	}
	line = make()
	profileLines.Lock()
	defer profileLines.Unlock()
	if len(profileLines.lines) >= maxRemembered {
		clear(profileLines.lines)
	}
	profileLines.lines[k] = line
	return line
}

func characterKey(c sdk.Character) uint64 {
	h := hasher()
	for _, s := range append([]string{c.Name, c.Type, c.Description}, c.Aliases...) {
		part(&h, s)
	}
	part(&h, string(c.Fields))
	return h.Sum64()
}

// schemaKey covers what a profile line shows of a schema.
func schemaKey(s sdk.CharacterSchema) uint64 {
	h := hasher()
	for _, a := range s.Attributes {
		part(&h, a.ID)
		part(&h, a.Name)
		for _, n := range []*float64{a.Min, a.Max} {
			v := uint64(1) // no number has the bits of a subnormal this small by chance
			if n != nil {
				v = math.Float64bits(*n)
			}
			maphash.WriteComparable(&h, v)
		}
	}
	return h.Sum64()
}

func hasher() (h maphash.Hash) {
	h.SetSeed(profileLines.seed)
	return h
}

// part writes a text with its length, so that two texts never read as two others.
func part(h *maphash.Hash, s string) {
	maphash.WriteComparable(h, len(s))
	h.WriteString(s)
}
