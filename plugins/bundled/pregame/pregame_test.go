package pregame

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/covel/covel/plugins/sdk"
)

// records is plugin data in memory.
type records map[string]json.RawMessage

func (r records) Get(namespace, key string) json.RawMessage { return r[namespace+"/"+key] }
func (r records) List(string) []sdk.Record                  { return nil }
func (r records) Update(string, string, ...sdk.DataOp) error {
	return errors.New("records knows no operations")
}
func (r records) Set(namespace, key string, value any) error {
	b, err := json.Marshal(value)
	r[namespace+"/"+key] = b
	return err
}

func TestGreeting(t *testing.T) {
	zh := sdk.Messages{"Welcome.": "欢迎。", "Welcome to {world}.": "欢迎来到{world}。"}
	tests := map[string]struct {
		world    sdk.WorldRecord
		messages sdk.Messages
		want     string
	}{
		"the author's greeting, trimmed": {world: sdk.WorldRecord{Name: "雾港", Greeting: " 雾又起了。\n"}, messages: zh, want: "雾又起了。"},
		"composed in English":            {world: sdk.WorldRecord{Name: "Fogharbour", Summary: "A port of bells."}, want: "Welcome to Fogharbour.\n\nA port of bells."},
		"composed in Chinese":            {world: sdk.WorldRecord{Name: "雾港", Summary: "钟声之港。"}, messages: zh, want: "欢迎来到雾港。\n\n钟声之港。"},
		"no summary":                     {world: sdk.WorldRecord{Name: "Élodie's 🐉"}, want: "Welcome to Élodie's 🐉."},
		"no name":                        {world: sdk.WorldRecord{Summary: "  "}, messages: zh, want: "欢迎。"},
		"a name with braces stays text":  {world: sdk.WorldRecord{Name: "{world}"}, want: "Welcome to {world}."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := greeting(tt.world, tt.messages); got != tt.want {
				t.Errorf("greeting = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestOpenSessionGreetsOnce(t *testing.T) {
	data := records{}
	rt := &sdk.Runtime{World: sdk.World{Record: sdk.WorldRecord{Name: "雾港"}}, PluginData: data}

	first, err := openSession(context.Background(), rt)
	if err != nil {
		t.Fatal(err)
	}
	if first.Outcome != sdk.Success || !first.Done || first.Effects.Narrative != "Welcome to 雾港." {
		t.Errorf("first run = %+v", first)
	}

	rt.World.Record.Greeting = "A later greeting"
	again, err := openSession(context.Background(), rt)
	if err != nil {
		t.Fatal(err)
	}
	if again.Outcome != sdk.Success || !again.Done || again.Effects.Narrative != "" {
		t.Errorf("second run = %+v, want done and silent", again)
	}
	if again.Value != first.Value {
		t.Errorf("session.opening@1 changed from %+v to %+v", first.Value, again.Value)
	}
}

func TestOpenSessionGreetsWhereTheNoteIsUnreadable(t *testing.T) {
	rt := &sdk.Runtime{PluginData: records{"opening/greeting": json.RawMessage(`"broken"`)}}
	got, err := openSession(context.Background(), rt)
	if err != nil || got.Effects.Narrative != "Welcome." {
		t.Errorf("got %+v, %v", got, err)
	}
}
