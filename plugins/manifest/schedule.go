package manifest

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// keyNode finds the value of a key in a map, the map itself when there is none.
func keyNode(m *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return m
}

var scheduleHints = map[string]string{
	"interval":   "Use schedule.every",
	"completion": "Use schedule.detached, or agent.completion for how an agent ends",
	"manual":     "Use schedule.background",
}

// schedule reads when the runtime runs. The cadence may stand beside the trigger or inside {type: …}, not in both.
func (l *loader) schedule(r *Runtime, runtime *object) {
	r.Schedule = Schedule{Trigger: TriggerAuto, Every: 1}
	runtime.required("schedule", "Add schedule: {stage: post-turn}, or schedule: {trigger: manual}")
	o := runtime.object("schedule")
	if o == nil {
		return
	}
	s := &r.Schedule
	s.SubagentOnly = o.boolean("subagentOnly", false)
	s.Stage = Stage(o.choice("stage", "", string(Setup), string(PreTurn), string(Narrative), string(PostTurn), string(Audit)))
	places := []*object{o}
	if n, ok := o.values["trigger"]; ok && n.yaml.Kind == yaml.MappingNode {
		t := o.object("trigger")
		t.required("type", "Write {type: event, topic: …} or trigger: auto")
		s.Trigger = trigger(t, "type")
		places = append(places, t)
	} else {
		s.Trigger = trigger(o, "trigger")
	}
	for _, p := range places {
		l.cadence(s, p)
	}
	for _, p := range places[1:] {
		p.done(scheduleHints)
	}
	l.checkTrigger(s, o)
	s.Needs = l.needs(r, o, "needs")
	s.After = l.needs(r, o, "after")
	s.Background = background(o)
	s.Detached = detached(o)
	o.done(scheduleHints)
}

func trigger(o *object, key string) string {
	if n, ok := o.get(key); ok && n.yaml.Value == "scheduled" {
		n.problem("Use trigger: auto with schedule.every", "the trigger scheduled does not exist")
		return TriggerAuto
	}
	return o.choice(key, TriggerAuto, TriggerAuto, TriggerManual, TriggerEvent)
}

func (l *loader) cadence(s *Schedule, o *object) {
	number := func(key string, field *int, least int) {
		if i := o.maybeInteger(key, least, unlimited); i != nil {
			if *field > 0 && !(key == "every" && *field == 1) {
				o.values[key].problem("Keep one of the two", "is also written in schedule")
			}
			*field = *i
		}
	}
	number("every", &s.Every, 1)
	number("startTurn", &s.StartTurn, 1)
	number("maxTriggerCount", &s.MaxTriggerCount, 1)
	number("cooldownTurns", &s.CooldownTurns, 0)
	if topic := o.text("topic"); topic != "" {
		if s.Topic != "" {
			o.values["topic"].problem("Keep one of the two", "is also written in schedule")
		}
		if !topicPattern.MatchString(topic) {
			o.values["topic"].problem("Use two or more words with dots between them, as in scene.set", "%q is not a topic", shorten(topic))
		}
		s.Topic = topic
	}
}

func (l *loader) checkTrigger(s *Schedule, o *object) {
	at := o.node
	switch {
	case s.SubagentOnly && s.Stage != "":
		at.path = join(o.path, "stage")
		at.problem("Remove stage", "a sub-agent has no stage; its caller starts it")
	case s.SubagentOnly:
	case s.Trigger == TriggerAuto && s.Stage == "":
		if !o.has("stage") { // else the stage itself was wrong
			at.path = join(o.path, "stage")
			at.problem("Add stage: post-turn, or trigger: manual", "a runtime with trigger auto needs a stage")
		}
	case s.Trigger != TriggerAuto && s.Stage != "":
		o.values["stage"].problem("Remove stage, or use trigger: auto", "a runtime with trigger %s has no stage", s.Trigger)
	}
	switch {
	case s.Trigger == TriggerEvent && s.Topic == "":
		at.path = join(o.path, "topic")
		at.problem("Write trigger: {type: event, topic: scene.set}", "an event runtime needs the topic it waits for")
	case s.Trigger != TriggerEvent && s.Topic != "":
		at.path = join(o.path, "topic")
		at.problem("Remove topic, or use trigger: event", "only an event runtime has a topic")
	}
	if s.Trigger != TriggerAuto && s.Every > 1 {
		at.path = join(o.path, "every")
		at.problem("Remove every", "only trigger auto counts turns")
	}
}

// needs reads edges. needs names runtimes of this package; after may name any, since it waits for nobody who is absent.
func (l *loader) needs(r *Runtime, o *object, key string) []Need {
	var out []Need
	for _, n := range o.list(key) {
		need := Need{Cardinality: "one", Scope: "turn"}
		if n.yaml.Kind != yaml.MappingNode {
			need.Runtime, _ = n.text()
		} else {
			e := n.object()
			need.Runtime, need.Contract = e.text("runtime"), e.text("contract")
			switch {
			case need.Runtime == "" && need.Contract == "":
				n.problem("Write {runtime: …} or {contract: …}", "names neither a runtime nor a contract")
			case need.Runtime != "" && need.Contract != "":
				n.problem("Keep one of the two", "names both a runtime and a contract")
			}
			if need.Contract != "" {
				need.Cardinality = e.choice("cardinality", "one", "one", "all")
			}
			if key == "needs" {
				need.Scope = e.choice("scope", "turn", "turn", "session")
			}
			e.done(nil)
		}
		if need.Runtime != "" {
			need.Runtime = l.runtimeID(n, need.Runtime, key == "after")
			if need.Runtime == r.ID {
				n.problem("Remove it", "a runtime cannot wait for itself")
			}
		}
		if need.Contract != "" {
			l.consumed(n, need.Contract, key == "after")
		}
		if need.Runtime != "" || need.Contract != "" {
			out = append(out, need)
		}
	}
	return out
}

// runtimeID resolves a runtime's name: its full id, or the short one of a runtime in this package.
func (l *loader) runtimeID(n node, name string, foreign bool) string {
	own := l.plugin.ID
	short, inPackage := strings.CutPrefix(name, own+"/")
	switch {
	case inPackage && slices.Contains(l.rids, short):
		return name
	case !strings.Contains(name, "/") && slices.Contains(l.rids, name):
		return own + "/" + name
	case name == own && len(l.rids) == 0:
		return name
	case foreign && !inPackage && idPattern.MatchString(strings.ReplaceAll(name, "/", "-")):
		return name
	case inPackage:
		n.problem("Runtimes of this package: "+l.runtimeNames(), "there is no runtime %q in this package", shorten(name))
	default:
		n.problem("Name a runtime of this package ("+l.runtimeNames()+"), or a contract across packages: {contract: …}", "%q is not a runtime of this package", shorten(name))
	}
	return ""
}

func (l *loader) runtimeNames() string {
	if len(l.rids) == 0 {
		return l.plugin.ID
	}
	return strings.Join(l.rids, ", ")
}

// consumed checks a contract a runtime reads or waits for. after is exempt: it never activates a provider.
func (l *loader) consumed(n node, contract string, exempt bool) {
	switch wrong := isContract(contract); {
	case wrong != "":
		n.problem("", "%s", wrong)
	case !exempt && !l.declared(contract):
		n.problem("Add it to requires, or to optional, in PLUGIN.md", "the contract %s is not declared", contract)
	}
}

func background(o *object) *Background {
	on, b := switchOrMap(o, "background")
	if !on {
		return nil
	}
	out := &Background{}
	if b != nil {
		out.MaxQueueMs, out.MaxExecutionMs = b.integer("maxQueueMs", 0, 1, unlimited), b.integer("maxExecutionMs", 0, 1, unlimited)
		b.done(nil)
	}
	return out
}

// maxSettleWait is the longest the next execution may be made to wait (reference: plugins.md §28).
const maxSettleWait = 120_000

func detached(o *object) *Detached {
	on, d := switchOrMap(o, "detached")
	if !on {
		return nil
	}
	out := &Detached{}
	if d != nil {
		out.Settle = d.boolean("settle", false)
		out.MaxSettleWaitMs = d.integer("maxSettleWaitMs", 0, 1, maxSettleWait)
		out.MaxQueueMs, out.MaxExecutionMs = d.integer("maxQueueMs", 0, 1, unlimited), d.integer("maxExecutionMs", 0, 1, unlimited)
		if d.has("maxSettleWaitMs") && !out.Settle {
			d.values["maxSettleWaitMs"].problem("Add settle: true", "nothing waits without settle")
		}
		d.done(nil)
	}
	return out
}

// switchOrMap reads true, false or a map of details.
func switchOrMap(o *object, key string) (bool, *object) {
	if n, ok := o.values[key]; ok && n.yaml.Kind == yaml.MappingNode {
		return true, o.object(key)
	}
	return o.boolean(key, false), nil
}
