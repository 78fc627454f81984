package terminal

import "strings"

// texts are what a player reads of the program's own words. Those with %s or %d say in a comment what stands there.
type texts struct {
	chooseWorld, continueOne string
	number                   string // the highest number
	resumed                  string // name of the world, turns
	session                  string // id
	goodbye                  string // id
	help, helpHint, prompt   string
	unknownCommand           string // the command
	ended, paused            string

	working, settling string
	queued            string            // how many wait before
	stages            map[string]string // by the name of the stage

	lost, back             string
	gone                   string // reason
	stopped, nothingRuns   string
	busy, steerWhat        string
	nothingAhead           string
	elsewhere              string // another point of the story is shown
	notCommitted           string // reason
	interrupted            string
	setupFailed            string // reason
	lineKept               string // the line
	draft, draftEnd        string
	retryHint              string
	refused                string // reason
	startedOver, finalText string
	noSuggestion           string // the number

	required, optional  string
	defaultValue        string // the value
	choose, yesNo       string
	notOption, notYesNo string
	yes, no             string
	colon, semicolon    string
	open, end           string // brackets
}

var english = texts{
	resumed:      "%s · turn %d",
	chooseWorld:  "Which world?",
	continueOne:  "Or go on where you were:",
	number:       "Type a number from 1 to %d.",
	session:      "session %s",
	help:         "Write what you say or do and press Enter. A number sends that suggestion.\n  /act TEXT   do something instead of saying it\n  /retry      run the last turn again that did not finish\n  /stop       stop the running turn; nothing of it is kept\n  /steer TEXT say something into the running turn\n  /undo       take the newest turn back\n  /redo       go forward again to the turn that was taken back\n  /again      tell the newest turn anew; the former telling is kept\n  /skip       leave the open question for now\n  /help       this\n  /quit       leave; everything committed is kept",
	helpHint:     "/help tells what you can type.",
	prompt:       "> ",
	working:      "at work",
	settling:     "finishing what is still open …",
	queued:       "(waits behind %d)",
	lost:         "The connection dropped; trying again … Nothing is lost.",
	back:         "Connected again.",
	gone:         "The session cannot be followed any more: %s",
	stopped:      "Stopped. Nothing of that turn was kept.",
	nothingRuns:  "There is no turn to stop.",
	busy:         "A turn is running; wait for it, or /stop it.",
	steerWhat:    "Write what to say after /steer.",
	nothingAhead: "No turn was taken back from here.",
	elsewhere:    "[the story now stands here]",
	notCommitted: "The turn did not finish: %s",
	interrupted:  "The turn was interrupted.",
	setupFailed:  "The set-up did not finish: %s",
	lineKept:     "Your line is kept: %s",
	draft:        "[a draft of the page that was lost; it is no part of the story]",
	draftEnd:     "[end of the draft]",
	retryHint:    "/retry runs it again.",
	refused:      "Not accepted: %s",
	startedOver:  "[the page is being rewritten]",
	finalText:    "[the page as it stands]",
	goodbye:      "Until next time. covel play --session %s goes on from here.",
	noSuggestion: "There is no suggestion %d.",
	required:     "required", optional: "Enter leaves it empty", defaultValue: "Enter: %s",
	choose: "a number or the words", yesNo: "y or n", notOption: "Choose one of the listed options.", notYesNo: "Type y or n.",
	ended: "This session has ended.", paused: "This session is paused.", yes: "yes", no: "no",
	unknownCommand: "There is no command %s.",
	stages: map[string]string{
		"setup": "Setting up", "pre-turn": "Getting ready", "narrative": "Telling the story", "post-turn": "After the page", "audit": "Looking it over",
	},
	colon: ": ", semicolon: "; ", open: " (", end: ")",
}

var chinese = texts{
	resumed:      "%s · 第 %d 回合",
	chooseWorld:  "选择哪个世界？",
	continueOne:  "或者接着玩：",
	number:       "请输入 1 到 %d 之间的数字。",
	session:      "会话 %s",
	help:         "写下你说的话或做的事，按回车发送。输入数字即发送对应的建议。\n  /act 文字   做某事，而不是说出来\n  /retry      重新运行上一个没有完成的回合\n  /stop       停止正在进行的回合，其内容一概不保留\n  /steer 文字 对正在进行的回合插一句话\n  /undo       撤回最新的回合\n  /redo       重新前进到撤回的回合\n  /again      重讲最新的回合，原来的讲述会保留\n  /skip       先不回答当前的问题\n  /help       显示这段说明\n  /quit       离开；已提交的内容都会保留",
	helpHint:     "输入 /help 查看可用的命令。",
	prompt:       "> ",
	working:      "进行中",
	settling:     "正在完成尚未结束的事……",
	queued:       "（前面还有 %d 个）",
	lost:         "连接断开，正在重试……内容不会丢失。",
	back:         "已重新连接。",
	gone:         "无法继续跟随这个会话：%s",
	stopped:      "已停止，这一回合的内容没有保留。",
	nothingRuns:  "没有正在进行的回合。",
	busy:         "有一个回合正在进行，请等它结束，或用 /stop 停止。",
	steerWhat:    "请在 /steer 后面写上要说的话。",
	nothingAhead: "这里没有撤回过的回合。",
	elsewhere:    "【故事现在停在这里】",
	notCommitted: "这一回合没有完成：%s",
	interrupted:  "这一回合被中断了。",
	setupFailed:  "准备工作没有完成：%s",
	lineKept:     "你的话已保留：%s",
	draft:        "【未能保留的草稿，不属于故事】",
	draftEnd:     "【草稿完】",
	retryHint:    "输入 /retry 重新运行。",
	refused:      "没有被接受：%s",
	startedOver:  "【正在重写这一页】",
	finalText:    "【定稿】",
	goodbye:      "下次见。运行 covel play --session %s 可以接着玩。",
	noSuggestion: "没有第 %d 条建议。",
	required:     "必填", optional: "回车留空", defaultValue: "回车：%s",
	choose: "输入编号或文字", yesNo: "输入 y 或 n", notOption: "请选择列出的选项之一。", notYesNo: "请输入 y 或 n。",
	ended: "这个会话已经结束。", paused: "这个会话已暂停。", yes: "是", no: "否",
	unknownCommand: "没有 %s 这个命令。",
	stages: map[string]string{
		"setup": "准备中", "pre-turn": "回合前", "narrative": "讲述故事", "post-turn": "回合后", "audit": "检查",
	},
	colon: "：", semicolon: "；", open: "（", end: "）",
}

// textsFor gives the texts of a language; every other language than Chinese reads English.
func textsFor(locale string) *texts {
	if Chinese(locale) {
		return &chinese
	}
	return &english
}

// Chinese says whether a locale such as zh-CN, zh_CN.UTF-8 or zh is Chinese.
func Chinese(locale string) bool {
	l := strings.ToLower(locale)
	return l == "zh" || strings.HasPrefix(l, "zh-") || strings.HasPrefix(l, "zh_") || strings.HasPrefix(l, "zh.")
}
