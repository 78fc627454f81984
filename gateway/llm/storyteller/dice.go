package storyteller

import (
	"hash/fnv"
	"strconv"

	"github.com/covel/covel/kernel/model"
)

// dice is a small generator of its own (splitmix64): the same seed throws the same numbers on every machine and in
// every version of Go, which is what "the same request gives the same reply" needs.
type dice struct{ state uint64 }

func (d *dice) next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	z := d.state
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// below gives a number in [0,n), and 0 when there is nothing to choose from.
func (d *dice) below(n int) int {
	if n <= 1 {
		return 0
	}
	return int(d.next() % uint64(n))
}

// seedOf hashes what the model is told and how often it told it, so that every change of history and every take changes the
// throw. Slot, subject, streaming and
// cache marks do not count: they say how the answer travels and not what it should be.
func seedOf(req model.Request) uint64 {
	h := fnv.New64a()
	write := func(parts ...string) {
		for _, p := range parts {
			_, _ = h.Write([]byte(p)) // a hash never fails
			_, _ = h.Write([]byte{0})
		}
	}
	for _, m := range req.Messages {
		write(string(m.Role), m.Content)
		for _, c := range m.ToolCalls {
			write(c.Name, c.Arguments)
		}
	}
	for _, tool := range req.Tools {
		write(tool.Name)
	}
	if req.ResponseFormat != nil {
		write(string(req.ResponseFormat.Schema))
	}
	if req.Take > 0 {
		write(strconv.Itoa(req.Take))
	}
	return h.Sum64()
}

// hashOf is for choices that must stay the same over all turns of a session, such as where somebody lives.
func hashOf(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	d := dice{h.Sum64()}
	return d.next()
}
