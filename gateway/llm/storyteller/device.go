package storyteller

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// device is a small open question that the storyteller plants at the end of a passage: footprints, a note, a knock.
// It has a beginning, answers to what a player may do about it, and an end when nobody cares.
type device struct {
	id     string
	keys   []string // words by which a player picks it up, folded
	verbs  []verb   // what goes to the bottom of it
	look   []verb   // what only looks closer
	pools  map[string][]*phrase
	points bool // some of its phrases lead to another place
}

// The stages of a device, which are the names of its pools.
const (
	stageSeed   = "seed"
	stageLook   = "look"
	stagePursue = "pursue"
	stageAsk    = "ask"
	stageGone   = "gone"
	stageArrive = "arrive"
)

var deviceStages = []string{stageSeed, stageLook, stagePursue, stageAsk, stageGone, stageArrive}

func readDevices(t tongue, data []byte) []*device {
	var raw []struct {
		ID     string
		Keys   []string
		Pursue []verb              `yaml:"pursue-by"`
		Look   []verb              `yaml:"look-by"`
		Say    map[string][]string `yaml:"say"`
	}
	_ = yaml.Unmarshal(data, &raw)
	var out []*device
	for _, r := range raw {
		d := &device{id: r.ID, keys: r.Keys, verbs: r.Pursue, look: r.Look, pools: map[string][]*phrase{}}
		for _, stage := range deviceStages {
			for _, line := range r.Say[stage] {
				if p, err := parsePhrase(t, line); err == nil {
					d.pools[stage] = append(d.pools[stage], p)
					d.points = d.points || strings.Contains(line, "{there}")
				}
			}
		}
		out = append(out, d)
	}
	return out
}

// toldAt gives the last turn in which a phrase of one of the stages was told.
func (d *device) toldAt(m *memory, stages ...string) int {
	turn := 0
	for _, s := range stages {
		for _, p := range d.pools[s] {
			turn = max(turn, m.told(p.grams))
		}
	}
	return turn
}

// openDevice is the device that stands open in the scene: planted here, not long ago, and not yet ended.
func openDevice(b *bank, m *memory) (d *device, since int) {
	for _, c := range b.devices {
		planted := c.toldAt(m, stageSeed)
		if planted == 0 || planted < m.cameAt || m.turn-planted > 4 || c.toldAt(m, stagePursue, stageGone) >= planted {
			continue
		}
		if planted > since {
			d, since = c, planted
		}
	}
	return d, since
}

// concerns tells whether a player's act picks the device up.
func (d *device) concerns(a act) bool {
	if a.speech != "" && !d.pursuedBy(a.verb) {
		return false // talk is answered as talk
	}
	if containsAnyOf(fold(a.raw), d.keys) {
		return true
	}
	bare := a.thing == "" && a.place == nil && len(a.people) == 0 && a.topic == nil && a.speech == ""
	return bare && (a.verb == "follow" || a.verb == "search")
}

func (d *device) pursuedBy(v verb) bool { return slices.Contains(d.verbs, v) }

// leadsTo is the place that an open device points at: the one named in the sentence that planted it, or, for a device
// that is just being planted, one that is chosen by turn and stays the same however often it is asked for.
func (d *device) leadsTo(w *world, m *memory, turn int) *entity {
	if turn < m.turn && turn <= len(m.stories) {
		near := 0 // how many more sentences belong to the one that names the device
		for _, s := range sentences(m.stories[turn-1]) {
			key := fold(s)
			if containsAnyOf(key, d.keys) {
				near = 3
			}
			if near--; near < 0 {
				continue
			}
			for _, h := range w.finder.find(s) {
				if h.entity.kind == aPlace && h.entity != m.place {
					return h.entity
				}
			}
		}
	}
	others := w.elsewhere(m.place)
	if len(others) == 0 {
		return nil
	}
	return others[hashOf(d.id+string(rune('a'+turn%26)))%uint64(len(others))]
}

// elsewhere lists the places one could go to from here, the near ones first, or only those when there are enough.
func (w *world) elsewhere(from *entity) []*entity {
	var others []*entity
	add := func(list []*entity) {
		for _, p := range list {
			if p != from && p.shown != "" {
				others = addOnce(others, p)
			}
		}
	}
	if from != nil {
		add(from.near)
	}
	if len(others) < 2 {
		add(w.places)
	}
	return others
}

func containsAnyOf(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
