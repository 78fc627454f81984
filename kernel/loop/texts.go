package loop

import (
	"fmt"
	"slices"
	"strings"
)

// What the loop says to the model, in the instruction language. Results of tools are English like all tool texts.

func (c Config) zh() bool { return c.Locale == "zh" }

func (c Config) say(en, zh string, args ...any) string {
	if c.zh() {
		return fmt.Sprintf(zh, args...)
	}
	return fmt.Sprintf(en, args...)
}

func (c Config) sayToolUse() string {
	if len(c.AfterTools) > 0 {
		return c.say("This task counts as done only when one of these tools has succeeded: %[1]s. Text alone changes nothing. Call the tool now, also when there is nothing to report (with an empty result).",
			"只有成功调用以下工具之一，任务才算完成：%[1]s。只写文字不会产生任何效果。请立即调用该工具；没有内容可提交时，提交空结果。", strings.Join(c.AfterTools, ", "))
	}
	return c.say("This task counts as done only when a tool call has succeeded. Text alone changes nothing. Call a tool now.",
		"只有成功调用工具，任务才算完成。只写文字不会产生任何效果。请立即调用工具。")
}

func (c Config) sayExplicit(unresolved []string) string {
	if len(unresolved) > 0 {
		return c.say("These tool calls failed and were not made good: %[1]s. Call them again with corrected arguments, then end the task.",
			"以下工具调用失败且尚未补救：%[1]s。请修正参数后重新调用，然后结束任务。", strings.Join(unresolved, ", "))
	}
	names := append([]string{}, c.AfterTools...)
	if !slices.Contains(names, RuntimeDone) {
		names = append(names, RuntimeDone)
	}
	return c.say("The task is still open. Record the result with a tool, or end it by calling %[1]s when there is nothing to record.",
		"任务尚未结束。请用工具记录结果；没有需要记录的内容时，请调用 %[1]s 结束任务。", strings.Join(names, c.say(" or ", " 或 ")))
}

func (c Config) sayStoryMissing() string {
	return c.say("The story text is still missing. Write it now, without calling tools. ", "正文还没有写出。请立即写出正文，不要再调用工具。") + c.sayForm()
}

func (c Config) sayCarryOn() string {
	return c.say("The player spoke while you were writing. What is written so far stands and has been read: go on from there and do not repeat it.",
		"玩家在你写作时开口说话了。已经写出的正文保留，玩家已经读到：请从那里接着写，不要重复。")
}

func (c Config) sayStepLimit() string {
	return c.say("No further tool calls are possible. Give your final answer now. ", "不能再调用工具。请立即给出最终答案。") + c.sayForm()
}

func (c Config) sayRepeat(r repetition) string {
	return c.say("You have called %[1]s %[2]d times in a row with the same arguments; the result will not change. Do something else, or finish the task.",
		"你已连续 %[2]d 次用相同参数调用 %[1]s，结果不会改变。请换一种做法，或者结束任务。", r.Name, r.Count)
}

func (c Config) sayToolsOff(r repetition) string {
	return c.say("%[1]s was called %[2]d times in a row with the same arguments; tools are now switched off. Give your final answer now. ",
		"%[1]s 已连续 %[2]d 次以相同参数被调用，工具现已关闭。请立即给出最终答案。", r.Name, r.Count) + c.sayForm()
}

func (c Config) sayRepair(problem string) string {
	return c.say("Your answer cannot be used: %[1]s. Give the whole answer again; it replaces the earlier one. ",
		"你的回答无法使用：%[1]s。请重新给出完整的回答，它将替换之前的内容。", problem) + c.sayForm()
}

func (c Config) sayBrief() string {
	return c.say("The answer was cut off because it was too long. Answer again, complete and brief.", "回答过长而被截断。请重新回答，内容完整且简短。")
}

func (c Config) sayAgain() string {
	return c.say("The previous attempt gave no usable answer. Answer now.", "上一次尝试没有得到可用的回答。请现在回答。")
}

// sayForm names the form of the final answer.
func (c Config) sayForm() string {
	switch {
	case c.Segments:
		return c.say(`Answer with one JSON object {"segments":[…]}: one element per paragraph with "kind" (narration, dialogue or action), "text", and "speaker" for dialogue.`,
			`请用一个 JSON 对象 {"segments":[…]} 回答：每段一个元素，包含 "kind"（narration、dialogue 或 action）和 "text"，对白另需 "speaker"。`)
	case c.Story:
		return c.say("Answer with the story text only.", "只回答正文。")
	case len(c.OutputSchema) > 0:
		return c.say("Answer with one JSON value that fits the output schema, and nothing else.", "请只回答一个符合输出 schema 的 JSON 值。")
	}
	return ""
}

// Tool results the loop itself gives.
const (
	resultDone         = `{"summary":"Done."}`
	resultStoryMissing = `{"summary":"The story is not written yet."}`
	resultNotOver      = `{"summary":"The task cannot end yet."}`
	resultNotExecuted  = `{"error":{"code":"cancelled","message":"The call was not executed."}}`
	resultWaiting      = `{"summary":"The run waits for the player's answer."}`

	codeCancelled = "cancelled"
)
