package storyteller

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/covel/covel/kernel/model"
	"pgregory.net/rapid"
)

const (
	guideSchema = `{"type":"object","additionalProperties":false,"required":["scene","recap","decision","prompts"],"properties":{"scene":{"type":"string","minLength":1,"maxLength":60},"recap":{"type":"string","maxLength":600},"decision":{"type":"string","maxLength":200},"prompts":{"type":"array","minItems":3,"maxItems":6,"items":{"type":"object","additionalProperties":false,"required":["type","text"],"properties":{"type":{"type":"string","enum":["observe","ask","act","social"]},"text":{"type":"string","minLength":1,"maxLength":80}}}}}}`
	// the same with other names and shapes
	otherGuideSchema = `{"type":"object","required":["title","summary","decisions","suggestions"],"properties":{"title":{"type":"string"},"summary":{"type":"string"},"decisions":{"type":"array","minItems":1,"items":{"type":"string"}},"suggestions":{"type":"array","minItems":4,"maxItems":4,"items":{"$ref":"#/$defs/s"}}},"$defs":{"s":{"type":"object","required":["kind","label"],"properties":{"kind":{"enum":["ask","act","social","observe"]},"label":{"type":"string"}}}}}`
	formSchema       = `{"type":"object","additionalProperties":false,"required":["title","fields","submitLabel","narrativeTemplate"],"properties":{"title":{"type":"string","minLength":1},"submitLabel":{"type":"string"},"narrativeTemplate":{"type":"string"},"fields":{"type":"array","minItems":1,"maxItems":4,"items":{"type":"object","additionalProperties":false,"required":["name","type","label"],"properties":{"name":{"type":"string"},"type":{"enum":["text","select"]},"label":{"type":"string"},"options":{"type":"array","items":{"type":"string"}},"required":{"type":"boolean"},"defaultValue":{"type":"string"}}}}}}`

	attributesEnglish = `[{"id":"name","name":"Name","type":"string"},{"id":"trade","name":"Trade","type":"string","category":"bio"},{"id":"temper","name":"Temper","type":"enum","options":["stubborn","gentle","wary"],"category":"bio"},{"id":"vigour","name":"Vigour","type":"number","max":10},{"id":"drive","name":"What drives you","type":"string"},{"id":"kin","name":"Kin","type":"string"}]`
	attributesChinese = `[{"id":"name","name":"姓名","type":"string"},{"id":"chushen","name":"出身","type":"enum","options":["渔民之子","山中猎户"],"category":"bio"},{"id":"lingen","name":"灵根","type":"enum","options":["水灵根","火灵根"]},{"id":"qili","name":"气力","type":"number"},{"id":"xinyuan","name":"心愿","type":"string"},{"id":"qinren","name":"亲人","type":"string"}]`
)

func toolRequest(locale, mode, name, schema string) model.Request {
	return model.Request{
		Messages:   []model.Message{{Role: model.System, Content: "[RUNTIME] x · X\n[LANGUAGE] " + locale + " · x\n[COMPLETION] " + mode + " · Do it."}, {Role: model.User, Content: "(Run now.)"}},
		Tools:      []model.Tool{{Name: name, Parameters: json.RawMessage(schema)}},
		ToolChoice: model.ToolChoice{Mode: "required"},
	}
}

// guideRequest is what a runtime gets that works after the story of the turn just played.
func (g *game) guideRequest(schema string) model.Request {
	req := toolRequest(g.world.locale, "completing-tool", "generate-guide", schema)
	n := len(g.past) - 1
	if n > 0 && g.past[n-1].Role == model.User {
		n--
	}
	cue := "(The passage above is this turn's story. Do your task now.)"
	if !g.english() {
		cue = "（以上是本回合的正文。请执行你的任务。）"
	}
	msgs := append([]model.Message{req.Messages[0]}, g.past[:n]...)
	msgs = append(msgs, model.Message{Role: model.System, Content: g.context()})
	msgs = append(msgs, g.past[n:]...)
	req.Messages = append(msgs, model.Message{Role: model.User, Content: cue})
	return req
}

func callOf(t testing.TB, req model.Request) model.ToolCall {
	t.Helper()
	reply := generate(t, req)
	if len(reply.ToolCalls) != 1 || reply.FinishReason != model.FinishToolCalls || reply.Text != "" {
		t.Fatalf("no single tool call: %+v", reply)
	}
	call := reply.ToolCalls[0]
	for _, tool := range req.Tools {
		if tool.Name == call.Name {
			if !parseSchema(tool.Parameters).valid([]byte(call.Arguments)) {
				t.Fatalf("arguments of %s do not fit the schema:\n%s", call.Name, call.Arguments)
			}
			return call
		}
	}
	t.Fatalf("called %s, which is not on offer", call.Name)
	return call
}

type guideArgs struct {
	Scene, Recap, Decision string
	Prompts                []struct{ Type, Text string }
}

// The guide sums up what happened and offers lines in the player's voice: few, short, different, about this passage.
func TestGuide(t *testing.T) {
	for _, w := range allWorlds(t) {
		tongue := tongueOf(w.locale)
		lines := []string{"", "I look around", "I ask what is wrong here", "I wait", "I go to " + namesOf[w.id][1][1], "I hit the wall", "What can I do?"}
		if tongue == chinese {
			lines = []string{"", "四下看看", "这里出了什么事？", "我等一等", "去" + namesOf[w.id][1][1], "我捶墙", "我能做什么？"}
		}
		g := &game{world: w}
		var last []string
		for i, line := range lines {
			story := segmentsText(g.play(t, line))
			var v guideArgs
			if err := json.Unmarshal([]byte(callOf(t, g.guideRequest(guideSchema)).Arguments), &v); err != nil {
				t.Fatal(err)
			}
			var texts []string
			named := 0
			kinds := map[string]bool{}
			for _, p := range v.Prompts {
				n := len(strings.Fields(p.Text))
				if least, most := 3, 12; tongue == chinese {
					n, least, most = runeCount(p.Text), 4, 16
					if n < least || n > most {
						t.Errorf("%s: %q is %d characters", w.id, p.Text, n)
					}
				} else if n < least || n > most {
					t.Errorf("%s: %q is %d words", w.id, p.Text, n)
				}
				if slices.Contains(texts, p.Text) {
					t.Errorf("%s: twice %q", w.id, p.Text)
				}
				if !speaks(tongue, p.Text) || leftovers.MatchString(p.Text) || p.Type == "" {
					t.Errorf("%s: %q (%s)", w.id, p.Text, p.Type)
				}
				for _, name := range slices.Concat(namesOf[w.id][0], namesOf[w.id][1]) {
					if strings.Contains(p.Text, withoutThe(name)) {
						named++
						break
					}
				}
				texts = append(texts, p.Text)
				kinds[p.Type] = true
			}
			if len(texts) < 3 || len(texts) > 6 || len(kinds) < 3 {
				t.Errorf("%s: %d prompts of %d kinds", w.id, len(texts), len(kinds))
			}
			if named == 0 && w.profiles != "" {
				t.Errorf("%s turn %d: no prompt names anybody or any place: %q", w.id, i+1, texts)
			}
			if slices.Equal(texts, last) {
				t.Errorf("%s: the same prompts as in the turn before: %q", w.id, texts)
			}
			last = texts
			for what, s := range map[string]string{"scene": v.Scene, "recap": v.Recap, "decision": v.Decision} {
				if s == "" || !speaks(tongue, s) || leftovers.MatchString(s) {
					t.Errorf("%s %s: %q", w.id, what, s)
				}
			}
			first := sentences(v.Recap)[0]
			if !strings.Contains(story, first) {
				t.Errorf("%s: the recap says what the passage does not: %q", w.id, first)
			}
			if n := length(tongue, v.Recap); tongue == english && n > 60 || n > 110 {
				t.Errorf("%s: recap of %d", w.id, n)
			}
		}
	}
}

func TestGuideOfAnotherShape(t *testing.T) {
	g := &game{world: wugang(t)}
	g.play(t, "")
	call := callOf(t, g.guideRequest(otherGuideSchema))
	var v struct {
		Title, Summary string
		Decisions      []string
		Suggestions    []struct{ Kind, Label string }
	}
	if err := json.Unmarshal([]byte(call.Arguments), &v); err != nil || len(v.Suggestions) != 4 || len(v.Decisions) == 0 || v.Title == "" || v.Summary == "" || v.Suggestions[0].Label == "" {
		t.Errorf("%v %s", err, call.Arguments)
	}
}

type formArgs struct {
	Title, SubmitLabel, NarrativeTemplate string
	Fields                                []struct {
		Name, Type, Label, DefaultValue string
		Options                         []string
		Required                        bool
	}
}

// filled is the sentence a player sends who changes nothing.
func (f formArgs) filled() string {
	s := f.NarrativeTemplate
	for _, field := range f.Fields {
		s = strings.ReplaceAll(s, "{{"+field.Name+"}}", field.DefaultValue)
	}
	return s
}

var formSources = []struct {
	name string
	put  func(req *model.Request, attrs string)
}{
	{"runtime inputs", func(req *model.Request, attrs string) {
		block := `{"schema":{"cardinality":"one","value":{"worldSchema":{"types":["npc"],"attributes":` + attrs + `}},"source":{"pluginId":"p","runtimeId":"r"}}}`
		req.Messages = slices.Insert(req.Messages, 1, model.Message{Role: model.System, Content: "<runtime-inputs>\n" + xmlEscape.Replace(block) + "\n</runtime-inputs>"})
	}},
	{"a list in the prompt", func(req *model.Request, attrs string) {
		req.Messages[0].Content += "\n\nAttributes [see below] of this world:\n" + attrs
	}},
	{"a schema as text in an input", func(req *model.Request, attrs string) {
		inner, _ := json.Marshal(`{"attributes":` + attrs + `}`)
		req.Messages = slices.Insert(req.Messages, 1, model.Message{Role: model.System, Content: `<runtime-inputs>{"s":{"value":` + string(inner) + `}}</runtime-inputs>`})
	}},
}

// A prompt that carries the world's text and schema in its body gives the form the world's name.
func TestCharacterFormKnowsTheWorld(t *testing.T) {
	for _, w := range []testWorld{saltmere(t), wugang(t)} {
		req := toolRequest(w.locale, "completing-tool", "create-character-form", formSchema)
		req.Messages[0].Content += "\n\nMake the form.\n\n{\"attributes\": " + attributesEnglish + "}\n\n" + w.lore
		var v formArgs
		if err := json.Unmarshal([]byte(callOf(t, req).Arguments), &v); err != nil || len(v.Fields) != 4 {
			t.Errorf("%v, %d fields", err, len(v.Fields))
		}
		if name := map[string]string{"saltmere": "Saltmere", "wugang": "雾港"}[w.id]; !strings.Contains(v.Title, name) {
			t.Errorf("title %q", v.Title)
		}
	}
}

func TestCharacterForm(t *testing.T) {
	for _, c := range []struct {
		locale, attrs string
		fields        []string
		start         string
	}{
		{"en", attributesEnglish, []string{"characterName", "trade", "temper", "drive"}, "My name is {{characterName}}; "},
		{"zh-CN", attributesChinese, []string{"characterName", "chushen", "lingen", "xinyuan"}, "我叫{{characterName}}，"},
		{"fr", attributesEnglish, []string{"characterName", "trade", "temper", "drive"}, "My name is {{characterName}}; "},
		{"en", `[{"id":"vigour","name":"Vigour","type":"number"},{"id":"bag","name":"Bag","type":"array","itemType":"string"}]`, []string{"characterName"}, "My name is {{characterName}}."},
		{"zh-CN", `[]`, []string{"characterName"}, "我叫{{characterName}}。"},
	} {
		for _, source := range formSources {
			req := toolRequest(c.locale, "completing-tool", "create-character-form", formSchema)
			source.put(&req, c.attrs)
			var v formArgs
			if err := json.Unmarshal([]byte(callOf(t, req).Arguments), &v); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, f := range v.Fields {
				names = append(names, f.Name)
				if strings.Count(v.NarrativeTemplate, "{{"+f.Name+"}}") != 1 {
					t.Errorf("%s: %s stands %d times in %q", source.name, f.Name, strings.Count(v.NarrativeTemplate, "{{"+f.Name+"}}"), v.NarrativeTemplate)
				}
				if f.DefaultValue == "" || f.Label == "" || f.Required != (f.Name == characterNameField) {
					t.Errorf("%s: field %+v", source.name, f)
				}
				if f.Type == "select" && (!slices.Contains(f.Options, f.DefaultValue) || !strings.Contains(c.attrs, `"`+f.Options[0]+`"`)) {
					t.Errorf("%s: options %q, default %q", source.name, f.Options, f.DefaultValue)
				}
			}
			if !slices.Equal(names, c.fields) {
				t.Errorf("%s, %s: fields %q", c.locale, source.name, names)
			}
			if !strings.HasPrefix(v.NarrativeTemplate, c.start) || strings.Contains(v.filled(), "{{") {
				t.Errorf("%s: template %q", source.name, v.NarrativeTemplate)
			}
			tongue, bad := tongueOf(c.locale), doubledEnglish
			if tongue == chinese {
				bad = doubledChinese
			}
			if m := bad.FindString(v.filled()); m != "" || !speaks(tongue, v.filled()) {
				t.Errorf("%s: reads %q", source.name, v.filled())
			}
		}
	}
}

// refuse answers the last call of a request with an error and asks again.
func refuse(req model.Request, call model.ToolCall, answer string) model.Request {
	req.Messages = append(slices.Clone(req.Messages),
		model.Message{Role: model.Assistant, ToolCalls: []model.ToolCall{call}},
		model.Message{Role: model.ToolRole, ToolCallID: call.ID, Content: answer})
	return req
}

// A refused call is corrected where the refusal says how, and never made again as it was.
func TestRefusedCallsAreCorrected(t *testing.T) {
	form := func() model.Request {
		req := toolRequest("en", "completing-tool", "create-character-form", formSchema)
		formSources[0].put(&req, attributesEnglish)
		return req
	}
	names := func(call model.ToolCall) []string {
		var v formArgs
		_ = json.Unmarshal([]byte(call.Arguments), &v)
		var out []string
		for _, f := range v.Fields {
			out = append(out, f.Name)
			if !strings.Contains(v.NarrativeTemplate, "{{"+f.Name+"}}") {
				t.Errorf("%s is not in %q", f.Name, v.NarrativeTemplate)
			}
		}
		return out
	}
	for _, c := range []struct {
		name, answer string
		fields       []string
	}{
		{"rejected field with the list of those that may be asked", `{"success":false,"error":{"code":"invalid-input","message":"these fields cannot be collected: drive (not a world attribute). This world can collect: trade, temper, kin"}}`, []string{"characterName", "trade", "temper", "kin"}},
		{"a pointer", `invalid-input: /fields/1/name: not a string attribute`, []string{"characterName", "temper", "drive", "kin"}},
		{"two of them, in Chinese", `{"error":"以下字段不能收集：trade、temper。可以收集：drive、kin"}`, []string{"characterName", "drive", "kin"}},
	} {
		req := form()
		first := callOf(t, req)
		second := callOf(t, refuse(req, first, c.answer))
		if got := names(second); !slices.Equal(got, c.fields) {
			t.Errorf("%s: fields %q", c.name, got)
		}
	}
	t.Run("a name that is taken", func(t *testing.T) {
		req := form()
		first := callOf(t, req)
		var a, b formArgs
		_ = json.Unmarshal([]byte(first.Arguments), &a)
		second := callOf(t, refuse(req, first, fmt.Sprintf(`{"error":"the name %q already exists in this world"}`, a.Fields[0].DefaultValue)))
		_ = json.Unmarshal([]byte(second.Arguments), &b)
		if a.Fields[0].DefaultValue == b.Fields[0].DefaultValue {
			t.Errorf("%s again", a.Fields[0].DefaultValue)
		}
	})
	t.Run("an unexpected property", func(t *testing.T) {
		loose := strings.ReplaceAll(formSchema, `"additionalProperties":false,`, "")
		req := toolRequest("en", "completing-tool", "create-character-form", loose)
		first := callOf(t, req)
		second := callOf(t, refuse(req, first, `error: additional properties 'defaultValue' not allowed at /fields/0`))
		if !strings.Contains(first.Arguments, "defaultValue") || strings.Contains(second.Arguments, "defaultValue") {
			t.Errorf("%s\n%s", first.Arguments, second.Arguments)
		}
	})
	t.Run("never the same call twice", func(t *testing.T) {
		g := &game{world: saltmere(t)}
		g.play(t, "")
		req := g.guideRequest(guideSchema)
		seen := map[string]bool{}
		for range mostFailures {
			call := callOf(t, req)
			if seen[call.Arguments] {
				t.Fatalf("again: %s", call.Arguments)
			}
			seen[call.Arguments] = true
			req = refuse(req, call, `{"error":"something went wrong"}`)
		}
		if reply := generate(t, req); len(reply.ToolCalls) != 0 {
			t.Errorf("still calling after %d failures", mostFailures)
		}
	})
	t.Run("a tool without arguments is not called again and again", func(t *testing.T) {
		req := toolRequest("en", "completing-tool", "ping", `{"type":"object","properties":{}}`)
		req = refuse(req, callOf(t, req), "error: no")
		if reply := generate(t, req); len(reply.ToolCalls) != 0 {
			t.Error("the identical call was repeated")
		}
	})
}

func TestWhichToolIsCalled(t *testing.T) {
	tool := func(name, schema string) model.Tool {
		return model.Tool{Name: name, Parameters: json.RawMessage(schema)}
	}
	done := tool(doneTool, `{"type":"object","properties":{"reason":{"type":"string"}}}`)
	sync := tool("sync-things", `{"type":"object","required":["entries"],"properties":{"entries":{"type":"array","items":{"type":"object"}}}}`)
	guide := tool("generate-guide", guideSchema)
	list := tool("list-things", `{"type":"object"}`)
	for _, c := range []struct {
		name, mode string
		tools      []model.Tool
		choice     model.ToolChoice
		history    []string // tools that have answered well
		want       string   // "" for text
	}{
		{"a story calls nothing", "story", []model.Tool{done, sync}, model.ToolChoice{}, nil, ""},
		{"nothing to do", "runtime-done", []model.Tool{sync, done}, model.ToolChoice{}, nil, doneTool},
		{"work is demanded first", "runtime-done", []model.Tool{done, list, sync}, model.ToolChoice{Mode: "required"}, nil, "sync-things"},
		{"then it is done", "runtime-done", []model.Tool{done, list, sync}, model.ToolChoice{Mode: "required"}, []string{"sync-things"}, doneTool},
		{"the mode demands a call", "completing-tool", []model.Tool{list, guide}, model.ToolChoice{}, nil, "generate-guide"},
		{"the tool that is understood goes first", "completing-tool", []model.Tool{sync, guide}, model.ToolChoice{Mode: "required"}, nil, "generate-guide"},
		{"a named tool", "runtime-done", []model.Tool{sync, guide, list}, model.ToolChoice{Named: "list-things"}, nil, "list-things"},
		{"none", "completing-tool", []model.Tool{guide}, model.ToolChoice{Mode: "none"}, nil, ""},
		{"no tools", "completing-tool", nil, model.ToolChoice{Mode: "required"}, nil, ""},
	} {
		req := toolRequest("en", c.mode, "x", "{}")
		req.Tools, req.ToolChoice = c.tools, c.choice
		for i, h := range c.history {
			call := model.ToolCall{ID: fmt.Sprint(i), Name: h, Arguments: "{}"}
			req = refuse(req, call, `{"success":true}`)
		}
		reply := generate(t, req)
		got := ""
		if len(reply.ToolCalls) > 0 {
			got = reply.ToolCalls[0].Name
		}
		if got != c.want || c.want == "" && reply.Text == "" {
			t.Errorf("%s: called %q, text %q", c.name, got, clip(reply.Text, 40))
		}
	}
}

func TestRefused(t *testing.T) {
	for answer, want := range map[string]bool{
		`{"success":true}`: false, `{"success":false}`: true, `{"error":"x"}`: true, `{"error":null,"ok":true}`: false, `{"created":true,"formId":"x"}`: false,
		`invalid-input: no`: true, `Error: x`: true, `event "x" emitted and recorded`: false, `保存失败`: true, `saved 3 errors found in text`: false, ``: false,
		`{"status":"rejected"}`: true, `World initialized: 15 attributes, 2 dimensions.`: false,
	} {
		if got := refused(answer); got != want {
			t.Errorf("%q: %v", answer, got)
		}
	}
}

// Whatever the schema of a tool, its arguments fit.
func TestArgumentsFitAnySchema(t *testing.T) {
	for _, schema := range []string{
		`{}`, `{"type":"object"}`, `{"type":"object","required":["a"],"properties":{"a":{}}}`,
		`{"type":"object","required":["n","i","b","s","e","c","z"],"properties":{"n":{"type":"number","exclusiveMinimum":0,"maximum":1},"i":{"type":"integer","minimum":3,"multipleOf":5},"b":{"type":"boolean"},"s":{"type":"string","minLength":40,"maxLength":50},"e":{"enum":["x","y"]},"c":{"const":7},"z":{"type":"null"}}}`,
		`{"type":"object","required":["id","when","url","code","short"],"properties":{"id":{"type":"string","format":"uuid"},"when":{"type":"string","format":"date-time"},"url":{"type":"string","format":"uri"},"code":{"type":"string","pattern":"^[A-Z]{2}-\\d{3}$"},"short":{"type":"string","maxLength":3}}}`,
		`{"type":"object","required":["list","set"],"properties":{"list":{"type":"array","minItems":3,"items":{"type":"string"}},"set":{"type":"array","minItems":2,"uniqueItems":true,"items":{"enum":["a","b","c"]}}}}`,
		`{"type":"object","required":["x"],"properties":{"x":{"anyOf":[{"type":"null"},{"type":"object","required":["y"],"properties":{"y":{"$ref":"#/$defs/y"}}}]}},"$defs":{"y":{"type":"array","minItems":1,"items":{"oneOf":[{"type":"string"},{"type":"number"}]}}}}`,
		`{"allOf":[{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}},{"type":"object","required":["b"],"properties":{"b":{"type":["null","integer"]}}}]}`,
		`{"type":"object","required":["self"],"properties":{"self":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"child":{"$ref":"#/$defs/n"}}}}}`,
		`{"type":"object","required":["creates","updates"],"properties":{"creates":{"type":"array","maxItems":5,"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}},"updates":{"type":"array","items":{}}}}`,
		`{"type":"object","required":["free"],"additionalProperties":{"type":"string"}}`,
		`not json`, `[]`, `true`, `{"type":"object","properties":{"x":{"$ref":"http://example.org/schema"}}}`,
	} {
		for _, locale := range []string{"en", "zh-CN"} {
			reply := generate(t, toolRequest(locale, "completing-tool", "do-it", schema))
			if len(reply.ToolCalls) != 1 {
				t.Errorf("%s: no call", schema)
				continue
			}
			args := reply.ToolCalls[0].Arguments
			if !json.Valid([]byte(args)) || !strings.HasPrefix(args, "{") || !parseSchema(json.RawMessage(schema)).valid([]byte(args)) {
				t.Errorf("%s\n%s", schema, args)
			}
		}
	}
}

func TestArgumentsFitRandomSchemas(t *testing.T) {
	var draw func(t *rapid.T, depth int) map[string]any
	draw = func(t *rapid.T, depth int) map[string]any {
		kinds := []string{"string", "integer", "number", "boolean", "enum", "array", "object"}
		if depth > 2 {
			kinds = kinds[:5]
		}
		switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
		case "string":
			least := rapid.IntRange(0, 30).Draw(t, "min")
			return map[string]any{"type": "string", "minLength": least, "maxLength": least + rapid.IntRange(0, 60).Draw(t, "more")}
		case "integer", "number":
			low := rapid.IntRange(-20, 20).Draw(t, "low")
			return map[string]any{"type": kind, "minimum": low, "maximum": low + rapid.IntRange(0, 9).Draw(t, "span")}
		case "enum":
			return map[string]any{"enum": rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,6}`), 1, 4).Draw(t, "enum")}
		case "array":
			least := rapid.IntRange(0, 3).Draw(t, "items")
			return map[string]any{"type": "array", "minItems": least, "maxItems": least + 3, "items": draw(t, depth+1)}
		case "object":
			props, required := map[string]any{}, []string{}
			for i := range rapid.IntRange(0, 4).Draw(t, "n") {
				name := rapid.SampledFrom([]string{"title", "summary", "text", "reason", "id", "value", "entries", "options", "prompts"}).Draw(t, "name") + fmt.Sprint(i)
				props[name] = draw(t, depth+1)
				if rapid.Bool().Draw(t, "required") {
					required = append(required, name)
				}
			}
			return map[string]any{"type": "object", "properties": props, "required": required, "additionalProperties": false}
		}
		return map[string]any{"type": "boolean"}
	}
	rapid.Check(t, func(rt *rapid.T) {
		schema := draw(rt, 0)
		if schema["type"] != "object" {
			schema = map[string]any{"type": "object", "required": []string{"x"}, "properties": map[string]any{"x": schema}}
		}
		raw, err := json.Marshal(schema)
		if err != nil {
			rt.Fatal(err)
		}
		callOf(t, toolRequest("zh", "completing-tool", "do-it", string(raw)))
	})
}

// A response format that is no story is filled by its schema; a story format with its own ideas is followed.
func TestResponseFormats(t *testing.T) {
	g := &game{world: saltmere(t)}
	g.play(t, "")
	ask := func(schema string) string {
		req := g.request("look around")
		req.ResponseFormat = &model.ResponseFormat{Name: "x", Schema: json.RawMessage(schema)}
		reply := generate(t, req)
		if !parseSchema(json.RawMessage(schema)).valid([]byte(reply.Text)) {
			t.Errorf("%s\n%s", schema, reply.Text)
		}
		return reply.Text
	}
	if text := ask(`{"type":"object","required":["summary","mood"],"properties":{"summary":{"type":"string"},"mood":{"enum":["calm","tense"]}}}`); !strings.Contains(text, "summary") {
		t.Error(text)
	}
	if text := ask(`{"type":"object","required":["segments"],"properties":{"segments":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["kind","text","speaker"],"properties":{"kind":{"enum":["narration","dialogue"]},"text":{"type":"string"},"speaker":{"type":["string","null"]}}}}}}`); strings.Contains(text, `"action"`) || !strings.Contains(text, `"speaker":null`) {
		t.Error(text)
	}
	ask(`{"type":"object","required":["segments","title"],"properties":{"title":{"type":"string"},"segments":{"type":"array","items":{"type":"object","required":["text"],"properties":{"text":{"type":"string"}}}}}}`)
	req := g.request("look around")
	req.ResponseFormat = nil
	if text := generate(t, req).Text; strings.HasPrefix(text, "{") || !strings.Contains(text, "\n\n") {
		t.Errorf("not plain paragraphs: %s", text)
	}
}

func TestMatchingPatterns(t *testing.T) {
	for _, p := range []string{`^[a-z]+$`, `^\d{4}-\d{2}$`, `^(yes|no)$`, `^.{3}x?$`, `^#[0-9a-f]{6}$`, `[`} {
		got := matching(p, "A text, with marks.")
		if re, err := regexp.Compile(p); err == nil && !re.MatchString(got) {
			t.Errorf("%s: %q", p, got)
		}
	}
}
