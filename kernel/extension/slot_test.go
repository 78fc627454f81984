package extension_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/covel/covel/kernel/extension"
	"github.com/covel/covel/plugins/points"
)

// filled asks the providers of a slot, from an empty slot on; each says what it makes of the value before it.
func filled(t rapid.TB, slot string, providers []func(previous string) string) (value string, refused []string) {
	var names []extension.Provider
	for i := range providers {
		names = append(names, extension.Provider{PluginID: fmt.Sprint(i), ID: "x", Slot: slot})
	}
	input, err := json.Marshal(map[string]any{"slot": slot, "previous": nil, "events": []any{}})
	if err != nil {
		t.Fatal(err)
	}
	uiSlot, _ := points.Find(points.UISlot)
	r, err := extension.Combine(uiSlot, input, names, extension.CheckSlot, func(who []extension.Provider, in json.RawMessage) []extension.Answer {
		var given struct{ Previous json.RawMessage }
		if err := json.Unmarshal(in, &given); err != nil {
			t.Fatal(err)
		}
		var n int
		_, _ = fmt.Sscan(who[0].PluginID, &n)
		return []extension.Answer{{Output: json.RawMessage(providers[n](string(given.Previous)))}}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Failed {
		var why *extension.SlotRefusal
		if !errors.As(f.Err, &why) { // it fits no slot at all
			why = &extension.SlotRefusal{Slot: slot, Code: "point", Detail: f.Err.Error()}
		}
		if why.Slot != slot || why.Detail == "" {
			t.Fatalf("%s was refused without a reason: %v", f.Provider.PluginID, f.Err)
		}
		refused = append(refused, f.Provider.PluginID+" "+string(why.Code))
	}
	if len(r.Outputs) > 0 {
		value = string(r.Outputs[0].Value)
	}
	return value, refused
}

func says(value string) func(string) string { return func(string) string { return value } }

func same(previous string) string { return previous }

// Rule EP:123: a provider gives the slot's value or null, or the previous one when nothing changes; each is held against the
// slot it has declared; an invalid one skips that provider alone and keeps the previous valid value.
// Rule EP:124: a summary's provider adds to the entries of those before it.
// Rule EP:52: a pipeline passes the previous valid result along.
func TestSlots(t *testing.T) {
	appends := func(entries ...string) func(string) string {
		return func(previous string) string {
			var before struct{ Entries []json.RawMessage }
			_ = json.Unmarshal([]byte(previous), &before)
			for _, e := range entries {
				before.Entries = append(before.Entries, json.RawMessage(e))
			}
			b, _ := json.Marshal(map[string]any{"entries": before.Entries})
			return string(b)
		}
	}
	const hp = `{"id":"hp","kind":"meter","label":"气血","max":20,"value":7}`
	const day = `{"id":"day","kind":"text","label":"日","value":"雾"}`
	const lamp = `{"actors":[{"characterId":"龙胆","displayName":"龙胆"}]}`
	for name, c := range map[string]struct {
		slot      string
		providers []func(string) string
		value     string
		refused   string
	}{
		"the last one counts":         {"stage.cast@1", []func(string) string{says(lamp), says(`{"actors":[]}`)}, `{"actors":[]}`, ""},
		"nothing changes":             {"stage.cast@1", []func(string) string{says(lamp), same}, lamp, ""},
		"emptied":                     {"stage.cast@1", []func(string) string{says(lamp), says("null")}, "null", ""},
		"an invalid one":              {"stage.cast@1", []func(string) string{says(lamp), says(`{"actors":[{"characterId":"x"}]}`), same}, lamp, "1 shape"},
		"nothing but invalid":         {"stage.cast@1", []func(string) string{says(`{"choices":[]}`)}, "", "0 shape"},
		"no object at all":            {"stage.cast@1", []func(string) string{says(lamp), says("[]"), says("{"), same}, lamp, "1 point 2 point"},
		"another slot's value":        {"stage.backdrop@1", []func(string) string{says(lamp)}, "", "0 shape"},
		"one character twice":         {"stage.cast@1", []func(string) string{says(`{"actors":[{"characterId":"龙胆","displayName":"A"},{"characterId":"龙胆","displayName":"B"}]}`)}, "", "0 repeated-id"},
		"one choice twice":            {"stage.choices@1", []func(string) string{says(`{"choices":[{"id":"1","text":"走"},{"id":"1","text":"留"}]}`)}, "", "0 repeated-id"},
		"one figure twice":            {"character.visual@1", []func(string) string{says(`{"characters":[{"characterId":"a"},{"characterId":"a"}]}`)}, "", "0 repeated-id"},
		"entries add up":              {"session.summary@1", []func(string) string{appends(hp), appends(day)}, `{"entries":[` + hp + `,` + day + `]}`, ""},
		"keys in another order":       {"session.summary@1", []func(string) string{appends(hp), says(`{"entries": [{"value":7, "label":"气血","max":20,"kind":"meter","id":"hp"}]}`)}, `{"entries": [{"value":7, "label":"气血","max":20,"kind":"meter","id":"hp"}]}`, ""},
		"others' entries are dropped": {"session.summary@1", []func(string) string{appends(hp), says(`{"entries":[` + day + `]}`), appends(day)}, `{"entries":[` + hp + `,` + day + `]}`, "1 dropped-entries"},
		"others' entries are changed": {"session.summary@1", []func(string) string{appends(hp), says(`{"entries":[` + strings.Replace(hp, "7", "8", 1) + `]}`)}, `{"entries":[` + hp + `]}`, "1 dropped-entries"},
		"all entries are taken away":  {"session.summary@1", []func(string) string{appends(hp), says("null")}, `{"entries":[` + hp + `]}`, "1 dropped-entries"},
		"an id of another's":          {"session.summary@1", []func(string) string{appends(hp), appends(hp)}, `{"entries":[` + hp + `]}`, "1 repeated-id"},
		"a meter without a range":     {"session.summary@1", []func(string) string{says(`{"entries":[{"kind":"meter","id":"a","label":"A","value":1,"min":5,"max":5}]}`)}, "", "0 empty-range"},
	} {
		value, refused := filled(t, c.slot, c.providers)
		if d := cmp.Diff([]string{c.value, c.refused}, []string{value, strings.Join(refused, " ")}); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// Rule EP:123: whatever providers give, what stands in the slot at the end fits it.
// Rule EP:124: and holds every entry that was ever taken.
func TestAnySlotValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slot := rapid.SampledFrom(points.Slots).Draw(t, "slot")
		value := rapid.SampledFrom([]string{
			"null", "{}", "[]", "{", `{"entries":[]}`, `{"entries":[{"kind":"text","id":"a","label":"雾","value":1}]}`, `{"entries":[{"kind":"list","id":"b","label":"袋","items":[]}]}`,
			`{"entries":[{"kind":"text","id":"a","label":"雾","value":1},{"kind":"list","id":"b","label":"袋","items":[]}]}`, `{"actors":[]}`, `{"choices":[{"id":"1","text":"走"}]}`, `{"characterId":"龙胆"}`,
		})
		var given []string
		var providers []func(string) string
		for range rapid.IntRange(1, 5).Draw(t, "providers") {
			v := value.Draw(t, "value")
			given, providers = append(given, v), append(providers, says(v))
		}
		got, refused := filled(t, slot, providers)
		if got != "" && points.CheckSlot(slot, []byte(got)) != nil {
			t.Fatalf("%s stands in %s", got, slot)
		}
		if got == "" && len(refused) != len(given) {
			t.Fatalf("an accepted value is gone: %v, refused %v", given, refused)
		}
		if slot != points.SummarySlot {
			return
		}
		most := 0
		for i, v := range given {
			var e struct{ Entries []json.RawMessage }
			if json.Unmarshal([]byte(v), &e) == nil && !strings.Contains(strings.Join(refused, " ")+" ", fmt.Sprintf("%d ", i)) {
				if len(e.Entries) < most {
					t.Fatalf("%v: entries were lost; refused %v", given, refused)
				}
				most = len(e.Entries)
			}
		}
	})
}
