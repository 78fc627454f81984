package storyteller

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// abbreviations end with a full stop that ends no sentence.
var abbreviations = map[string]bool{
	"mr": true, "mrs": true, "ms": true, "dr": true, "st": true, "sr": true, "jr": true, "prof": true,
	"vs": true, "etc": true, "e.g": true, "i.e": true, "capt": true, "lt": true, "sgt": true, "mt": true, "ca": true,
}

func isCloser(r rune) bool {
	switch r {
	case '"', '\'', '”', '’', '」', '』', ')', '）', '》', '】', ']':
		return true
	}
	return false
}

// sentences cuts running text, English or Chinese, into sentences with their final marks and closing quotes.
// A text that ends without a mark ends its last sentence.
func sentences(s string) []string {
	var out []string
	start := 0
	flush := func(end int) {
		if p := strings.TrimSpace(s[start:end]); p != "" {
			out = append(out, p)
		}
		start = end
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch r {
		case '\n':
			flush(i)
			continue
		case '。', '！', '？', '!', '?', '…', '.':
		default:
			continue
		}
		if r == '.' && endsInAbbreviation(s[start:i-1]) {
			continue
		}
		j := i
		for j < len(s) { // further marks and closing quotes belong to this sentence
			q, m := utf8.DecodeRuneInString(s[j:])
			if !isCloser(q) && !strings.ContainsRune("。！？!?….", q) {
				break
			}
			if q == '\'' || q == '"' { // straight quotes close only before a space or the end
				if next, _ := utf8.DecodeRuneInString(s[j+m:]); j+m < len(s) && !unicode.IsSpace(next) {
					break
				}
			}
			j += m
		}
		if endsSentence(r, s[j:]) {
			i = j
			flush(j)
		}
	}
	flush(len(s))
	return out
}

// endsSentence looks at what follows the mark: an ASCII mark ends a sentence only before a space and a beginning.
func endsSentence(mark rune, rest string) bool {
	if rest == "" {
		return true
	}
	next, _ := utf8.DecodeRuneInString(rest)
	switch mark {
	case '。', '！', '？':
		return true
	case '…':
		return isHan(next) || next == '\n' || unicode.IsSpace(next) && startsSentence(rest)
	}
	if isHan(next) {
		return mark != '.'
	}
	return unicode.IsSpace(next) && startsSentence(rest)
}

func startsSentence(rest string) bool {
	rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
	r, _ := utf8.DecodeRuneInString(rest)
	return !unicode.IsLower(r)
}

func endsInAbbreviation(before string) bool {
	i := strings.LastIndexFunc(before, unicode.IsSpace)
	word := strings.TrimLeft(strings.ToLower(before[i+1:]), "(“\"'")
	if abbreviations[word] {
		return true
	}
	r, n := utf8.DecodeRuneInString(before[i+1:])
	return n > 0 && n == len(before)-i-1 && unicode.IsUpper(r) && r < 0x250 // an initial: "J. Holt"
}

var (
	htmlBlock   = regexp.MustCompile(`(?is)<(script|style|iframe|svg)\b.*?(</(script|style|iframe|svg)\s*>|$)|<!--.*?(-->|$)`)
	htmlTag     = regexp.MustCompile(`</?[A-Za-z!][^<>]{0,300}>`)
	mdImage     = regexp.MustCompile(`!\[[^\]]*\]\([^)]*\)`)
	mdLink      = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	mdFootnote  = regexp.MustCompile(`\[\^[^\]]*\]`)
	mdCode      = regexp.MustCompile("`+([^`]*)`+")
	mdStrong    = regexp.MustCompile(`(\*\*\*|\*\*|__|~~)(\S(?:.*?\S)?)(\*\*\*|\*\*|__|~~)`)
	mdEmphasis  = regexp.MustCompile(`(^|[^\w*])\*([^\s*](?:[^*]*[^\s*])?)\*`)
	mdUnderline = regexp.MustCompile(`(^|[^\w])_([^\s_](?:[^_]*[^\s_])?)_($|[^\w])`)
	manySpaces  = regexp.MustCompile(`[\s\x{00a0}\x{3000}]+`)
)

// unescape undoes the escaping that prompt data carries. The ampersand comes last, so that nothing is undone twice.
var unescaper = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&#39;", "'", "&apos;", "'", "&nbsp;", " ", "&amp;", "&")

func unescape(s string) string {
	if !strings.Contains(s, "&") {
		return s
	}
	return unescaper.Replace(s)
}

// plain takes Markdown and HTML marks off one line or paragraph and leaves what a reader would see.
func plain(s string) string {
	if strings.ContainsAny(s, "<") {
		s = htmlTag.ReplaceAllString(s, " ")
	}
	if strings.ContainsAny(s, "![") {
		s = mdImage.ReplaceAllString(s, "")
		s = mdFootnote.ReplaceAllString(s, "")
		s = mdLink.ReplaceAllString(s, "$1")
	}
	if strings.ContainsAny(s, "`") {
		s = mdCode.ReplaceAllString(s, "$1")
	}
	if strings.ContainsAny(s, "*_~") {
		s = mdStrong.ReplaceAllString(s, "$2")
		s = mdEmphasis.ReplaceAllString(s, "$1$2")
		s = mdUnderline.ReplaceAllString(s, "$1$2$3")
	}
	return strings.TrimSpace(manySpaces.ReplaceAllString(s, " "))
}

// marks are characters that never belong in story text: template and markup remains.
const marks = "{}[]<>|\\`^~*_=#@$"

var programWords = regexp.MustCompile(`(?i)\b(undefined|null|nan|todo|tbd|lorem ipsum|placeholder|https?|www)\b|://`)

// seemly tells whether a text may be printed: no marks, no control characters, no words that programs leave behind.
func seemly(s string) bool {
	if s == "" || strings.ContainsAny(s, marks) || strings.Contains(s, "://") || hasAnyStem(s, programStems) && programWords.MatchString(s) {
		return false
	}
	for _, r := range s {
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Co, r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return false
		}
	}
	return true
}

// meta are words of people who talk about a game and not in it.
var meta = regexp.MustCompile(`(?i)\b(narrators?|the players?|player characters?|npcs?|pcs?|game ?master|gm|gameplay|storyteller|language model)\b|旁白|叙述者|玩家|主持人|主角|剧情|提示词|掷骰|ＮＰＣ`)

func isMeta(s string) bool { return hasAnyStem(s, metaStems) && meta.MatchString(s) }

// Stems without which the expressions above cannot match. Looking for them first is many times faster.
var (
	programStems = []string{"undefined", "null", "nan", "todo", "tbd", "lorem", "placeholder", "http", "www"}
	metaStems    = []string{"narrator", "player", "npc", "pc", "master", "gm", "gameplay", "storyteller", "model", "旁白", "叙述", "玩家", "主持", "主角", "剧情", "提示", "掷骰", "ＮＰＣ"}
)

func hasAnyStem(s string, stems []string) bool {
	low := strings.ToLower(s)
	for _, stem := range stems {
		if strings.Contains(low, stem) {
			return true
		}
	}
	return false
}
