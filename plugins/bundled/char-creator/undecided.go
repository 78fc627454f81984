package charcreator

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/covel/covel/plugins/sdk"
)

// What a model writes when it puts a decision off. anywhere stands out in any sentence; whole and endings are ordinary
// words too ("of unknown parents", "等待定夺"), so they count only as a whole phrase, or at the end of one.
var (
	anywhere = regexp.MustCompile(`(?i)\b(?:tbd|tba|tbc|todo|fixme|to be (?:determined|decided|announced|confirmed|filled(?: in)?|chosen)|not yet (?:decided|determined|chosen)|lorem ipsum)\b|\?{3,}|？{3,}|某某`)
	whole    = []string{
		"undecided", "unknown", "unspecified", "undetermined", "unset", "not set", "none", "null", "nil", "n/a", "na", "placeholder",
		"pending", "default", "xxx", "xxxx", "?", "??", "-", "--", "…", "...", "_", "__",
		"未定", "未知", "不详", "暂无", "暂缺", "空缺", "占位", "占位符", "默认", "请填写", "请选择", "未填写", "未指定", "？", "？？", "——",
	}
	endings = []string{"待定", "待填", "待填写", "待补充", "待确认", "待决定", "待选择", "尚未决定", "尚未确定", "还没想好"}
)

// phraseEnd cuts a text into phrases at punctuation and brackets.
var phraseEnd = regexp.MustCompile(`[,.;:!()\[\]<>{}，。；：！、（）【】〈〉《》「」『』“”"]+`)

// undecided finds what in a value puts a decision off, "" when nothing does.
func undecided(value string) string {
	if v := strings.TrimSpace(value); slices.Contains(whole, strings.ToLower(v)) {
		return v
	}
	return openEnd(value)
}

// openEnd finds what in a running text puts a decision off, "" when nothing does.
func openEnd(text string) string {
	if hit := anywhere.FindString(text); hit != "" {
		return hit
	}
	for _, phrase := range phraseEnd.Split(text, -1) {
		for _, e := range endings {
			if strings.HasSuffix(strings.TrimSpace(phrase), e) {
				return e
			}
		}
	}
	return ""
}

// undecidedIn finds defaults and words of the template that leave something to be decided. What the world itself declares
// as a choice is never one of them.
func undecidedIn(f form, schema sdk.CharacterSchema) []string {
	var problems []string
	for _, fl := range f.Fields {
		if a, ok := attribute(schema, fl.Name); ok && isChoice(a) && slices.Contains(a.Options, fl.DefaultValue) {
			continue
		}
		if hit := undecided(fl.DefaultValue); hit != "" {
			problems = append(problems, fmt.Sprintf("%s: the default %q leaves the decision open (%s). Give a concrete phrase from this world, or no default.", fl.Name, fl.DefaultValue, hit))
		}
	}
	for _, p := range piecesOf(f) {
		if p.field != "" {
			continue
		}
		if hit := openEnd(p.text); hit != "" {
			problems = append(problems, fmt.Sprintf("narrativeTemplate: %q leaves something to be decided.", hit))
		}
	}
	return problems
}
