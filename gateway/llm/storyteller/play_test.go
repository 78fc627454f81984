package storyteller

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/covel/covel/kernel/model"
)

// testWorld is a world as a session would put it into a request.
type testWorld struct {
	id, locale, lore, opening, player, profiles, entries string
}

func readTest(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/worlds/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func saltmere(t testing.TB) testWorld {
	return testWorld{id: "saltmere", locale: "en", lore: readTest(t, "saltmere.en.md"),
		opening:  "The player arrives on the evening ferry, the only passenger. Forty-two lanterns are burning along the quay. Maren Holt counts the player off the boat as if the player were cargo.",
		player:   `{"id":"p1","name":"Lin Yao","type":"player","fields":{"trade":"map-maker","temper":"stubborn","vigour":3}}`,
		profiles: "- Maren Holt (aka the Harbour-Mistress) [npc] Harbour-mistress, brisk and dry-humoured · Mood: guarded\n- Old Tam [npc] A miller without a mill to speak of\n- Ysolde Crane [npc] Keeper of the registers, precise and a little deaf\n- Pip [npc] An errand girl of ten, restless and talkative",
	}
}

func wugang(t testing.TB) testWorld {
	return testWorld{id: "wugang", locale: "zh-CN", lore: readTest(t, "wugang.zh.md"),
		opening:  "玩家搭黄昏的渡船抵达灯港码头，是船上唯一的客人。码头上亮着四十二盏灯。阿岚把玩家当作货物一样数下船来。",
		player:   `{"id":"p1","name":"陆青云","type":"player","fields":{"出身":"画地图的学徒","性情":"倔强","气力":3}}`,
		profiles: "- 阿岚 (又名 港务长) [npc] 灯港码头的港务长，说话利落 · 心情: 戒备\n- 老谭 [npc] 没有磨可磨的磨坊主\n- 龙胆 [npc] 潮房的文书，一丝不苟\n- 小鱼 [npc] 跑腿的小丫头",
	}
}

func kestrel(t testing.TB) testWorld {
	return testWorld{id: "kestrel", locale: "en", lore: readTest(t, "kestrel.en.md"),
		player: `{"id":"p1","name":"Élodie","type":"player","fields":{"occupation":"courier pilot","goal":"I want to find my sister"}}`}
}

func qinglan(t testing.TB) testWorld {
	return testWorld{id: "qinglan", locale: "zh-CN", lore: readTest(t, "qinglan.zh.md"),
		player: `{"id":"p1","name":"苏晚","type":"player","fields":{"灵根":"水灵根","性格":"谨慎"}}`}
}

func allWorlds(t testing.TB) []testWorld {
	return []testWorld{saltmere(t), wugang(t), kestrel(t), qinglan(t)}
}

const storySchema = `{"type":"object","additionalProperties":false,"required":["segments"],"properties":{"segments":{"type":"array","minItems":1,"items":{"type":"object","additionalProperties":false,"required":["kind","text"],"properties":{"kind":{"enum":["narration","dialogue","action"]},"text":{"type":"string","minLength":1},"speaker":{"type":"string"}}}}}}`

var xmlEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// game plays a session against the storyteller with requests as the prompt builder makes them.
type game struct {
	world testWorld
	past  []model.Message
}

func (g *game) english() bool { return tongueOf(g.world.locale) == english }

// cue gives the fixed line for an empty message.
func (g *game) cue() string {
	switch {
	case g.english() && len(g.past) == 0:
		return "(Begin.)"
	case g.english():
		return "(Go on.)"
	case len(g.past) == 0:
		return "（开始。）"
	}
	return "（继续。）"
}

func (g *game) system() string {
	w := g.world
	var b strings.Builder
	fmt.Fprintf(&b, "[RUNTIME] narrator · Narrator\n[LANGUAGE] %s · All natural language is written in this language.\n[COMPLETION] story · Write the story.\n\nYou are the narrator. Write 200–400 words. Never offer a menu. {\"segments\": …}\n\n", w.locale)
	if w.lore != "" {
		fmt.Fprintf(&b, "<world-lore id=%q name=%q tone=%q>\n%s\n</world-lore>", w.id, "", "quiet", xmlEscape.Replace(w.lore))
	}
	if w.opening != "" && len(g.past) == 0 {
		fmt.Fprintf(&b, "\n\n<world-opening>%s</world-opening>", xmlEscape.Replace(w.opening))
	}
	if w.entries != "" {
		fmt.Fprintf(&b, "\n\n<lore>\n%s\n</lore>", xmlEscape.Replace(w.entries))
	}
	return b.String()
}

func (g *game) context() string {
	var b strings.Builder
	if g.world.player != "" {
		fmt.Fprintf(&b, "<player-character>\n%s\n</player-character>\n", xmlEscape.Replace(g.world.player))
	}
	if g.world.profiles != "" {
		fmt.Fprintf(&b, "<character-profiles>\n%s\n</character-profiles>\n", xmlEscape.Replace(g.world.profiles))
	}
	b.WriteString("<runtime-inputs>\n{}\n</runtime-inputs>")
	return b.String()
}

func (g *game) request(line string) model.Request {
	msgs := []model.Message{{Role: model.System, Content: g.system(), CacheMark: true}}
	msgs = append(msgs, g.past...)
	msgs = append(msgs, model.Message{Role: model.System, Content: g.context()})
	if line == "" {
		line = g.cue()
	}
	msgs = append(msgs, model.Message{Role: model.User, Content: line})
	return model.Request{Slot: "story", Messages: msgs, Stream: true, Subject: "narrator",
		ResponseFormat: &model.ResponseFormat{Name: "story", Schema: json.RawMessage(storySchema)}}
}

// play sends a line and keeps the answer as history.
func (g *game) play(t testing.TB, line string) []segment {
	t.Helper()
	segs := generateSegments(t, g.request(line))
	g.keep(line, segmentsText(segs))
	return segs
}

func (g *game) keep(line, story string) {
	if line != "" {
		g.past = append(g.past, model.Message{Role: model.User, Content: line})
	}
	g.past = append(g.past, model.Message{Role: model.Assistant, Content: story})
}

// shared keeps the worlds of the tests as the program keeps those of its sessions.
var shared = New(Options{})

func generate(t testing.TB, req model.Request) model.Reply {
	t.Helper()
	reply, err := shared.Generate(context.Background(), req, nil)
	if err != nil {
		t.Fatalf("generate: %v", err)
	}
	return reply
}

func generateSegments(t testing.TB, req model.Request) []segment {
	t.Helper()
	reply := generate(t, req)
	if !parseSchema(json.RawMessage(storySchema)).valid([]byte(reply.Text)) {
		t.Fatalf("reply does not fit the story schema:\n%s", reply.Text)
	}
	var v struct{ Segments []segment }
	if err := json.Unmarshal([]byte(reply.Text), &v); err != nil {
		t.Fatalf("reply is not JSON: %v\n%s", err, reply.Text)
	}
	return v.Segments
}

func segmentsText(segs []segment) string {
	texts := make([]string, len(segs))
	for i, s := range segs {
		texts[i] = s.Text
	}
	return strings.Join(texts, "\n\n")
}

// transcript prints a game as a reader sees it.
func transcript(t testing.TB, w testWorld, lines []string) string {
	g := &game{world: w}
	var b strings.Builder
	for _, line := range append([]string{""}, lines...) {
		segs := g.play(t, line)
		if line != "" {
			fmt.Fprintf(&b, "> %s\n\n", line)
		}
		for _, s := range segs {
			if s.Speaker != "" {
				fmt.Fprintf(&b, "%s: ", s.Speaker)
			}
			b.WriteString(s.Text + "\n\n")
		}
	}
	return b.String()
}
