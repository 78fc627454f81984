package scripted

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/covel/covel/kernel/model"
)

// BundledGame answers any request of the bundled plugins, at once and validly, from nothing but the tools and the response
// format that are offered: a required tool is called with small arguments that it accepts, a story gets three segments,
// another format its smallest value, and everything else one line of text.
func BundledGame() Responder {
	return func(req model.Request) Reply {
		chinese := isChinese(req)
		if tool, ok := requiredTool(req); ok {
			return Reply{Steps: []Step{Tool{Name: tool.Name, Arguments: argumentsFor(tool, chinese)}}}
		}
		if f := req.ResponseFormat; f != nil {
			if bytes.Contains(f.Schema, []byte(`"segments"`)) {
				return page(chinese)
			}
			return Reply{Steps: []Step{Text(smallest(f.Schema))}}
		}
		if chinese {
			return Reply{Steps: []Step{Text("雨停了。")}}
		}
		return Reply{Steps: []Step{Text("The rain has stopped.")}}
	}
}

func requiredTool(req model.Request) (model.Tool, bool) {
	if len(req.Tools) == 0 || req.ToolChoice.Named == "" && req.ToolChoice.Mode != "required" {
		return model.Tool{}, false
	}
	best := -1
	for i, t := range req.Tools {
		_, known := arguments[t.Name]
		switch {
		case req.ToolChoice.Named == t.Name:
			return t, true
		case known && best < 0:
			best = i // of several tools the one that completes the task
		}
	}
	return req.Tools[max(best, 0)], true
}

// isChinese reads the [LANGUAGE] line of the system message.
func isChinese(req model.Request) bool {
	for _, m := range req.Messages {
		if m.Role == model.System {
			_, language, found := strings.Cut(m.Content, "[LANGUAGE]")
			return found && strings.HasPrefix(strings.TrimSpace(language), "zh")
		}
	}
	return false
}

func page(chinese bool) Reply {
	if chinese {
		return Reply{Steps: []Step{
			Segment{Kind: "narration", Text: "雨停了，石板路上映着灯光。"},
			Segment{Kind: "action", Text: "巷口有人提灯站住，朝你望来。"},
			Segment{Kind: "narration", Text: "远处的钟敲了一下，门还开着。"},
		}}
	}
	return Reply{Steps: []Step{
		Segment{Kind: "narration", Text: "The rain has stopped, and the lamps lie doubled on the wet stones."},
		Segment{Kind: "action", Text: "At the end of the lane somebody with a lantern stops and looks at you."},
		Segment{Kind: "narration", Text: "A bell strikes once, far off. The door is still open."},
	}}
}

// arguments of the tools that a schema alone does not teach: their texts are checked too. English first, then Chinese.
var arguments = map[string][2]string{
	"create-character-form": {
		`{"title":"Who are you?","fields":[{"type":"text","name":"characterName","label":"Your name","required":true}],` +
			`"submitLabel":"Begin","narrativeTemplate":"I am {{characterName}}."}`,
		`{"title":"你是谁？","fields":[{"type":"text","name":"characterName","label":"姓名","required":true}],` +
			`"submitLabel":"开始","narrativeTemplate":"我叫{{characterName}}。"}`,
	},
	"initialize-world": {
		`{"attributes":[{"id":"calling","name":"Calling","type":"string","category":"bio"},` +
			`{"id":"health","name":"Health","type":"number","category":"stats","min":0,"max":10,"defaultValue":10},` +
			`{"id":"standing","name":"Standing","type":"enum","category":"social","options":["stranger","guest","friend"],"defaultValue":"stranger"}]}`,
		`{"attributes":[{"id":"calling","name":"行当","type":"string","category":"bio"},` +
			`{"id":"health","name":"体力","type":"number","category":"stats","min":0,"max":10,"defaultValue":10},` +
			`{"id":"standing","name":"身份","type":"enum","category":"social","options":["生人","客人","朋友"],"defaultValue":"生人"}]}`,
	},
	"generate-guide": {
		`{"scene":"A lane after rain","recap":"The rain stopped and somebody with a lantern looked at you.","decision":"Do you speak to the one with the lantern?",` +
			`"suggestions":[{"type":"observe","text":"I look at the lantern."},{"type":"ask","text":"Who are you waiting for?"},{"type":"act","text":"I go through the door."}]}`,
		`{"scene":"雨后的小巷","recap":"雨停了，有人提灯望着你。","decision":"要不要和提灯的人说话？",` +
			`"suggestions":[{"type":"observe","text":"看看那盏灯"},{"type":"ask","text":"你在等谁？"},{"type":"act","text":"走进那扇门"}]}`,
	},
}

func argumentsFor(tool model.Tool, chinese bool) string {
	known, ok := arguments[tool.Name]
	switch {
	case !ok:
		if value := smallest(tool.Parameters); strings.HasPrefix(value, "{") {
			return value
		}
		return "{}" // arguments are an object whatever the schema forgets to say
	case chinese:
		return known[1]
	}
	return known[0]
}

func smallest(schema json.RawMessage) string {
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		return "{}"
	}
	value, err := json.Marshal(minimal(root))
	if err != nil {
		return "{}"
	}
	return string(value)
}
