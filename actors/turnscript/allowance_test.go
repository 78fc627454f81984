package turnscript

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/covel/covel/kernel/allowance"
	kernel "github.com/covel/covel/kernel/session"
)

// allow starts the node anew with other allowances, or lowers those of the session.
func allow(st *stage, l line) {
	words, session := strings.CutPrefix(l.rest, "session ")
	var limits allowance.Limits
	var rounds int
	for _, word := range strings.Fields(words) {
		name, v, _ := strings.Cut(word, "=")
		n, err := strconv.Atoi(v)
		if name == "time" {
			limits.Duration, err = time.ParseDuration(v)
		}
		place := map[string]*int{"model-calls": &limits.ModelCalls, "tool-calls": &limits.ToolCalls, "subagents": &limits.Subagents, "time": new(int), "rounds": &rounds}[name]
		if place == nil || err != nil {
			st.badly()
		}
		*place = n
	}
	if words == "" {
		st.badly()
	}
	if session {
		n := func(v int) *uint32 { u := uint32(v); return &u }
		ms := uint64(limits.Duration.Milliseconds())
		st.answer(st.node().ChangeSettings(context.Background(), sessionID, kernel.SettingsChange{
			ModelCalls: n(limits.ModelCalls), ToolCalls: n(limits.ToolCalls), Subagents: n(limits.Subagents), DurationMs: &ms, AdvanceLimit: n(rounds),
		}))
		return
	}
	st.leave(st.name)
	st.allowed, st.rounds = limits, uint32(rounds)
	st.open(st.name)
	_ = st.state() // the session is there before the next command comes
}
