package turnscript

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/model"
)

// verb is a command of the language. docs/turn-scripts.md lists them all; a test holds the two together.
type verb struct {
	usage string
	play  func(*stage, line)
}

var verbs map[string]verb

func init() {
	double := func(kind string) func(*stage, line) {
		return func(st *stage, l line) { st.direct(kind, l) }
	}
	verbs = map[string]verb{
		"start":       {"start", start},
		"player":      {"player [as SEAT] [at MARK] [id REQUEST] WHAT …", player},
		"elsewhere":   {"elsewhere TYPE JSON", elsewhere},
		"again":       {"again", again},
		"together":    {"together, then one player command per indented line", together},
		"model":       {"model RUNTIME [forever], then the steps of a reply", modelReply},
		"function":    {"function RUNTIME [forever], then its steps", double("function")},
		"guard":       {"guard RUNTIME [forever], then its steps", double("guard")},
		"tool":        {"tool NAME [forever], then its steps", double("tool")},
		"hook":        {"hook PLUGIN EVENT [forever], then its steps", double("hook")},
		"extension":   {"extension PLUGIN ID [forever], then its steps", double("extension")},
		"pass":        {"pass GATE", func(st *stage, l line) { st.must(st.cast.pass(l.rest)) }},
		"advance":     {"advance clock DURATION", advance},
		"wake":        {"wake", func(st *stage, _ line) { st.must(st.node().Wake(context.Background(), sessionID)) }},
		"node":        {"node NAME", nodeVerb},
		"crash":       {"crash, crash before TYPE, crash after TYPE", crash},
		"restart":     {"restart, restart gracefully", restart},
		"install":     {"install VERSION", install},
		"store":       {"store fails|loses acknowledgement|loses append|delays DURATION [N times|always] [at TYPE], store recovers", store},
		"allow":       {"allow [session] ALLOWANCE=N …", allow},
		"window":      {"window [SLOT] TOKENS", window},
		"credentials": {"credentials SLOT missing|present", credentials},
		"mark":        {"mark NAME", func(st *stage, l line) { st.marks[l.rest] = st.seen }},
		"expect":      {"expect WORDS, expect no WORDS, or one indented line per thing that has to come", expect},
		"show":        {"show WHAT …", show},
	}
}

// badly fails with how the command is written.
func (st *stage) badly() { st.fail("write %s", verbs[st.at.verb].usage) }

func modelReply(st *stage, l line) {
	runtime, forever := strings.CutSuffix(l.rest, " forever")
	if runtime == "" {
		st.badly()
	}
	st.must(st.cast.reply(l.number, runtime, forever, l.block))
}

// direct gives a function, guard, tool or hook what to do when it is called next.
func (st *stage) direct(kind string, l line) {
	name, forever := strings.CutSuffix(l.rest, " forever")
	role := kind + " " + name
	if !st.cast.roles[role] {
		st.fail("the plugins of this script have no %s; they have %s", role, strings.Join(slices.Sorted(maps.Keys(st.cast.roles)), ", "))
	}
	d := direction{number: l.number, role: role, forever: forever}
	for _, s := range l.block {
		a, err := parseStep(kind, s.text)
		if err != nil {
			st.at.number = s.number
			st.fail("%v", err)
		}
		d.acts = append(d.acts, a)
	}
	st.cast.direct(d, l.block)
}

func advance(st *stage, l line) {
	d, err := time.ParseDuration(strings.TrimPrefix(l.rest, "clock "))
	if err != nil || d < 0 {
		st.badly()
	}
	time.Sleep(d)
}

// nodeVerb sends what follows to another node, which is started if it does not run.
func nodeVerb(st *stage, l line) {
	if l.rest == "" {
		st.badly()
	}
	st.name = l.rest
	if st.nodes[st.name] == nil {
		st.open(st.name)
	}
}

// crash takes the node away now, or at an append.
func crash(st *stage, l line) {
	if l.rest == "" {
		st.crash(st.name)
		return
	}
	when, typ, _ := strings.Cut(l.rest, " ")
	st.eventType(typ)
	p := st.nodes[st.name].process
	p.mu.Lock()
	defer p.mu.Unlock()
	switch when {
	case "before":
		p.before = typ
	case "after":
		p.after = typ
	default:
		st.badly()
	}
}

// eventType refuses what is no type of event: a fault at it would never come.
func (st *stage) eventType(typ string) {
	if _, ok := events.Lookup(typ); !ok {
		st.fail("there is no event %q; write %s", typ, verbs[st.at.verb].usage)
	}
}

// restart starts a new node on the same store and looks at the session, which closes nothing by itself.
func restart(st *stage, l line) {
	switch l.rest {
	case "gracefully":
		st.leave(st.name)
	case "":
		st.crash(st.name)
	default:
		st.badly()
	}
	st.open(st.name)
	_ = st.state()
}

// install puts other versions of plugins in, as an operator does while sessions go on.
func install(st *stage, l line) {
	if !slices.ContainsFunc(st.s.files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, l.rest+"/plugins/") }) || l.rest == "" {
		st.fail("the script has no file -- %s/plugins/… --", cmp.Or(l.rest, "VERSION"))
	}
	st.plugins.Store(st.load(l.rest))
}

func store(st *stage, l line) {
	if l.rest == "recovers" {
		st.disk.recovers()
		return
	}
	f := fault{times: 1}
	rest, typ, found := strings.Cut(l.rest, " at ")
	if found {
		st.eventType(typ)
		f.typ = typ
	}
	words := strings.Fields(rest)
	if n := len(words); n > 1 && words[n-1] == "always" {
		f.times, words = -1, words[:n-1]
	} else if n > 2 && words[n-1] == "times" {
		times, err := strconv.Atoi(words[n-2])
		if err != nil || times < 1 {
			st.badly()
		}
		f.times, words = times, words[:n-2]
	}
	f.kind = strings.Join(words, " ")
	if kind, d, ok := strings.Cut(f.kind, " "); ok && kind == "delays" {
		delay, err := time.ParseDuration(d)
		if err != nil {
			st.badly()
		}
		f.kind, f.delay = kind, delay
	}
	if !slices.Contains([]string{"fails", "loses acknowledgement", "loses append"}, f.kind) && f.delay == 0 {
		st.badly()
	}
	st.disk.breaks(f)
}

// window says how much the model of a slot, or of all others, takes: request and answer together.
func window(st *stage, l line) {
	slot, tokens := "", l.rest
	if a, b, ok := strings.Cut(l.rest, " "); ok {
		slot, tokens = a, b
	}
	n, err := strconv.Atoi(tokens)
	if err != nil || n < 0 {
		st.badly()
	}
	st.cast.mu.Lock()
	defer st.cast.mu.Unlock()
	st.cast.capacity[slot] = model.Capacity{ContextWindow: n}
}

func credentials(st *stage, l line) {
	slot, what, _ := strings.Cut(l.rest, " ")
	if what != "missing" && what != "present" {
		st.badly()
	}
	st.keysMu.Lock()
	defer st.keysMu.Unlock()
	st.keyless[slot] = what == "missing"
}

// expect holds the newest events, answers and notes against lines: each line's words must stand in one of them, in the
// order of the lines. "expect no WORDS": none has them.
func expect(st *stage, l line) {
	heard := append(st.story.since(), st.newest...)
	if words, none := strings.CutPrefix(l.rest, "no "); none {
		if len(l.block) > 0 {
			st.badly()
		}
		for _, line := range heard {
			if containsAll(line, words) {
				st.fail("but there is: %s", line)
			}
		}
		return
	}
	wanted := l.block
	if l.rest != "" {
		wanted = append([]step{{l.number, l.rest}}, wanted...)
	}
	if len(wanted) == 0 {
		st.badly()
	}
	for _, w := range wanted {
		at := slices.IndexFunc(heard, func(line string) bool { return containsAll(line, w.text) })
		if at < 0 {
			st.at.number = w.number
			st.fail("nothing says %q", w.text)
		}
		heard = heard[at+1:]
	}
}

func containsAll(line, words string) bool {
	for _, w := range strings.Fields(words) {
		if !strings.Contains(line, w) {
			return false
		}
	}
	return true
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
