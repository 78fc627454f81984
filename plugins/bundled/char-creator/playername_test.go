package charcreator

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/covel/covel/plugins/sdk"
)

func TestPlayerName(t *testing.T) {
	data, err := json.Marshal(takenNames(harbour()))
	if err != nil {
		t.Fatal(err)
	}
	zh := chinese(t)
	tests := map[string]struct {
		name     any
		messages sdk.Messages
		want     string // "" passes
	}{
		"new":                   {name: "龙胆"},
		"a dotted name":         {name: ".."},
		"200 emoji":             {name: strings.Repeat("🐉", 200)},
		"part of a taken name":  {name: "陆青"},
		"taken":                 {name: "陆青云", messages: zh, want: "这个世界里已经有人叫“陆青云”了，请换一个名字。"},
		"with space and quotes": {name: " 「陆青云」 ", messages: zh, want: "这个世界里已经有人叫“「陆青云」”了，请换一个名字。"},
		"alias":                 {name: "陆师兄", messages: zh, want: "这个世界里已经有人叫“陆师兄”了，请换一个名字。"},
		"decomposed":            {name: "E\u0301lodie", want: "Someone in this world is already called “E\u0301lodie”. Please choose another name."},
		"full width, capitals":  {name: "ÉＬＯＤＩＥ", want: "Someone in this world is already called “ÉＬＯＤＩＥ”. Please choose another name."},
		"without the article":   {name: "lamp", want: "Someone in this world is already called “lamp”. Please choose another name."},
		"a look-alike of CJK":   {name: "陸青雲"}, // other characters: told apart
		"empty":                 {name: "", messages: zh, want: "请给角色起个名字。"},
		"only quotes":           {name: "“ ”", want: "Please give the character a name."},
		"missing":               {name: nil, want: "Please give the character a name."},
		"a number":              {name: 7.0, want: "Please give the character a name."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			issues := checkPlayerName(map[string]any{nameField: tt.name}, data, "zh", tt.messages)
			switch {
			case tt.want == "" && len(issues) > 0:
				t.Errorf("refused: %+v", issues)
			case tt.want != "" && (len(issues) != 1 || issues[0].Message != tt.want || issues[0].Field != nameField):
				t.Errorf("issues = %+v, want %q", issues, tt.want)
			}
		})
	}
}

func TestPlayerNameWithUnreadableData(t *testing.T) {
	for _, data := range []string{"", "null", `"x"`, `{"taken":7}`} {
		if issues := checkPlayerName(map[string]any{nameField: "龙胆"}, json.RawMessage(data), "", nil); len(issues) > 0 {
			t.Errorf("data %q: %+v", data, issues)
		}
	}
}

// The data goes to the player's client: no name may be read from it, and two sessions have different digests.
func TestTakenNamesHoldsNoNames(t *testing.T) {
	rt := harbour()
	g := takenNames(rt)
	if len(g.Taken) != 4 || len(g.Salt) != 32 {
		t.Fatalf("%+v", g)
	}
	b, _ := json.Marshal(g)
	for _, secret := range []string{"陆", "Lodie", "lamp", "npc-"} {
		if strings.Contains(strings.ToLower(string(b)), strings.ToLower(secret)) {
			t.Errorf("%q can be read from %s", secret, b)
		}
	}
	if again := takenNames(rt); again.Salt != g.Salt || again.Taken[0] != g.Taken[0] {
		t.Error("the same execution gave other digests")
	}
	other := harbour()
	other.SessionID = "harbour-2"
	if o := takenNames(other); o.Salt == g.Salt || o.digest("陆青云") == g.digest("陆青云") {
		t.Error("another session has the same digests")
	}
}
