package storyteller

import (
	"regexp"
	"strings"
	"sync"
)

// placeKinds say what a place is like by the words of its name or its first sentence. The first match in the table
// wins the main tag; further matches add theirs.
var placeKinds = []struct {
	tag  string
	open bool // under the sky
	re   *regexp.Regexp
}{
	{"ship", false, regexp.MustCompile(`(?i)\b(station|deck|airlock|hull|bridge deck|shuttle|spaceport|module|reactor|cargo (bay|hold)|engine room|cockpit|orbital|ring)\b|空间站|舱|甲板|轨道|气闸`)},
	{"water", true, regexp.MustCompile(`(?i)\b(quay|harbou?r|dock|docks|wharf|pier|port|river|ferry|shore|beach|lake|canal|bay|bridge|jetty|landing|marsh|fen)\b|码头|港|河|江|湖|海|渡|桥|岸|滩|溪|泽|池|潭`)},
	{"market", true, regexp.MustCompile(`(?i)\b(market|bazaar|square|plaza|fair|stalls?|exchange|row|arcade)\b|市集|集市|坊市|广场|市场|夜市|墟`)},
	{"inn", false, regexp.MustCompile(`(?i)\b(inn|tavern|alehouse|pub|bar|cafe|café|teahouse|tea ?house|hostel|canteen|kitchen|mess|diner|saloon)\b|客栈|酒馆|酒楼|酒肆|茶馆|茶楼|茶寮|饭馆|食堂|咖啡|面馆`)},
	{"books", false, regexp.MustCompile(`(?i)\b(library|archives?|scriptorium|bookshop|school|academy|college|study|observatory|records?|museum|office)\b|书|藏经|学院|学堂|书院|档案|天文台|博物|馆阁|卷宗`)},
	{"shrine", false, regexp.MustCompile(`(?i)\b(temple|shrine|church|chapel|abbey|monastery|cathedral|altar|sanctum|crypt|tomb)\b|寺|庙|祠|观|庵|教堂|祭坛|佛|神社`)},
	{"craft", false, regexp.MustCompile(`(?i)\b(forge|smithy|workshop|mill|foundry|bakery|brewery|shop|store|loom|tannery|pottery|garage|laborator\w+|lab|apothecary|clinic|works|press)\b|铁匠|作坊|工坊|磨坊|铺|窑|炉|药堂|丹房|药铺|店|医馆|诊所|实验室|染坊`)},
	{"under", false, regexp.MustCompile(`(?i)\b(cave|cavern|mine|tunnel|cellar|sewer|underground|vault|catacombs?|dungeon|well|grotto|undercroft|metro|subway)\b|洞|矿|地窖|地下|密室|隧道|井|窟|地牢|暗渠`)},
	{"height", true, regexp.MustCompile(`(?i)\b(tower|lighthouse|cliff|mountain|hill|peak|ridge|pass|summit|roof|wall|battlements?|belfry|beacon|spire|stair|stairs|steps)\b|塔|山|峰|崖|岭|顶|城墙|烽|台|钟楼|灯塔|阶|坡`)},
	{"wood", true, regexp.MustCompile(`(?i)\b(forest|wood|woods|grove|jungle|orchard|thicket|glade|copse|bamboo|garden|park)\b|林|森|竹|园|树`)},
	{"field", true, regexp.MustCompile(`(?i)\b(field|fields|farm|graveyard|cemetery|grave|barrow|meadow|pasture|steppe|plain|desert|dunes|moor|heath|terrace|terraces|camp)\b|冢|墓|陵|田|野|原|农|牧|沙漠|荒|营地|草场|梯`)},
	{"gate", true, regexp.MustCompile(`(?i)\b(gate|gatehouse|border|checkpoint|street|road|lane|alley|crossroads?|yard|court|courtyard|way|walk)\b|门|关|街|巷|路|道|口|院|弄|驿`)},
	{"hall", false, regexp.MustCompile(`(?i)\b(hall|palace|castle|keep|manor|court|chamber|council|house of|theatre|theater|guild|guildhall|barracks|tribunal)\b|殿|宫|堂|府|衙|议事|剧院|戏|营|阁|楼`)},
	{"home", false, regexp.MustCompile(`(?i)\b(house|cottage|hut|home|room|apartment|flat|cabin|lodge|tent|quarters|dormitory)\b|屋|宅|家|房|舍|帐|公寓|居|庐|茅`)},
}

// tagsIn gives the tags of a place in a world of a genre. On a station or a ship every place is one inside it, whatever
// the place is named after.
func tagsIn(genre, text string) map[string]bool {
	if genre == "future" {
		return map[string]bool{"ship": true, "in": true}
	}
	return placeTags(text)
}

// placeTags gives the tags of a place, "in" or "out" among them.
func placeTags(text string) map[string]bool {
	tags := map[string]bool{}
	for _, k := range placeKinds {
		if !k.re.MatchString(text) {
			continue
		}
		if len(tags) == 0 {
			if tags["in"] = !k.open; k.open {
				delete(tags, "in")
				tags["out"] = true
			}
		}
		tags[k.tag] = true
		if len(tags) >= 3 {
			break
		}
	}
	return tags
}

// genres change which details are possible: nobody smells woodsmoke in orbit.
var genreWords = []struct {
	genre string
	words []string
}{
	{"future", []string{"spaceship", "starship", "space station", "orbital", "airlock", "android", "spacecraft", "hyperspace", "cyber", "hologram", "the hull", "oxygen", "空间站", "飞船", "星舰", "气闸", "机器人", "全息", "义体", "赛博", "氧气", "轨道"}},
	{"now", []string{"smartphone", "telephone", "police", "detective", "subway", "internet", "television", "electric", "taxi", "newspaper", "cinema", "apartment", "手机", "地铁", "警察", "侦探", "互联网", "电视", "出租车", "报纸", "公寓", "大学", "公司"}},
	{"immortal", []string{"灵根", "修仙", "修士", "剑修", "宗门", "灵脉", "筑基", "金丹", "飞升", "法宝", "灵石", "掌门", "cultivator", "immortal sect", "spirit root"}},
}

// genreOf is "old" unless the world's own words say otherwise.
func genreOf(corpus string) string {
	best, most := "old", 3
	for _, g := range genreWords {
		n := 0
		for _, w := range g.words {
			if c := strings.Count(corpus, w); c > 0 {
				n += 1 + min(c, 3)
			}
		}
		if n > most {
			best, most = g.genre, n
		}
	}
	return best
}

// voices are ways of speaking with the words that suggest them in what is written about a person. An English word that
// ends in * stands for all that begin so.
var voices = []struct{ voice, en, zh string }{
	{"gruff", "gruff blunt stern rough grim surly hard scarred soldier guard smith sailor short-tempered brusque gravel* curt boatman dockhand mercenary veteran captain butcher miner",
		"粗 硬 凶 冷硬 直来直去 脾气 铁匠 守卫 老兵 船夫 寡言 不苟言笑 沉默 刀疤 屠 矿工 队长"},
	{"gentle", "gentle kind soft warm patient motherly caring nurse healer midwife shy tender mild quiet cook baker herbalist",
		"温和 温柔 和善 和气 慈 轻声 善良 体贴 大夫 医 厨 羞 耐心 心软"},
	{"sly", "sly cunning smuggler thief gambler merchant trader charming smooth wry clever broker liar fence dealer spy amused sharp-tongued dry-humoured dry-humored dry",
		"狡 滑 精明 油 走私 贼 赌 商人 掮客 笑里 掌柜 贩 机灵 玩世 打趣 消息灵通 冷笑话"},
	{"learned", "scholar* librarian archivist teacher professor learned precise astronomer clerk doctor physician engineer map-maker mapmaker cartographer scribe historian pedantic bookish judge",
		"学者 书 先生 学士 教授 严谨 博学 史 考据 一丝不苟 文书 账房 天文 工程 地图 抄"},
	{"young", "young boy girl child apprentice teen* eager restless cheerful lively kid novice talkative excitable messenger nine ten eleven twelve thirteen fourteen fifteen sixteen granddaughter grandson",
		"少年 少女 孩 孙女 孙子 小子 丫头 学徒 活泼 年轻 好奇 冒失 童 话多 机灵鬼 小师"},
	{"formal", "noble lady lord priest* abbot abbess mayor official formal polite courteous elder magistrate dignified proud steward governor proper ambassador administrator",
		"贵 礼 官 长老 掌门 族长 庄重 端方 祭司 住持 管事 傲 大人 威严 规矩 道长 真人 宗主"},
	{"weary", "weary tired old widow* melanchol* sad worn sleepless haunted grieving drunk* bitter resigned exhausted fisher* retired",
		"疲 倦 老人 老汉 老妇 年迈 寡 忧 愁 哀 失眠 醉 苦 憔悴 认命 叹 心事"},
}

// voiceIndex finds the voice of an English word, and lists the Chinese ones.
var voiceIndex = sync.OnceValues(func() (whole map[string]string, stems [][2]string) {
	whole = map[string]string{}
	for _, v := range voices {
		for _, w := range strings.Fields(v.en) {
			if stem, ok := strings.CutSuffix(w, "*"); ok {
				stems = append(stems, [2]string{stem, v.voice})
			} else {
				whole[w] = v.voice
			}
		}
	}
	return whole, stems
})

// childAge is an age up to sixteen: 十一岁, but not 五十二岁.
var childAge = regexp.MustCompile(`(^|[^一二三四五六七八九十百])([六七八九]|十[一二三四五六]?)岁`)

// voiceOf picks the voice that the text about a person suggests most, "plain" when it suggests none.
func voiceOf(t tongue, source string) string {
	count := map[string]int{}
	if t == chinese {
		for _, v := range voices {
			count[v.voice] = countAny(source, strings.Fields(v.zh)...)
		}
		count["young"] += len(childAge.FindAllString(source, 3))
	} else {
		whole, stems := voiceIndex()
		for _, w := range wordsOf(source) {
			w = strings.ToLower(w)
			if v := whole[w]; v != "" {
				count[v]++
				continue
			}
			for _, s := range stems {
				if strings.HasPrefix(w, s[0]) {
					count[s[1]]++
					break
				}
			}
		}
	}
	best, most := "plain", 0
	for _, v := range voices {
		if count[v.voice] > most {
			best, most = v.voice, count[v.voice]
		}
	}
	return best
}

var thingSorts = []struct {
	sort string
	re   *regexp.Regexp
}{
	{"sky", regexp.MustCompile(`(?i)\b(sky|stars?|moon|sun|clouds?|horizon|light|weather|rain|snow|fog|mist)\b|天|星|月|太阳|云|雨|雪|雾|天色|地平线`)},
	{"water", regexp.MustCompile(`(?i)\b(sea|water|river|lake|waves?|tide|harbou?r|stream|pool)\b|水|海|河|江|湖|浪|潮|溪`)},
	{"crowd", regexp.MustCompile(`(?i)\b(crowd|people|faces?|men|women|children|others|everyone|strangers?|passers-by|sailors|guards|workers)\b|人群|众人|大家|行人|路人|人们|客人|孩子们`)},
}

// sortOfThing says how a thing that the world knows nothing of can be looked at.
func sortOfThing(thing string) string {
	for _, s := range thingSorts {
		if s.re.MatchString(thing) {
			return s.sort
		}
	}
	return "blank"
}
