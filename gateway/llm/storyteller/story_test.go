package storyteller

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

var (
	leftovers      = regexp.MustCompile(`[{}<>|\[\]\\*#@_]|\b(undefined|null|NaN|TODO|placeholder)\b|%!`)
	doubledEnglish = regexp.MustCompile(`[,.;:!?]{2}|\s[,.;:!?]|  |,”|"|\bi\b|\ba [aeiou]|\ban [^aeiouhAEIOUH]|\b(the the|a a|an an|of of|to to|is is)\b`)
	doubledChinese = regexp.MustCompile(`[，。；：！？、]{2}|[\p{Han}][,.;:!?'"]|[,.;:!?'"][\p{Han}]|[\p{Han}] +[\p{Han}]|的的|了了`)
	menu           = regexp.MustCompile(`(?m)^\s*(\d+[.)、]|[-*•]|[A-C][.)])\s`)
)

// checkPassage is what must hold for every passage, whatever was asked.
func checkPassage(t testing.TB, tongue tongue, segs []segment, opening bool) {
	t.Helper()
	text := segmentsText(segs)
	if m := leftovers.FindString(text); m != "" {
		t.Errorf("left over %q in:\n%s", m, text)
	}
	if m := menu.FindString(text); m != "" {
		t.Errorf("a menu %q in:\n%s", m, text)
	}
	for _, r := range text {
		if r == unicode.ReplacementChar || unicode.IsControl(r) && r != '\n' {
			t.Errorf("character %U in:\n%s", r, text)
		}
	}
	if n := len(segs); n < leastSegments || n > mostSegments {
		t.Errorf("%d segments:\n%s", n, text)
	}
	bad, least, most := doubledEnglish, 110, 270
	if tongue == chinese {
		bad, least, most = doubledChinese, 190, 430
	}
	if opening {
		most += most / 3
	}
	if m := bad.FindString(strings.ReplaceAll(text, ",” ", " ")); m != "" {
		t.Errorf("badly joined %q in:\n%s", m, text)
	}
	if n := length(tongue, text); n < least || n > most {
		t.Errorf("length %d, want %d to %d:\n%s", n, least, most, text)
	}
	for _, s := range segs {
		if !speaks(tongue, s.Text) {
			t.Errorf("not in the session's language: %q", s.Text)
		}
		if (s.Kind == dialogue) != (s.Speaker != "") {
			t.Errorf("%s with speaker %q", s.Kind, s.Speaker)
		}
		if s.Kind == dialogue && (!strings.HasPrefix(s.Text, "“") || !strings.HasSuffix(s.Text, "”") || strings.Count(s.Text, "“") != 1) {
			t.Errorf("speech is not quoted once: %q", s.Text)
		}
		if strings.Count(s.Text, "“") != strings.Count(s.Text, "”") {
			t.Errorf("quotation marks do not match: %q", s.Text)
		}
	}
}

// checkFresh reports sentences that stood in one of the last six passages or twice in this one.
func checkFresh(t testing.TB, past [][]segment, segs []segment) {
	t.Helper()
	seen := map[string]string{}
	for i := max(0, len(past)-6); i < len(past); i++ {
		for _, s := range past[i] {
			for _, line := range sentences(s.Text) {
				seen[line] = "an earlier passage"
			}
		}
	}
	for _, s := range segs {
		for _, line := range sentences(strings.Trim(s.Text, "“”")) {
			if where := seen[line]; where != "" {
				t.Errorf("said again after %s: %q", where, line)
			}
			seen[line] = "this passage"
		}
	}
}

// namesOf are the people and places of a test world, as a player writes them.
var namesOf = map[string][2][]string{
	"saltmere": {{"Maren Holt", "Old Tam", "Ysolde Crane", "Pip"}, {"Lantern Quay", "the Drowned Mill", "the Tide House", "the Net Market"}},
	"kestrel":  {{"Imre Castellan", "Dr. Adaeze Okafor", "Juno"}, {"the Dock Ring", "Hydroponics", "the Signal Room", "the Spindle"}},
	"wugang":   {{"阿岚", "老谭", "龙胆", "小鱼"}, {"灯港码头", "沉磨坊", "潮房", "渔网集市"}},
	"qinglan":  {{"沈长老", "柳照雪", "小满", "陆青云"}, {"山门", "藏经阁", "炼丹房", "剑冢"}},
}

var (
	thingsEnglish = []string{"the lantern", "my coat", "the rusty bell", "the sky", "a crowd of strangers", "the second door", "the water", "it", "footprints"}
	thingsChinese = []string{"灯笼", "我的外衣", "生锈的钟", "天空", "人群", "第二扇门", "水", "它", "脚印"}
	linesEnglish  = []string{"I look at %t", "look around", "I look at %p", "I go to %l", "I walk over to %p", "I ask %p about %t", "I ask %p about %l", "What happened here?",
		"%p, who are you?", "I tell %p that the boat is real", "“Hello, %p.”", "I greet %p", "I give %t to %p", "I give %p %t", "I take %t", "I open %t", "I use %t", "I read %t",
		"I wait", "I rest for a while", "I sleep", "I attack %p", "I hit %t", "I hide behind %t", "I sneak to %l", "I help %p", "I follow %p", "I follow %t", "I don't trust %p",
		"I won't go to %l", "yes", "no", "I promise to help", "thank you", "I'm sorry", "What can I do?", "I leave", "I sing a song", "I think about %l", "come with me, %p",
		"I climb the wall", "I touch %t", "I listen", "I search %t", "I knock on %t", "Is %p at %l?", "I go to %l and ask %p about %t", "I show %p %t", "help", "", "..."}
	linesChinese = []string{"我看看%t", "四下看看", "我打量%p", "去%l", "我走向%p", "问%p%t的事", "向%p打听%l", "这里出了什么事？", "%p，你是谁？", "我告诉%p，船是真的", "“你好，%p。”",
		"向%p问好", "把%t给%p", "我拿起%t", "打开%t", "我用%t", "读%t", "我等一等", "休息一会儿", "我睡一觉", "攻击%p", "我砸%t", "我躲到%t后面", "我悄悄去%l", "帮%p", "跟着%p", "跟着%t",
		"我不相信%p", "我不去%l", "好", "不", "我答应帮忙", "谢谢", "对不起", "我能做什么？", "我离开", "我唱一首歌", "我想想%l的事", "%p，跟我走", "我爬上墙头", "摸摸%t", "听一听", "搜查%t",
		"敲敲%t", "%p在%l吗？", "去%l向%p打听%t", "把%t拿给%p看", "提示", "", "……"}
)

// drawLine draws a player's line and what it names.
func drawLine(t *rapid.T, w testWorld) (line string, named []string) {
	forms, things := linesEnglish, thingsEnglish
	if tongueOf(w.locale) == chinese {
		forms, things = linesChinese, thingsChinese
	}
	names := namesOf[w.id]
	line = rapid.SampledFrom(forms).Draw(t, "form")
	for _, slot := range []struct {
		mark string
		from []string
		must bool
	}{{"%p", names[0], true}, {"%l", names[1], true}, {"%t", things, false}} {
		if strings.Contains(line, slot.mark) {
			v := rapid.SampledFrom(slot.from).Draw(t, slot.mark)
			line = strings.ReplaceAll(line, slot.mark, v)
			if slot.must {
				named = append(named, v)
			}
		}
	}
	return line, named
}

// A session of random lines, in every world: each passage is sound, says nothing twice, takes up what was named, and says
// where it is as long as the player is new.
func TestSessionsProperty(t *testing.T) {
	worlds := allWorlds(t)
	rapid.Check(t, func(rt *rapid.T) {
		w := rapid.SampledFrom(worlds).Draw(rt, "world")
		tongue := tongueOf(w.locale)
		g := &game{world: w}
		var past [][]segment
		for i := range rapid.IntRange(2, 9).Draw(rt, "turns") {
			line, named := "", []string(nil)
			if i > 0 {
				line, named = drawLine(rt, w)
			}
			b := read(g.request(line))
			world := buildWorld(b, true)
			place := remember(world, b).place
			segs := g.play(t, line)
			text := segmentsText(segs)
			checkPassage(t, tongue, segs, i == 0)
			checkFresh(t, past, segs)
			past = append(past, segs)
			for _, n := range named {
				if !strings.Contains(fold(text), strings.TrimPrefix(fold(n), "the ")) {
					t.Errorf("%q: nothing of %q in:\n%s", line, n, text)
				}
			}
			if i < 2 && place != nil {
				after := remember(world, read(g.request("x"))).place
				if !mentions(text, place) && !mentions(text, after) {
					t.Errorf("turn %d does not name %s:\n%s", i+1, place.name, text)
				}
			}
			for _, s := range segs {
				if s.Speaker != "" && !slices.Contains(namesOf[w.id][0], s.Speaker) {
					t.Errorf("%q speaks and is nobody of this world", s.Speaker)
				}
			}
			if t.Failed() {
				rt.Fatalf("after %q", line)
			}
		}
	})
}

// Where a passage takes the player is where the next one finds them.
func TestArrivalIsRemembered(t *testing.T) {
	for _, w := range allWorlds(t) {
		g := &game{world: w}
		g.play(t, "")
		verb := "I go to "
		if !g.english() {
			verb = "去"
		}
		for round := range 3 {
			for _, l := range namesOf[w.id][1] {
				g.play(t, verb+l)
				b := read(g.request("x"))
				got := remember(buildWorld(b, true), b).place
				if got == nil || !strings.EqualFold(withoutThe(got.name), withoutThe(l)) {
					t.Errorf("%s, round %d: went to %s and is at %v:\n%s", w.id, round, l, got, b.turns[len(b.turns)-1].story)
				}
			}
		}
	}
}

func TestSameRequestSameReply(t *testing.T) {
	for _, w := range allWorlds(t) {
		g := &game{world: w}
		for range 4 {
			req := g.request("")
			a := generate(t, req)
			req.Subject, req.Slot, req.Messages[0].CacheMark = "somebody-else", "fast", false
			b, err := New(Options{}).Generate(t.Context(), req, nil)
			if err != nil {
				t.Fatal(err)
			}
			if a.Text != b.Text {
				t.Fatalf("%s: two replies to one request:\n%s\n\n%s", w.id, a.Text, b.Text)
			}
			req.Take = 1 // told anew, it is another page
			if anew := generate(t, req); anew.Text == a.Text {
				t.Fatalf("%s: the second take is the first:\n%s", w.id, a.Text)
			}
			g.play(t, "")
		}
	}
}

func TestDifferentVerbsDifferentReplies(t *testing.T) {
	for _, w := range allWorlds(t) {
		person, thing := namesOf[w.id][0][0], "the bell"
		lines := []string{"I look at " + thing, "I take " + thing, "I open " + thing, "I ask " + person + " about " + thing, "I attack " + person, "I help " + person, "I wait", "I hide", "I give " + thing + " to " + person, "I read " + thing}
		if tongueOf(w.locale) == chinese {
			lines = []string{"我看看钟", "我拿起钟", "我打开钟", "问" + person + "钟的事", "攻击" + person, "帮" + person, "我等一等", "我躲起来", "把钟给" + person, "我读钟"}
		}
		g := &game{world: w}
		g.play(t, "")
		seen := map[string]string{}
		for _, l := range lines {
			first := generateSegments(t, g.request(l))[0].Text
			if other, twice := seen[first]; twice {
				t.Errorf("%s: %q and %q are answered alike: %s", w.id, l, other, first)
			}
			seen[first] = l
		}
	}
}

// The same line over and over wears nothing out.
func TestOneLineForEver(t *testing.T) {
	for _, w := range allWorlds(t) {
		for _, line := range []string{map[tongue]string{english: "I wait", chinese: "我等一等"}[tongueOf(w.locale)], ""} {
			g := &game{world: w}
			var past [][]segment
			for i := range 45 {
				if i == 0 {
					past = append(past, g.play(t, ""))
					continue
				}
				segs := g.play(t, line)
				checkPassage(t, tongueOf(w.locale), segs, false)
				checkFresh(t, past, segs)
				past = append(past, segs)
			}
		}
	}
}

// No sentence of the lore is told a second time while another one about the same place is still untold.
func TestLoreIsNotRepeated(t *testing.T) {
	for _, w := range allWorlds(t) {
		g := &game{world: w}
		told := map[string]int{}
		line := map[tongue]string{english: "look around", chinese: "四下看看"}[tongueOf(w.locale)]
		b := read(g.request(""))
		world := buildWorld(b, true)
		for i := range 12 {
			text := segmentsText(g.play(t, map[bool]string{true: "", false: line}[i == 0]))
			for _, f := range world.all {
				if strings.Contains(text, f.text) {
					if told[f.text]++; told[f.text] > 1 {
						t.Errorf("%s: turn %d tells again: %s", w.id, i+1, f.text)
					}
				}
			}
		}
		if len(told) < 8 {
			t.Errorf("%s: only %d sentences of the lore in 12 turns", w.id, len(told))
		}
	}
}

// A newcomer learns from the opening where they are, who they are, who is there and what is wrong.
func TestOpeningTellsWhatANewcomerNeeds(t *testing.T) {
	for _, c := range []struct {
		w                          testWorld
		place, me, field, who, say string
	}{
		{saltmere(t), "Lantern Quay", "Lin Yao", "map-maker", "Maren Holt", "forty-second lantern"},
		{wugang(t), "灯港码头", "陆青云", "画地图的学徒", "阿岚", "第四十二盏灯"},
		{kestrel(t), "Dock Ring", "Élodie", "courier pilot", "Imre Castellan", "twenty people breathing"},
		{qinglan(t), "山门", "苏晚", "谨慎", "沈长老", "剑鞘"},
	} {
		text := segmentsText((&game{world: c.w}).play(t, ""))
		for _, want := range []string{c.place, c.me, c.field, c.who, c.say} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the opening does not say %q:\n%s", c.w.id, want, text)
			}
		}
	}
}

// What the player did comes back: whoever was struck keeps away until somebody is sorry.
func TestDeedsHaveConsequences(t *testing.T) {
	for _, c := range []struct {
		w                   testWorld
		hit, ask, sorry     string
		wary, stillGuarding string
	}{
		{saltmere(t), "I hit Maren Holt", "I ask Maren Holt about the lantern", "I'm sorry, Maren", "v.wary", "v.sorry"},
		{wugang(t), "我打阿岚", "问阿岚灯的事", "对不起，阿岚", "v.wary", "v.sorry"},
	} {
		g := &game{world: c.w}
		g.play(t, "")
		g.play(t, c.hit)
		saidOne := func(segs []segment, pool string) bool {
			for _, p := range bankOf(tongueOf(c.w.locale)).pools[pool] {
				if strings.Contains(segmentsText(segs), p.source) {
					return true
				}
			}
			return false
		}
		if segs := g.play(t, c.ask); !saidOne(segs, c.wary) {
			t.Errorf("%s: answered as if nothing had happened:\n%s", c.w.id, segmentsText(segs))
		}
		if segs := g.play(t, c.sorry); !saidOne(segs, c.stillGuarding) {
			t.Errorf("%s: an apology was not heard:\n%s", c.w.id, segmentsText(segs))
		}
		if segs := g.play(t, c.ask); saidOne(segs, c.wary) {
			t.Errorf("%s: still wary after the apology:\n%s", c.w.id, segmentsText(segs))
		}
	}
}

// The small questions at the end of passages are picked up by the player's words.
func TestDevicesArePickedUp(t *testing.T) {
	for _, tongue := range []tongue{english, chinese} {
		w := map[bool]testWorld{true: saltmere(t), false: wugang(t)}[tongue == english]
		for _, d := range bankOf(tongue).devices {
			g := &game{world: w}
			g.play(t, "")
			there, other := namesOf[w.id][1][1], namesOf[w.id][0][1]
			seed := strings.NewReplacer("{there}", there, "{B}", other).Replace(stripTags(d.pools[stageSeed][0].source))
			g.keep("x", seed)
			for _, v := range d.verbs {
				b := read(g.request("x"))
				world := buildWorld(b, true)
				m := remember(world, b)
				open, since := openDevice(bankOf(tongue), m)
				if open != d {
					t.Errorf("%s: %s is not open after %q", tongue, d.id, seed)
					break
				}
				if to := open.leadsTo(world, m, since); strings.Contains(seed, there) && (to == nil || !strings.EqualFold(withoutThe(to.name), withoutThe(there))) {
					t.Errorf("%s: %s leads to %v and not to %s", tongue, d.id, to, there)
				}
				if !open.concerns(act{verb: v, raw: d.keys[0]}) {
					t.Errorf("%s: %s is not picked up by %s", tongue, d.id, v)
				}
			}
		}
	}
}

func stripTags(s string) string {
	for strings.HasPrefix(s, "@") || strings.HasPrefix(s, "!") {
		_, s, _ = strings.Cut(s, " ")
	}
	return s
}

func ExampleNew() {
	s := New(Options{})
	fmt.Println(s != nil)
	// Output: true
}
