package loop

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/tools"
)

var update = flag.Bool("update", false, "write what the scripts do into testdata")

// The files in testdata/scripts tell what a model and its tools do, one command per line, and beneath each command, with
// a tab, what the loop has done about it. Lines with # tell what the script shows. After every command the state goes through Encode and
// Decode, and both copies must continue in the same way.
//
//	config story|system|actor [stream] [segments] [review] [hold] [precall] [nosuspend] [steering] [schema=…] [tools=a,b*,…]
//	       [deferred=a:words,…] [after=a] [require=tool-use]
//	       [steps=n] [retries=n] [zh] [reserve=ms] [choice=required]          (* marks a parallel tool)
//	begin [left=10s]
//	prestep [end] [left=10s] [steps=n] [tools=a]                            (with hold)
//	precall [add="line"] [slot=name] [tools=a] [silent] [segments=…]        (with precall)
//	say "a line of the player while the loop runs"
//	refused context-overflow|invalid-context|budget-exceeded [left=10s] "detail"
//	resume `answer` [deferred=a,b] [left=10s]
//	delta "text"
//	reply "text" [call id name `args`]… [finish=length] [left=10s]
//	fail kind [status=529] [after=7s] [left=10s] "message"
//	tools id=ok|wrote|fail|refused|skip|terminate|suspend[:content]… [exceeded="why"] [left=10s]
//	review ok | review "correction"
//	timeup | cancel reason
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			before, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			after := runScript(t, string(before))
			if *update {
				if err := os.WriteFile(file, []byte(after), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if after != string(before) {
				t.Errorf("the loop does something else; got\n%s\nwant\n%s", after, before)
			}
		})
	}
}

type script struct {
	t      *testing.T
	config Config
	said   int
	asked  model.Request // of the latest PreCall
	state  State
	out    strings.Builder
}

func runScript(t *testing.T, text string) string {
	s := &script{t: t}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "\t") {
			continue // what the loop did when the file was written
		}
		s.out.WriteString(line + "\n")
		if words := split(t, line); len(words) > 0 && !strings.HasPrefix(line, "#") {
			s.command(words)
		}
	}
	return s.out.String()
}

func (s *script) command(words []word) {
	opt := options(words[1:])
	left, _ := time.ParseDuration(opt["left"])
	switch words[0].text {
	case "config":
		s.state, s.config, s.said = State{}, scriptConfig(words[1:], opt), 0
	case "begin":
		s.step(Begin{Config: s.config, Messages: []model.Message{
			{Role: model.System, Content: "[RUNTIME] test", CacheMark: true}, {Role: model.User, Content: "我去探索沼泽"},
		}, Left: left})
	case "prestep":
		in := PreStepDone{End: has(words, "end"), Left: left}
		if n, err := strconv.Atoi(opt["steps"]); err == nil {
			in.StepsLeft = &n
		}
		if names, ok := opt["tools"]; ok {
			in.Tools = strings.Split(names, ",")
		}
		s.step(in)
	case "delta":
		s.step(ModelDelta{Text: words[1].text})
	case "reply":
		r := model.Reply{Text: words[1].text, FinishReason: model.FinishStop, Usage: model.Usage{InputTokens: 100, OutputTokens: 10}}
		for i := 2; i < len(words); i++ {
			if words[i].text == "call" && !words[i].quoted {
				r.ToolCalls = append(r.ToolCalls, model.ToolCall{ID: words[i+1].text, Name: words[i+2].text, Arguments: words[i+3].text})
				r.FinishReason = model.FinishToolCalls
				i += 3
			}
		}
		if f, ok := opt["finish"]; ok {
			r.FinishReason = model.FinishReason(f)
		}
		s.step(ModelReplied{Reply: r, Left: left})
	case "fail":
		e := &model.Error{Kind: model.ErrorKind(words[1].text), Message: words[len(words)-1].text}
		e.Status, _ = strconv.Atoi(opt["status"])
		e.RetryAfter, _ = time.ParseDuration(opt["after"])
		s.step(ModelFailed{Err: e, Left: left})
	case "tools":
		s.step(ToolsFinished{Outcomes: s.completed(scriptOutcomes(words[1:])), Exceeded: opt["exceeded"], Left: left})
	case "review":
		if words[1].text == "ok" && !words[1].quoted {
			s.step(ReviewDone{})
		} else {
			s.step(ReviewDone{Correction: words[1].text})
		}
	case "say":
		s.said++
		s.step(Interject{ID: fmt.Sprintf("i%d", s.said), Text: words[1].text})
	case "precall":
		s.step(s.preCall(words, opt))
	case "refused":
		s.step(CallRefused{Stop: StopReason(words[1].text), Detail: words[len(words)-1].text, Left: left})
	case "resume":
		in := Resume{Answer: json.RawMessage(words[1].text), Left: left}
		if names, ok := opt["deferred"]; ok {
			in.Offers, in.Tools, in.Deferred = true, s.state.Config.Tools, scriptOffers(names)
		}
		s.step(in)
	case "timeup":
		s.step(TimeUp{})
	case "cancel":
		s.step(Cancel{Reason: StopReason(words[1].text)})
	default:
		s.t.Fatalf("unknown command %q", words[0].text)
	}
}

func (s *script) step(in Input) {
	before, err := Encode(s.state)
	if err != nil {
		s.t.Fatal(err)
	}
	next, effects := Step(s.state, in)
	if after, _ := Encode(s.state); !bytes.Equal(before, after) {
		s.t.Fatalf("%T changed the state it was given", in)
	}
	if s.state.Phase != "" {
		copied, err := Decode(before)
		if err != nil {
			s.t.Fatal(err)
		}
		_, again := Step(copied, in)
		if !reflect.DeepEqual(again, effects) {
			s.t.Fatalf("%T: a decoded state does\n%+v\nthe original\n%+v", in, again, effects)
		}
	}
	s.state = next
	for _, e := range effects {
		if e, ok := e.(PreCall); ok {
			s.asked = e.Request
		}
		s.out.WriteString("\t" + describeEffect(e) + "\n")
	}
	if s.state.Await == AwaitTools && !slices.ContainsFunc(s.state.Reply.Calls, func(c model.ToolCall) bool { return !s.answers(c) }) {
		s.step(ToolsFinished{Outcomes: s.completed(nil)})
	}
}

// answers: a script does not say what becomes of this call; the framework's own tool does.
func (s *script) answers(c model.ToolCall) bool {
	config := s.state.Config
	return c.Name == RuntimeDone && slices.Contains(config.Authorised(), RuntimeDone) || c.Name == SearchTools && len(config.Deferred) > 0 || c.Name == Suspend && config.NoSuspend
}

// completed adds what the framework's own tools answer, up to the call that ends the batch.
func (s *script) completed(outcomes []ToolOutcome) []ToolOutcome {
	for _, c := range s.state.Reply.Calls {
		i := slices.IndexFunc(outcomes, func(o ToolOutcome) bool { return o.CallID == c.ID })
		switch {
		case i >= 0 && (outcomes[i].Terminate || outcomes[i].Name == "" && c.Name == Suspend && outcomes[i].OK):
			return outcomes
		case i < 0 && s.answers(c):
			outcomes = append(outcomes, frameworkOutcome(s.state.Config, c))
		}
	}
	return outcomes
}

// frameworkOutcome is what becomes of a call of runtime-done, search-tools or suspend that no hook touches.
func frameworkOutcome(config Config, c model.ToolCall) ToolOutcome {
	switch {
	case c.Name == SearchTools:
		r := tools.FindTools(c.Arguments, config.Searchable())
		o := ToolOutcome{CallID: c.ID, Name: r.Name, Arguments: r.Arguments, Result: r.Envelope, OK: r.Err == nil, Content: r.Content}
		if r.Err != nil {
			o.ErrorCode = string(r.Err.Code)
		}
		return o
	case !slices.Contains(config.Authorised(), c.Name):
		return ToolOutcome{CallID: c.ID, ErrorCode: "unavailable", Result: `{"error":{"code":"unavailable"}}`}
	case !doneArguments(c.Arguments):
		return ToolOutcome{CallID: c.ID, ErrorCode: "invalid-input", Result: `{"error":{"code":"invalid-input"}}`}
	}
	return ToolOutcome{CallID: c.ID, OK: true, Content: json.RawMessage(`{"done":true}`)}
}

// preCall is what a hook makes of a request: a line more, a tool less, no stream, other segments.
func (s *script) preCall(words []word, opt map[string]string) PreCallDone {
	var in PreCallDone
	req := s.asked
	if line, ok := opt["add"]; ok {
		req.Messages = append(req.Messages, model.Message{Role: model.System, Content: line})
		in.Request = &req
	}
	if slot, ok := opt["slot"]; ok {
		req.Slot = slot
		in.Request = &req
	}
	if names, ok := opt["tools"]; ok {
		req.Tools = nil
		for _, t := range scriptOffers(names) {
			req.Tools = append(req.Tools, t.Tool)
		}
		req.ToolChoice = model.ToolChoice{Mode: "required"}
		in.Request = &req
	}
	if has(words, "silent") {
		off := false
		in.Stream = &off
	}
	if raw, ok := opt["segments"]; ok {
		in.PromptSegments = json.RawMessage(raw)
	}
	return in
}

func describeEffect(e Effect) string {
	switch e := e.(type) {
	case PreStep:
		return fmt.Sprintf("pre-step %d? left=%d tools=%s", e.Step, e.StepsLeft, strings.Join(e.Tools, ","))
	case PreCall:
		line := fmt.Sprintf("pre-call for %s?", e.Purpose)
		if len(e.PromptSegments) > 0 {
			line += " segments=" + string(e.PromptSegments)
		}
		return line
	case InterjectionMerged:
		return "merged " + e.ID
	case InterjectionRefused:
		return "refused " + e.ID
	case StepStarted:
		return fmt.Sprintf("step %d started", e.Step)
	case StepCompleted:
		return fmt.Sprintf("step %d completed tools=%d failed=%d calls=%d", e.Step, e.ToolCalls, e.Failed, e.Usage.ModelCalls)
	case CallModel:
		return describeCall(e)
	case Review:
		return "review " + strconv.Quote(e.Reply.Text)
	case RunTools:
		var parts []string
		for _, b := range e.Batches {
			var names []string
			for _, c := range b.Calls {
				names = append(names, c.ID+":"+c.Name)
			}
			parts = append(parts, "["+strings.Join(names, " ")+"]")
		}
		return "run " + strings.Join(parts, " ")
	case EmitDelta:
		return "show " + quote(e.Text)
	case EmitReset:
		return "withdraw"
	case Finish:
		return describeOutcome(e.Outcome)
	}
	return fmt.Sprintf("?%T", e)
}

// describeCall shows the end of the conversation from the latest assistant message on.
func describeCall(e CallModel) string {
	var b strings.Builder
	fmt.Fprintf(&b, "call model for %s, attempt %d", e.Purpose, e.Attempt)
	if e.After > 0 {
		fmt.Fprintf(&b, " after %s", e.After)
	}
	if e.Reason != "" {
		b.WriteString(" because of " + e.Reason)
	}
	if e.Trim {
		b.WriteString(" trimmed")
	}
	if e.Request.Slot != "" {
		b.WriteString(" slot=" + e.Request.Slot)
	}
	if c := e.Request.ToolChoice; c != (model.ToolChoice{}) {
		fmt.Fprintf(&b, " choice=%s%s", c.Mode, c.Named)
	}
	for _, t := range e.Request.Tools {
		b.WriteString(" +" + t.Name)
	}
	if f := e.Request.ResponseFormat; f != nil {
		b.WriteString(" format=" + f.Name)
	}
	from := len(e.Request.Messages) - 1
	for from > 0 && e.Request.Messages[from-1].Role != model.User {
		from--
	}
	for _, msg := range e.Request.Messages[from:] {
		b.WriteString("\n\t\t" + string(msg.Role))
		if msg.ToolCallID != "" {
			b.WriteString(" " + msg.ToolCallID)
		}
		b.WriteString(": " + quote(msg.Content))
		for _, c := range msg.ToolCalls {
			fmt.Fprintf(&b, " %s:%s(%s)", c.ID, c.Name, c.Arguments)
		}
	}
	return b.String()
}

func describeOutcome(o Outcome) string {
	line := fmt.Sprintf("finish %s %s", o.Status, o.Stop)
	if o.Finalizer {
		line += " finalizer"
	}
	if o.Truncated {
		line += " truncated"
	}
	add := func(name, v string) {
		if v != "" {
			line += " " + name + "=" + v
		}
	}
	if o.Text != "" {
		add("text", quote(o.Text))
	}
	for _, s := range o.Segments {
		line += " {" + strings.TrimSpace(s.Kind+" "+s.Speaker) + "}"
	}
	add("output", string(o.Output))
	if o.Suspension != nil {
		add("asks", quote(o.Suspension.Reason))
		add("schema", string(o.Suspension.ResumeSchema))
	}
	for _, i := range o.Merged {
		add("heard", quote(i.Text))
	}
	if o.PartialText != "" {
		add("draft", quote(o.PartialText))
	}
	if o.Error != "" {
		add("error", quote(o.Error))
	}
	for _, r := range o.ToolCalls {
		line += fmt.Sprintf("\n\t\t%d %s:%s(%s)", r.Step, r.CallID, r.Name, r.Arguments)
		switch {
		case r.Skipped:
			line += " not executed"
		case r.OK:
			line += " ok"
		case r.Refused:
			line += " refused"
		default:
			line += " failed"
		}
	}
	return line + fmt.Sprintf("\n\t\tused %d calls, %d tools, %d+%d tokens", o.Usage.ModelCalls, o.Usage.ToolCalls, o.Usage.InputTokens, o.Usage.OutputTokens)
}

// quote is strconv.Quote with printable characters kept.
func quote(s string) string { return strconv.QuoteToGraphic(s) }

func scriptConfig(words []word, opt map[string]string) Config {
	name := ProfileName(words[0].text)
	c := Config{
		RuntimeID: "test", Profile: ResolveProfile(name), Story: name == StoryProfile, Locale: "en",
		Stream: has(words, "stream"), Hooks: Hooks{PreStep: has(words, "hold"), PreCall: has(words, "precall"), Review: has(words, "review")}, Segments: has(words, "segments"),
		Require: opt["require"], Retry: DefaultRetryPolicy(1),
	}
	if has(words, "zh") {
		c.Locale = "zh"
	}
	if c.Segments {
		c.OutputSchema = json.RawMessage(`{"type":"object","properties":{"segments":{"type":"array"}}}`)
	}
	if schema, ok := opt["schema"]; ok {
		c.OutputSchema = json.RawMessage(schema)
	}
	if names, ok := opt["tools"]; ok {
		c.Tools = scriptOffers(names)
	}
	if names, ok := opt["deferred"]; ok {
		c.Deferred, c.DeferredBy = scriptOffers(names), "codex"
	}
	c.NoSuspend = has(words, "nosuspend")
	if has(words, "steering") {
		c.Profile.Steering = true
	}
	if names, ok := opt["after"]; ok {
		c.AfterTools = strings.Split(names, ",")
	}
	if n, err := strconv.Atoi(opt["steps"]); err == nil {
		c.MaxSteps = n
	}
	if n, err := strconv.Atoi(opt["retries"]); err == nil {
		c.Retry.MaxRetries = n
	}
	if n, err := strconv.Atoi(opt["reserve"]); err == nil {
		c.Profile.Finalizer.DeadlineReserveMs = n
	}
	c.ToolChoice.Mode = opt["choice"]
	return c
}

func scriptOffers(names string) []ToolOffer {
	var out []ToolOffer
	for n := range strings.SplitSeq(names, ",") {
		n, parallel := strings.CutSuffix(n, "*")
		n, about, _ := strings.Cut(n, ":")
		offer := ToolOffer{Tool: model.Tool{Name: n, Description: about}, Parallel: parallel}
		if n == RuntimeDone {
			offer.Tool = RuntimeDoneTool()
		}
		out = append(out, offer)
	}
	return out
}

func scriptOutcomes(words []word) []ToolOutcome {
	var out []ToolOutcome
	for _, w := range words {
		id, what, ok := strings.Cut(w.text, "=")
		if !ok || id == "left" || id == "exceeded" {
			continue
		}
		what, content, _ := strings.Cut(what, ":")
		o := ToolOutcome{CallID: id}
		switch what {
		case "ok", "wrote", "terminate":
			o.Wrote = what == "wrote"
			o.OK, o.Terminate, o.Result = true, what == "terminate", `{"summary":"ok"}`
			if content != "" {
				o.Content = json.RawMessage(content)
			}
		case "suspend":
			o.OK, o.Result, o.Content = true, `{"data":{}}`, json.RawMessage(`{"_covelSuspend":true,"reason":"名字？","resumeSchema":{"type":"object"}}`)
			o.Name = content
		case "fail":
			o.Result, o.ErrorCode = `{"error":{"code":"invalid-input"}}`, "invalid-input"
		case "refused":
			o.Result, o.ErrorCode, o.Refused = `{"error":{"code":"refused"}}`, "refused", true
		case "skip":
			o.Result, o.ErrorCode, o.Skipped = `{"error":{"code":"cancelled"}}`, "cancelled", true
		}
		out = append(out, o)
	}
	return out
}

type word struct {
	text   string
	quoted bool
}

// split cuts a line at spaces; "…" and `…` stand for one word, also after name=.
func split(t *testing.T, line string) []word {
	var out []word
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		i := strings.IndexAny(line, " \"`")
		if i < 0 {
			i = len(line)
		}
		if i == len(line) || line[i] == ' ' {
			out = append(out, word{text: line[:i]})
			line = line[i:]
			continue
		}
		q, err := strconv.QuotedPrefix(line[i:])
		if err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		text, err := strconv.Unquote(q)
		if err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		out = append(out, word{text: line[:i] + text, quoted: i == 0})
		line = line[i+len(q):]
	}
	return out
}

func options(words []word) map[string]string {
	opt := map[string]string{}
	for _, w := range words {
		if k, v, ok := strings.Cut(w.text, "="); ok && !w.quoted {
			opt[k] = v
		}
	}
	return opt
}

func has(words []word, name string) bool {
	for _, w := range words {
		if w.text == name && !w.quoted {
			return true
		}
	}
	return false
}
