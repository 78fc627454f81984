package prompt

import (
	"strings"

	"github.com/covel/covel/kernel/loop"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/manifest"
)

// maxLoreTokens is the budget of a world's lore, in estimated tokens.
const maxLoreTokens = 8000

// Build assembles the messages in their order (seed: turn-pipeline.txt §3.1; reference: plugins.md §18.1): the stable system
// message, summaries and history, the turn context, the player's line, and for runtimes after the narrative the story with
// its cue. What changes each turn stands behind the history, so that a model's cache keeps all before it. The list never
// ends on an assistant message.
func Build(in In) []model.Message {
	segments := in.placed()
	var out []model.Message
	add := func(m model.Message) {
		if strings.TrimSpace(m.Content) != "" {
			out = append(out, m)
		}
	}
	system, marks := in.system(segments)
	add(model.Message{Role: model.System, Content: system, CacheAt: marks})
	for _, s := range segments {
		if s.place == preHistory && s.role != model.System {
			add(model.Message{Role: s.role, Content: s.content})
		}
	}
	talk, line := in.conversation(segments)
	for i, m := range talk {
		if i == line {
			add(model.Message{Role: model.System, Content: in.turnContext(segments)})
		}
		add(m)
	}
	for _, s := range segments {
		if s.place == postHistory {
			add(model.Message{Role: s.role, Content: s.content})
		}
	}
	if n := len(out); out[n-1].Role == model.Assistant {
		add(model.Message{Role: model.User, Content: in.cue()})
	}
	return out
}

// conversation is the history with its summaries, the player's line and this turn's story, with what is placed by depth in
// between. line is where the player's line stands.
func (in In) conversation(segments []placed) (talk []model.Message, line int) {
	if s := compactedHistory(in.Summaries); s != "" {
		talk = append(talk, model.Message{Role: model.User, Content: s, Part: model.SummaryPart})
	}
	for _, row := range in.History {
		if (row.Role == string(model.User) || row.Role == string(model.Assistant)) && strings.TrimSpace(row.Text) != "" {
			talk = append(talk, model.Message{Role: model.Role(row.Role), Content: row.Text, Images: row.Images, Part: model.HistoryPart})
		}
	}
	if n := len(talk); n > 0 {
		talk[n-1].CacheMark = true
	}
	line = len(talk)
	talk = append(talk, model.Message{Role: model.User, Content: in.playerLine()})
	if in.afterNarrative() {
		talk = append(talk, model.Message{Role: model.Assistant, Content: in.Story},
			model.Message{Role: model.User, Content: in.say().in("(The passage above is this turn's story. Do your task now.)", "（以上是本回合的正文。请执行你的任务。）")})
	}
	return in.insertByDepth(talk, line, segments)
}

// compactedHistory is the envelope of the summaries. It is the user's and not the system's: a model wrote it, and it stays
// (reference: worlds-and-story.md §18, "Why a user-role envelope").
func compactedHistory(summaries []string) string {
	var kept []string
	for _, s := range summaries {
		if s = strings.TrimSpace(s); s != "" {
			kept = append(kept, Escape(s))
		}
	}
	return block("compacted_history", strings.Join(kept, "\n\n"))
}

// Head is the framework's part of the system message, in front of everything: no hook can take it away.
func Head(in In) string { return in.frame() }

// System is the stable system message: frame, the plugin's own instructions, the world and what plugins add to it. It is
// the same to the byte from turn to turn as long as what it is made of is the same.
func System(in In) string {
	text, _ := in.system(in.placed())
	return text
}

// system gives the system message and where cached prefixes of it may end: after the head, the body, the stable segments
// and the lore (reference: plugins.md §18.4).
func (in In) system(segments []placed) (text string, cacheAt []int) {
	body := in.Runtime.Body.In(in.instructionLocale())
	if strings.Contains(body, "{{") {
		body = interpolate(body, in.variables())
	}
	stable := []string{}
	if in.isStoryteller() {
		stable = append(stable, in.worldLore(), in.worldOpening())
	}
	var turn []string
	for _, s := range segments {
		switch {
		case s.volatility != perTurn && (s.place == systemPlace || s.place == preHistory && s.role == model.System):
			stable = append(stable, s.content)
		case s.place == preHistory && s.role == model.System:
			turn = append(turn, s.content)
		}
	}
	var before, after string
	if in.isStoryteller() {
		before, after = loreBlock("lore-before", in.LoreBefore), loreBlock("lore", in.LoreAfter)
	}
	var b strings.Builder
	section := func(mark bool, parts ...string) {
		s := join(parts...)
		if s == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(s)
		if mark {
			cacheAt = append(cacheAt, b.Len())
		}
	}
	section(true, in.frame())
	section(true, body)
	section(true, stable...)
	section(false, before)
	section(false, in.eventsBlock())
	section(after != "", after)
	section(false, turn...)
	return b.String(), cacheAt
}

// TurnContext is what changes each turn, in one system message; "" when there is nothing.
func TurnContext(in In) string { return in.turnContext(in.placed()) }

func (in In) turnContext(segments []placed) string {
	var parts []string
	if in.isStoryteller() || in.bindsStory() {
		parts = append(parts, in.playerBlock(), block("character-profiles", Escape(in.profiles())))
	}
	for _, d := range in.Data {
		parts = append(parts, in.dataBlock(d))
	}
	parts = append(parts, in.slotsBlock("runtime-inputs", in.Inputs), in.slotsBlock("runtime-exports", in.Exports), in.notAppliedBlock(), in.activationBlock())
	for _, s := range segments {
		if s.place == systemPlace && s.volatility == perTurn {
			parts = append(parts, s.content)
		}
	}
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n")
}

func (in In) isStoryteller() bool { return in.Runtime.IO.Visibility == manifest.VisibilityStory }

func (in In) instructionLocale() string {
	if in.InstructionLocale != "" {
		return in.InstructionLocale
	}
	return InstructionLocale(in.Locale, "")
}

func (in In) say() say { return say(in.instructionLocale()) }

// frame is the framework's head: who runs, in which language, and how the run ends.
func (in In) frame() string {
	s := in.say()
	language := s.in("Write all natural language in "+s.language(in.Locale)+". Do not translate enum values, ids, keys, topics, schema names or tool names.",
		"所有自然语言都使用"+s.language(in.Locale)+"书写。枚举值、id、键名、主题、schema 名与工具名不翻译。")
	mode := loop.CompletionOf(in.Runtime)
	return strings.Join([]string{
		"[RUNTIME] " + oneLine(in.Runtime.ID) + " · " + Escape(oneLine(in.PluginName)),
		"[LANGUAGE] " + oneLine(in.Locale) + " · " + language,
		"[COMPLETION] " + string(mode) + " · " + in.completion(mode),
	}, "\n")
}

// completion is the instruction of a completion mode (reference: worlds-and-story.md §17.3).
func (in In) completion(mode loop.Completion) string {
	s := in.say()
	tools := strings.Join(in.Runtime.Agent.AfterTools, ", ")
	switch mode {
	case loop.CompleteByStory:
		if loop.HasSegments(in.Runtime.IO.OutputSchema) {
			return s.in(`The run ends with the story, written after the last tool result as one JSON object {"segments":[…]}. Text beside a tool call is only a draft.`,
				`本次运行以正文结束：在最后一个工具结果之后，用一个 JSON 对象 {"segments":[…]} 写出。与工具调用同时写出的文字只是草稿。`)
		}
		return s.in("The run ends with the story text, written after the last tool result. Text beside a tool call is only a draft.",
			"本次运行以正文结束：在最后一个工具结果之后写出。与工具调用同时写出的文字只是草稿。")
	case loop.CompleteByTool:
		return s.in("The run ends as soon as one of these tools succeeds: "+tools+". When there is nothing to report, submit an empty result through the same tool.",
			"以下任一工具调用成功后，本次运行即告结束："+tools+"。没有内容可提交时，通过同一工具提交空结果。")
	case loop.CompleteByOutput:
		return s.in("The run ends with one JSON value that fits the output schema, and nothing else.",
			"本次运行以一个符合输出 schema 的 JSON 值结束，不要输出其他内容。")
	}
	end := s.in("When everything is done, call runtime-done.", "全部完成后，调用 runtime-done。")
	if in.Runtime.Agent.Require == loop.RequireToolUse {
		end += s.in(" A tool must have succeeded before; when there is nothing to report, submit an empty result first.",
			"在此之前必须有工具调用成功；没有内容可提交时，先提交空结果。")
	}
	return end
}

func (in In) worldLore() string {
	lore := strings.TrimSpace(in.World.Lore)
	if lore == "" {
		return ""
	}
	open := "<world-lore" + attr("id", in.World.ID) + attr("name", in.World.Name) + attr("tone", in.World.Tone) + ">"
	return open + "\n" + cutLines(Escape(lore), maxLoreTokens) + "\n</world-lore>"
}

func (in In) worldOpening() string {
	if in.HasStory {
		return ""
	}
	return block("world-opening", Escape(strings.TrimSpace(in.World.Opening)))
}

// afterNarrative: this execution's story is already written, and this runtime is not the one that writes it.
func (in In) afterNarrative() bool { return in.Story != "" && !in.isStoryteller() }

func (in In) playerLine() string {
	if strings.TrimSpace(in.PlayerMessage) == "" {
		return in.cue()
	}
	return in.PlayerMessage
}

// cue stands for the player's line when there is none.
func (in In) cue() string {
	s := in.say()
	switch {
	case !in.isStoryteller():
		return s.in("(Run now.)", "（现在执行。）")
	case in.HasStory:
		return s.in("(Go on.)", "（继续。）")
	}
	return s.in("(Begin.)", "（开始。）")
}
