package turnscript

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/allowance"
	kernel "github.com/covel/covel/kernel/session"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// allow starts the node anew with other allowances, or lowers those of the session, in the log: no command sets them yet.
func allow(st *stage, l line) {
	words, session := strings.CutPrefix(l.rest, "session ")
	var limits allowance.Limits
	for _, word := range strings.Fields(words) {
		name, v, _ := strings.Cut(word, "=")
		n, err := strconv.Atoi(v)
		if name == "time" {
			limits.Duration, err = time.ParseDuration(v)
		}
		place := map[string]*int{"model-calls": &limits.ModelCalls, "tool-calls": &limits.ToolCalls, "subagents": &limits.Subagents, "time": new(int)}[name]
		if place == nil || err != nil {
			st.badly()
		}
		*place = n
	}
	if words == "" {
		st.badly()
	}
	st.leave(st.name)
	if session {
		st.lower(limits)
	} else {
		st.allowed = limits
	}
	st.open(st.name)
}

func (st *stage) lower(l allowance.Limits) {
	stream := kernel.StreamOf(sessionID)
	at, err := st.disk.StreamVersion(context.Background(), stream)
	st.must(err)
	ev, err := events.Encode(events.NewID(stream, "settings", int(at), 0), nil, &eventsv1.SettingsChanged{Settings: &eventsv1.Settings{Allowances: &eventsv1.Allowances{
		ModelCalls: uint32(l.ModelCalls), ToolCalls: uint32(l.ToolCalls), Subagents: uint32(l.Subagents), DurationMs: uint64(l.Duration.Milliseconds()),
	}}})
	st.must(err)
	_, err = st.disk.Append(context.Background(), stream, at, []events.Event{ev})
	st.must(err)
}
