package projections_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/covel/covel/events"
	"github.com/covel/covel/projections"
	"github.com/covel/covel/projections/foldtest"
)

func encode(t interface{ Fatalf(string, ...any) }, s projections.State) []byte {
	b, err := s.Encode()
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	return b
}

func fold(t interface{ Fatalf(string, ...any) }, s projections.State, log []events.Recorded) projections.State {
	for _, r := range log {
		next, err := projections.Apply(s, r)
		if err != nil {
			t.Fatalf("fold: %v", err)
		}
		s = next
	}
	return s
}

func drawLog(t *rapid.T, most int) []events.Recorded {
	return foldtest.Record("s1", foldtest.Life(t, "s1", most))
}

// The fold says what the reference model says, after every event.
func TestFoldAgreesWithTheBook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t, 40)
		var s projections.State
		for i, r := range log {
			s = fold(t, s, []events.Recorded{r})
			if i%5 == 0 || i == len(log)-1 {
				if d := writeBook(log[:i+1]).differs(s); d != "" {
					t.Fatalf("after event %d (%s):\n%s", i+1, r.Type, d)
				}
			}
		}
	})
}

// A state is a value: whatever is folded onto it, and however often, it stays what it was.
func TestFoldIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t, 40)
		states := make([]projections.State, len(log)+1)
		bodies := make([][]byte, len(log)+1)
		bodies[0] = encode(t, states[0])
		for i, r := range log {
			states[i+1] = fold(t, states[i], []events.Recorded{r})
			bodies[i+1] = encode(t, states[i+1])
		}
		for i := range states { // other futures of every state
			for _, from := range []int{rapid.IntRange(0, len(log)-1).Draw(t, "future"), i} {
				s := states[i]
				for _, r := range log[from:min(from+5, len(log))] {
					r.Version = s.Version + 1
					s = fold(t, s, []events.Recorded{r})
				}
			}
		}
		for i, s := range states {
			if got := encode(t, s); !bytes.Equal(got, bodies[i]) {
				t.Fatalf("state %d has changed:\n got %s\nwant %s", i, got, bodies[i])
			}
		}
	})
}

// Going on from a snapshot taken anywhere gives the same state, byte for byte, inside and out.
func TestFoldThroughSnapshots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t, 40)
		whole := fold(t, projections.State{}, log)
		cut := rapid.IntRange(0, len(log)).Draw(t, "cut")
		before := fold(t, projections.State{}, log[:cut])
		body := encode(t, before)
		read, err := projections.DecodeState(body)
		if err != nil {
			t.Fatalf("decode: %v", err)
		}
		if again := encode(t, read); !bytes.Equal(again, body) {
			t.Fatalf("not canonical:\n got %s\nwant %s", again, body)
		}
		rest := fold(t, read, log[cut:])
		if got, want := encode(t, rest), encode(t, whole); !bytes.Equal(got, want) {
			t.Fatalf("cut at %d:\n got %s\nwant %s", cut, got, want)
		}
		for what, pair := range map[string][2]any{
			"session":      {rest.Session, whole.Session},
			"history":      {rest.History.Tail(500), whole.History.Tail(500)},
			"interactions": {rest.Interactions, whole.Interactions},
			"characters":   {rest.Characters, whole.Characters},
			"lorebook":     {rest.Lorebook, whole.Lorebook},
			"plugin data":  {rest.PluginData.List("", ""), whole.PluginData.List("", "")},
		} {
			if !reflect.DeepEqual(pair[0], pair[1]) {
				t.Fatalf("%s after a cut at %d:\n got %v\nwant %v", what, cut, pair[0], pair[1])
			}
		}
	})
}

// The projector's fold gives the same session record, less the request ids, and, told event by event, the same messages.
func TestRowsAgreeWithTheState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t, 40)
		s := fold(t, projections.State{}, log)
		var rows projections.Rows
		var got []projections.Message
		for _, r := range log {
			next, messages, err := rows.Apply(r)
			if err != nil {
				t.Fatalf("rows: %v", err)
			}
			body, err := next.Encode()
			if err != nil {
				t.Fatalf("encode: %v", err)
			}
			if rows, err = projections.DecodeRows(body); err != nil { // as between two batches
				t.Fatalf("decode: %v", err)
			}
			for _, m := range messages {
				body, err := projections.EncodeMessage(m)
				if err != nil {
					t.Fatalf("encode message: %v", err)
				}
				if m, err = projections.DecodeMessage(body); err != nil {
					t.Fatalf("decode message: %v", err)
				}
				got = append(got, m)
			}
		}
		s.Session.Requests, s.Session.SeatKeys = nil, nil // only the live session is asked for them
		if !reflect.DeepEqual(rows.Session(), s.Session) {
			t.Fatalf("session:\n got %+v\nwant %+v", rows.Session(), s.Session)
		}
		want := s.History.Tail(s.History.Len())
		if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("messages:\n got %+v\nwant %+v", got, want)
		}
	})
}

// An event that is not the next one stops the fold and changes nothing.
func TestOnlyTheNextEventIsFolded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t, 8)
		at := rapid.IntRange(0, len(log)-1).Draw(t, "at")
		s := fold(t, projections.State{}, log[:at])
		body := encode(t, s)
		for i, r := range log {
			if i == at {
				continue
			}
			same, err := projections.Apply(s, r)
			if !errors.Is(err, projections.ErrOutOfOrder) {
				t.Fatalf("at version %d, version %d gives %v", s.Version, r.Version, err)
			}
			if !bytes.Equal(encode(t, same), body) {
				t.Fatalf("version %d changed the state", r.Version)
			}
		}
	})
}

func TestNoEventPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entry := rapid.SampledFrom(events.Catalogue).Draw(t, "type")
		r := events.Recorded{Stream: "session-s1", Version: 1, Event: events.Event{
			Type: entry.Type, SchemaVersion: 1, Data: rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "data"),
		}}
		s, err := projections.Apply(projections.State{}, r)
		if err != nil {
			if s.Version != 0 {
				t.Fatalf("an error moved the state on: %v", err)
			}
			return
		}
		if _, err := projections.DecodeState(encode(t, s)); err != nil {
			t.Fatalf("%s folds to a state that cannot be kept: %v", entry.Type, err)
		}
	})
}

func ExampleApply() {
	var s projections.State
	_, err := projections.Apply(s, events.Recorded{Stream: "session-s1", Version: 2})
	fmt.Println(err)
	// Output: stream session-s1: have version 0, got 2: projections: event is not the next of its stream
}
