package projections

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Latest is the newest committed turn of the stages with what its runs gave; committed retries of it, and what went on
// from it after a suspension, are merged in. A retry of its failed runs reads the successful ones (seed:
// turn-pipeline.txt, "Recovering failed tasks"). The zero value: no such turn yet.
type Latest struct {
	TurnID      string `json:"turnId,omitempty"`
	LogicalTurn uint32 `json:"logicalTurn,omitempty"`
	AnchorID    string `json:"anchorId,omitempty"` // id of its story row, "" when it told none
	Runs        []Run  `json:"runs,omitempty"`     // in commit order
}

// Run is what one run of a committed execution gave.
type Run struct {
	RuntimeID  string  `json:"runtimeId"`
	PluginID   string  `json:"pluginId"`
	RunID      string  `json:"runId"`
	Stage      string  `json:"stage,omitempty"`
	Status     string  `json:"status"`
	SkipReason string  `json:"skipReason,omitempty"`
	Error      string  `json:"error,omitempty"`
	Contract   string  `json:"contract,omitempty"`
	Story      bool    `json:"story,omitempty"`
	Output     RawJSON `json:"output,omitempty"`
}

// Run gives the run of a runtime.
func (l Latest) Run(runtimeID string) (Run, bool) {
	i := slices.IndexFunc(l.Runs, func(r Run) bool { return r.RuntimeID == runtimeID })
	if i < 0 {
		return Run{}, false
	}
	return l.Runs[i], true
}

// anchor is the turn alone, without what its runs gave: all that read models need of it.
func (l Latest) anchor() Latest {
	l.Runs = nil
	return l
}

// apply folds an event of the execution e that is being committed.
func (l Latest) apply(r events.Recorded, msg proto.Message, e *Execution) Latest {
	if e == nil || e.ID != r.Metadata.GetCausationId() {
		return l
	}
	switch m := msg.(type) {
	case *eventsv1.NarrativeAppended:
		if e.byStages() {
			l = l.turn(e)
			l.AnchorID = m.MessageId
		}
	case *eventsv1.ExecutionResults:
		runs := runsOf(m)
		switch {
		case e.byStages():
			l = l.turn(e)
			l.Runs = runs
		case e.SourceTurnID != "" && e.SourceTurnID == l.TurnID:
			l.Runs = merged(l.Runs, runs)
		}
	}
	return l
}

// turn is the latest turn once the execution e is it.
func (l Latest) turn(e *Execution) Latest {
	if l.TurnID == e.ID {
		return l
	}
	return Latest{TurnID: e.ID, LogicalTurn: e.LogicalTurn}
}

// byStages says whether the stages decided what runs: not a run by name, a job, or what goes on from another turn.
func (e *Execution) byStages() bool {
	return e.Phase == PhasePlaying && len(e.Targets) == 0 && e.SourceTurnID == "" && e.SuspensionID == "" && e.JobID == ""
}

// merged puts newer runs in the place of older ones of the same runtime. What a later try did not give does not hide what
// stands.
func merged(runs, newer []Run) []Run {
	out := slices.Clone(runs)
	for _, n := range newer {
		i := slices.IndexFunc(out, func(r Run) bool { return r.RuntimeID == n.RuntimeID })
		switch {
		case i < 0:
			out = append(out, n)
		case n.Status == "success" || out[i].Status != "success":
			out[i] = n
		}
	}
	return out
}

func runsOf(m *eventsv1.ExecutionResults) []Run {
	out := make([]Run, 0, len(m.Results))
	for _, r := range m.Results {
		out = append(out, Run{r.RuntimeId, r.PluginId, r.RunId, r.Stage, r.Status, r.SkipReason, r.Error, r.Contract, r.Story, RawJSON(r.Output)})
	}
	return out
}
