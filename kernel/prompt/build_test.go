package prompt_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/prompt"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
)

var update = flag.Bool("update", false, "write the golden prompts")

func ptr[T any](v T) *T { return &v }

func world(locale string) sdk.WorldRecord {
	w := sdk.WorldRecord{
		ID: "misty-marsh", Name: "Misty Marsh", Summary: "A marsh full of lights.", Locale: "en", Tone: "quiet, \"uneasy\"",
		Lore: "# Misty Marsh\n\n## Places\n\n### The Ferry & the Inn\n\nOld <stone> walls.\n\n## People\n\n### Mara\n\nFerrywoman.",
		Tags: []string{"fantasy", "mystery"}, Opening: "Fog. A bell rings <twice>.",
	}
	if locale != "en" {
		w.Name, w.Summary, w.Locale, w.Tone = "雾泽", "满是灯火的沼泽。", "zh-CN", "静谧"
		w.Lore, w.Opening = "# 雾泽\n\n## 地点\n\n### 渡口\n\n旧石墙。\n\n## 人物\n\n### 龙胆\n\n摆渡人。", "雾。钟声响了两下。"
	}
	return w
}

var schema = sdk.CharacterSchema{Version: 2, Types: []string{"npc"}, Attributes: []sdk.AttributeDef{
	{ID: "mood", Name: "Mood", Type: "string"},
	{ID: "hp", Name: "Health", Type: "number", Max: ptr(20.0)},
	{ID: "fame", Name: "Fame", Type: "number", Min: ptr(-5.0), Max: ptr(5.0)},
	{ID: "bag", Name: "Bag", Type: "array"},
}}

func characters() []sdk.Character {
	return []sdk.Character{
		{ID: "player-lu", Name: "陆青云", Aliases: []string{"青云"}, Type: "player", Description: "A wanderer.", Fields: json.RawMessage(`{"mood":"curious","hp":18,"ownerId":"0190a5b0-7c5e-7000-8000-000000000001"}`)},
		{ID: "npc-mara", Name: "Mara", Aliases: []string{"The Ferrywoman", "M."}, Type: "npc", Description: "Knows every\nchannel <and> ford.", Fields: json.RawMessage(`{"hp":12,"fame":-2,"bag":["pole","lamp"],"mood":"","debt":{"to":"龙胆"},"seenAt":"2024-01-01T00:00:00Z"}`)},
		{ID: "npc-elodie", Name: "E\u0301lodie", Type: "companion"},
	}
}

func narrator() manifest.Runtime {
	return manifest.Runtime{
		ID: "narrator", PluginID: "narrator", Type: "agent",
		Body: manifest.Text{
			"en": "You tell the story of {{ world.name }} ({{world.tags}}).\nTurn {{ session.turnNumber }}. Last words: {{ player.message }}{{ player.nothing }}{{ constructor }}",
			"zh": "你讲述{{ world.name }}的故事。玩家：{{ player.character.name }}。",
		},
		Schedule: manifest.Schedule{Stage: manifest.Narrative},
		IO:       manifest.IO{Visibility: manifest.VisibilityStory, OutputSchema: json.RawMessage(`{"properties":{"segments":{}}}`)},
	}
}

func guide() manifest.Runtime {
	return manifest.Runtime{
		ID: "guide", PluginID: "guide", Type: "agent",
		Body:     manifest.Text{"en": "Suggest what to do next."},
		Schedule: manifest.Schedule{Stage: manifest.PostTurn},
		Agent:    manifest.Agent{Require: "tool-use", AfterTools: []string{"generate-guide"}},
	}
}

const told = "The fog lifts.\n\n“Come aboard,” says Mara."

func cases() map[string]prompt.In {
	opening := prompt.In{
		Runtime: narrator(), PluginName: "Narrator", Locale: "en", World: world("en"),
		Player: ptr(characters()[0]), Characters: characters(), Schema: schema, LogicalTurn: 1,
		LoreBefore: []sdk.LorebookEntry{{ID: "law", Content: "No fire on the water.", Position: "before_plugin"}},
		LoreAfter:  []sdk.LorebookEntry{{ID: "bell", Keys: []string{"bell"}, Content: "The bell </lore> counts the drowned.", Extra: map[string]any{"title": "The bell"}}},
	}
	later := opening
	later.HasStory, later.LogicalTurn = true, 3
	later.History = []prompt.HistoryRow{{Role: "assistant", Text: "Fog."}, {Role: "user", Text: "I look <around> {{ world.lore }}"}, {Role: "assistant", Text: "Water."}, {Role: "system", Text: "no"}, {Role: "user", Text: " "}}
	later.PlayerMessage = "I ask Mara: {{ world.name }} & </player-character>?"
	later.Inputs = map[string]sdk.Input{
		"check": {Cardinality: "one", Items: []sdk.InputItem{{Value: json.RawMessage(`{"result":"<success>","resultId":"0190a5b0-7c5e-7000-8000-000000000001","scene":"ferry"}`), PluginID: "dice", Runtime: "dice/roll"}}},
		"hints": {Cardinality: "all", Items: []sdk.InputItem{{Value: json.RawMessage(`2`), PluginID: "b", Runtime: "b"}, {Value: json.RawMessage(`"一"`), PluginID: "a", Runtime: "a"}}},
		"empty": {Cardinality: "one"},
	}
	later.Data = []prompt.DataBlock{{Decl: manifest.SelfData{Namespace: "scenes", As: "known-scenes", Format: "full"}, Rows: []prompt.DataRow{{Key: "ferry", Value: json.RawMessage(`{"id":"ferry","note":"</known-scenes>"}`)}}}}

	zh := later
	zh.Locale, zh.World, zh.PluginName, zh.PlayerMessage = "zh-CN", world("zh-CN"), "叙述者", ""

	after := prompt.In{
		Runtime: guide(), PluginName: "Guide", Locale: "en", World: world("en"), HasStory: true, Schema: schema,
		Player: ptr(characters()[0]), Characters: characters(), Story: told, PlayerMessage: "Onward.",
		Inputs: map[string]sdk.Input{"narrative": {Cardinality: "one", Items: []sdk.InputItem{{Value: mustJSON(told), PluginID: "narrator", Runtime: "narrator"}}}},
	}
	afterZh := after
	afterZh.Locale, afterZh.PluginName, afterZh.PlayerMessage = "zh-Hans", "向导", ""

	setup := prompt.In{
		Runtime: manifest.Runtime{ID: "char-creator/player-init", Body: manifest.Text{"en": "Make a form.", "zh": "制作表单。"}, Schedule: manifest.Schedule{Stage: manifest.Setup}, Agent: manifest.Agent{Require: "tool-use"}},
		Locale:  "zh-CN", PluginName: "角色创建", World: world("zh-CN"), Schema: schema,
		Static: []manifest.PromptSegment{{ID: "a", Position: "system", Content: manifest.Text{"en": "Fixed {{ world.name }}.", "zh": "固定文本 {{ world.name }}。"}}, {ID: "b", Position: "pre-history", Role: "user", Content: manifest.Text{"en": "Before."}}, {ID: "c", Position: "post-history", Role: "assistant", Content: manifest.Text{"en": "I will."}}},
	}
	event := prompt.In{
		Runtime: manifest.Runtime{ID: "codex/note", IO: manifest.IO{OutputSchema: json.RawMessage(`{"type":"object"}`)}, Body: manifest.Text{"en": "Note it."}},
		Locale:  "fr", PluginName: "Codex", Activation: &prompt.Activation{Source: "event", Topic: "scene.set", Payload: json.RawMessage(`{"place":"ferry","sessionId":"s"}`)},
	}
	segments := later
	segments.Summaries = []string{"Day 1: Lu came <by boat>.", " ", "第二天：龙胆花开。"}
	segments.LoreAt = []prompt.LoreAtDepth{{Depth: 2, Entry: sdk.LorebookEntry{ID: "mist", Content: "Mist is thick."}}, {Depth: 99, Entry: sdk.LorebookEntry{ID: "first", Content: "At the front."}}}
	segments.Runtime.Agent.AdvertiseEvents = true
	segments.Topics = []tools.Topic{{Topic: "scene.set", Description: "A scene\nbegins <here>."}}
	add := func(provider, id, volatility string, order int, audience sdk.Audience, role string, at sdk.Position) {
		segments.Segments = append(segments.Segments, prompt.Segment{ProviderPluginID: provider, Segment: sdk.Segment{
			ID: id, Content: fmt.Sprintf("[%s/%s %s %d {{ world.name }} %v]", provider, id, volatility, order, at), Position: at, Role: role, Audience: audience, Volatility: volatility, Order: order,
		}})
	}
	all, system, pre, post := sdk.Audience{Group: "all"}, sdk.Position{Place: "system"}, sdk.Position{Place: "pre-history"}, sdk.Position{Place: "post-history"}
	add("memory", "turn", "turn", -9, all, "", system)
	add("memory", "session", "session", 0, all, "", system)
	add("memory", "stable-late", "stable", 1, all, "", system)
	add("memory", "b", "stable", 0, all, "", system)
	add("memory", "a", "stable", 0, all, "", system)
	add("alpha", "z", "stable", 0, sdk.Audience{Group: "story"}, "", system)
	add("memory", "pre-turn", "turn", 0, all, "system", pre)
	add("memory", "pre-stable", "stable", 0, all, "system", pre)
	add("memory", "pre-user", "turn", 0, all, "user", pre)
	add("memory", "post", "turn", 0, all, "system", post)
	add("memory", "deep", "turn", 0, all, "user", sdk.Position{Depth: 1})
	add("memory", "end", "turn", 0, all, "system", sdk.Position{Depth: 0})
	add("memory", "not-mine", "turn", 0, sdk.Audience{Group: "self"}, "", system)
	add("memory", "of-a-contract", "turn", 0, sdk.Audience{Contract: "guide@1"}, "", system)
	add("memory", "blank", "turn", 0, all, "", post)
	segments.Segments[len(segments.Segments)-1].Content = " \n"
	return map[string]prompt.In{
		"segments-en":         segments,
		"narrator-opening-en": opening, "narrator-later-en": later, "narrator-later-zh": zh,
		"guide-en": after, "guide-zh": afterZh, "setup-zh": setup, "event-fr": event,
	}
}

func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func dump(messages []model.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "=== %s", m.Role)
		if m.CacheMark {
			b.WriteString(" (cached up to here)")
		}
		content := m.Content
		for _, at := range slices.Backward(m.CacheAt) {
			content = content[:at] + "‖" + content[at:]
		}
		b.WriteString("\n" + content + "\n")
	}
	return b.String()
}

// Rule TP:443–466: content that never changes stands first, the history next, what changes each turn after it, then the
// player's line.
// Rule REF plugins.md §18.1: the sections of the system prompt and the messages, in their order.
// Rule REF:plugins.md §18.2: a story written earlier in this execution stands behind the player's line, with a note.
// Rule EP:110–118: segments by volatility, order, provider and id; a turn segment at system stands after the history, a
// system-role pre-history one after the last cache boundary; elsewhere volatility is ignored.
// Rule REF plugins.md §18.4: cache marks after head, body, stable segments and lore, and a moving one on the history.
func TestGoldenPrompts(t *testing.T) {
	for name, in := range cases() {
		t.Run(name, func(t *testing.T) {
			got := dump(prompt.Build(in))
			file := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// Rule REF:plugins.md §18.1: empty sections vanish; the list never ends on an assistant message.
// Rule TP:454: the system prompt comes first and is the same every turn.
func TestTheListEndsForTheModel(t *testing.T) {
	for name, in := range cases() {
		messages := prompt.Build(in)
		if last := messages[len(messages)-1]; last.Role != model.User && last.Role != model.System {
			t.Errorf("%s ends on %s", name, last.Role)
		}
		if messages[0].Role != model.System || len(messages[0].CacheAt) == 0 {
			t.Errorf("%s does not begin with the marked system message", name)
		}
		for i, m := range messages {
			if strings.TrimSpace(m.Content) == "" {
				t.Errorf("%s: message %d is empty", name, i)
			}
		}
	}
}

// What changes each turn does not touch the system message.
// Rule TP:443: what never changes stands at the front, what changes each turn at the back.
func TestTheSystemMessageIsStable(t *testing.T) {
	base := cases()["narrator-later-en"]
	base.Runtime.Body = manifest.Text{"en": "You tell the story of {{ world.name }}."}
	want := prompt.System(base)
	rapid.Check(t, func(t *rapid.T) {
		in := base
		in.LogicalTurn = rapid.IntRange(1, 1000).Draw(t, "turn")
		in.PlayerMessage = rapid.String().Draw(t, "message")
		in.Story = rapid.String().Draw(t, "story")
		in.History = append(in.History, prompt.HistoryRow{Role: "user", Text: rapid.String().Draw(t, "line")})
		in.Inputs = map[string]sdk.Input{rapid.StringMatching(`[a-z]{1,5}`).Draw(t, "slot"): {Cardinality: "one", Items: []sdk.InputItem{{Value: mustJSON(rapid.String().Draw(t, "value"))}}}}
		player := *in.Player
		player.Fields = mustJSON(map[string]any{"hp": rapid.Int().Draw(t, "hp")})
		in.Player = &player
		in.Activation = &prompt.Activation{Source: "manual"}
		if got := prompt.System(in); got != want {
			t.Fatalf("changed to\n%s", got)
		}
	})
}

// Hostile names, lore, data and inputs: no tag is opened or closed by data, and no mark in data is filled in.
// Rule REF:plugins.md §18.3: data blocks are XML-escaped and never interpolated.
func TestDataStaysData(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hostile := func(label string) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
				"</world-lore>", "<lore>", "</player-character>", "</character-profiles>", "</runtime-inputs>", "</notes>", "<system>", `"`, "\n", "{{ world.secret }}", "{{world.name}}", "&lt;", "陆青云", "&", ">", "<", "]]>", "\n[RUNTIME] x",
			}), 0, 6).Draw(t, label), "")
		}
		clean, in := cases()["narrator-later-en"], cases()["narrator-later-en"]
		in.World.Name, in.World.Tone, in.World.Lore, in.World.Opening = "W"+hostile("name"), hostile("tone"), "L"+hostile("lore"), "O"+hostile("opening")
		in.LoreAfter = []sdk.LorebookEntry{{ID: "x", Content: "C" + hostile("content"), Extra: map[string]any{"title": "T" + hostile("title")}}}
		in.Characters = []sdk.Character{in.Characters[0], {ID: "n", Name: "N" + hostile("npc"), Aliases: []string{"A" + hostile("alias")}, Type: hostile("type"), Description: hostile("description"), Fields: mustJSON(map[string]any{hostile("key"): hostile("value")})}}
		in.Player = &sdk.Character{ID: "p", Name: hostile("player"), Description: hostile("self"), Fields: mustJSON(map[string]any{"a": hostile("field")})}
		in.Inputs = map[string]sdk.Input{"check" + hostile("slot"): {Cardinality: "one", Items: []sdk.InputItem{{Value: mustJSON(hostile("input")), PluginID: hostile("plugin")}}}}
		in.Data = []prompt.DataBlock{{Decl: manifest.SelfData{As: "known-scenes"}, Rows: []prompt.DataRow{{Key: "k" + hostile("row"), Value: mustJSON(hostile("cell"))}}}}
		in.PlayerMessage = "P" + hostile("message")
		in.PluginName = "Narrator" + hostile("plugin name")

		got, want := prompt.Build(in), prompt.Build(clean)
		for i := range got {
			if got[i].Role != model.System {
				continue
			}
			if a, b := tags(got[i].Content), tags(want[i].Content); a != b {
				t.Fatalf("message %d has the tags %s, not %s:\n%s", i, a, b, got[i].Content)
			}
			if i == 0 && !frame.MatchString(got[i].Content) {
				t.Fatalf("the frame is no longer its first three lines:\n%s", got[i].Content)
			}
		}
		for _, mark := range []string{"{{ world.secret }}", "{{world.name}}"} {
			if strings.Contains(in.World.Lore, mark) && !strings.Contains(got[0].Content, mark) {
				t.Fatalf("%s in the lore was filled in", mark)
			}
		}
		if got[len(got)-1].Content != in.PlayerMessage {
			t.Fatalf("the player's line became %q", got[len(got)-1].Content)
		}
	})
}

var tag = regexp.MustCompile(`</?[a-z][a-z-]*`)

var frame = regexp.MustCompile(`^\[RUNTIME\] narrator · Narrator[^\n]*\n\[LANGUAGE\] en · [^\n]*\n\[COMPLETION\] story · [^\n]*\n\n`)

func tags(s string) string { return strings.Join(tag.FindAllString(s, -1), " ") }

// Rule REF:plugins.md §18.3: variables are filled in once, in the plugin's own body, by own properties only.
func TestBodiesAreInterpolatedOnceAndEscaped(t *testing.T) {
	in := cases()["narrator-opening-en"]
	in.World.Name = "{{ world.lore }}</world-lore>"
	in.PlayerMessage = "hi <b>"
	in.Settings = map[string]json.RawMessage{"length": json.RawMessage(`"short"`), "deep": json.RawMessage(`{"a":[1,{"b":"ü"}]}`)}
	in.LastPlayerInput = &sdk.PlayerInput{Values: map[string]any{"name": "陆青云"}}
	in.Inputs = map[string]sdk.Input{"x": {Items: []sdk.InputItem{{Value: json.RawMessage(`{"hits":3}`), PluginID: "dice", Runtime: "dice/roll"}}}}
	for body, want := range map[string]string{
		"{{ world.name }}":                             "{{ world.lore }}&lt;/world-lore&gt;",
		"{{player.message}}":                           "hi &lt;b&gt;",
		"a{{ nothing }}b{{ 1+1 }}c{{}}d":               "abcd",
		"{{ userSettings.length }}":                    "short",
		"{{ userSettings.deep.a.0 }}":                  "1",
		"{{ userSettings.deep.a.1.b }}":                "ü",
		"{{ userSettings.deep.a.7 }}":                  "",
		"{{ userSettings.deep }}":                      "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"ü\"\n    }\n  ]\n}",
		"{{ player.lastFormValuesRaw.name }}":          "陆青云",
		"{{ player.lastFormValues }}":                  `{"name":"陆青云"}`,
		"{{ inputs.dice.roll.hits }}":                  "3",
		"{{ player.character.fields.mood }}":           "curious",
		"{{ player.character.__proto__ }}":             "",
		"{{ world.entries.The bell }}":                 "The bell &lt;/lore&gt; counts the drowned.",
		"{{ world.schema.types.0 }}{{ world.tags }}":   "npcfantasy, mystery",
		"{{ unclosed":                                  "{{ unclosed",
		`{"segments":[{"text":"{{ world.description}}`: `{"segments":[{"text":"A marsh full of lights.`,
	} {
		in.Runtime.Body = manifest.Text{"en": body}
		in.LoreBefore = nil
		system := prompt.System(in)
		_, rest, _ := strings.Cut(system, "\n\n")
		got, _, _ := strings.Cut(rest, "\n\n<world-lore")
		if want == "" {
			got, _, _ = strings.Cut(rest, "<world-lore")
		}
		if got != want {
			t.Errorf("%s gave %q, want %q", body, got, want)
		}
	}
}

func TestLoreKeepsToItsBudget(t *testing.T) {
	in := cases()["narrator-opening-en"]
	in.World.Lore = strings.Repeat("龙胆花开在渡口的石墙上。\n", 3000)
	system := prompt.System(in)
	lore := system[strings.Index(system, "<world-lore"):strings.Index(system, "</world-lore>")]
	if n := prompt.EstimateTokens(lore); n > 8100 || n < 7500 {
		t.Errorf("%d tokens of lore", n)
	}
	if !strings.HasSuffix(lore, "。\n…\n") {
		t.Errorf("cut at %q", lore[len(lore)-20:])
	}
	in.World.Lore = strings.Repeat("龙", 20_000)
	system = prompt.System(in)
	if lore := system[strings.Index(system, "<world-lore"):strings.Index(system, "</world-lore>")]; !strings.HasSuffix(lore, "龙\n…\n") || prompt.EstimateTokens(lore) > 8100 {
		t.Errorf("one long line: %d tokens", prompt.EstimateTokens(lore))
	}
}

// Rule REF:plugins.md §18.3: characters.npcs are one line each, parts cut at 400 characters, about 8000 in all, the rest by name.
func TestProfilesKeepToTheirLimits(t *testing.T) {
	in := cases()["narrator-opening-en"]
	in.Characters = nil
	for i := range 60 {
		in.Characters = append(in.Characters, sdk.Character{ID: fmt.Sprint("n", i), Name: fmt.Sprintf("龙胆%d", i), Type: "npc", Description: strings.Repeat("很", 1000)})
	}
	context := prompt.TurnContext(in)
	profiles := context[strings.Index(context, "<character-profiles>"):]
	if n := len([]rune(profiles)); n > 8600 {
		t.Errorf("%d characters", n)
	}
	if strings.Contains(profiles, strings.Repeat("很", 401)) || !strings.Contains(profiles, strings.Repeat("很", 400)+"…") {
		t.Error("a description is not cut at 400")
	}
	for i := range 60 {
		if !strings.Contains(profiles, fmt.Sprintf("龙胆%d", i)) {
			t.Errorf("龙胆%d is not even named", i)
		}
	}
}

func TestWhoSeesTheCharacters(t *testing.T) {
	in := cases()["guide-en"]
	has := func(in prompt.In) bool { return strings.Contains(prompt.TurnContext(in), "<player-character>") }
	if !has(in) {
		t.Error("a runtime that binds the story sees them")
	}
	in.Inputs = map[string]sdk.Input{"n": {Items: []sdk.InputItem{{Value: mustJSON(map[string]any{"narrativeOutput": told})}}}}
	if !has(in) {
		t.Error("a runtime that binds the whole output of the story sees them")
	}
	in.Inputs = nil
	if has(in) || prompt.TurnContext(in) != "" {
		t.Error("another runtime does not")
	}
	story := cases()["narrator-opening-en"]
	story.Player = nil
	if has(story) {
		t.Error("nobody to show before there is a character")
	}
}

// Rule REF:plugins.md §18.1: the head tells the runtime, the language to write in, and one of the forms of how the run ends.
// Rule TP:465: the language constraint is in every prompt.
func TestTheFrame(t *testing.T) {
	frame := func(rt manifest.Runtime, locale, instructions string) []string {
		rt.ID = "p/r"
		system := prompt.System(prompt.In{Runtime: rt, PluginName: "A <b>\nB", Locale: locale, InstructionLocale: instructions})
		return strings.SplitN(system, "\n", 4)
	}
	if got := frame(manifest.Runtime{}, "en", "")[0]; got != "[RUNTIME] p/r · A &lt;b&gt; B" {
		t.Errorf("runtime line %q", got)
	}
	for _, c := range []struct{ locale, instructions, want string }{
		{"en-GB", "", "[LANGUAGE] en-GB · Write all natural language in English."},
		{"zh-CN", "en", "[LANGUAGE] zh-CN · Write all natural language in Simplified Chinese."},
		{"zh-TW", "", "[LANGUAGE] zh-TW · Write all natural language in Traditional Chinese."},
		{"zh-TW", "zh", "[LANGUAGE] zh-TW · 所有自然语言都使用繁体中文书写。"},
		{"zh-Hans-HK", "", "[LANGUAGE] zh-Hans-HK · 所有自然语言都使用简体中文书写。"},
		{"en", "zh", "[LANGUAGE] en · 所有自然语言都使用英语书写。"},
		{"ja", "", "[LANGUAGE] ja · Write all natural language in ja."},
	} {
		if got := frame(manifest.Runtime{}, c.locale, c.instructions)[1]; !strings.HasPrefix(got, c.want) {
			t.Errorf("language line %q, want %q", got, c.want)
		}
	}
	story, schema := manifest.IO{Visibility: "story"}, json.RawMessage(`{"properties":{"segments":{}}}`)
	for _, c := range []struct {
		rt            manifest.Runtime
		locale, start string
		has, hasNot   string
	}{
		{manifest.Runtime{IO: story}, "en", "story · ", "story text", "segments"},
		{manifest.Runtime{IO: story}, "zh", "story · ", "正文", "segments"},
		{manifest.Runtime{IO: manifest.IO{Visibility: "story", OutputSchema: schema}}, "en", "story · ", "segments", "runtime-done"},
		{manifest.Runtime{IO: manifest.IO{OutputSchema: schema}}, "zh", "structured-output · ", "JSON", "runtime-done"},
		{manifest.Runtime{Agent: manifest.Agent{Require: "tool-use", AfterTools: []string{"a", "b"}}}, "en", "completing-tool · ", "a, b", "runtime-done"},
		{manifest.Runtime{Agent: manifest.Agent{Require: "tool-use"}}, "en", "runtime-done · ", "empty result first", "JSON"},
		{manifest.Runtime{}, "zh", "runtime-done · ", "runtime-done", "空结果"},
	} {
		got := frame(c.rt, c.locale, "")[2]
		if !strings.HasPrefix(got, "[COMPLETION] "+c.start) || !strings.Contains(got, c.has) || strings.Contains(got, c.hasNot) {
			t.Errorf("completion line %q", got)
		}
	}
}

func TestProfileValues(t *testing.T) {
	in := cases()["narrator-opening-en"]
	in.Player = nil
	in.Characters = []sdk.Character{{ID: "n", Name: "N\nM", Fields: json.RawMessage(`{"hp":1.50,"brave":true,"none":null,"empty":{},"list":[],"mixed":["a",null,2,{"b":1}],"mood":"calm\nand <cold>","nested":{"x":{"y":[1]}}}`)}}
	got := prompt.TurnContext(in)
	want := "<character-profiles>\n- N M · Mood: calm and &lt;cold&gt; · Health: 1.50/20 · brave: true · mixed: a, 2, {\"b\":1} · nested: {\"x\":{\"y\":[1]}}\n</character-profiles>"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
