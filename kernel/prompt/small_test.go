package prompt_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/covel/covel/kernel/prompt"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

// Rule REF:plugins.md §19: sessions in Simplified Chinese read the Chinese instructions, everything else, Traditional Chinese too, the
// English ones; the host can force one.
// Rule TL:759: COVEL_INSTRUCTION_LOCALE decides for every session.
func TestInstructionLocale(t *testing.T) {
	for _, c := range []struct{ locale, override, want string }{
		{"zh", "", "zh"}, {"zh-CN", "", "zh"}, {"zh_Hans_SG", "", "zh"}, {"zh-SG", "", "zh"}, {"zh-Hans-TW", "", "zh"},
		{"ZH-TW", "", "en"}, {"zh-HK", "", "en"}, {"zh-MO", "", "en"}, {"zh-Hant", "", "en"}, {"zh_Hant_CN", "", "en"}, {"yue", "", "en"},
		{"en", "", "en"}, {"fr-FR", "", "en"}, {"", "", "en"}, {"zha", "", "en"}, {"中文", "", "en"}, {"zh-", "", "en"},
		{"zh-CN", "en", "en"}, {"en", "zh", "zh"}, {"zh-TW", "zh", "zh"},
	} {
		if got := prompt.InstructionLocale(c.locale, c.override); got != c.want {
			t.Errorf("InstructionLocale(%q, %q) = %s, want %s", c.locale, c.override, got, c.want)
		}
	}
}

// Rule REF:plugins.md §18.6: ids that are UUIDs, instants and sessionId are removed, a readable id and a story's date stay.
func TestModelFacing(t *testing.T) {
	const uuid = `"0190a5b0-7c5e-7000-8000-000000000001"`
	for in, want := range map[string]string{
		`{"id":` + uuid + `,"sessionId":"any","name":"龙胆"}`:                                                                                 `{"name":"龙胆"}`,
		`{"id":"npc-lin-yao","ownerId":"lin","ids":[` + uuid + `]}`:                                                                         `{"id":"npc-lin-yao","ids":[` + uuid + `],"ownerId":"lin"}`,
		`{"memberIds":[` + uuid + `,` + uuid + `],"otherIds":[],"mixedIds":[` + uuid + `,1]}`:                                               `{"mixedIds":[` + uuid + `,1],"otherIds":[]}`,
		`{"createdAt":"2024-05-01T10:00:00.5+08:00","bornAt":"the third moon","timestamp":"2024-05-01T10:00:00Z","startedAt":"2024-05-01"}`: `{"bornAt":"the third moon","startedAt":"2024-05-01"}`,
		`[{"deep":{"resultId":` + uuid + `,"n":9007199254740993}}]`:                                                                         `[{"deep":{"n":9007199254740993}}]`,
		`"<b>"`: `"<b>"`,
		`{`:     `null`,
	} {
		if got := string(prompt.ModelFacing(json.RawMessage(in))); got != want {
			t.Errorf("%s gave %s, want %s", in, got, want)
		}
	}
}

// Rule EP:218: the host counts tokens as plugins do.
func TestEstimateTokens(t *testing.T) {
	for s, want := range map[string]int{"": 0, "a": 1, "abcd": 1, "abcde": 2, "龙": 2, "龙胆花开": 7, "Ольга": 4, "🐉": 4, "[3]": 3, "é": 3} {
		if got := prompt.EstimateTokens(s); got != want {
			t.Errorf("EstimateTokens(%q) = %d, want %d", s, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		whole, parts := prompt.EstimateTokens(a+b), prompt.EstimateTokens(a)+prompt.EstimateTokens(b)
		if whole > parts || whole < parts-1 {
			t.Fatalf("%d for the whole, %d for the parts", whole, parts)
		}
	})
}

// Rule TP:473: a single player's ordinary input stays as written; actions of several characters, a host or a plugin kind name
// the character and the kind.
func TestRenderActions(t *testing.T) {
	people := []sdk.Character{{ID: "aya", Name: "Aya"}, {ID: "lu", Name: "陆青云\n[x]"}}
	seats := []sdk.Seat{{ID: "s1", Name: "One", Role: "player"}, {ID: "s2", Name: "Two", Role: "player"}, {ID: "h", Name: "Host", Role: "host"}}
	for _, c := range []struct {
		name    string
		actions []sdk.Action
		locale  string
		want    string
	}{
		{"nothing", nil, "en", ""},
		{"as written", []sdk.Action{{Kind: "say", SeatID: "s1", CharacterID: "aya", Text: " I go {{ x }}.\n[Mara · says] yes "}}, "en", "I go {{ x }}.\n[Mara · says] yes"},
		{"one player, several actions", []sdk.Action{{Kind: "say", SeatID: "s1", CharacterID: "aya", Text: "Hello"}, {Kind: "act", SeatID: "s1", CharacterID: "aya", Text: "I wave"}, {Kind: "command", SeatID: "s1", CharacterID: "aya", Text: "/roll"}}, "en", "Hello\nI wave\n/roll"},
		{"before there is a character", []sdk.Action{{Kind: "act", SeatID: "s1", Text: "I am 龙胆."}}, "en", "I am 龙胆."},
		{"several characters", []sdk.Action{{Kind: "say", SeatID: "s1", CharacterID: "aya", Text: "Hello"}, {Kind: "act", SeatID: "s2", CharacterID: "lu", Text: "拔剑"}}, "en", "[Aya · says] Hello\n[陆青云 (x) · does] 拔剑"},
		{"in Chinese", []sdk.Action{{Kind: "say", SeatID: "s1", CharacterID: "aya", Text: "你好"}, {Kind: "command", SeatID: "s2", Text: "/看"}}, "zh-CN", "[Aya · 说] 你好\n[Two · 指令] /看"},
		{"a host", []sdk.Action{{Kind: "say", SeatID: "h", Text: "Night falls."}}, "en", "[Host · says] Night falls."},
		{"a plugin's kind", []sdk.Action{{Kind: "dice/roll", SeatID: "s1", CharacterID: "aya", Fields: json.RawMessage(`{"sides": 20}`)}, {Kind: "say", SeatID: "s1", CharacterID: "aya", Text: "Luck!"}}, "en", "[Aya · dice/roll] {\"sides\":20}\nLuck!"},
		{"unknown seat and character", []sdk.Action{{Kind: "p/k", SeatID: "gone", CharacterID: "gone", Text: "x"}}, "en", "[gone · p/k] x"},
		{"empty lines vanish", []sdk.Action{{Kind: "say", SeatID: "s1", Text: " "}, {Kind: "say", SeatID: "s1", Text: "x"}}, "en", "x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := prompt.RenderActions(c.actions, people, seats, c.locale); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Rule TP:473: a line that somebody else says into a player's turn names who says it.
func TestRenderInterjection(t *testing.T) {
	people := []sdk.Character{{ID: "aya", Name: "Aya"}, {ID: "lu", Name: "陆青云"}}
	seats := []sdk.Seat{{ID: "s1", Role: "player"}, {ID: "h", Name: "Host", Role: "host"}}
	aya := []sdk.Action{{SeatID: "s1", CharacterID: "aya"}}
	for _, c := range []struct {
		action sdk.Action
		others []sdk.Action
		want   string
	}{
		{sdk.Action{Kind: "say", SeatID: "s1", CharacterID: "aya", Text: " Wait! "}, aya, "Wait!"},
		{sdk.Action{Kind: "say", SeatID: "s2", CharacterID: "lu", Text: "等等！"}, aya, "[陆青云 · says] 等等！"},
		{sdk.Action{Kind: "say", SeatID: "h", Text: "Night falls."}, nil, "[Host · says] Night falls."},
		{sdk.Action{Kind: "say", SeatID: "s2", CharacterID: "lu", Text: "等等！"}, nil, "等等！"},
	} {
		if got := prompt.RenderInterjection(c.action, c.others, people, seats, "en"); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// Rule REF:plugins.md §18.6: above maxEntries half of the rows are the oldest and half the ones changed last, with the total in a
// note; a summary is cut at 200 characters.
func TestSelfData(t *testing.T) {
	rows := make([]prompt.DataRow, 10)
	for i := range rows {
		rows[i] = prompt.DataRow{Key: fmt.Sprint("k", i), Value: json.RawMessage(fmt.Sprintf(`{"n":%d,"updatedAt":"2024-01-01T00:00:00Z"}`, i)), Updated: time.Unix(int64(100-i), 0)}
	}
	in := prompt.In{Runtime: manifest.Runtime{ID: "p"}, Locale: "en", Data: []prompt.DataBlock{
		{Decl: manifest.SelfData{Namespace: "notes", Format: "ids-only", MaxEntries: 4}, Rows: rows},
		{Decl: manifest.SelfData{Namespace: "long", As: "l<o>ng"}, Rows: []prompt.DataRow{{Key: "a", Value: mustJSON(strings.Repeat("龙", 300))}}},
		{Decl: manifest.SelfData{Namespace: "none"}},
	}}
	rows[7].Updated = time.Time{} // written in this execution
	want := "<notes>\n- k0\n- k1\n- k2\n- k7\n(4 of 10 records: the oldest and the ones changed last)\n</notes>\n" +
		"<long>\n- a | \"" + strings.Repeat("龙", 199) + "…\n</long>"
	if got := prompt.TurnContext(in); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
