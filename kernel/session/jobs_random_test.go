package session

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/projections"
)

// Random turns that defer jobs, ends of jobs, limits, cancels, retries, pauses, crashes, shutdowns and store faults. Whatever
// happens, no job ends twice, none runs after its end, and what it wrote stands there if and only if it succeeded.
func TestRandomLivesOfJobs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := playing(t, extract(rapid.Bool().Draw(rt, "settle")))
		faults := rapid.SampledFrom([]fault{noFault, noFault, noFault, unknownWritten, unknownNotWritten, refusedByStore, foreignBefore})
		s.fault = func(int, Append) fault { return faults.Draw(rt, "fault") }
		someJob := func(rt *rapid.T) string {
			if len(s.state.Hot.Jobs) == 0 {
				return "nobody"
			}
			return s.state.Hot.Jobs[rapid.IntRange(0, len(s.state.Hot.Jobs)-1).Draw(rt, "job")].ID
		}
		change := func(kind ChangeKind, id string) {
			s.ids++
			s.feed(ChangeStatus{Change{Kind: kind, JobID: id, ID: fmt.Sprint("change-", s.ids)}})
		}
		rt.Repeat(map[string]func(*rapid.T){
			"say": func(*rapid.T) {
				s.ids++
				s.feed(Submit{Command{RequestID: fmt.Sprint("l", s.ids), BodyHash: "aa", Type: SubmitActions, ExecutionID: fmt.Sprint("exec-", s.ids),
					Actions: []projections.Action{{Kind: "say", Text: "我等。"}}}})
			},
			"deliver": func(*rapid.T) {
				if len(s.inbox) > 0 {
					in := s.inbox[0]
					s.inbox = s.inbox[1:]
					s.feed(in)
				}
			},
			"end turn": func(*rapid.T) {
				if len(s.turns) > 0 {
					tn := s.turns[0]
					s.turns = s.turns[1:]
					s.feed(s.result(tn))
				}
			},
			"end job": func(rt *rapid.T) {
				if len(s.working) == 0 {
					return
				}
				w := s.working[0]
				s.working = s.working[1:]
				end := remembered(w)
				switch rapid.SampledFrom([]string{"well", "well", "failed", "crash", "stale"}).Draw(rt, "how") {
				case "failed":
					end.Results[0].Status = turn.Failed
				case "crash":
					end.Crash = "boom"
				case "stale":
					end.Stale = "plugin-changed"
				}
				s.feed(*end)
			},
			"time": func(rt *rapid.T) {
				s.now = s.now.Add(time.Duration(rapid.IntRange(0, 40).Draw(rt, "seconds")) * time.Second)
				if !s.wakeAt.IsZero() && !s.wakeAt.After(s.now) {
					s.feed(Tick{})
				}
			},
			"cancel": func(rt *rapid.T) { change(CancelJobChange, someJob(rt)) },
			"retry":  func(rt *rapid.T) { change(RetryJobChange, someJob(rt)) },
			"pause":  func(rt *rapid.T) { change(rapid.SampledFrom([]ChangeKind{Pause, Resume, Resume}).Draw(rt, "to"), "") },
			"stop":   func(*rapid.T) { s.feed(StopTurn{}) },
			"wake":   func(*rapid.T) { s.feed(Wake{}) },
			"foreign": func(*rapid.T) {
				if s.state.InFlight == nil {
					s.feed(Foreign{})
				}
			},
			"crash": func(*rapid.T) { s.activate() },
			"shutdown": func(*rapid.T) {
				s.feed(Drain{})
				for i := 0; i < 40 && s.state.Phase != Stopped && len(s.inbox) > 0; i++ {
					in := s.inbox[0]
					s.inbox = s.inbox[1:]
					s.feed(in)
				}
				s.activate()
			},
			"": func(*rapid.T) {
				lanes := map[string]bool{}
				for _, j := range s.fold().Jobs.Open() {
					if j.Status == projections.JobRunning {
						if lanes[j.RuntimeID] {
							rt.Fatalf("two of %s are in progress", j.RuntimeID)
						}
						lanes[j.RuntimeID] = true
					}
				}
				if len(s.state.Jobs) < len(s.working) {
					rt.Fatalf("%d executions for %d jobs", len(s.working), len(s.state.Jobs))
				}
			},
		})
		// Left alone, everything comes to its end.
		s.fault = nil
		s.jobResult = remembered
		for range 5 {
			s.run()
			s.feed(Foreign{}) // an event that came behind the own one is noticed by the follower
			s.run()
			s.feed(Wake{})
			s.run()
			change(Resume, "")
			s.run()
			s.now = s.now.Add(3 * time.Minute)
			s.feed(Tick{})
			s.run()
		}
		if open := s.state.Hot.Jobs.Open(); len(open) > 0 {
			rt.Fatalf("%d jobs never end: %+v; here %+v, phase %s", len(open), open[0], s.state.Jobs, s.state.Phase)
		}
		if len(s.state.Jobs) > 0 || len(s.granted) > 0 {
			rt.Fatalf("left over: %v, places %v", s.state.Jobs, s.granted)
		}
		s.checkJobs()
	})
}
