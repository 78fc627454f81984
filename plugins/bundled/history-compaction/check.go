package historycompaction

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/covel/covel/plugins/sdk"
)

// focusSections are the headings that the prompts ask for, by what they stand for.
var focusSections = []struct{ name, english, chinese string }{
	{"key events", "Key events", "关键事件"},
	{"relationships", "Relationships", "人物关系"},
	{"world state", "World state", "世界现状"},
}

var (
	fence = regexp.MustCompile("(?s)^```[a-z]*\n(.*?)\n?```$")
	// echoed are tags of the request that a model gave back.
	echoed = regexp.MustCompile(`</?(pages|summaries|summary|names|earlier)>`)
)

// check makes a segment of a model's reply. A reply that is no summary is an error: nothing is lost by it, the pages are still
// there. One that is too long is cut between two sentences. Who was named in the source and is not in the summary is named at
// its end.
func (w *writer) check(r request, reply string, most int) (sdk.NewSummary, error) {
	text := strings.TrimSpace(reply)
	if m := fence.FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	text = strings.TrimSpace(echoed.ReplaceAllString(text, ""))
	switch letters := strings.IndexFunc(text, unicode.IsLetter); {
	case letters < 0:
		return sdk.NewSummary{}, errors.New("the model's summary was empty")
	case foreign(r.source, text):
		return sdk.NewSummary{}, errors.New("the model's summary was not in the language of the pages")
	}
	also := w.missing(r.names, text, most/4)
	text, cut := cutAt(text, most-sdk.EstimateTokens(also)-1)
	if text == "" {
		return sdk.NewSummary{}, fmt.Errorf("the model's summary has no sentence that fits into %d tokens", most)
	}
	text = join(text, also)
	if n := sdk.EstimateTokens(text); n >= r.tokens {
		return sdk.NewSummary{}, fmt.Errorf("the model's summary (about %d tokens) is no shorter than what it sums up (%d)", n, r.tokens)
	}
	return sdk.NewSummary{MessageIDs: []string{}, ReplacesSummaryIDs: []string{}, Content: text, FocusSections: sections(text), Truncated: cut}, nil
}

// missing names who the summary forgot, in at most so many tokens.
func (w *writer) missing(names []string, text string, most int) string {
	var forgotten []string
	for _, n := range names {
		if find(text, n) < 0 {
			forgotten = append(forgotten, n)
		}
	}
	comma := ", "
	if sdk.SimplifiedChinese(w.x.Locale) {
		comma = "、"
	}
	for n := len(forgotten); n > 0; n-- {
		line := sdk.Translate(w.x.Messages, "Also in these pages: {names}.", map[string]any{"names": strings.Join(forgotten[:n], comma)})
		if sdk.EstimateTokens(line) <= most {
			return line
		}
	}
	return ""
}

// sections are the focus sections whose headings a summary has.
func sections(text string) []string {
	out := []string{}
	for _, line := range strings.Split(text, "\n") {
		heading := strings.Trim(line, "#*：: ")
		for _, s := range focusSections {
			if strings.EqualFold(heading, s.english) || heading == s.chinese {
				out = append(out, s.name)
			}
		}
	}
	return out
}

// foreign says whether one text is written in Chinese characters and the other is not at all.
func foreign(source, text string) bool {
	a, b := hanShare(source), hanShare(text)
	return a > 0.4 && b < 0.05 || a < 0.05 && b > 0.4
}

// hanShare is how much of a text's letters are Chinese characters.
func hanShare(s string) float64 {
	letters, han := 0, 0
	for _, r := range s {
		if unicode.IsLetter(r) {
			letters++
			if unicode.Is(unicode.Han, r) {
				han++
			}
		}
	}
	if letters == 0 {
		return 0
	}
	return float64(han) / float64(letters)
}

// cutAt keeps whole sentences or lines from the start that fit into so many tokens, "" when not even the first does.
func cutAt(text string, tokens int) (kept string, cut bool) {
	if sdk.EstimateTokens(text) <= tokens {
		return text, false
	}
	left, end := 4*tokens, 0
	for i, r := range text {
		if left -= sdk.QuarterTokens(string(r)); left < 0 {
			break
		}
		next := i + len(string(r))
		switch r {
		case '。', '！', '？', '\n':
			end = next
		case '.', '!', '?':
			if next == len(text) || text[next] == ' ' || text[next] == '\n' {
				end = next
			}
		}
	}
	lines := strings.Split(strings.TrimSpace(text[:end]), "\n")
	for n := len(lines); n > 0 && strings.HasPrefix(strings.TrimSpace(lines[n-1]), "#"); n-- { // a heading with nothing under it
		lines = lines[:n-1]
	}
	return strings.TrimSpace(strings.Join(lines, "\n")), true
}
