package turn

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
)

// drawRuntimes draws active runtimes with edges of every kind between them.
func drawRuntimes(t *rapid.T) []manifest.Runtime {
	names := []string{"a", "b", "c", "d", "e", "龙胆", "z"}[:rapid.IntRange(1, 7).Draw(t, "runtimes")]
	contracts := []string{"", "k@1", "m@1"}
	topics := []string{"one.x", "two.x"}
	name := rapid.SampledFrom(append(slices.Clone(names), "nobody"))
	var out []manifest.Runtime
	for _, id := range names {
		r := auto(id, rapid.SampledFrom(manifest.MainStages).Draw(t, "stage"), gives(rapid.SampledFrom(contracts).Draw(t, "contract")))
		if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
			r.Schedule.Stage, r.Schedule.Trigger, r.Schedule.Topic = "", manifest.TriggerEvent, rapid.SampledFrom(topics).Draw(t, "topic")
		}
		for range rapid.IntRange(0, 2).Draw(t, "edges") {
			n := manifest.Need{Scope: "turn", Cardinality: rapid.SampledFrom([]string{"one", "all"}).Draw(t, "cardinality")}
			if rapid.Bool().Draw(t, "by contract") {
				n.Contract = rapid.SampledFrom(contracts[1:]).Draw(t, "needed")
			} else {
				n.Runtime, n.Cardinality = name.Draw(t, "needed"), "one"
			}
			switch rapid.SampledFrom([]string{"needs", "after", "input"}).Draw(t, "edge") {
			case "needs":
				r.Schedule.Needs = append(r.Schedule.Needs, n)
			case "after":
				r.Schedule.After = append(r.Schedule.After, n)
			default:
				reads("in-"+n.Contract+n.Runtime, manifest.Binding{Runtime: n.Runtime, Contract: n.Contract, Cardinality: n.Cardinality, Required: rapid.Bool().Draw(t, "required")})(&r)
			}
		}
		out = append(out, r)
	}
	return out
}

func drawBehaviour(t *rapid.T, active []manifest.Runtime) map[string]func(*Result) {
	out := map[string]func(*Result){}
	for _, r := range active {
		var topics []string
		if rapid.Bool().Draw(t, "emits") {
			topics = rapid.SliceOfN(rapid.SampledFrom([]string{"one.x", "two.x"}), 0, 2).Draw(t, "topics")
		}
		status := rapid.SampledFrom([]Status{Succeeded, Succeeded, Succeeded, Failed, Skipped}).Draw(t, "status")
		out[r.ID] = func(res *Result) {
			emits(topics...)(res)
			if res.Status = status; status == Skipped {
				res.SkipReason = SkipGuard
			}
		}
	}
	return out
}

func stageNumber(r Result) int { return slices.Index(manifest.MainStages, r.Stage) }

// Whatever the graph and whatever the runs do: stages never overlap, nobody starts before those it waits for have ended,
// everyone selected has one result, and the results do not depend on who was faster.
//
// Rule DESIGN §6: stages never overlap, results merge in name order, every selected runtime ends exactly once.
func TestAnyGraph(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		active := drawRuntimes(rt)
		behave := drawBehaviour(rt, active)
		play := func(next func([]string) string) *stage {
			s := newStage(t, projections.PhasePlaying, projections.Session{}, active...)
			s.behave = behave
			s.step(Begin{})
			for n := 0; len(s.running) > 0; n++ {
				if n > 100 {
					rt.Fatal("it does not end")
				}
				highest := -1
				for _, r := range s.state.Results {
					highest = max(highest, stageNumber(r))
				}
				lowest := len(manifest.MainStages)
				for id, r := range s.running {
					if at := slices.Index(manifest.MainStages, r.Runtime.Schedule.Stage); at >= 0 {
						lowest = min(lowest, at)
						if at < highest {
							rt.Fatalf("%s of %s runs after a result of a later stage", id, r.Runtime.Schedule.Stage)
						}
					}
					for other := range s.running {
						if slices.ContainsFunc(r.Needs, func(g []string) bool { return slices.Contains(g, other) }) {
							rt.Fatalf("%s runs while %s, which it needs, does", id, other)
						}
					}
				}
				for id, r := range s.running {
					if at := slices.Index(manifest.MainStages, r.Runtime.Schedule.Stage); at > lowest {
						rt.Fatalf("%s runs while an earlier stage does", id)
					}
				}
				s.end(next(slices.Sorted(maps.Keys(s.running))))
			}
			return s
		}
		s := play(func(ids []string) string { return ids[0] })
		if s.ended == nil {
			rt.Fatal("it did not finish")
		}
		count := map[string]int{}
		for i, r := range s.ended.Results {
			count[r.RuntimeID]++
			good := map[string]bool{}
			for _, before := range s.ended.Results[:i] {
				good[before.RuntimeID] = before.Satisfies() || before.Committable()
			}
			for _, group := range r.Needs {
				if !slices.ContainsFunc(group, func(id string) bool { return good[id] }) {
					rt.Fatalf("%s ran without any of %v", r.RuntimeID, group)
				}
			}
		}
		for _, r := range active {
			want := 1
			if r.Schedule.Trigger == manifest.TriggerEvent {
				want = min(count[r.ID], 1)
			}
			if count[r.ID] != want {
				rt.Fatalf("%s has %d results", r.ID, count[r.ID])
			}
		}
		other := play(func(ids []string) string { return rapid.SampledFrom(ids).Draw(rt, "faster") })
		if got, want := fmt.Sprint(other.ended.Results), fmt.Sprint(s.ended.Results); got != want {
			rt.Fatalf("the order of completion shows:\n got %s\nwant %s", got, want)
		}
	})
}

// A cancel at any point, and nonsense besides: Finish comes exactly once, and nothing starts after the cancel.
func TestCancelAnywhere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		active := drawRuntimes(rt)
		s := newStage(t, projections.PhasePlaying, projections.Session{}, active...)
		s.behave = drawBehaviour(rt, active)
		cancelAt := rapid.IntRange(0, 12).Draw(rt, "cancel at")
		var old []Result
		started := 0
		starts := func() (n int) {
			for _, l := range s.log {
				if len(l) > 5 && l[:5] == "start" {
					n++
				}
			}
			return n
		}
		for n := 0; s.ended == nil; n++ {
			if n > 200 {
				rt.Fatal("it does not end")
			}
			if n == cancelAt {
				s.step(Cancel{})
				started = starts()
				continue
			}
			running := slices.Sorted(maps.Keys(s.running))
			switch move := rapid.IntRange(0, 5).Draw(rt, "move"); {
			case move == 0:
				s.step(Begin{})
			case move == 1 && len(old) > 0:
				s.step(RunEnded{rapid.SampledFrom(old).Draw(rt, "again")})
			case move == 2:
				s.step(RunEnded{Result{RunID: "nobody"}})
			case len(running) > 0:
				id := rapid.SampledFrom(running).Draw(rt, "ends")
				old = append(old, s.result(id))
				s.end(id)
			case n == 0:
				s.step(Begin{})
			}
			if n > cancelAt && starts() != started {
				rt.Fatalf("something was started after the cancel: %v", s.log)
			}
		}
		if len(s.running) > 0 {
			rt.Fatalf("finished while %v run", slices.Sorted(maps.Keys(s.running)))
		}
		for _, in := range []Input{Cancel{}, Begin{}, RunEnded{Result{RunID: "a#1"}}} {
			s.step(in) // fails the test when it finishes or starts again
		}
	})
}
