package charcreator

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/covel/covel/plugins/sdk"
)

func answered(values map[string]any) *sdk.PlayerInput {
	return &sdk.PlayerInput{TurnID: "turn-1", InteractionID: formID, FormID: formID, Values: values}
}

func openForm() []sdk.OpenInteraction {
	return []sdk.OpenInteraction{{InteractionRef: sdk.InteractionRef{TurnID: "turn-1", InteractionID: formID, Type: "form"}}}
}

func guard(t *testing.T, rt *sdk.Runtime) sdk.GuardResult {
	t.Helper()
	got, err := guardPlayerInit(context.Background(), rt)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestGuardDecides(t *testing.T) {
	tests := map[string]struct {
		change                 func(rt *sdk.Runtime)
		skip, done             bool
		proposals, interaction int
	}{
		"nothing yet: the model makes the form": {change: func(*sdk.Runtime) {}},
		"a player exists": {func(rt *sdk.Runtime) {
			rt.World.Characters = append(rt.World.Characters, sdk.Character{ID: "pc-x", Name: "龙胆", Type: "player"})
			rt.LastPlayerInput = answered(map[string]any{nameField: "龙胆"})
		}, true, true, 0, 0},
		"the form waits": {func(rt *sdk.Runtime) { rt.OpenInteractions = openForm() }, true, false, 0, 0},
		"another form waits": {func(rt *sdk.Runtime) {
			rt.OpenInteractions = openForm()
			rt.OpenInteractions[0].InteractionID = "elsewhere"
		}, false, false, 0, 0},
		"a good answer":                    {func(rt *sdk.Runtime) { rt.LastPlayerInput = answered(map[string]any{nameField: "龙胆"}) }, true, true, 1, 0},
		"an answer to something else":      {func(rt *sdk.Runtime) { rt.LastPlayerInput = &sdk.PlayerInput{InteractionID: "x", FormID: "y"} }, false, false, 0, 0},
		"an answer that is no longer good": {func(rt *sdk.Runtime) { rt.LastPlayerInput = answered(map[string]any{nameField: "陆师兄"}) }, true, false, 0, 1},
		"an answer without a name":         {func(rt *sdk.Runtime) { rt.LastPlayerInput = answered(nil) }, true, false, 0, 1},
		"asked again already, not answered": {func(rt *sdk.Runtime) {
			rt.LastPlayerInput, rt.OpenInteractions = answered(map[string]any{nameField: "陆师兄"}), openForm()
		}, true, false, 0, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			rt := harbour()
			tt.change(rt)
			got := guard(t, rt)
			if got.Skip != tt.skip || got.PreGameDone != tt.done || len(got.Effects.Proposals) != tt.proposals || len(got.Effects.Interactions) != tt.interaction {
				t.Errorf("guard = %+v", got)
			}
			if got.Skip && got.Output["preGameDone"] != tt.done {
				t.Errorf("output = %v", got.Output)
			}
		})
	}
}

func TestGuardMakesTheCharacter(t *testing.T) {
	rt := harbour()
	rt.World.Schema.Attributes = append(rt.World.Schema.Attributes, sdk.AttributeDef{ID: "name", Name: "Name", Type: sdk.AttrNumber})
	rt.LastPlayerInput = answered(map[string]any{
		nameField: "  E\u0301lo 龙胆🐉 ", "calling": "bell founder", "灵根": "火", "home": "  ", "mark": nil, "oath": "undeclared",
		"playerName": "not this one",
	})
	got := guard(t, rt)
	if len(got.Effects.Proposals) != 1 || got.Effects.Proposals[0].Type != "character.upsert" {
		t.Fatalf("proposals = %+v", got.Effects.Proposals)
	}
	var up sdk.CharacterUpsert
	if err := json.Unmarshal(got.Effects.Proposals[0].Payload, &up); err != nil {
		t.Fatal(err)
	}
	const name = "E\u0301lo 龙胆🐉"
	if up.ID != "pc-"+name || up.Name != name || up.Type != "player" || up.ExpectedVersion != nil {
		t.Errorf("upsert = %+v", up)
	}
	var fields map[string]any
	if err := json.Unmarshal(up.Fields, &fields); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"姓名": name, "calling": "bell founder", "灵根": "火", "home": "the lower quays", "oath": "undeclared",
		"breath": 7.0, "bag": []any{"knife"}, // luck has a default that is no number: not written
	}
	if !reflect.DeepEqual(fields, want) {
		t.Errorf("fields\n got %v\nwant %v", fields, want)
	}
	if got.Output["characterId"] != up.ID {
		t.Errorf("output = %v", got.Output)
	}
	if issues := sdk.ValidateFields(rt.World.Schema, fields); len(issues) > 0 {
		t.Errorf("the character does not fit its world: %v", issues)
	}
}

// resent gives the form that the guard sends again.
func resent(t *testing.T, rt *sdk.Runtime) form {
	t.Helper()
	got := guard(t, rt)
	if len(got.Effects.Interactions) != 1 || got.PreGameDone || !got.Skip {
		t.Fatalf("guard = %+v, want the form again", got)
	}
	block := got.Effects.Interactions[0]
	if block["type"] != "form" || block["interactionId"] != formID || block["validation"].(map[string]any)["name"] != validatorName {
		t.Errorf("block = %v", block)
	}
	b, err := json.Marshal(block)
	if err != nil {
		t.Fatal(err)
	}
	var f form
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestGuardSendsTheFormAgain(t *testing.T) {
	zh := chinese(t)
	values := func(name string) map[string]any {
		return map[string]any{nameField: name, "calling": "撑船的", "灵根": "火"}
	}
	retype := func(id, kind string, options ...string) func(*sdk.Runtime) {
		return func(rt *sdk.Runtime) {
			for i := range rt.World.Schema.Attributes {
				if a := &rt.World.Schema.Attributes[i]; a.ID == id {
					a.Type, a.Options = kind, options
				}
			}
		}
	}
	tests := map[string]struct {
		name     string
		change   func(*sdk.Runtime)
		messages sdk.Messages
		notice   string
		defaults map[string]string // by field, in full
		types    map[string]string
		template string
	}{
		"the name was given to somebody meanwhile": {
			name: "陆青云", messages: zh,
			notice:   "这个世界里已经有人叫“陆青云”了，请换一个名字。其余回答已为你填好。",
			defaults: map[string]string{nameField: "", "calling": "撑船的", "灵根": "火"},
			template: goodForm().NarrativeTemplate,
		},
		"an alias, in English": {
			name:     "the lamp",
			notice:   "Someone in this world is already called “the lamp”. Please choose another name. Your other answers are already filled in.",
			defaults: map[string]string{nameField: "", "calling": "撑船的", "灵根": "火"},
			template: goodForm().NarrativeTemplate,
		},
		"an option is gone": {
			name: "龙胆", messages: zh, change: retype("灵根", sdk.AttrEnum, "水", "木"),
			notice:   "“Root”一项原来的回答已不适用于这个世界，请重新填写。其余回答已为你填好。",
			defaults: map[string]string{nameField: "龙胆", "calling": "撑船的", "灵根": ""},
			template: goodForm().NarrativeTemplate,
		},
		"text has become a choice": {
			name: "龙胆", change: retype("calling", sdk.AttrEnum, "ferrier", "founder"),
			notice:   "Your answer to “Calling” no longer fits this world. Please answer it again. Your other answers are already filled in.",
			defaults: map[string]string{nameField: "龙胆", "calling": "", "灵根": "火"},
			types:    map[string]string{"calling": typeSelect},
			template: goodForm().NarrativeTemplate,
		},
		"text has become a number": {
			name: "龙胆", messages: zh, change: retype("calling", sdk.AttrNumber),
			notice:   "“Calling”现在由世界自行决定，不再询问。其余回答已为你填好。",
			defaults: map[string]string{nameField: "龙胆", "灵根": "火"},
			template: "我叫{{characterName}}。",
		},
		"two reasons": {
			name: "Élodie", change: retype("灵根", sdk.AttrEnum, "水"),
			notice:   "Someone in this world is already called “Élodie”. Please choose another name. Your answer to “Root” no longer fits this world. Please answer it again. Your other answers are already filled in.",
			defaults: map[string]string{nameField: "", "calling": "撑船的", "灵根": ""},
			template: goodForm().NarrativeTemplate,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			rt := harbour()
			kept, _ := json.Marshal(goodForm())
			rt.PluginData = records{"forms/char-creation": kept}
			rt.Messages = tt.messages
			rt.LastPlayerInput = answered(values(tt.name))
			if tt.change != nil {
				tt.change(rt)
			}
			got := resent(t, rt)
			if got.Notice != tt.notice {
				t.Errorf("notice\n got %s\nwant %s", got.Notice, tt.notice)
			}
			if got.Title != "Who steps ashore?" || got.SubmitLabel != "Step ashore" || got.NarrativeTemplate != tt.template {
				t.Errorf("form = %+v", got)
			}
			defaults := map[string]string{}
			for _, f := range got.Fields {
				defaults[f.Name] = f.DefaultValue
				if want := tt.types[f.Name]; want != "" && f.Type != want {
					t.Errorf("%s is a %s, want %s", f.Name, f.Type, want)
				}
				if f.Type == typeSelect && len(f.Options) == 0 {
					t.Errorf("%s has no options", f.Name)
				}
			}
			if !reflect.DeepEqual(defaults, tt.defaults) {
				t.Errorf("defaults = %v, want %v", defaults, tt.defaults)
			}
		})
	}
}

func TestGuardDrawsUpAFormThatWasNotKept(t *testing.T) {
	rt := harbour()
	rt.Messages = chinese(t)
	rt.LastPlayerInput = answered(map[string]any{nameField: "陆青云", "calling": "撑船的", "灵根": "火"})
	got := resent(t, rt)
	want := form{
		Title: "你是谁？", SubmitLabel: "开始", NarrativeTemplate: "我叫{{characterName}}。",
		Notice: "这个世界里已经有人叫“陆青云”了，请换一个名字。其余回答已为你填好。",
		Fields: []field{
			{Type: typeText, Name: nameField, Label: "姓名", Required: true},
			{Type: typeText, Name: "calling", Label: "Calling", DefaultValue: "撑船的"},
			{Type: typeSelect, Name: "灵根", Label: "灵根", Options: []string{"水", "火", "未知"}, DefaultValue: "火"},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("form\n got %+v\nwant %+v", got, want)
	}
}

// The name alone: there is nothing else to say that it is filled in.
func TestGuardNoticeOfANameOnly(t *testing.T) {
	rt := harbour()
	rt.LastPlayerInput = answered(map[string]any{nameField: "陆青云"})
	if got := resent(t, rt); got.Notice != "Someone in this world is already called “陆青云”. Please choose another name." {
		t.Errorf("notice = %q", got.Notice)
	}
}
