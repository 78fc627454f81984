package storyteller

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/covel/covel/kernel/model"
)

// brief is a request as the storyteller understands it. Every part may be missing.
type brief struct {
	tongue  tongue
	mode    string // of the [COMPLETION] line
	system  string // all system text, for what has no tag of its own
	lore    string
	tagged  bool   // the lore stood in its own block and not somewhere in the prompt
	world   string // the lore's name attribute
	tone    string
	opening string
	entries []loreEntry
	player  *character
	cast    []*character
	turns   []turn // what was played so far, oldest first
	line    string // what the player writes now; "" for a cue
	begin   bool   // no story has been told yet
	passage string // the story of this turn, for those who work after it
	summary string // of older turns that were compacted
	calls   []pastCall
	inputs  map[string]json.RawMessage // values of <runtime-inputs> by slot
}

// turn is one exchange of the past.
type turn struct{ line, story string }

// loreEntry is one entry of the lorebook.
type loreEntry struct{ title, text string }

// pastCall is a tool call of this request's own loop with its answer.
type pastCall struct {
	name, arguments, answer string
	failed                  bool
}

// Sizes past which input is cut: the storyteller reads a prompt that fits a model, not a library.
const (
	maxSystem  = 400_000
	maxHistory = 200 // turns
	maxMessage = 20_000
	maxLine    = 2_000 // of what a player wrote, in runes: nobody answers more than that in one passage
)

var (
	languageLine   = regexp.MustCompile(`(?m)^\[LANGUAGE\]\s*([A-Za-z0-9_-]{1,35})`)
	completionLine = regexp.MustCompile(`(?m)^\[COMPLETION\]\s*([a-z-]{1,40})`)
	attribute      = regexp.MustCompile(`([a-z-]+)="([^"]*)"`)
)

// read understands a request. It accepts any text in any place.
func read(req model.Request) *brief {
	b := &brief{}
	var system []string
	var talk []model.Message
	now := -1 // where in talk this turn begins: after the turn context
	for _, m := range req.Messages {
		m.Content = strings.ToValidUTF8(m.Content, "\uFFFD")
		switch m.Role {
		case model.System:
			if len(m.Content) > maxSystem {
				m.Content = strings.ToValidUTF8(m.Content[:maxSystem], "")
			}
			system = append(system, m.Content)
			if len(system) > 1 && turnContext.MatchString(m.Content) {
				now = len(talk)
			}
		case model.User, model.Assistant, model.ToolRole:
			if len(m.Content) > maxMessage && m.Role != model.ToolRole {
				m.Content = strings.ToValidUTF8(m.Content[:maxMessage], "")
			}
			talk = append(talk, m)
		}
	}
	b.system = strings.Join(system, "\n\n")
	if m := completionLine.FindStringSubmatch(b.system); m != nil {
		b.mode = m[1]
	}
	b.readCalls(talk)
	if now >= 0 && now < len(talk) && talk[now].Role == model.User {
		b.readTurn(talk[:now], talk[now:])
	} else {
		b.readTalk(talk)
	}
	b.readLanguage()
	b.readBlocks()
	return b
}

func (b *brief) readLanguage() {
	if m := languageLine.FindStringSubmatch(b.system); m != nil {
		b.tongue = tongueOf(m[1])
		return
	}
	for _, s := range []string{b.line, b.passage, b.system} {
		if strings.TrimSpace(s) != "" {
			b.tongue = guessTongue(clip(s, 4000))
			return
		}
	}
}

func (b *brief) readBlocks() {
	if attrs, text, ok := block(b.system, "world-lore"); ok {
		b.lore, b.tagged, b.world, b.tone = unescape(text), true, attrs["name"], attrs["tone"]
	} else {
		b.lore = unescape(b.system) // a prompt without our tags may still carry a world in Markdown
	}
	if _, text, ok := block(b.system, "world-opening"); ok {
		b.opening = unescape(text)
	}
	for _, tag := range []string{"lore-before", "lore"} {
		rest := b.system
		for {
			_, text, ok := block(rest, tag)
			if !ok {
				break
			}
			b.entries = append(b.entries, readEntries(unescape(text))...)
			end := strings.Index(rest, "</"+tag+">")
			if end < 0 {
				break
			}
			rest = rest[end+1:]
		}
	}
	if _, text, ok := block(b.system, "player-character"); ok {
		b.player = readPlayer(unescape(text))
	}
	if _, text, ok := block(b.system, "character-profiles"); ok {
		b.cast = readProfiles(unescape(text))
	}
	if _, text, ok := block(b.system, "runtime-inputs"); ok {
		b.inputs = readInputs(unescape(text))
	}
}

// block finds <tag …>text</tag> in a system text. A block begins a line: a tag inside of a sentence is the plugin's
// instructions speaking of it. Data inside is escaped, so the first closing tag is the real one; a
// block that never closes ends with the text.
func block(s, tag string) (attrs map[string]string, text string, ok bool) {
	for from := 0; ; {
		i := strings.Index(s[from:], "<"+tag)
		if i < 0 {
			return nil, "", false
		}
		i += from
		rest := s[i+len(tag)+1:]
		if i > 0 && s[i-1] != '\n' || rest == "" || rest[0] != '>' && rest[0] != ' ' && rest[0] != '\n' {
			from = i + 1
			continue
		}
		head, body, found := strings.Cut(rest, ">")
		if !found {
			return nil, "", false
		}
		attrs = map[string]string{}
		for _, m := range attribute.FindAllStringSubmatch(head, 8) {
			attrs[m[1]] = unescape(m[2])
		}
		body, _, _ = strings.Cut(body, "</"+tag+">")
		return attrs, strings.TrimSpace(body), true
	}
}

// readCalls collects the tool calls made since the last player line and what came of them.
func (b *brief) readCalls(talk []model.Message) {
	answers := map[string]string{}
	for _, m := range talk {
		if m.Role == model.ToolRole {
			answers[m.ToolCallID] = m.Content
		}
	}
	for _, m := range talk {
		for _, c := range m.ToolCalls {
			answer, ok := answers[c.ID]
			b.calls = append(b.calls, pastCall{c.Name, c.Arguments, answer, ok && refused(answer)})
		}
	}
}

// cues are the fixed lines that stand in for a player who wrote nothing, by what they ask for.
var cues = map[string]string{
	"(begin.)": "begin", "（开始。）": "begin", "(go on.)": "go on", "（继续。）": "go on",
	"(run now.)": "task", "（现在执行。）": "task",
}

func cueOf(s string) string {
	s = strings.TrimSpace(s)
	if c := cues[strings.ToLower(s)]; c != "" {
		return c
	}
	if strings.HasPrefix(s, "(The passage above is this turn") || strings.HasPrefix(s, "（以上是本回合的正文") {
		return "passage"
	}
	return ""
}

// turnContext recognises the system message that stands between the history and the current turn.
var turnContext = regexp.MustCompile(`<(player-character|character-profiles|runtime-inputs|runtime-activation)[ >]`)

// readTurn reads a request whose turn context says where the history ends: the first line after it is the player's, and
// story text after that is this turn's passage, or, for whoever writes the story, a draft that was sent back.
func (b *brief) readTurn(history, current []model.Message) {
	b.readTalk(append(slices.Clone(history), current[0]))
	var drafts []string
	for _, m := range current[1:] {
		switch {
		case m.Role == model.Assistant && len(m.ToolCalls) == 0 && strings.TrimSpace(m.Content) != "":
			drafts = append(drafts, proseOf(m.Content))
		case m.Role == model.User && len(drafts) == 0 && cueOf(m.Content) == "":
			b.line = clip(strings.TrimSpace(b.line+"\n"+m.Content), maxLine) // said while the turn was running
		}
	}
	if b.mode != "story" {
		b.passage = strings.Join(drafts, "\n\n")
	}
}

// readTalk sorts the conversation into past turns, the current line and this turn's passage.
func (b *brief) readTalk(talk []model.Message) {
	var said []model.Message
	for _, m := range talk {
		if m.Role == model.ToolRole || m.Role == model.Assistant && (len(m.ToolCalls) > 0 || strings.TrimSpace(m.Content) == "") {
			continue
		}
		if m.Role == model.User && strings.Contains(m.Content, "<compacted_history") {
			_, text, _ := block(m.Content, "compacted_history")
			b.summary += unescape(text) + "\n"
			continue
		}
		said = append(said, m)
	}
	cue := ""
	if n := len(said); n > 0 && said[n-1].Role == model.User {
		cue = cueOf(said[n-1].Content)
		if cue == "" {
			b.line = clip(strings.TrimSpace(said[n-1].Content), maxLine)
		}
		said = said[:n-1]
	}
	var open []string // lines that no story has answered yet
	for _, m := range said {
		if m.Role == model.User {
			if cueOf(m.Content) == "" {
				open = append(open, clip(strings.TrimSpace(m.Content), maxLine))
			}
			continue
		}
		b.turns = append(b.turns, turn{strings.Join(open, "\n"), proseOf(m.Content)})
		open = nil
	}
	if n := len(b.turns); cue == "passage" && n > 0 {
		b.passage, b.line = b.turns[n-1].story, b.turns[n-1].line
		b.turns = b.turns[:n-1]
	} else if cue == "" && b.line == "" && len(open) > 0 {
		b.line = open[len(open)-1]
	}
	if len(b.turns) > maxHistory {
		b.turns = slices.Clone(b.turns[len(b.turns)-maxHistory:])
	}
	if cue == "begin" { // what was said before is the welcome and the player's own introduction
		b.turns = nil
	}
	b.begin = len(b.turns) == 0 && b.summary == ""
}

// proseOf gives the story text of an assistant message, which may be a segments object that was kept as it was written.
func proseOf(s string) string {
	t := strings.TrimSpace(s)
	if !strings.HasPrefix(t, "{") {
		return s
	}
	var v struct {
		Segments []struct {
			Text string `json:"text"`
		} `json:"segments"`
	}
	if json.Unmarshal([]byte(t), &v) != nil || len(v.Segments) == 0 {
		return s
	}
	texts := make([]string, len(v.Segments))
	for i, seg := range v.Segments {
		texts[i] = seg.Text
	}
	return strings.Join(texts, "\n\n")
}

// readEntries cuts a lore block at its "## " headings.
func readEntries(text string) []loreEntry {
	var out []loreEntry
	for _, line := range strings.Split(text, "\n") {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			out = append(out, loreEntry{title: plain(title)})
			continue
		}
		if len(out) == 0 {
			out = append(out, loreEntry{})
		}
		out[len(out)-1].text += line + "\n"
	}
	return out
}

func readPlayer(text string) *character {
	var v struct {
		Name        string          `json:"name"`
		Aliases     []string        `json:"aliases"`
		Type        string          `json:"type"`
		Description string          `json:"description"`
		Fields      json.RawMessage `json:"fields"`
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil && v.Name == "" {
		return nil
	}
	return &character{name: v.Name, aliases: v.Aliases, kind: v.Type, description: v.Description, fields: readFields(v.Fields)}
}

// readFields keeps the order in which the fields are written and only those that read as text.
func readFields(raw json.RawMessage) []field {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var out []field
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			break
		}
		var v any
		if dec.Decode(&v) != nil {
			break
		}
		if s, ok := v.(string); ok && strings.TrimSpace(s) != "" {
			out = append(out, field{key.(string), strings.TrimSpace(s)})
		}
	}
	return out
}

var (
	akaPart  = regexp.MustCompile(`\s*[(（](?:aka|又名|又称|别名)[:：]?\s*([^)）]*)[)）]`)
	typePart = regexp.MustCompile(`\s+\[([^\]]{0,40})\](?:\s+|$)`)
)

// readProfiles reads "- <Name> (aka A, B) [npc] <description> · <attribute>: <value> · …". A line without a type is a
// name and nothing else.
func readProfiles(text string) []*character {
	var out []*character
	for _, line := range strings.Split(text, "\n") {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "- ")
		if !ok {
			continue
		}
		if names, ok := namesOnly(line); ok {
			for _, name := range names {
				out = append(out, &character{name: name, kind: "npc"})
			}
			continue
		}
		c := &character{name: line}
		about := ""
		if at := typePart.FindStringSubmatchIndex(line); at != nil {
			c.name, c.kind, about = line[:at[0]], strings.ToLower(line[at[2]:at[3]]), line[at[1]:]
		}
		if at := akaPart.FindStringSubmatchIndex(c.name); at != nil {
			for _, a := range strings.FieldsFunc(c.name[at[2]:at[3]], func(r rune) bool { return strings.ContainsRune(",、，", r) }) {
				c.aliases = append(c.aliases, strings.TrimSpace(a))
			}
			c.name = c.name[:at[0]] + c.name[at[1]:]
		}
		if c.name = strings.TrimSpace(c.name); c.name == "" || c.kind == "player" {
			continue
		}
		for i, part := range strings.Split(about, " · ") {
			part = strings.TrimSpace(part)
			key, value, ok := cutColon(part)
			if ok && (i > 0 || runeCount(key) <= 16 && len(strings.Fields(key)) <= 3) {
				c.fields = append(c.fields, field{key, value})
			} else {
				c.description = strings.TrimSpace(c.description + " " + part)
			}
		}
		out = append(out, c)
	}
	return out
}

// namesOnly reads the last line of the profiles: people who are only named there.
func namesOnly(line string) ([]string, bool) {
	for prefix, sep := range map[string]string{"Also here, without details: ": ", ", "其他人物（仅列名）：": "、"} {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			return strings.Split(rest, sep), true
		}
	}
	return nil, false
}

func cutColon(s string) (key, value string, ok bool) {
	for _, sep := range []string{": ", "：", ":"} {
		if key, value, ok = strings.Cut(s, sep); ok && runeCount(key) <= 40 {
			return strings.TrimSpace(key), strings.TrimSpace(value), strings.TrimSpace(value) != ""
		}
	}
	return "", "", false
}

func readInputs(text string) map[string]json.RawMessage {
	var slots map[string]struct {
		Value json.RawMessage `json:"value"`
		Items json.RawMessage `json:"items"`
	}
	if json.Unmarshal([]byte(text), &slots) != nil {
		return nil
	}
	out := map[string]json.RawMessage{}
	for name, s := range slots {
		if out[name] = s.Value; len(s.Value) == 0 {
			out[name] = s.Items
		}
	}
	return out
}
