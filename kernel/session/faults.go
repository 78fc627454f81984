package session

import (
	"github.com/covel/covel/kernel/commit"
	"github.com/covel/covel/kernel/latch"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
)

// KeepLatch keeps the latch in the memory of the node, beyond this activation.
type KeepLatch struct{ Latch latch.Latch }

// PluginPaused tells everyone that a plugin was paused after repeated errors, or runs again (Reason "").
type PluginPaused struct {
	PluginID string
	Paused   bool
	Reason   string // the newest fault
}

// HooksTold: the hooks that look on after a commit have been asked. Health is as TurnEnded.Health.
type HooksTold struct {
	Input  string // logicalTurnId of the execution
	Health map[string]string
}

func (KeepLatch) sessionEffect()    {}
func (PluginPaused) sessionEffect() {}
func (HooksTold) sessionInput()     {}

// jobInput names the input of a background job for the latch: jobs are no part of the foreground's inputs, not even of the one
// that queued them (seed: turn-pipeline.txt, "do not join the foreground fault group").
func jobInput(executionID string) string { return "job:" + executionID }

// setLatch takes over a latch that has changed.
func (s *step) setLatch(l latch.Latch) {
	s.Latch = l
	s.do(KeepLatch{l})
}

// beginInput opens the verdict of an input; its rounds, and what goes on from it, join the one that is open.
func (s *step) beginInput(input string) {
	if !s.foreground.Of(input) {
		s.foreground = s.Latch.Begin(input)
	}
}

// count counts what an execution showed of its plugins.
func (s *step) count(v latch.Verdict, r latch.Report) latch.Verdict {
	before := s.Latch.Paused()
	l, v, paused := s.Latch.Report(v, r)
	if len(r.Faults) > 0 {
		s.setLatch(l)
	}
	for _, plugin := range before { // other code than what was paused has failed: it begins anew
		if !l.Has(plugin) {
			s.do(PluginPaused{PluginID: plugin})
		}
	}
	for _, p := range paused {
		s.do(PluginPaused{PluginID: p.PluginID, Paused: true, Reason: p.Reason})
	}
	return v
}

// closeInput judges an input whose request has closed.
func (s *step) closeInput(v latch.Verdict) {
	if l := s.Latch.Close(v); !s.Latch.Clean() {
		s.setLatch(l)
	}
}

// committedInput counts the execution whose end was just appended, and judges its input if nothing follows in its request. An
// execution that was stopped tells nothing of its plugins.
func (s *step) committedInput() {
	if s.report != nil {
		s.foreground = s.count(s.foreground, *s.report)
		s.report = nil
	}
	if !s.goesOn() {
		s.closeInput(s.foreground)
		s.foreground = latch.Verdict{}
	}
}

// hooksTold counts the hooks that looked on after a commit. Their input may have closed meanwhile: then only faults count.
func (s *step) hooksTold(in HooksTold) {
	r := latchReport{latch.Report{Faults: map[string]string{}, Ran: map[string]bool{}}}
	r.health(in.Health)
	if s.foreground.Of(in.Input) {
		s.foreground = s.count(s.foreground, r.Report)
		return
	}
	s.count(s.Latch.Begin(in.Input), r.Report)
}

// faults is what an execution showed of its plugins: how their runs and the sub-agents of these ended, how their hooks and
// extensions did, and what the commit found malformed (seed: turn-pipeline.txt, "Plugin fault latch"). A write that was
// refused or came into conflict, a model's error and a service's failure are nobody's fault.
func faults(ended TurnEnded, out commit.Out) latch.Report {
	r := latchReport{latch.Report{Faults: map[string]string{}, Ran: map[string]bool{}, Digests: ended.Digests}}
	r.runs(ended.Results)
	r.health(ended.Health)
	for plugin, why := range out.Malformed {
		r.fault(plugin, why)
	}
	return r.Report
}

type latchReport struct{ latch.Report }

func (r latchReport) fault(plugin, why string) {
	if _, known := r.Faults[plugin]; !known {
		r.Faults[plugin] = why
	}
}

func (r latchReport) health(health map[string]string) {
	for plugin, why := range health {
		r.Ran[plugin] = true
		if why != "" {
			r.fault(plugin, why)
		}
	}
}

func (r latchReport) runs(results []turn.Result) {
	for _, x := range results {
		r.runs(x.Nested)
		for _, sub := range x.Subagents {
			r.Ran[sub.PluginID] = true
			if sub.Fault {
				r.fault(sub.PluginID, sub.Error)
			}
		}
		if x.Seed {
			continue
		}
		if x.Status != turn.Skipped || x.Committable() {
			r.Ran[x.PluginID] = true
		}
		if x.Fault {
			r.fault(x.PluginID, x.Error)
		}
	}
}

// jobCounted counts a job by itself.
func (s *step) jobCounted(l LiveJob) {
	if l.Halt != "" || l.Ended == nil || l.Ended.Stale != "" {
		return
	}
	s.closeInput(s.count(l.verdict, faults(*l.Ended, commit.Out{})))
}

// installedNow lets plugins with new code run again.
func (s *step) installedNow(digests map[string]string) {
	l, resumed := s.Latch.Installed(digests)
	if s.Latch.Clean() {
		return
	}
	s.setLatch(l)
	for _, plugin := range resumed {
		s.do(PluginPaused{PluginID: plugin})
	}
}

// resumePlugin lets a paused plugin run again. Nothing of it is in the log.
func (s *step) resumePlugin(c Change) {
	l, ok := s.Latch.Resume(c.PluginID)
	if !ok {
		s.reply([]uint64{c.Token}, Answer{Status: Refused, Refusal: &Refusal{Code: "plugin_not_paused", Message: "the plugin is not paused in this session"}})
		return
	}
	s.setLatch(l)
	s.do(PluginPaused{PluginID: c.PluginID})
	s.reply([]uint64{c.Token}, Answer{Status: Accepted, Version: s.Hot.Version})
}

// pausedPlugin refuses what would run a paused plugin by name: a manual run, a retry, an answer to its question.
func (s *step) pausedPlugin(cmd Command) *Refusal {
	var plugins []string
	for _, t := range cmd.Targets {
		plugins = append(plugins, manifest.PluginOf(t.RuntimeID))
	}
	if x, ok := s.Hot.Suspensions.Find(cmd.SuspensionID); ok {
		plugins = append(plugins, x.PluginID)
	}
	for _, plugin := range plugins {
		if s.Latch.Has(plugin) {
			return pausedRefusal(plugin)
		}
	}
	return nil
}

func pausedRefusal(plugin string) *Refusal {
	return &Refusal{Code: "plugin_paused", Message: "the plugin " + plugin + " is paused after repeated errors; resume it first"}
}

// endLatch forgets all of it when the session ends.
func (s *step) endLatch() {
	if s.Hot.Session.Status == projections.StatusEnded && !s.Latch.Clean() {
		s.setLatch(latch.Latch{})
	}
}
