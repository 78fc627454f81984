package prompt

import (
	"strings"

	"github.com/covel/covel/kernel/loop"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/manifest"
)

// maxLoreTokens is the budget of a world's lore, in estimated tokens.
const maxLoreTokens = 8000

// Build assembles the messages in their order: stable system message, history, turn context, player message, and for
// runtimes after the narrative the story with its cue. The list never ends on an assistant message.
func Build(in In) []model.Message {
	var out []model.Message
	add := func(role model.Role, content string) {
		if strings.TrimSpace(content) != "" {
			out = append(out, model.Message{Role: role, Content: content})
		}
	}
	add(model.System, System(in))
	if len(out) > 0 {
		out[0].CacheMark = true
	}
	in.segments("pre-history", add)
	for _, row := range in.History {
		if row.Role == string(model.User) || row.Role == string(model.Assistant) {
			add(model.Role(row.Role), row.Text)
		}
	}
	add(model.System, TurnContext(in))
	add(model.User, in.playerLine())
	if in.afterNarrative() {
		add(model.Assistant, in.Story)
		add(model.User, in.say().in("(The passage above is this turn's story. Do your task now.)", "（以上是本回合的正文。请执行你的任务。）"))
	}
	in.segments("post-history", add)
	if n := len(out); out[n-1].Role == model.Assistant {
		add(model.User, in.cue())
	}
	return out
}

// System is the stable system message: frame, the plugin's own instructions, the world. It is the same to the byte from
// turn to turn as long as what it is made of is the same.
func System(in In) string {
	body := in.Runtime.Body.In(in.instructionLocale())
	if strings.Contains(body, "{{") {
		body = interpolate(body, in.variables())
	}
	parts := []string{in.frame()}
	if in.isStoryteller() {
		parts = append(parts, loreBlock("lore-before", in.LoreBefore))
	}
	parts = append(parts, body)
	if in.isStoryteller() {
		parts = append(parts, in.worldLore(), in.worldOpening())
	}
	for _, s := range in.Segments {
		if s.Position == "system" || s.Position == "" {
			parts = append(parts, s.Content.In(in.instructionLocale()))
		}
	}
	if in.isStoryteller() {
		parts = append(parts, loreBlock("lore", in.LoreAfter))
	}
	return join(parts...)
}

// TurnContext is what changes each turn, in one system message; "" when there is nothing.
func TurnContext(in In) string {
	var parts []string
	if in.isStoryteller() || in.bindsStory() {
		parts = append(parts, in.playerBlock(), block("character-profiles", Escape(in.profiles())))
	}
	for _, d := range in.Data {
		parts = append(parts, in.dataBlock(d))
	}
	parts = append(parts, in.inputsBlock(), in.activationBlock())
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

// segments adds the package's own fixed segments of a position, which are not interpolated.
func (in In) segments(position string, add func(model.Role, string)) {
	for _, s := range in.Segments {
		if s.Position != position {
			continue
		}
		role := model.Role(s.Role)
		if role == "" {
			role = model.System
		}
		add(role, s.Content.In(in.instructionLocale()))
	}
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
