package manifest

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Runtime types.
const (
	TypeAgent    = "agent"
	TypeFunction = "function"
)

var runtimeHints = map[string]string{
	"trigger":     "Put it under schedule",
	"stage":       "Put it under schedule",
	"tools":       "Put it under agent or function",
	"model":       "Put it under agent",
	"handler":     "Put it under function",
	"completion":  "Put it under agent",
	"inputs":      "Put it under io",
	"output":      "Put it under io",
	"visibility":  "Put it under io",
	"provides":    "Package-level fields belong in the root PLUGIN.md",
	"requires":    "Package-level fields belong in the root PLUGIN.md",
	"optional":    "Package-level fields belong in the root PLUGIN.md",
	"conflicts":   "Package-level fields belong in the root PLUGIN.md",
	"contracts":   "Package-level fields belong in the root PLUGIN.md",
	"contributes": "Package-level fields belong in the root PLUGIN.md",
}

// runtime reads one runtime (reference: plugins.md §4) and adds it to the plugin.
func (l *loader) runtime(o *object, id, body string) *Runtime {
	r := Runtime{ID: id, PluginID: l.plugin.ID, Description: Text{}, Body: Text{}}
	if d := o.text("description"); d != "" {
		r.Description["en"] = d
	}
	r.Type = l.runtimeType(o)
	agent, function := o.object("agent"), o.object("function")
	l.schedule(&r, o)
	l.io(&r, o.object("io"))
	r.Guard = l.code(o, "guard")
	switch {
	case r.Type == TypeFunction && agent != nil:
		agent.problem("Remove agent, or set type: agent and remove function", "a function runtime has no agent block")
	case r.Type == TypeAgent && function != nil:
		function.problem("Remove function, or set type: function and remove agent", "an agent runtime has no function block")
	case r.Type == TypeAgent:
		l.agent(&r, agent)
		if body == "" {
			o.problem("Write the prompt below the front matter", "an agent needs a prompt")
		}
		r.Body["en"] = body
	default:
		l.function(&r, o, function)
		r.Body["en"] = body
	}
	l.effects(&r, o.object("effects"))
	l.permissions(&r, o.object("permissions"))
	o.done(runtimeHints)
	l.combinations(&r, o)
	l.plugin.Runtimes = append(l.plugin.Runtimes, r)
	return &l.plugin.Runtimes[len(l.plugin.Runtimes)-1]
}

// runtimeType is what the author wrote, else what the blocks say.
func (l *loader) runtimeType(o *object) string {
	inferred := TypeAgent
	if o.has("function") {
		inferred = TypeFunction
	}
	return o.choice("type", inferred, TypeAgent, TypeFunction)
}

// code reads a handler or a guard: a name the entry registers, or the path of a module in the package.
func (l *loader) code(o *object, key string) string {
	n, ok := o.get(key)
	if !ok {
		return ""
	}
	s, ok := n.text()
	if !ok {
		return ""
	}
	if strings.Contains(s, "/") || slices.Contains(scriptEndings, path.Ext(s)) {
		file, _ := l.files.file(n, scriptEndings...)
		return file
	}
	if !namePattern.MatchString(s) {
		n.problem("Use lower-case letters, digits and hyphens, or the path of a module", "%q is neither a name nor a module", shorten(s))
		return ""
	}
	return s
}

func (l *loader) function(r *Runtime, runtime, o *object) {
	if o == nil {
		if !runtime.has("function") {
			runtime.problem("Add function: {handler: name}", "a function runtime needs a function block")
		}
		return
	}
	o.required("handler", "Name the handler the entry registers")
	r.Function.Handler = l.code(o, "handler")
	r.Function.Model = o.text("model")
	r.Function.TimeoutMs = o.integer("timeoutMs", 0, 1, unlimited)
	t := l.tools(o)
	r.Function.BuiltinTools, r.Function.PluginTools = t.builtin, t.plugin
	o.done(nil)
}

var (
	effectWords   = []string{"state", "narrative", "characters", "assets", "media", "lorebook", "ui", "interaction", "unknown"}
	effectPattern = regexp.MustCompile(`^(plugin-data:self:(_hidden\.)?[A-Za-z][A-Za-z0-9_-]{0,63}|http:https://[a-z0-9.-]+(:\d+)?)$`)
)

func isEffect(s string) string {
	word, ok := strings.CutSuffix(s, ":*")
	topic, event := strings.CutPrefix(s, "event:")
	if ok && slices.Contains(effectWords, word) || event && topicPattern.MatchString(topic) || effectPattern.MatchString(s) {
		return ""
	}
	return fmt.Sprintf("%q is not an effect: use <%s>:*, plugin-data:self:<namespace>, event:<topic> or http:https://<host>", shorten(s), strings.Join(effectWords, "|"))
}

func (l *loader) effects(r *Runtime, o *object) {
	if o == nil {
		return
	}
	r.Effects = Effects{Reads: o.texts("reads", isEffect), Writes: o.texts("writes", isEffect), ParallelSafe: o.boolean("parallelSafe", false)}
	o.done(nil)
}

var httpMethods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"}

func (l *loader) permissions(r *Runtime, o *object) {
	if o == nil {
		return
	}
	for _, n := range o.list("http") {
		e := n.object()
		if e == nil {
			continue
		}
		e.required("origin", "Write an address such as https://example.org")
		p := HTTPPermission{Origin: e.text("origin"), Methods: []string{"GET"}}
		if u, err := url.Parse(p.Origin); p.Origin != "" && (err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "") {
			e.values["origin"].problem("", "must be an https origin without path, query and user name, got %q", shorten(p.Origin))
		}
		if methods := e.texts("methods", func(m string) string {
			if slices.Contains(httpMethods, m) {
				return ""
			}
			return fmt.Sprintf("%q is not one of %s", shorten(m), strings.Join(httpMethods, ", "))
		}); len(methods) > 0 {
			p.Methods = methods
		} else if e.has("methods") {
			e.values["methods"].problem("Name a method or leave methods out for GET", "is empty")
		}
		e.done(nil)
		r.HTTP = append(r.HTTP, p)
	}
	o.done(nil)
}

// combinations are the rules between groups (reference: plugins.md §6.1).
func (l *loader) combinations(r *Runtime, o *object) {
	wrong := func(field, fix, format string, args ...any) {
		at := o.node
		at.path = join(o.path, field)
		if group, key, ok := strings.Cut(field, "."); ok {
			if g, ok := o.values[group]; ok {
				at.yaml = keyNode(g.yaml, key)
			}
		} else if v, ok := o.values[field]; ok {
			at.yaml = v.yaml
		}
		at.problem(fix, format, args...)
	}
	s, a := r.Schedule, r.Agent
	story := r.IO.Visibility == VisibilityStory
	setup := s.Stage == Setup
	if story && r.IO.Concealed {
		wrong("io.concealed", "Conceal another runtime", "the player reads the story; it cannot be concealed")
	}
	if story && r.Type == TypeFunction {
		wrong("io.visibility", "Use an agent for the story", "a function runtime cannot tell the story")
	}
	if a.Require == "explicit" {
		switch {
		case story:
			wrong("agent.completion", "Leave require out: a story ends with its text", "a story runtime cannot require explicit completion")
		case r.IO.OutputSchema != nil:
			wrong("agent.completion", "Use require: tool-use, or remove io.output.schema", "explicit completion is for agents without an output schema")
		}
	}
	if setup && s.Trigger != TriggerAuto {
		wrong("schedule.trigger", "Use trigger: auto", "a setup runtime is started by the session's setup only")
	}
	if setup && (s.Every > 1 || s.StartTurn > 0 || s.CooldownTurns > 0) {
		wrong("schedule.stage", "Remove every, startTurn and cooldownTurns", "there is no cadence before the first turn")
	}
	if !setup {
		for _, n := range s.Needs {
			if n.Scope == "session" {
				wrong("schedule.needs", "Use scope: turn", "scope session is for setup runtimes")
				break
			}
		}
	}
	l.jobCombinations(r, wrong)
	if s.SubagentOnly {
		switch {
		case r.Type != TypeAgent:
			wrong("schedule.subagentOnly", "", "only an agent can be a sub-agent")
		case r.IO.OutputContract == "":
			wrong("schedule.subagentOnly", "Add io.output.contract", "a sub-agent is found by the contract of its output")
		case story:
			wrong("io.visibility", "Let the agent that asks tell the story", "a sub-agent answers the run that asked, not the player")
		case r.Guard != "":
			wrong("guard", "Let the runtime that asks decide", "a sub-agent has no guard")
		case r.IO.RecordAs != "":
			wrong("io.output", "Remove recordAs", "a sub-agent commits nothing, so that it exports nothing")
		case slices.Contains(a.BuiltinTools, "delegate"), slices.Contains(a.BuiltinTools, "suspend"):
			wrong("agent.tools", "Remove delegate and suspend from agent.tools.builtin", "a sub-agent cannot start others, and cannot wait for the player")
		}
	}
}

// jobCombinations are the rules of work in the background.
func (l *loader) jobCombinations(r *Runtime, wrong func(field, fix, format string, args ...any)) {
	s := r.Schedule
	if s.Background != nil && s.Trigger == TriggerAuto {
		wrong("schedule.background", "Use schedule.detached for a runtime of a stage", "background is for manual and event runtimes")
	}
	if s.Detached != nil {
		switch {
		case s.Trigger != TriggerAuto:
			wrong("schedule.detached", "Use schedule.background", "detached is for runtimes of a stage")
		case s.Stage != PostTurn && s.Stage != Audit:
			wrong("schedule.detached", "Use stage post-turn or audit", "only post-turn and audit runtimes can be detached")
		case r.IO.Visibility == VisibilityStory:
			wrong("schedule.detached", "", "the story cannot be detached")
		case r.Type != TypeFunction:
			wrong("schedule.detached", "", "only a function runtime can be detached")
		}
	}
	if (s.Background != nil || s.Detached != nil) && slices.Contains(r.Agent.BuiltinTools, "suspend") {
		wrong("agent.tools", "Remove suspend from agent.tools.builtin", "work in the background cannot wait for the player")
	}
}
