package prompt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/prompt"
	"github.com/covel/covel/kernel/prompt/budget"
	"github.com/covel/covel/plugins/sdk"
)

// longSession is a session of 500 messages, forty people and lore, as its storyteller reads it.
func longSession() (prompt.In, []sdk.HistoryMessage) {
	in := cases()["segments-en"]
	var messages []sdk.HistoryMessage
	for i := range 250 {
		turn := fmt.Sprint("t", i)
		messages = append(messages,
			sdk.HistoryMessage{ID: turn + "u", TurnID: turn, Role: "user", Source: "player", Content: "我问龙胆第二盏灯是谁点的。"},
			sdk.HistoryMessage{ID: turn + "a", TurnID: turn, Role: "assistant", Source: "story", Content: strings.Repeat("龙胆放下竹篙，没有回答。The lamp burns on. ", 12)})
	}
	for i := range 40 {
		in.Characters = append(in.Characters, sdk.Character{ID: fmt.Sprint("npc-", i), Name: fmt.Sprint("摆渡人", i), Type: "npc", Description: "Knows every channel.", Fields: mustJSON(map[string]any{"mood": "calm", "hp": i})})
	}
	return in, messages
}

// BenchmarkBuild: the whole context of a session of 500 messages, from the projected history on.
func BenchmarkBuild(b *testing.B) {
	in, messages := longSession()
	b.ReportAllocs()
	for b.Loop() {
		in.History, _ = prompt.Visible(in.Runtime, messages)
		prompt.Build(in)
	}
}

// BenchmarkSystem: what the compaction measures.
func BenchmarkSystem(b *testing.B) {
	in, _ := longSession()
	b.ReportAllocs()
	for b.Loop() {
		prompt.System(in)
	}
}

// BenchmarkBudget: a request of 500 messages that fits, and one of which most is left out.
func BenchmarkBudget(b *testing.B) {
	in, messages := longSession()
	in.History, _ = prompt.Visible(in.Runtime, messages)
	req := model.Request{Messages: prompt.Build(in)}
	for name, window := range map[string]int{"fits": 1_000_000, "pruned": 20_000} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, _, err := budget.Apply(budget.Ledger{}, req, budget.Options{Capacity: model.Capacity{ContextWindow: window, MaxOutputTokens: 2000}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
