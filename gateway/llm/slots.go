package llm

import (
	"context"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/gateway/llm/openai"
	"github.com/covel/covel/gateway/llm/scripted"
	"github.com/covel/covel/gateway/llm/storyteller"
	"github.com/covel/covel/kernel/model"
)

// StorySlot is the slot of requests that name none, and stands in for slots that are not configured.
const StorySlot = "story"

// The providers a slot can name.
const (
	Offline  = "offline"  // the storyteller in the binary; no network, no key
	OpenAI   = "openai"   // any server with the OpenAI chat completions API
	Scripted = "scripted" // plays a script file
	Replayed = "replay"   // answers from a recording (Config.Record), with no model
)

// Config says which provider answers which slot. It is a plain value: cmd fills it from flags, environment and file.
type Config struct {
	Slots map[string]Slot // story, fast, …; empty: story is offline
	// Concurrent bounds the calls to servers that are open at once: 0 is DefaultConcurrent, less than 0 no bound. What
	// runs inside the process is not bounded.
	Concurrent int
	Limits     Limits
	// Record names a file that every call is appended to (Entry), as the kernel sees it; "" records nothing.
	Record string
}

// Slot configures one slot.
type Slot struct {
	Provider string        // Offline, OpenAI, Scripted or Replayed; "" is Offline
	Model    string        // OpenAI: required
	BaseURL  string        // OpenAI: "" is the official server
	Key      Secret        // OpenAI: may be unset for local servers
	File     string        // Scripted, Replayed: path of the script or the recording
	Pace     time.Duration // Offline: wait between pieces of text
	Price    *model.Price  // of the model's tokens; nil when nobody knows
	// ContextWindow is how many tokens of request and answer the model takes together; 0 is DefaultContextWindow for models
	// behind a server, and no bound for what runs inside the process.
	ContextWindow int
	Images        bool // OpenAI: the model sees pictures
}

// DefaultContextWindow is assumed of a model of which nobody says it (reference: api-and-protocol.md, limits).
const DefaultContextWindow = 262144

func (s Slot) capacity() model.Capacity {
	c := model.Capacity{ContextWindow: s.ContextWindow, Images: s.Images}
	if c.ContextWindow == 0 && s.Provider == OpenAI {
		c.ContextWindow = DefaultContextWindow
	}
	return c
}

// Info tells which provider answers each configured slot, for people: no address, no key.
type Info struct {
	Slots map[string]SlotInfo `json:"slots"`
	// Offline: the story is written by the storyteller in the binary, which the page says.
	Offline bool `json:"offline"`
}

// SlotInfo is what Info says about one slot.
type SlotInfo struct {
	Provider string `json:"provider"`
	Model    string `json:"model,omitempty"`
}

// ParseModel reads the short form of a slot that fits a flag: "offline", "openai:MODEL", "scripted:FILE", "replay:FILE". The address and
// key of a server are set apart from it.
func ParseModel(text string) (Slot, error) {
	provider, rest, _ := strings.Cut(text, ":")
	slot := Slot{Provider: provider}
	switch {
	case provider == Offline && rest == "":
	case provider == OpenAI && rest != "":
		slot.Model = rest
	case (provider == Scripted || provider == Replayed) && rest != "":
		slot.File = rest
	default:
		return Slot{}, errors.Errorf("model %q: expected offline, openai:MODEL, scripted:FILE or replay:FILE", text)
	}
	return slot, nil
}

// ParsePrice reads the form of a price that fits a flag: "input=2.5,output=10" with an optional "cached-input=1.25", each per
// million tokens. "" is no price.
func ParsePrice(text string) (*model.Price, error) {
	if text == "" {
		return nil, nil
	}
	var p model.Price
	seen := map[string]bool{}
	for _, part := range strings.Split(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || n < 0 || n > 1e6 || math.IsNaN(n) || seen[name] {
			return nil, errors.Errorf("price %q: %q is not NAME=NUMBER with each name once", text, part)
		}
		seen[name] = true
		switch name {
		case "input":
			p.Input = n
		case "output":
			p.Output = n
		case "cached-input":
			p.CachedInput = &n
		default:
			return nil, errors.Errorf("price %q: %q is none of input, output, cached-input", text, name)
		}
	}
	if !seen["input"] || !seen["output"] {
		return nil, errors.Errorf("price %q: input and output are both needed, per million tokens", text)
	}
	return &p, nil
}

// Open makes the providers of all slots, each with limits, and those of servers with the process's pool and a cooldown per
// key; the result routes each request by its Slot. It opens no connection. Close the result when the program ends. Errors
// name the slot.
func Open(c Config) (*Slots, Info, error) {
	configured := c.Slots
	if len(configured) == 0 {
		configured = map[string]Slot{StorySlot: {}}
	}
	if _, ok := configured[StorySlot]; !ok {
		return nil, Info{}, errors.Errorf("the slot %q is missing: every other slot falls back to it", StorySlot)
	}
	o := opening{limits: c.Limits, pool: NewPool(c.Concurrent), cooldowns: map[string]*Cooldown{}}
	s := &Slots{byName: map[string]model.Provider{}, names: map[string]string{}, prices: map[string]*model.Price{}, capacities: map[string]model.Capacity{}}
	var recording *os.File
	if c.Record != "" {
		var err error
		if recording, err = os.OpenFile(c.Record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			return nil, Info{}, errors.Wrap(err, "open the recording")
		}
		s.closers = append(s.closers, func() { _ = recording.Close() })
	}
	info := Info{Slots: map[string]SlotInfo{}}
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		slot := configured[name]
		if slot.Provider == "" {
			slot.Provider = Offline
		}
		provider, err := o.open(slot)
		if err != nil {
			s.Close()
			return nil, Info{}, errors.WithMessagef(err, "slot %q", name)
		}
		if closer, ok := provider.(interface{ Close() }); ok {
			s.closers = append(s.closers, closer.Close)
		}
		s.byName[name] = o.wrap(slot, provider)
		if recording != nil {
			s.byName[name] = NewRecorder(s.byName[name], recording, slot.Key)
		}
		s.names[name], s.prices[name], s.capacities[name] = slot.Model, slot.Price, slot.capacity()
		info.Slots[name] = SlotInfo{Provider: slot.Provider, Model: slot.Model}
	}
	info.Offline = info.Slots[StorySlot].Provider == Offline
	return s, info, nil
}

// opening is what the slots of one Config share.
type opening struct {
	limits    Limits
	pool      *Pool
	cooldowns map[string]*Cooldown // by server and key
}

func (o *opening) open(slot Slot) (model.Provider, error) {
	switch slot.Provider {
	case Offline:
		return storyteller.New(storyteller.Options{Pace: slot.Pace}), nil
	case OpenAI:
		return openai.New(openai.Options{BaseURL: slot.BaseURL, Model: slot.Model, Key: slot.Key})
	case Scripted:
		if slot.File == "" {
			return nil, errors.New("scripted: script is empty: name the file to play")
		}
		script, err := scripted.Load(slot.File)
		if err != nil {
			return nil, err
		}
		script.Forget = true
		return scripted.New(script), nil
	case Replayed:
		f, err := os.Open(slot.File)
		if err != nil {
			return nil, errors.Wrap(err, "open the recording")
		}
		defer f.Close()
		return NewReplay(f)
	}
	return nil, errors.Errorf("provider %q: expected %s, %s, %s or %s", slot.Provider, Offline, OpenAI, Scripted, Replayed)
}

func (o *opening) wrap(slot Slot, p model.Provider) model.Provider {
	p = WithLimits(p, o.limits)
	if slot.Provider != OpenAI {
		return p
	}
	account := slot.BaseURL + "\x00" + slot.Key.Reveal()
	if o.cooldowns[account] == nil {
		o.cooldowns[account] = &Cooldown{}
	}
	return o.cooldowns[account].Wrap(o.pool.Wrap(p))
}

// Slots routes requests by their slot. It implements model.Provider.
type Slots struct {
	byName     map[string]model.Provider
	names      map[string]string
	prices     map[string]*model.Price
	capacities map[string]model.Capacity
	closers    []func()
}

// Generate implements model.Provider. A slot that is not configured is answered by story.
func (s *Slots) Generate(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	p, ok := s.byName[req.Slot]
	if !ok {
		p = s.byName[StorySlot]
	}
	return p.Generate(ctx, req, onDelta)
}

// Price implements model.Priced.
func (s *Slots) Price(slot string) *model.Price {
	if p, ok := s.prices[slot]; ok {
		return p
	}
	return s.prices[StorySlot]
}

// Capacity implements model.Sized.
func (s *Slots) Capacity(slot string) model.Capacity {
	if c, ok := s.capacities[slot]; ok {
		return c
	}
	return s.capacities[StorySlot]
}

// ModelName implements model.Named.
func (s *Slots) ModelName(slot string) string {
	if name, ok := s.names[slot]; ok {
		return name
	}
	return s.names[StorySlot]
}

// Close drops idle connections. Calls in flight go on.
func (s *Slots) Close() {
	for _, closeOne := range s.closers {
		closeOne()
	}
}
