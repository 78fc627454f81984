package guide

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/covel/covel/plugins/sdk"
)

func good() guideArgs {
	return guideArgs{
		Scene:    "The lamp stair",
		Recap:    "Mara went ahead with the lamp. The second one was already lit.",
		Decision: "Follow her, or find out who lit it?",
		Suggestions: []suggestion{
			{"ask", "Who lit the second lamp?"},
			{"observe", "Look at the soot on the glass"},
			{"act", "Follow Mara up the stair"},
		},
	}
}

func goodChinese() guideArgs {
	return guideArgs{
		Scene:    "灯塔下的石阶",
		Recap:    "陆青云提灯先行，第二盏灯早已亮着。",
		Decision: "跟上去，还是先弄清是谁点的灯？",
		Suggestions: []suggestion{
			{"ask", "第二盏灯是谁点的？"},
			{"observe", "细看灯罩上的烟灰"},
			{"act", "跟陆青云上石阶"},
			{"social", "安慰"},
		},
	}
}

func call(t *testing.T, args any, rt *sdk.Runtime) (sdk.ToolResult, error) {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return generateGuide.Execute(context.Background(), raw, rt)
}

func TestGuideIsStagedAsOneRecord(t *testing.T) {
	for name, args := range map[string]guideArgs{"English": good(), "Chinese": goodChinese()} {
		t.Run(name, func(t *testing.T) {
			got, err := call(t, args, &sdk.Runtime{TurnID: "turn-7", Messages: sdk.Messages{"Guide written.": "向导已写好。"}})
			if err != nil {
				t.Fatal(err)
			}
			if got.View == nil || got.View.Summary != "向导已写好。" || got.View.Data != nil {
				t.Errorf("the model reads %+v", got.View)
			}
			if len(got.Proposals) != 1 || got.Proposals[0].Type != "plugin.data" {
				t.Fatalf("proposals = %+v, want one plugin.data", got.Proposals)
			}
			var write sdk.PluginDataWrite
			if err := json.Unmarshal(got.Proposals[0].Payload, &write); err != nil {
				t.Fatal(err)
			}
			if write.Namespace != "message" || write.Key != "current" {
				t.Errorf("written to %s/%s", write.Namespace, write.Key)
			}
			var stored record
			if err := json.Unmarshal(write.Value, &stored); err != nil {
				t.Fatal(err)
			}
			want := record{TurnID: "turn-7", Scene: args.Scene, Recap: args.Recap, Decision: args.Decision, Suggestions: args.Suggestions}
			if !reflect.DeepEqual(stored, want) {
				t.Errorf("stored %+v, want %+v", stored, want)
			}
			if !reflect.DeepEqual(got.Content, want) {
				t.Errorf("content %+v, want %+v", got.Content, want)
			}
		})
	}
}

func TestGuideIsTidied(t *testing.T) {
	args := good()
	args.Scene = "  The  lamp\nstair "
	args.Suggestions[0].Text = "1. Who lit the second lamp?"
	args.Suggestions[1].Text = "- Look at the soot on the glass "
	args.Suggestions[2].Text = "（三）跟陆青云上石阶" // not a number we know: kept
	got := tidy(args)
	want := []string{"Who lit the second lamp?", "Look at the soot on the glass", "（三）跟陆青云上石阶"}
	for i, s := range got.Suggestions {
		if s.Text != want[i] {
			t.Errorf("suggestion %d = %q, want %q", i, s.Text, want[i])
		}
	}
	if got.Scene != "The lamp stair" {
		t.Errorf("scene = %q", got.Scene)
	}
}

func TestGuideRefusals(t *testing.T) {
	tests := map[string]struct {
		change func(*guideArgs)
		want   []string
	}{
		"empty scene": {func(a *guideArgs) { a.Scene = " …" }, []string{"scene: has no words."}},
		"long scene": {func(a *guideArgs) { a.Scene = "one two three four five six seven" },
			[]string{"scene: has 7 words, expected 1 to 6."}},
		"long recap": {func(a *guideArgs) { a.Recap = strings.Repeat("lamp ", 61) },
			[]string{"recap: has 61 words, expected 1 to 60."}},
		"long Chinese recap": {func(a *guideArgs) { a.Recap = strings.Repeat("灯", 121) },
			[]string{"recap: has 121 characters, expected 1 to 120."}},
		"empty decision": {func(a *guideArgs) { a.Decision = "" }, []string{"decision: has no words."}},
		"two suggestions": {func(a *guideArgs) { a.Suggestions = a.Suggestions[:2] },
			[]string{"suggestions: there are 2, expected 3 to 6."}},
		"seven suggestions": {func(a *guideArgs) {
			for _, s := range []string{"Sit on the stair", "Call out to Mara", "Put out the lamp", "Go back to town"} {
				a.Suggestions = append(a.Suggestions, suggestion{"act", s})
			}
		}, []string{"suggestions: there are 7, expected 3 to 6."}},
		"unknown type": {func(a *guideArgs) { a.Suggestions[1].Type = "fight" },
			[]string{`suggestions[1].type: "fight" is not one of observe, ask, act, social.`}},
		"short suggestion": {func(a *guideArgs) { a.Suggestions[0].Text = "Look around" },
			[]string{"suggestions[0].text: has 2 words, expected 3 to 12."}},
		"long suggestion": {func(a *guideArgs) { a.Suggestions[0].Text = strings.Repeat("very ", 12) + "long" },
			[]string{"suggestions[0].text: has 13 words, expected 3 to 12."}},
		"short Chinese": {func(a *guideArgs) { a.Suggestions[0].Text = "看。" },
			[]string{"suggestions[0].text: has 1 characters, expected 2 to 24."}},
		"long Chinese": {func(a *guideArgs) { a.Suggestions[0].Text = strings.Repeat("问", 25) },
			[]string{"suggestions[0].text: has 25 characters, expected 2 to 24."}},
		"only emoji": {func(a *guideArgs) { a.Suggestions[0].Text = "🐉👩‍👩‍👧" },
			[]string{"suggestions[0].text: has no words."}},
		"the same in other letters": {func(a *guideArgs) {
			a.Suggestions[1].Text = "ＡＳＫ Élodie about it"
			a.Suggestions[2].Text = "ask E\u0301lodie about it!"
		}, []string{"suggestions[2].text: says the same as suggestions[1]; each suggestion is a different thing to do."}},
		"all at once": {func(a *guideArgs) { a.Scene, a.Decision = "", "" },
			[]string{"scene: has no words.", "decision: has no words."}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			args := good()
			tt.change(&args)
			_, err := call(t, args, &sdk.Runtime{})
			var refused *sdk.ToolError
			if !errors.As(err, &refused) || refused.Code != sdk.InvalidInput {
				t.Fatalf("err = %v, want invalid-input", err)
			}
			if want := strings.Join(tt.want, "\n"); refused.Message != want {
				t.Errorf("message = %q, want %q", refused.Message, want)
			}
			if refused.Hint == "" {
				t.Error("no hint")
			}
		})
	}
}

func TestSizeOf(t *testing.T) {
	tests := map[string]size{
		"":                              {},
		"Ask E\u0301lodie, then don't!": {words: 4},
		"pre-war lamp":                  {words: 2},
		"问陆青云":                          {cjk: 4},
		"問Mara：灯？":                      {words: 1, cjk: 2},
		"ランプを灯す":                        {cjk: 6},
		"등불을 켠다":                        {cjk: 5},
		"🐉 …":                           {},
		"room 12":                       {words: 2},
		"Спросить Ольгу":                {words: 2},
		"one—two":                       {words: 2},
	}
	for text, want := range tests {
		if got := sizeOf(text); got != want {
			t.Errorf("sizeOf(%q) = %+v, want %+v", text, got, want)
		}
	}
}

// What passes is a line that a button can show: not empty, on one line, without a number before it.
func FuzzSuggestion(f *testing.F) {
	f.Add("第二盏灯是谁点的？")
	f.Add("1) Look\nat\tthe lamp")
	f.Add("- 2. \xff\xfe")
	f.Fuzz(func(t *testing.T, text string) {
		args := good()
		args.Suggestions[0].Text = text
		r := tidy(args)
		if len(check(r)) > 0 {
			return
		}
		got := r.Suggestions[0].Text
		if strings.TrimSpace(got) == "" || strings.ContainsAny(got, "\n\r\t") {
			t.Errorf("%q passed as %q", text, got)
		}
	})
}
