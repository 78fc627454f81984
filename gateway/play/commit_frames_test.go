package play

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

func typesOf(f Frame) (types []string) {
	for _, e := range f.Events {
		types = append(types, e.Type)
	}
	return types
}

// Rule TP:407: one operation.failed of a commit tells how many failed, at once and not which; an operation of the story's unit
// that was dropped for its own failure gives no proposal.failed, and the turn shows no failure.
func TestFailedOperationsAreCounted(t *testing.T) {
	operation := func(id, status string) *eventsv1.OperationOutcome {
		return &eventsv1.OperationOutcome{Id: id, Service: "inventory.change@1", Summary: "取走铜钱", Status: status, Reason: "out-of-bounds", InvokedBy: &eventsv1.InvokedBy{RuntimeId: "narrator"}}
	}
	narrator := &eventsv1.RuntimeOutcome{RuntimeId: "narrator", PluginId: "narrator", Status: "success"}
	dropped := &eventsv1.RuntimeOutcome{RuntimeId: "guide", PluginId: "guide", Status: "failed", Dropped: true, Code: "proposal-invalid", Error: "坏了"}
	for name, c := range map[string]struct {
		operations []*eventsv1.OperationOutcome
		outcomes   []*eventsv1.RuntimeOutcome
		counts     string
		proposals  int
	}{
		"two of three":               {[]*eventsv1.OperationOutcome{operation("o1", "failed"), operation("o2", "applied"), operation("o3", "failed")}, []*eventsv1.RuntimeOutcome{narrator}, "2", 0},
		"none":                       {[]*eventsv1.OperationOutcome{operation("o1", "applied")}, []*eventsv1.RuntimeOutcome{narrator}, "", 0},
		"of a unit that was dropped": {[]*eventsv1.OperationOutcome{operation("o1", "failed")}, []*eventsv1.RuntimeOutcome{narrator, dropped}, "1", 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := frameOf(recordedOf(t, &eventsv1.ExecutionStarted{ExecutionId: "e1", Origin: "player"},
				&eventsv1.ExecutionCommitted{ExecutionId: "e1", Outcomes: c.outcomes, Operations: c.operations}))
			var counts []string
			proposals := 0
			for _, e := range f.Events {
				switch e.Type {
				case "operation.failed":
					counts = append(counts, fmt.Sprint(e.Payload.(map[string]any)["count"]))
				case "proposal.failed":
					proposals++
				}
			}
			if got := strings.Join(counts, " "); got != c.counts || proposals != c.proposals {
				t.Errorf("operation.failed with count %q, %d proposal.failed; want %q, %d", got, proposals, c.counts, c.proposals)
			}
			types := typesOf(f)
			if !slices.Contains(types, "turn.completed") || slices.Contains(types, "turn.failed") || slices.Contains(types, "execution.failed") {
				t.Errorf("events %v", types)
			}
			if b, err := json.Marshal(f); err != nil || strings.Contains(string(b), "铜钱") {
				t.Errorf("the player is told which: %s %v", b, err)
			}
		})
	}
}

// Rule TP:248: runtime.deferred is sent with the commit of the turn; nobody hears of the job before it.
// Rule TP:349: job-status.updated names the turn that the job belongs to in data.originTurnId, however the job stands.
func TestFramesOfAJob(t *testing.T) {
	recorded, after := recordedOf(t,
		&eventsv1.ExecutionStarted{ExecutionId: "e1", Origin: "player"},
		&eventsv1.JobQueued{JobId: "j1", RuntimeId: "memory/extract", Plugin: &eventsv1.PluginRef{Id: "memory"}, Activation: "stage", SourceTurnId: "e1", Input: &eventsv1.JobInput{Version: 1}},
		&eventsv1.ExecutionCommitted{ExecutionId: "e1"},
		&eventsv1.JobStarted{JobId: "j1", ExecutionId: "e2"},
		&eventsv1.JobSucceeded{JobId: "j1"})
	commit := frameOf(recorded[1:3], after) // one append, one frame: an execution that is rolled back gives neither
	types := typesOf(commit)
	if deferred, done := slices.Index(types, "runtime.deferred"), slices.Index(types, "execution.completed"); deferred < 0 || done < deferred {
		t.Errorf("the frame of the commit: %v", types)
	}
	told := commit.Events[slices.Index(types, "runtime.deferred")].Payload.(map[string]any)
	if told["jobId"] != "j1" || told["runtimeId"] != "memory/extract" || told["sourceTurnId"] != "e1" {
		t.Errorf("deferred: %v", told)
	}
	var states []string
	for _, f := range []Frame{commit, frameOf(recorded[3:4], after), frameOf(recorded[4:5], after)} {
		for _, e := range f.Events {
			if payload, ok := e.Payload.(map[string]any); ok && e.Type == "job-status.updated" {
				states = append(states, fmt.Sprint(payload["state"], " of ", payload["data"].(map[string]any)["originTurnId"]))
			}
		}
	}
	if got := strings.Join(states, ", "); got != "queued of e1, running of e1, succeeded of e1" {
		t.Errorf("states: %s", got)
	}
}
