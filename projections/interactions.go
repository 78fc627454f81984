package projections

import (
	"cmp"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Interaction states.
const (
	InteractionOpen     = "open"
	InteractionAnswered = "answered"
	InteractionVoid     = "void"
)

// maxClosedInteractions is how many answered or void interactions the hot state keeps, beside the newest answer of each
// plugin, which its runtimes may read at any time.
const maxClosedInteractions = 64

// Interaction is a question to the player and, once given, its answer.
type Interaction struct {
	InteractionRef
	MessageID string         `json:"messageId"`
	RuntimeID string         `json:"runtimeId"`
	PluginID  string         `json:"pluginId"`
	Block     RawJSON        `json:"block"`
	Status    string         `json:"status"`
	Values    RawJSON        `json:"values,omitempty"`
	Version   events.Version `json:"version"` // of the request, then of the answer
	// AnsweredAt is zero before the answer. What was answered stays so, also when a new request makes the question void.
	AnsweredAt time.Time `json:"answeredAt,omitzero"`
}

// AnswerID names the answer in its session.
func (i Interaction) AnswerID() string { return i.TurnID + "/" + i.InteractionID }

// Interactions are the questions of a session, oldest first.
type Interactions []Interaction

// Find gives an interaction by the execution that asked and its id.
func (is Interactions) Find(turnID, interactionID string) (Interaction, bool) {
	for i := len(is) - 1; i >= 0; i-- {
		if is[i].TurnID == turnID && is[i].InteractionID == interactionID {
			return is[i], true
		}
	}
	return Interaction{}, false
}

// Open gives the questions that wait for an answer; plugin "" means any.
func (is Interactions) Open(plugin string) []Interaction {
	var out []Interaction
	for _, i := range is {
		if i.Status == InteractionOpen && (plugin == "" || i.PluginID == plugin) {
			out = append(out, i)
		}
	}
	return out
}

// LastAnswered gives the newest answer to an interaction of a plugin that is not void.
func (is Interactions) LastAnswered(plugin string) (Interaction, bool) {
	best := -1
	for i := range is {
		if is[i].Status == InteractionAnswered && is[i].PluginID == plugin && (best < 0 || is[i].Version >= is[best].Version) {
			best = i
		}
	}
	if best < 0 {
		return Interaction{}, false
	}
	return is[best], true
}

// Newest gives the newest answer to any plugin's interaction that is not void.
func (is Interactions) Newest() (Interaction, bool) {
	best := -1
	for i := range is {
		if is[i].Status == InteractionAnswered && (best < 0 || is[i].Version >= is[best].Version) {
			best = i
		}
	}
	if best < 0 {
		return Interaction{}, false
	}
	return is[best], true
}

// Answers gives what the player has answered, oldest first, void questions included: it is what they said.
func (is Interactions) Answers() []Interaction {
	var out []Interaction
	for _, i := range is {
		if !i.AnsweredAt.IsZero() {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b Interaction) int { return cmp.Compare(a.Version, b.Version) })
	return out
}

// trimmed drops the oldest closed interactions above the limit. It may change what is in the slice.
func (is Interactions) trimmed() Interactions {
	over := -maxClosedInteractions
	for _, x := range is {
		if x.Status != InteractionOpen {
			over++
		}
	}
	if over <= 0 {
		return is
	}
	answers := map[string]events.Version{}
	for _, x := range is {
		if x.Status == InteractionAnswered {
			answers[x.PluginID] = max(answers[x.PluginID], x.Version)
		}
	}
	return slices.DeleteFunc(is, func(x Interaction) bool {
		if over <= 0 || x.Status == InteractionOpen || x.Status == InteractionAnswered && x.Version == answers[x.PluginID] {
			return false
		}
		over--
		return true
	})
}

func (is Interactions) apply(r events.Recorded, msg proto.Message) Interactions {
	switch m := msg.(type) {
	case *eventsv1.InteractionRequested:
		out := append(make(Interactions, 0, len(is)+1), is...)
		for i := range out {
			if out[i].InteractionID == m.InteractionId && out[i].PluginID == m.PluginId {
				out[i].Status = InteractionVoid
			}
		}
		return append(out, Interaction{
			InteractionRef: InteractionRef{TurnID: m.TurnId, InteractionID: m.InteractionId, Type: m.Type},
			MessageID:      m.MessageId, RuntimeID: m.RuntimeId, PluginID: m.PluginId, Block: RawJSON(m.Block),
			Status: InteractionOpen, Version: r.Version,
		}).trimmed()
	case *eventsv1.ActionsSubmitted:
		var out Interactions
		for _, a := range m.Actions {
			if a.Interaction == nil {
				continue
			}
			if out == nil {
				out = append(Interactions(nil), is...)
			}
			for i := range out {
				if out[i].TurnID == a.Interaction.TurnId && out[i].InteractionID == a.Interaction.InteractionId && out[i].Status == InteractionOpen {
					out[i].Status, out[i].Values, out[i].Version = InteractionAnswered, RawJSON(a.Fields), r.Version
					out[i].AnsweredAt = r.RecordedAt
				}
			}
		}
		if out != nil {
			return out
		}
	}
	return is
}
