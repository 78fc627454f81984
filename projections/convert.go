package projections

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// RawJSON is a JSON value as it was committed, without insignificant space; empty for none and for null.
type RawJSON []byte

// MarshalJSON gives the value itself, null when there is none.
func (r RawJSON) MarshalJSON() ([]byte, error) {
	if len(r) == 0 {
		return []byte("null"), nil
	}
	return r, nil
}

// UnmarshalJSON keeps the bytes; null becomes no value.
func (r *RawJSON) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*r = nil
		return nil
	}
	*r = slices.Clone(b)
	return nil
}

func seatOf(s *eventsv1.Seat) Seat {
	return Seat{s.Id, s.Name, s.Role, s.Control, s.CharacterIds, s.CurrentCharacterId, s.Primary}
}

func setupOf(s *eventsv1.SetupRuntime) SetupRuntime {
	return SetupRuntime{
		RuntimeID: s.RuntimeId, Status: s.Status, Generation: s.Generation, Attempts: s.Attempts, MaxAttempts: s.MaxAttempts,
		LastError: s.LastError, Resolution: s.Resolution, Reason: s.Reason, PluginVersion: s.PluginVersion,
	}
}

func inputOf(r events.Recorded, m *eventsv1.ActionsSubmitted) Input {
	in := Input{
		RequestID: m.RequestId, Type: m.Type, ExecutionID: m.ExecutionId, SeatID: m.SeatId, Rendered: m.Rendered,
		MessageID: m.InputMessageId, Version: r.Version, At: r.RecordedAt,
	}
	for _, a := range m.Actions {
		in.Actions = append(in.Actions, actionOf(a))
	}
	return in
}

func actionOf(a *eventsv1.Action) Action {
	x := Action{Kind: a.Kind, SeatID: a.SeatId, CharacterID: a.CharacterId, Source: a.Source, Text: a.Text, Fields: RawJSON(a.Fields)}
	if a.Interaction != nil {
		x.Interaction = &InteractionRef{a.Interaction.TurnId, a.Interaction.InteractionId, a.Interaction.Type}
	}
	return x
}

func draftText(b []byte) string {
	var d struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(b, &d) != nil {
		return ""
	}
	return d.Text
}

// putBy replaces the element with the same key or inserts it, keeping the list sorted by key. The input is not changed.
func putBy[T any](list []T, x T, key func(T) string) []T {
	i, found := slices.BinarySearchFunc(list, key(x), func(y T, k string) int { return strings.Compare(key(y), k) })
	if found {
		out := slices.Clone(list)
		out[i] = x
		return out
	}
	out := make([]T, 0, len(list)+1)
	out = append(out, list[:i]...)
	out = append(out, x)
	return append(out, list[i:]...)
}

func replaceSeat(seats []Seat, s Seat) []Seat {
	out := slices.Clone(seats)
	if i := slices.IndexFunc(out, func(x Seat) bool { return x.ID == s.ID }); i >= 0 {
		out[i] = s
		return out
	}
	return append(out, s)
}
