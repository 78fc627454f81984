package storyteller

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"

	"github.com/covel/covel/kernel/model"
)

// doneTool is the tool by which a task says that it is finished.
const doneTool = "runtime-done"

// Tools that look something up or belong to the loop: they are never the work that a task is asked for.
var lookups = regexp.MustCompile(`^(search-tools|suspend|delegate|emit-event|runtime-done|memory-search|.*-(get|list|search|read)|(get|list|search|read|find)-.*)$`)

// mostFailures is how often the same tool is tried before the storyteller gives up on it.
const mostFailures = 4

// callFor decides whether the answer is a tool call, and which.
func callFor(b *brief, req model.Request, seed uint64) (model.ToolCall, bool) {
	if len(req.Tools) == 0 || req.ToolChoice.Mode == "none" {
		return model.ToolCall{}, false
	}
	done := slices.IndexFunc(req.Tools, func(t model.Tool) bool { return t.Name == doneTool })
	demanded := req.ToolChoice.Mode == "required" || req.ToolChoice.Named != "" || b.mode == "completing-tool"
	if !demanded {
		if done >= 0 && b.mode != "story" && req.ResponseFormat == nil {
			return finishedCall(req.Tools[done], b, seed)
		}
		return model.ToolCall{}, false
	}
	if tool := chooseTool(b, req); tool != nil {
		if call, ok := workCall(*tool, b, seed); ok {
			return call, true
		}
	}
	if done >= 0 {
		return finishedCall(req.Tools[done], b, seed)
	}
	return model.ToolCall{}, false
}

// chooseTool is the named tool, else the one whose shape the storyteller understands, else the first that does work and
// has not yet been done.
func chooseTool(b *brief, req model.Request) *model.Tool {
	wanted := req.ToolChoice.Named
	if wanted == "" && req.ToolChoice.Mode != "required" {
		wanted = req.ToolChoice.Mode
	}
	var work, rest []*model.Tool
	for i := range req.Tools {
		t := &req.Tools[i]
		if t.Name == wanted {
			return t
		}
		switch {
		case b.succeeded(t.Name) || b.failures(t.Name) >= mostFailures:
		case lookups.MatchString(t.Name):
			if t.Name != doneTool {
				rest = append(rest, t)
			}
		default:
			work = append(work, t)
		}
	}
	for _, t := range work {
		if s := parseSchema(t.Parameters); isForm(s) || isGuide(s) {
			return t
		}
	}
	if len(work) > 0 {
		return work[0]
	}
	done := slices.ContainsFunc(req.Tools, func(t model.Tool) bool { return t.Name == doneTool })
	if len(rest) > 0 && !done && len(b.calls) == 0 {
		return rest[0]
	}
	return nil
}

func (b *brief) succeeded(name string) bool {
	return slices.ContainsFunc(b.calls, func(c pastCall) bool { return c.name == name && !c.failed && c.answer != "" })
}

func (b *brief) failures(name string) int {
	n := 0
	for _, c := range b.calls {
		if c.name == name && c.failed {
			n++
		}
	}
	return n
}

// workCall fills the arguments of a tool. After a refusal it corrects what the refusal names, and it never makes the
// same call twice.
func workCall(tool model.Tool, b *brief, seed uint64) (model.ToolCall, bool) {
	s := parseSchema(tool.Parameters)
	for try := range uint64(6) {
		f := newFiller(b, seed+try*7919)
		for _, c := range b.calls {
			if c.name == tool.Name && c.failed {
				f.heed(c)
			}
		}
		f.spare = try >= 4
		args := string(f.fill(s))
		if !strings.HasPrefix(args, "{") {
			args = "{}"
		}
		if !slices.ContainsFunc(b.calls, func(c pastCall) bool { return c.name == tool.Name && sameJSON(c.arguments, args) }) {
			return newCall(tool.Name, args, b, seed), true
		}
	}
	return model.ToolCall{}, false
}

func finishedCall(tool model.Tool, b *brief, seed uint64) (model.ToolCall, bool) {
	return newCall(tool.Name, string(newFiller(b, seed).fill(parseSchema(tool.Parameters))), b, seed), true
}

func newCall(name, args string, b *brief, seed uint64) model.ToolCall {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, seed, name, args, len(b.calls))
	return model.ToolCall{ID: fmt.Sprintf("call_%016x", h.Sum64()), Name: name, Arguments: args}
}

func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	ax, _ := json.Marshal(x)
	by, _ := json.Marshal(y)
	return string(ax) == string(by)
}

var failureText = regexp.MustCompile(`(?i)^\W*(error|invalid|refused|rejected|failed|failure|conflict|not[- ]found|unknown|missing|denied|cannot|unavailable)|\binvalid-input\b|错误|失败|无效|被拒绝`)

// refused tells whether a tool's answer is a refusal.
func refused(answer string) bool {
	var v map[string]json.RawMessage
	if json.Unmarshal([]byte(answer), &v) == nil {
		for _, k := range []string{"success", "ok", "created"} {
			if string(v[k]) == "false" {
				return true
			}
		}
		if e, ok := v["error"]; ok && string(e) != "null" && string(e) != `""` && string(e) != "false" {
			return true
		}
		var status string
		_ = json.Unmarshal(v["status"], &status)
		return status == "error" || status == "failed" || status == "rejected"
	}
	return failureText.MatchString(clip(answer, 200))
}

var (
	allowedFrom = regexp.MustCompile(`(?i)\b(collectable|can (be )?collect\w*|allowed|available|accepts? only|only accepts?|must be one of|choose from|declared attributes)\b|可收集|可以收集|可用|允许|只能|可选`)
	namedInText = regexp.MustCompile("[\"'`“‘「]([^\"'`“”‘’「」]{1,60})[\"'`”’」]")
	pointer     = regexp.MustCompile(`/([A-Za-z][\w-]*)(?:/(\d+))?`)
	notExpected = regexp.MustCompile(`(?i)additional ?propert|unknown (property|field|key)|unexpected (property|field|key)|not allowed|unrecogni[sz]ed|未知(字段|属性)|不允许`)
	tooLong     = regexp.MustCompile(`(?i)too long|max(imum)?[ -]?length|at most|shorter|exceeds?|more than|过长|太长|超过|不超过`)
	nameTaken   = regexp.MustCompile(`(?i)already (exists|taken|used|in use|has)|name.{0,20}taken|重名|已存在|已有|被占用`)
)

// heed learns from a refusal what to leave out, what to shorten and what to change.
func (f *filler) heed(c pastCall) {
	answer := c.answer
	listed := answer
	if at := allowedFrom.FindStringIndex(answer); at != nil {
		listed = answer[:at[0]] // names after this are the ones that would be right
	}
	var sent struct {
		Fields []struct {
			Name         string `json:"name"`
			DefaultValue any    `json:"defaultValue"`
		} `json:"fields"`
	}
	_ = json.Unmarshal([]byte(c.arguments), &sent)
	for _, field := range sent.Fields {
		if field.Name != characterNameField && containsName(listed, field.Name) && !notExpected.MatchString(answer) {
			f.refused[field.Name] = true
		}
		if name, ok := field.DefaultValue.(string); ok && field.Name == characterNameField && nameTaken.MatchString(answer) {
			f.refused[name] = true
		}
	}
	for _, m := range pointer.FindAllStringSubmatch(listed, 12) {
		if i := indexOf(m[2]); m[1] == "fields" && i > 0 && i < len(sent.Fields) && !notExpected.MatchString(answer) {
			f.refused[sent.Fields[i].Name] = true
		}
	}
	if notExpected.MatchString(answer) {
		for _, m := range namedInText.FindAllStringSubmatch(answer, 12) {
			name := m[1][strings.LastIndexAny(m[1], "/.")+1:]
			if strings.Contains(c.arguments, jsonText(name)+":") {
				f.drop[name] = true
			}
			for _, field := range sent.Fields {
				if field.Name == name && name != characterNameField {
					f.refused[name] = true
				}
			}
		}
	}
	f.brief = f.brief || tooLong.MatchString(answer)
}

func indexOf(digits string) int {
	n := 0
	for _, r := range digits {
		n = n*10 + int(r-'0')
		if n > 1000 {
			return -1
		}
	}
	return n
}

// containsName finds a field name as a word of its own in a text.
func containsName(text, name string) bool {
	for from := 0; name != ""; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		i += from
		before := lastRune(text[:i])
		if standsAlone(before, name, text[i+len(name):]) {
			return true
		}
		from = i + len(name)
	}
	return false
}
