package manifest

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/covel/covel/plugins/tools"
)

// defaultRetries is agent.loop.maxRetries when it is not written (reference: plugins.md §4.3).
const defaultRetries = 1

// agent reads the model loop's configuration.
func (l *loader) agent(r *Runtime, o *object) {
	a := &r.Agent
	a.MaxRetries = defaultRetries
	if o == nil {
		a.PluginTools = l.impliedTools()
		return
	}
	a.Model = o.text("model")
	a.AdvertiseEvents = o.boolean("advertiseEvents", false)
	if h := o.object("history"); h != nil {
		a.HistoryMaxTurns = h.maybeInteger("maxTurns", 0, 1000)
		a.HistorySummaries = h.boolean("includeSummaries", false)
		h.done(nil)
	}
	t := l.tools(o)
	a.BuiltinTools, a.PluginTools, a.DeferAll, a.DeferTools = t.builtin, t.plugin, t.deferAll, t.deferred
	if llm := o.object("llm"); llm != nil {
		a.ReasoningEffort = llm.choice("reasoningEffort", "", "disabled")
		l.toolChoice(a, llm)
		llm.done(nil)
	}
	if loop := o.object("loop"); loop != nil {
		l.loop(a, loop)
	}
	if c := o.object("completion"); c != nil {
		a.Require = c.choice("require", "", "tool-use", "explicit")
		for _, n := range c.list("afterTools") {
			if name, ok := n.text(); ok {
				l.usedTool(n, a, name)
				a.AfterTools = append(a.AfterTools, name)
			}
		}
		c.done(nil)
	}
	if n, ok := o.get("finishWith"); ok {
		l.finishWith(a, o, n)
	}
	o.done(map[string]string{"timeoutMs": "Put it under agent.loop", "maxSteps": "Put it under agent.loop", "toolChoice": "Put it under agent.llm"})
}

// finishWith is the short form of the usual completion contract: this one tool must succeed, and ends the run (its result is
// the output where there is a schema).
func (l *loader) finishWith(a *Agent, o *object, n node) {
	name, ok := n.text()
	switch {
	case !ok:
	case o.has("completion"):
		n.problem("Write finishWith, or completion with require and afterTools", "stands beside completion, which says the same in full")
	default:
		l.usedTool(n, a, name)
		a.Require, a.AfterTools = "tool-use", []string{name}
	}
}

func (l *loader) toolChoice(a *Agent, o *object) {
	n, ok := o.get("toolChoice")
	if !ok {
		return
	}
	if n.yaml.Kind != yaml.MappingNode {
		a.ToolChoice = o.choice("toolChoice", "", "required")
		if a.ToolChoice != "" && len(a.BuiltinTools)+len(a.PluginTools) == 0 {
			n.problem("List tools under agent.tools", "there is no tool to require")
		}
		return
	}
	c := o.object("toolChoice")
	c.required("name", "Name one of the runtime's tools")
	a.ToolChoice = c.text("name")
	if a.ToolChoice != "" {
		l.usedTool(c.values["name"], a, a.ToolChoice)
	}
	c.done(nil)
}

// usedTool checks that a name is one of the agent's own tools.
func (l *loader) usedTool(n node, a *Agent, name string) {
	if slices.Contains(a.PluginTools, name) || slices.Contains(a.BuiltinTools, name) {
		return
	}
	n.problem("List it under agent.tools.plugin or agent.tools.builtin", "%q is not a tool of this runtime", shorten(name))
}

func (l *loader) loop(a *Agent, o *object) {
	a.Profile = o.choice("profile", "", "story", "system", "actor")
	a.MaxSteps = o.integer("maxSteps", 0, 1, unlimited)
	a.TimeoutMs = o.integer("timeoutMs", 0, 1, unlimited)
	a.CallTimeoutMs = o.integer("callTimeoutMs", 0, 1, unlimited)
	a.FirstTokenMs = o.integer("firstTokenTimeoutMs", 0, 1000, unlimited)
	a.IdleMs = o.integer("idleTimeoutMs", 0, 1000, unlimited)
	a.MaxRetries = o.integer("maxRetries", defaultRetries, 0, 5)
	a.LoopDetection = o.maybeInteger("loopDetection", 0, 20)
	a.MaxRecursionDepth = o.maybeInteger("maxRecursionDepth", 0, 50)
	a.Stream, a.Steering, a.KeepTruncated = o.maybeBoolean("stream"), o.maybeBoolean("steering"), o.maybeBoolean("keepTruncated")
	a.Fallback = o.choice("fallback", "", "tools-off", "fail")
	if c := o.object("corrections"); c != nil {
		a.Corrections = Corrections{
			ToolUse: c.maybeInteger("toolUse", 0, 10), Review: c.maybeInteger("review", 0, 10),
			Perturbation: c.maybeInteger("perturbation", 0, 10), Output: c.maybeInteger("output", 0, 10),
		}
		c.done(nil)
	}
	if f := o.object("finalizer"); f != nil {
		a.Finalizer = Finalizer{MaxSteps: f.maybeBoolean("maxSteps"), DeadlineReserveMs: f.maybeInteger("deadlineReserveMs", 0, unlimited)}
		f.done(nil)
	}
	o.done(map[string]string{"completion": "Put it under agent.completion"})
}

// toolList is what agent.tools or function.tools allows.
type toolList struct {
	builtin, plugin []string
	deferAll        bool
	deferred        []string
}

// tools reads an allow-list. Every name must exist: the framework's in tools.builtin, the package's own in tools.plugin.
func (l *loader) tools(o *object) toolList {
	t := o.object("tools")
	if t == nil {
		return toolList{plugin: l.impliedTools()}
	}
	var list toolList
	list.builtin = t.texts("builtin", func(name string) string {
		switch {
		case name == tools.SearchTools:
			return "search-tools is added by tools.defer and cannot be listed"
		case !tools.Declarable(name):
			if slices.Contains(l.plugin.Contributes.Tools, name) {
				return fmt.Sprintf("%q is this package's own tool; list it under tools.plugin", name)
			}
			return fmt.Sprintf("there is no framework tool %q; there are: %s", shorten(name), strings.Join(declarable(), ", "))
		}
		return ""
	})
	list.plugin = l.impliedTools()
	if t.has("plugin") {
		list.plugin = t.texts("plugin", func(name string) string {
			if slices.Contains(l.plugin.Contributes.Tools, name) {
				return ""
			}
			return fmt.Sprintf("%q is not in contributes.tools of PLUGIN.md", shorten(name))
		})
	}
	if n, ok := t.values["defer"]; ok && n.yaml.Kind == yaml.ScalarNode {
		list.deferAll = t.boolean("defer", false)
	} else {
		list.deferred = t.texts("defer", func(name string) string {
			if slices.Contains(list.builtin, name) || slices.Contains(list.plugin, name) {
				return ""
			}
			return fmt.Sprintf("%q is not one of the runtime's tools", shorten(name))
		})
	}
	t.done(map[string]string{
		"local":    "List the package's own tools under plugin",
		"services": "This version of Covel has no services yet; remove it",
		"datasets": "This version of Covel has no dataset tools yet; remove it",
	})
	return list
}

// impliedTools: the one runtime of an inline package has every contributed tool when it lists none.
func (l *loader) impliedTools() []string {
	if !l.inline {
		return nil
	}
	return slices.Clone(l.plugin.Contributes.Tools)
}

func declarable() []string {
	return slices.DeleteFunc(slices.Clone(tools.FrameworkToolNames), func(n string) bool { return !tools.Declarable(n) })
}
