// Package latch counts the faults of the plugins of one session and pauses a plugin that fails three inputs in a row
// (decisions: "Fault latch"; seed: turn-pipeline.txt, "Plugin fault latch"). It is a value in the memory of a node: nothing of
// it is in the log.
package latch

import (
	"maps"
	"slices"
)

// Limit is how many inputs in a row a plugin may fail before it is paused.
const Limit = 3

// Latch is what is known of the plugins of a session. The zero value: nothing is wrong. It is never written in place.
type Latch struct {
	plugins map[string]streak
	rev     int // of the newest fault
}

// streak is the faults of one plugin since its last clean input.
type streak struct {
	inputs []string // that it failed, oldest first, at most Limit
	reason string   // of the newest fault
	digest string   // of the code that failed
	rev    int
}

func (s streak) paused() bool { return len(s.inputs) >= Limit }

// Report is what one execution showed of the plugins that took part in it.
type Report struct {
	Faults  map[string]string // by plugin: its first fault
	Ran     map[string]bool   // plugins whose code ran
	Digests map[string]string // of the code that ran, by plugin; one that is not named ran as it was before
}

// Verdict gathers the reports of one input until its request closes.
type Verdict struct {
	input  string
	since  int
	ran    map[string]bool
	failed map[string]bool
}

// Paused is a plugin that a report has paused, with its newest fault.
type Paused struct{ PluginID, Reason string }

// Begin opens the verdict of an input: logicalTurnId, or what a job or a run outside of the turns is known by.
func (l Latch) Begin(input string) Verdict { return Verdict{input: input, since: l.rev} }

// Of says whether the verdict is that of an input.
func (v Verdict) Of(input string) bool { return v.input == input }

// Report counts faults at once, each plugin at most once per input, and notes who ran without one.
func (l Latch) Report(v Verdict, r Report) (Latch, Verdict, []Paused) {
	v.ran, v.failed = maps.Clone(v.ran), maps.Clone(v.failed)
	if v.ran == nil {
		v.ran, v.failed = map[string]bool{}, map[string]bool{}
	}
	maps.Copy(v.ran, r.Ran)
	var paused []Paused
	for _, plugin := range slices.Sorted(maps.Keys(r.Faults)) {
		v.failed[plugin] = true
		s := l.plugins[plugin]
		if digest := r.Digests[plugin]; digest != "" && digest != s.digest {
			s = streak{digest: digest}
		}
		if s.paused() || slices.Contains(s.inputs, v.input) {
			continue
		}
		l.rev++
		s.inputs, s.reason, s.rev = append(slices.Clone(s.inputs), v.input), r.Faults[plugin], l.rev
		l = l.with(plugin, s)
		if s.paused() {
			paused = append(paused, Paused{plugin, s.reason})
		}
	}
	return l, v, paused
}

// Close judges an input whose request has closed: a plugin that ran in it and failed nowhere begins anew, unless it has failed
// another input since this one began. A plugin that is paused stays so.
func (l Latch) Close(v Verdict) Latch {
	for plugin := range v.ran {
		if s, ok := l.plugins[plugin]; ok && !v.failed[plugin] && !s.paused() && s.rev <= v.since {
			l = l.without(plugin)
		}
	}
	return l
}

// Resume lets a paused plugin run again, with a clean slate; false: it is not paused.
func (l Latch) Resume(plugin string) (Latch, bool) {
	if !l.plugins[plugin].paused() {
		return l, false
	}
	return l.without(plugin), true
}

// Installed holds the plugins against the code that is installed now: other code than what failed begins anew. It names
// those that were paused.
func (l Latch) Installed(digests map[string]string) (Latch, []string) {
	var resumed []string
	for _, plugin := range slices.Sorted(maps.Keys(l.plugins)) {
		now, known := digests[plugin]
		s := l.plugins[plugin]
		if !known || s.digest == "" || now == s.digest {
			continue
		}
		l = l.without(plugin)
		if s.paused() {
			resumed = append(resumed, plugin)
		}
	}
	return l, resumed
}

// Paused names the paused plugins, by id.
func (l Latch) Paused() []string {
	var out []string
	for _, plugin := range slices.Sorted(maps.Keys(l.plugins)) {
		if l.plugins[plugin].paused() {
			out = append(out, plugin)
		}
	}
	return out
}

// Has says whether a plugin is paused.
func (l Latch) Has(plugin string) bool { return l.plugins[plugin].paused() }

// Clean says whether there is nothing to remember.
func (l Latch) Clean() bool { return len(l.plugins) == 0 }

func (l Latch) with(plugin string, s streak) Latch {
	plugins := maps.Clone(l.plugins)
	if plugins == nil {
		plugins = map[string]streak{}
	}
	plugins[plugin] = s
	l.plugins = plugins
	return l
}

func (l Latch) without(plugin string) Latch {
	l.plugins = maps.Clone(l.plugins)
	delete(l.plugins, plugin)
	return l
}
