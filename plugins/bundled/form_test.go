package bundled

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
)

// The character form goes all the way: made by the tool, published, answered, checked and turned into the character; and an
// answer that is no longer good comes back as a form that can be published and answered again.
func TestCharacterFormFromToolToCharacter(t *testing.T) {
	ctx := context.Background()
	e := entry(plugin(t, "char-creator"))
	rt := &sdk.Runtime{
		SessionID: "s", TurnID: "t1", Locale: "zh-CN", PluginData: records{},
		NewID: func(prefix, label string) string { return prefix + "-" + label },
		World: sdk.World{Schema: sdk.CharacterSchema{Version: 1, Attributes: []sdk.AttributeDef{
			{ID: "灵根", Name: "灵根", Type: sdk.AttrEnum, Category: "bio", Options: []string{"水", "火"}},
			{ID: "calling", Name: "行当", Type: sdk.AttrString, Category: "bio"},
		}}},
	}
	read := func(block any) tools.Interaction {
		t.Helper()
		raw, err := json.Marshal(block)
		if err != nil {
			t.Fatal(err)
		}
		b, issues := tools.ReadInteraction(raw)
		if len(issues) > 0 {
			t.Fatalf("the form cannot be published: %v", issues)
		}
		return b
	}
	submit := func(b tools.Interaction, values map[string]any) map[string]any {
		t.Helper()
		got, issues := tools.SubmitForm(b, values, rt.Locale)
		if len(issues) > 0 {
			t.Fatalf("the answer is refused: %+v", issues)
		}
		if rejected := e.Validators[b.Validation.Name](got, b.Validation.Data, rt.Locale, nil); len(rejected) > 0 {
			t.Fatalf("the validator refuses: %+v", rejected)
		}
		return got
	}

	made, err := e.Tools[0].Execute(ctx, json.RawMessage(`{"title":"来者何人","submitLabel":"登岸","narrativeTemplate":"我叫{{characterName}}，{{灵根}}灵根，做{{calling}}的。",
		"fields":[{"type":"text","name":"characterName","label":"姓名"},{"type":"select","name":"灵根","label":"灵根"},{"type":"text","name":"calling","label":"行当","defaultValue":"撑船"}]}`), rt)
	if err != nil {
		t.Fatal(err)
	}
	var content struct{ Interaction any }
	b, _ := json.Marshal(made.Content)
	if err := json.Unmarshal(b, &content); err != nil {
		t.Fatal(err)
	}
	form := read(content.Interaction)
	values := submit(form, map[string]any{"characterName": "陆青云", "灵根": "水"})
	if told := tools.Narrative(form, values, rt.Locale); told != "我叫陆青云，水灵根，做撑船的。" {
		t.Errorf("the answer is told as %q", told)
	}

	// Meanwhile somebody else got the name.
	rt.TurnID = "t2"
	rt.World.Characters = []sdk.Character{{ID: "npc-lu", Name: "陆青云", Type: "npc"}}
	rt.LastPlayerInput = &sdk.PlayerInput{TurnID: "t1", InteractionID: form.InteractionID, FormID: form.InteractionID, Values: values}
	again, err := e.Guards["player-init"](ctx, rt)
	if err != nil || len(again.Effects.Interactions) != 1 {
		t.Fatalf("guard = %+v, %v", again, err)
	}
	form = read(again.Effects.Interactions[0])
	if form.Notice == "" || form.InteractionID != "char-creation" {
		t.Errorf("form = %+v", form)
	}
	if issues := e.Validators[form.Validation.Name](map[string]any{"characterName": "「陆青云」"}, form.Validation.Data, rt.Locale, nil); len(issues) != 1 {
		t.Errorf("the taken name passes: %+v", issues)
	}

	// The other answers are filled in: a new name is enough.
	rt.TurnID = "t3"
	rt.LastPlayerInput.Values = submit(form, map[string]any{"characterName": "龙胆"})
	done, err := e.Guards["player-init"](ctx, rt)
	if err != nil || !done.PreGameDone || len(done.Effects.Proposals) != 1 {
		t.Fatalf("guard = %+v, %v", done, err)
	}
	var up sdk.CharacterUpsert
	if err := json.Unmarshal(done.Effects.Proposals[0].Payload, &up); err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(up.Fields, &fields); err != nil {
		t.Fatal(err)
	}
	if up.Name != "龙胆" || up.Type != "player" || fields["灵根"] != "水" || fields["calling"] != "撑船" {
		t.Errorf("character = %+v %v", up, fields)
	}
}
