package session

import (
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/sdk"
)

// Progress is a transient fact about a running execution: nothing of it is stored, nothing provisional is ever taken for
// committed. N counts inside the execution, from 1.
type Progress struct {
	ExecutionID string
	N           uint64
	Kind        ProgressKind
	RuntimeID   string
	PluginID    string
	RunID       string
	Label       string // of the runtime, in the session's language
	Stage       string
	Delta       string // narrative.delta
	Reset       bool   // narrative.delta: drop what this runtime showed so far
	Status      string // of an ended run
	Error       string
	SkipReason  string
	DurationMs  int64
	ToolName    string
	ToolCallID  string
	WaitMs      int64 // llm.waiting: how long
	Attempt     int   // llm.waiting: the attempt that follows, from 2
	Reason      string
	Hazard      *turn.Diagnostic    // scheduling.hazard
	ParentRunID string              // of a run that another one called, or asked as a sub-agent
	Report      *sdk.ProgressReport // job-status.updated
	Asset       *sdk.AssetProgress  // asset.progress
	Settle      *SettleWait         // turn.settling; N is 0, since the execution has not begun
}

// WithoutContents is what may be told of a concealed runtime: who it is, that it runs, how it ended and how long it took.
func (p Progress) WithoutContents() Progress {
	if p.Error != "" {
		p.Error = turn.ConcealedFailure
	}
	p.Delta, p.SkipReason, p.Reason, p.ToolName, p.ToolCallID = "", "", "", "", ""
	if p.Report != nil {
		p.Report = &sdk.ProgressReport{JobID: p.Report.JobID, State: p.Report.State, Sequence: p.Report.Sequence, Progress: p.Report.Progress}
	}
	if p.Asset != nil {
		p.Asset = &sdk.AssetProgress{Phase: "working", Percent: p.Asset.Percent, AssetID: p.Asset.AssetID, Modality: p.Asset.Modality}
	}
	return p
}

// ProgressKind is the event name of the protocol.
type ProgressKind string

// Kinds.
const (
	RuntimeStarted   ProgressKind = "runtime.started"
	RuntimeCompleted ProgressKind = "runtime.completed"
	RuntimeFailed    ProgressKind = "runtime.failed"
	RuntimeSkipped   ProgressKind = "runtime.skipped"
	RuntimeSuspended ProgressKind = "runtime.suspended" // provisional: turn.suspended follows the commit
	NarrativeDelta   ProgressKind = "narrative.delta"
	ToolCalling      ProgressKind = "tool.calling"
	ToolCompleted    ProgressKind = "tool.completed"
	ToolFailed       ProgressKind = "tool.failed"
	ModelWaiting     ProgressKind = "llm.waiting"        // before the model is asked again
	JobStatusUpdated ProgressKind = "job-status.updated" // what a run reports of a piece of its work
	AssetProgressed  ProgressKind = "asset.progress"     // what a run reports of a file it makes
	PausedPlugin     ProgressKind = "plugin.paused"      // after repeated errors; of no execution
	ResumedPlugin    ProgressKind = "plugin.resumed"     // of no execution
	TurnSettling     ProgressKind = "turn.settling"      // what waits for background jobs before it begins
	SchedulingHazard ProgressKind = "scheduling.hazard"  // what the scheduler did that an author might not expect
)

// Live is what a client that joins now must be told about the running execution: the buffer of a turn.
type Live struct {
	ExecutionID   string
	RequestID     string
	N             uint64
	Text          string // streamed so far
	TextRuntimeID string
	Steps         []LiveStep
}

// LiveStep is one run of the execution.
type LiveStep struct {
	RunID     string `json:"-"`
	RuntimeID string `json:"runtimeId"`
	PluginID  string `json:"pluginId"`
	Label     string `json:"label"`
	Stage     string `json:"stage"`
	Status    string `json:"status"` // running | success | failed | skipped | suspended
	Error     string `json:"error,omitempty"`
}

// Apply folds one progress. It changes nothing that was handed out before.
func (l Live) Apply(p Progress) Live {
	l.N = p.N
	switch p.Kind {
	case NarrativeDelta:
		if p.Reset || p.RuntimeID != l.TextRuntimeID {
			l.Text = ""
		}
		l.TextRuntimeID = p.RuntimeID
		l.Text += p.Delta
	case RuntimeStarted:
		l.Steps = append(l.Steps[:len(l.Steps):len(l.Steps)], LiveStep{p.RunID, p.RuntimeID, p.PluginID, p.Label, p.Stage, "running", ""})
	case RuntimeCompleted, RuntimeFailed, RuntimeSkipped, RuntimeSuspended:
		steps := append([]LiveStep(nil), l.Steps...)
		found := false
		for i := range steps {
			if steps[i].RunID == p.RunID {
				steps[i].Status, steps[i].Error, found = p.Status, p.Error, true
			}
		}
		if !found {
			steps = append(steps, LiveStep{p.RunID, p.RuntimeID, p.PluginID, p.Label, p.Stage, p.Status, p.Error})
		}
		l.Steps = steps
	}
	return l
}
