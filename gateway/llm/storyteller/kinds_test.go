package storyteller

import (
	"strings"
	"testing"
)

// scene is a small world with an animal in it, and an open question about a lamp.
func heronHouse(t testing.TB, locale string) testWorld {
	if tongueOf(locale) == chinese {
		return testWorld{id: "heron", locale: locale, lore: `# 白鹭镇

## 地点

### 白鹭楼
白鹭楼的橡木桩子立在干泥上。白鹭楼的堂屋里有一股灯油味。

### 石梯街
石梯街有两百一十一级。

### 归物所
归物所的货架一直顶到房梁，看得见湖水。

## 人物

### 潘大娘
潘大娘开着白鹭楼，认定人的伤心十有八九是饿出来的。

### 老佟
老佟在白鹭楼喝酒，今年六十八。

### 保长
保长住在白鹭楼。

## 悬念

### 灯是谁点的？
钟敲完最后一下，织户家的窗就亮了，一直亮到天明。织户家的灯芯剪成双尖。
`, profiles: "- 潘大娘 [npc] 白鹭楼的老板娘，身板宽，手脚快。每月初一，总有一张汇票寄到。她开口像下令。\n- 保长 (又名 大鹅) [npc] 白鹭楼的大灰鹅，瘸一只左脚，凡事都有定见。它只会嘶嘶地说话。天黑以后，什么灯、什么谎，都过不了它那一关。",
			opening: "暮色落在镇上。你来到白鹭楼。", player: `{"id":"p1","name":"陆青云","type":"player","fields":{}}`}
	}
	return testWorld{id: "heron", locale: locale, lore: `# Heron Town

## Places

### The Heron House
The Heron House stands on oak stilts over dry mud. The taproom smells of lamp oil.

### Stair Street
Stair Street has two hundred and eleven steps.

### The Returns Office
The Returns Office was a fish-weighing shed.

## People

### Odile Penhallow
Odile Penhallow keeps the Heron House and has a ladle.

### Old Tull
Old Tull drinks at the Heron House every day.

### Alderman
Alderman lives at the Heron House.

## Threads

### Who keeps the lamp?
A lamp burns in the weaver's window from the last stroke of the bell until dawn. The weaver's wick is trimmed to a double point.
`, profiles: "- Odile Penhallow [npc] Landlady of the Heron House, broad and quick.\n- Alderman (aka the goose) [npc] The Heron House goose, grey, lame in the left foot and of settled opinions. He speaks by hissing.",
		opening: "Dusk is coming down on the town. You reach the Heron House.", player: `{"id":"p1","name":"Ada Voss","type":"player","fields":{}}`}
}

// The words that ask are no part of what is asked about.
func TestIndirectQuestions(t *testing.T) {
	for _, c := range []struct {
		locale string
		lines  map[string]string // line → the thing asked about
	}{
		{"en", map[string]string{
			"I ask Old Tull whose window that is":               "the window",
			"I ask Old Tull which boat lies empty":              "the boat",
			"ask Old Tull what the noise was":                   "the noise",
			"I ask Old Tull about whose window that is":         "the window",
			"I ask Odile what happened to her brother":          "her brother",
			"I ask Odile who lit the fire in the yard":          "the fire",
			"I ask Odile why my boat is gone":                   "your boat",
			"I ask Odile how old the bell is":                   "the bell",
			"I ask Odile when the next ferry leaves":            "the next ferry",
			"I ask Odile where the path ends":                   "the path",
			"I ask Odile if the mud is safe":                    "the mud",
			"I ask Odile who he is":                             "",
			"I ask Odile why":                                   "",
			"I ask Odile how long she has lived here":           "",
			"I'd like to know whose window that is":             "the window",
			"I look at whose name is on the label":              "the name",
			"I wonder which key fits":                           "the key",
			"I tell Odile about what the postcard says":         "the postcard",
			"I ask Odile what is in the box":                    "the box",
			"I ask Odile to whom the coat belongs":              "the coat",
			"I ask Odile who pays for Room Seven":               "Room Seven",
			"I ask Odile whether anyone has seen the red stake": "the red stake",
		}},
		{"zh-CN", map[string]string{
			"问老佟那扇窗是谁家的":    "那扇窗",
			"问老佟那是谁的窗":      "窗",
			"问老佟是谁点的灯":      "灯",
			"问老佟哪扇窗亮着":      "",
			"问老佟湖水为什么会退":    "湖水",
			"问老佟为什么湖水退了":    "湖水",
			"向老佟打听那艘船什么时候开": "那艘船",
			"问老佟什么":         "",
			"问老佟为什么":        "",
			"我想知道那口钟是谁敲的":   "",
			"问老佟关于那盏灯的事":    "那盏灯",
			"我看看那是谁的椅子":     "椅子",
			"问潘大娘钥匙在哪里":     "钥匙",
			"问潘大娘怎么去渡口":     "",
		}},
	} {
		w, m := worldOf(t, heronHouse(t, c.locale))
		for line, want := range c.lines {
			acts := understand(w, line, m.here(w))
			a := acts[len(acts)-1]
			if want != "" && a.thing != want {
				t.Errorf("%q: thing %q, want %q", line, a.thing, want)
			}
			for _, word := range wordsOf(a.thing) {
				if askWords[strings.ToLower(word)] {
					t.Errorf("%q: thing %q asks", line, a.thing)
				}
			}
			if asksChinese.MatchString(a.thing) {
				t.Errorf("%q: thing %q asks", line, a.thing)
			}
		}
	}
}

// A thing that an open question is about leads to that question.
func TestSubjectOfAThread(t *testing.T) {
	for locale, line := range map[string]string{"en": "I ask Old Tull about that lamp", "zh-CN": "问老佟关于那盏灯的事"} {
		tw := heronHouse(t, locale)
		w, m := worldOf(t, tw)
		a := understand(w, line, m.here(w))[0]
		if a.topic == nil || a.topic.kind != aThread {
			t.Errorf("%q: topic %v", line, a.topic)
		}
		g := &game{world: tw}
		g.play(t, "")
		text := segmentsText(g.play(t, line))
		if !strings.Contains(text, "weaver") && !strings.Contains(text, "织户家") {
			t.Errorf("%q: %s", line, text)
		}
	}
}

// Of a person only sentences that stand as they are become facts; what a person is becomes the epithet.
func TestFactsOfPeopleStand(t *testing.T) {
	w, _ := worldOf(t, heronHouse(t, "zh-CN"))
	for _, f := range w.all {
		for _, bad := range []string{"保长是天黑", "保长天黑", "潘大娘是白鹭楼", "潘大娘每月", "天黑以后"} {
			if strings.HasPrefix(f.text, bad) && !f.nameless() {
				t.Errorf("stitched: %q", f.text)
			}
		}
	}
	if e := w.named("保长"); e.epithet != "白鹭楼的大灰鹅" {
		t.Errorf("epithet %q", e.epithet)
	}
	for s, want := range map[string]bool{"白鹭楼的老板娘": true, "看坝人": true, "天黑以后": false, "每个人": false, "自从离家以后": false, "六十八岁以前": false, "一辈子没有出生": false} {
		if roleLike(s) != want {
			t.Errorf("%s: %v", s, !want)
		}
	}
}

// A name before a comma is whom the rest is said to.
func TestVocative(t *testing.T) {
	for locale, line := range map[string]string{"en": "Alderman, who are you?", "zh-CN": "保长，你是谁？"} {
		w, m := worldOf(t, heronHouse(t, locale))
		if a := understand(w, line, m.here(w))[0]; a.verb != doAsk || len(a.people) == 0 || !a.people[0].mute {
			t.Errorf("%q: %s %v", line, a.verb, a.people)
		}
	}
}

// A sentence that begins with the name is told; it is not what the person is called.
func TestNamedSentenceIsNoEpithet(t *testing.T) {
	e := &entity{kind: aPerson, name: "Nell Ashby", shown: "Nell Ashby"}
	facts := factsOf(english, e, []string{"Nell’s labels describe each object fairly. Keeper of the Returns Office, nineteen. Nell Ashby, a clerk without a coat."})
	if len(facts) != 1 || facts[0].text != "Nell’s labels describe each object fairly." || e.epithet != "keeper of the Returns Office, nineteen" {
		t.Errorf("%d facts, epithet %q", len(facts), e.epithet)
	}
}

func TestPuttingDown(t *testing.T) {
	for _, c := range []struct {
		locale, line string
		verb         verb
		thing, where string
	}{
		{"en", "Put the lantern down on the counter", "put", "the lantern", "on the counter"},
		{"en", "I put down my bag", "put", "your bag", ""},
		{"en", "I place the letter in the drawer", "put", "the letter", "in the drawer"},
		{"en", "lay the knife on the table", "put", "the knife", "on the table"},
		{"en", "I set the cup down", "put", "the cup", ""},
		{"en", "I drop the coin into the mud", "drop", "the coin", "into the mud"},
		{"en", "throw away the letter", "drop", "the letter", ""},
		{"en", "I throw the key out of the window", "drop", "the key", "out of the window"},
		{"en", "I put on my coat", "use", "your coat", ""},
		{"en", "I put my coat on", "use", "your coat", ""},
		{"en", "put the lamp out", "use", "the lamp", ""},
		{"en", "I lie down", "sleep", "", ""},
		{"en", "I throw the cup at Old Tull", "fight", "the cup", ""},
		{"zh-CN", "把灯放在柜台上", "put", "灯", "柜台上"},
		{"zh-CN", "放下灯笼", "put", "灯笼", ""},
		{"zh-CN", "我把那封信搁下", "put", "那封信", ""},
		{"zh-CN", "把信扔掉", "drop", "信", ""},
		{"zh-CN", "我把铜钱扔进泥里", "drop", "铜钱", "泥里"},
		{"zh-CN", "扔掉那只杯子", "drop", "那只杯子", ""},
		{"zh-CN", "把信放到老佟手里", "give", "信", ""},
		{"zh-CN", "戴上帽子", "use", "帽子", ""},
	} {
		tw := heronHouse(t, c.locale)
		w, m := worldOf(t, tw)
		acts := understand(w, c.line, m.here(w))
		a := acts[len(acts)-1]
		if a.verb != c.verb || a.thing != c.thing || a.where != c.where {
			t.Errorf("%q: %s thing=%q where=%q", c.line, a.verb, a.thing, a.where)
		}
		g := &game{world: tw}
		g.play(t, "")
		text := segmentsText(g.play(t, c.line))
		if c.thing != "" && a.verb != "fight" && !strings.Contains(fold(text), fold(c.thing)) {
			t.Errorf("%q: %s", c.line, text)
		}
	}
}

func TestDestination(t *testing.T) {
	for _, c := range []struct{ locale, line, place string }{
		{"en", "I climb Stair Street to the Returns Office", "The Returns Office"},
		{"en", "I go to the Returns Office along Stair Street", "The Returns Office"},
		{"en", "walk from the Heron House up Stair Street to the Returns Office", "The Returns Office"},
		{"en", "I leave the Heron House and go to Stair Street", "Stair Street"},
		{"en", "I go up Stair Street, then into the Returns Office", "The Returns Office"},
		{"en", "I follow Stair Street to the Returns Office", "The Returns Office"},
		{"en", "take the stairs to the Returns Office", "The Returns Office"},
		{"en", "I climb Stair Street", "Stair Street"},
		{"zh-CN", "我沿着石梯街去归物所", "归物所"},
		{"zh-CN", "爬石梯街到归物所", "归物所"},
		{"zh-CN", "穿过石梯街，走到归物所", "归物所"},
		{"zh-CN", "从白鹭楼往归物所走", "归物所"},
		{"zh-CN", "我去归物所，走石梯街", "归物所"},
		{"zh-CN", "往石梯街走", "石梯街"},
	} {
		w, m := worldOf(t, heronHouse(t, c.locale))
		acts := understand(w, c.line, m.here(w))
		if a := acts[0]; a.verb != doGo || a.place == nil || a.place.name != c.place {
			t.Errorf("%q: %s %+v", c.line, a.verb, a.place)
		}
	}
}

func TestTimeOfDay(t *testing.T) {
	for text, want := range map[string]string{
		"Dusk is coming down on the Drowse.": "dusk", "暮色落在眠湖上。": "dusk", "You arrive on the evening ferry.": "evening",
		"It must be home before dawn.": "", "天亮之前要送还主家。": "", "Every evening a lamp is lit. It is noon.": "noon", "Good morning to you.": "",
		"后半夜，你还醒着。": "small", "It is midnight.": "night", "下午的光。": "afternoon", "“Come at dawn,” he says at sunset.": "dusk",
		"玩家搭黄昏的渡船抵达。": "dusk", "It is afternoon.": "afternoon",
	} {
		got := ""
		if h := hourNamed(text); h >= 0 {
			got = hours[h]
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Whoever only waits sees every time of the day go by in its order, from the one at which the opening begins; a welcome
// that stands before the opening changes nothing.
func TestTimeMovesInOrder(t *testing.T) {
	for locale, lines := range map[string][2]string{
		"en":    {"wait", "You have come on the last ferry. A found thing goes home before dawn."},
		"zh-CN": {"等", "你搭的是最后一班渡船。捡到的东西，天亮之前要送还主家。"},
	} {
		for _, welcome := range []string{"", lines[1]} {
			g := &game{world: heronHouse(t, locale)}
			story := segmentsText(g.play(t, ""))
			g.past = nil
			if welcome != "" {
				g.keep("", welcome)
			}
			g.keep("", story)
			at := duskHour
			for turn := range 6 {
				b := read(g.request(lines[0]))
				w := buildWorld(b, true)
				m := remember(w, b)
				if want := at; m.hour != want {
					t.Fatalf("%s, welcome %v, before wait %d: %s, want %s", locale, welcome != "", turn, hours[m.hour], hours[want])
				}
				g.play(t, lines[0])
				if at = (at + 1) % len(hours); len(b.turns)+1 == turnsPerHour {
					at = (at + 1) % len(hours)
				}
			}
		}
	}
}

func TestBeasts(t *testing.T) {
	for source, want := range map[string]bool{
		"Alderman is a grey goose with a limp.": true, "The Heron House goose, grey, lame in the left foot.": true, "calling: goose in residence · The Heron House goose, grey.": true,
		"A one-eyed dog that belongs to nobody.": true, "He is a horse trader.": false, "She is a fish seller.": false, "He is a sly old fox.": false,
		"An old sea dog, they say.": false, "Keeper of the goose.": false, "She keeps a cat.": false, "Mittens is the cat of the inn.": true, "species: raven · Black and patient.": true,
		"A talking raven with a bad temper.": false, "保长是一只瘸腿的大灰鹅，记仇。": true, "白鹭楼的大灰鹅，瘸一只左脚。": true, "一匹老马，毛色发灰。": true,
		"他以养马为生，人很和气。": false, "卖鱼的，话多。": false, "一只会说话的狐狸，三百岁。": false, "街上卖烤鸭，手脚快。": false, "老黄狗，看门的。": true, "镇上的马夫，瘦高个。": false,
	} {
		if got := isBeast(&entity{kind: aPerson, source: source}); got != want {
			t.Errorf("%q: %v", source, got)
		}
	}
}

// An animal never speaks, whatever is said or done to it; somebody else does.
func TestBeastsHaveNoWords(t *testing.T) {
	for locale, lines := range map[string][]string{
		"en":    {"I ask Alderman about the lamp", "Alderman, who are you?", "Hello, Alderman", "I give Alderman a pear", "I look at Alderman", "I help Alderman", "I hit Alderman", "Alderman, come with me", "I follow Alderman", "I tell Alderman that I am sorry", "wait", "look around"},
		"zh-CN": {"问保长那盏灯的事", "保长，你是谁？", "向保长问好", "把梨给保长", "看看保长", "帮保长", "打保长", "保长，跟我来", "跟着保长", "向保长道歉", "等", "四下看看"},
	} {
		g := &game{world: heronHouse(t, locale)}
		g.play(t, "")
		others := 0
		for _, line := range lines {
			for _, s := range g.play(t, line) {
				if s.Kind != dialogue {
					continue
				}
				if s.Speaker == "Alderman" || s.Speaker == "保长" {
					t.Errorf("%q: %s", line, s.Text)
				}
				others++
			}
		}
		if others == 0 {
			t.Errorf("%s: nobody speaks for it", locale)
		}
	}
}

// Whatever a player writes into a field, the sentence about it can be read.
func TestFieldsOfEveryKind(t *testing.T) {
	long := "I used to keep the accounts of a shipping house in a town that nobody remembers. Then the house burned down, and the town with it, and I walked away with what I had on."
	values := map[string][]string{
		"en":    {"keeper", "a keeper of other people’s accounts", "drawing maps", "law", "I sell eels", "I was a nurse", long, "eel seller 🐟", "🗺️", "", "Midwife.", "the sea, mostly…", "Upper Drowse", "a shop", "送信的"},
		"zh-CN": {"送信的", "画地图", "法律", "我卖黄鳝", "从前在一家船行里记账。后来船行烧了，镇子也烧了，只剩下身上这点东西，走到哪里算哪里，走了许多年，走到这里，还是没有想好要往哪里去，于是先坐下来。", "卖鱼的🐟", "🗺️", "", "接生婆。", "再说吧……", "midwife"},
	}
	keys := map[string][]string{
		"en":    {"calling", "origin", "goal", "temperament", "gift", "keepsake", "fear", "spiritRoot"},
		"zh-CN": {"职业", "来历", "心愿", "性情", "特长", "信物", "秘密", "灵根"},
	}
	broken := map[string][]string{
		"en":    {", a drawing", ", a law", "a you", "a I ", "you was", "..", "….", ": .", ":.", "a upper", "  ", ", shop", ", a shop", "{"},
		"zh-CN": {"做的是送信的", "，画地图，", "，法律，", "，你卖黄鳝，", "。。", "：。", "……。", "是我卖", "{", "个画"},
	}
	for locale, list := range values {
		for _, key := range keys[locale] {
			for _, v := range list {
				for _, second := range []bool{false, true} {
					tw := heronHouse(t, locale)
					first := `"`
					if second {
						first = `"calling":"keeper","营生":"","职业":"接生婆","zz":"quiet","`
					}
					tw.player = `{"id":"p1","name":"Ada Voss","type":"player","fields":{` + first + key + `":"` + v + `"}}`
					g := &game{world: tw}
					text := segmentsText(g.play(t, ""))
					if !strings.Contains(text, "Ada Voss") {
						t.Errorf("%s %s=%q: no name in %s", locale, key, v, text)
					}
					for _, bad := range broken[locale] {
						if strings.Contains(text, bad) {
							t.Errorf("%s %s=%q: %q in %s", locale, key, v, bad, text)
						}
					}
				}
			}
		}
	}
	for v, want := range map[string]bool{"keeper": true, "a mender of nets and clocks": true, "retired sea captain": true, "law": false, "drawing maps": false, "water": false, "a shop": false, "surveyor’s clerk": true, "clock-mender": true, "I sell eels": false, "kindness": false} {
		if personLike(english, v) != want {
			t.Errorf("%q: %v", v, !want)
		}
	}
}

// Whoever is asked is not what is asked about, by whichever part of the name.
func TestTheOneAskedIsNoTopic(t *testing.T) {
	w, m := worldOf(t, heronHouse(t, "en"))
	for _, asked := range []string{"Tull", "Old Tull", "old tull"} {
		if a := understand(w, "I ask "+asked+" who lit the lamp in that window.", m.here(w))[0]; strings.Contains(strings.ToLower(a.thing), "tull") || a.topic == nil && !strings.Contains(a.thing, "lamp") {
			t.Errorf("ask %s: about %q, %v", asked, a.thing, a.topic)
		}
	}
}

// The name of a family means the one of them who is here.
func TestSharedNameMeansWhoIsHere(t *testing.T) {
	tull, eel := &entity{name: "Old Tull", kind: aPerson}, &entity{name: "Eel Tull", kind: aPerson}
	f := newFinder([]*entity{tull, eel}, nil)
	for _, c := range []struct {
		here []*entity
		want *entity
	}{{[]*entity{tull}, tull}, {[]*entity{eel}, eel}, {nil, nil}, {[]*entity{tull, eel}, nil}} {
		hits := f.among(c.here).find("I ask Tull.")
		if c.want == nil && len(hits) > 0 || c.want != nil && (len(hits) != 1 || hits[0].entity != c.want) {
			t.Errorf("here %d: got %v", len(c.here), hits)
		}
	}
	if hits := f.find("I ask Tull."); len(hits) != 0 {
		t.Errorf("the finder of the world changed: %v", hits)
	}
}
