package turn

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/covel/covel/kernel/text"
	"github.com/covel/covel/plugins/sdk"
)

// What one run may tell live; beyond it the rest is left out.
const (
	MaxReports     = 500
	maxReportJobs  = 32
	maxReportText  = 2000     // bytes of a message
	maxReportBytes = 16 << 10 // of data and meta
)

// CheckReport says what is wrong with a report of a piece of work (reference: api-and-protocol.md §5.3).
func CheckReport(r sdk.ProgressReport) error {
	switch r.State {
	case sdk.ProgressQueued, sdk.ProgressRunning, sdk.ProgressStep, sdk.ProgressWaiting, sdk.ProgressSucceeded, sdk.ProgressFailed, sdk.ProgressCancelled:
	default:
		return fmt.Errorf("state: %q is none of queued, running, progress, waiting-input, succeeded, failed, cancelled", r.State)
	}
	switch {
	case strings.TrimSpace(r.JobID) == "":
		return fmt.Errorf("jobId: it is empty")
	case r.Sequence < 0:
		return fmt.Errorf("sequence: %d is below zero", r.Sequence)
	case len(r.Data) > 0 && !json.Valid(r.Data):
		return fmt.Errorf("data: it is no JSON")
	}
	return nil
}

// Reports are what a run has told of pieces of its work. The zero value is ready to use, by one goroutine at a time.
type Reports struct {
	told   int
	over   bool
	newest map[string]sdk.ProgressReport // by piece of work
}

// Take gives the report as it is told, false for one that is ignored: it is malformed, an equal or newer one is known, its
// piece of work has ended, the run has told too much or is over.
func (p *Reports) Take(r sdk.ProgressReport) (sdk.ProgressReport, bool) {
	last, known := p.newest[r.JobID]
	switch {
	case p.over || p.told >= MaxReports || CheckReport(r) != nil:
		return r, false
	case known && (r.Sequence <= last.Sequence || endedReport(last.State)), !known && len(p.newest) >= maxReportJobs:
		return r, false
	}
	r.Message, r.Progress, r.Data = text.Cut(r.Message, maxReportText), within(r.Progress, 1), small(r.Data)
	if p.newest == nil {
		p.newest = map[string]sdk.ProgressReport{}
	}
	p.told++
	p.newest[r.JobID] = r
	return r, true
}

// TakeAsset is Take for the making of a file, which has no end of its own.
func (p *Reports) TakeAsset(a sdk.AssetProgress) (sdk.AssetProgress, bool) {
	if p.over || p.told >= MaxReports || strings.TrimSpace(a.Phase) == "" {
		return a, false
	}
	p.told++
	a.Message, a.Percent, a.Meta = text.Cut(a.Message, maxReportText), within(a.Percent, 100), small(a.Meta)
	return a, true
}

// Close ends what the run left open with how the run itself ended. A failure that the plugin reported stands; a success of a
// run that has failed does not.
func (p *Reports) Close(res Result) (closing []sdk.ProgressReport) {
	p.over = true
	state := sdk.ProgressFailed
	if res.Committable() {
		state = sdk.ProgressSucceeded
	} else if res.Status == Suspended {
		state = sdk.ProgressWaiting
	}
	for _, id := range slices.Sorted(maps.Keys(p.newest)) {
		r := p.newest[id]
		if !endedReport(r.State) || r.State == sdk.ProgressSucceeded && state != sdk.ProgressSucceeded {
			closing = append(closing, sdk.ProgressReport{JobID: id, State: state, Sequence: r.Sequence + 1, Progress: r.Progress})
		}
	}
	return closing
}

// within gives 0 to most; what is no number is unknown.
func within(n, most float64) float64 {
	if math.IsNaN(n) {
		return 0
	}
	return min(max(n, 0), most)
}

func endedReport(s sdk.ProgressState) bool {
	return s == sdk.ProgressSucceeded || s == sdk.ProgressFailed || s == sdk.ProgressCancelled
}

// small leaves out what is no JSON or too much of it.
func small(raw json.RawMessage) json.RawMessage {
	if len(raw) > maxReportBytes || !json.Valid(raw) {
		return nil
	}
	return raw
}
