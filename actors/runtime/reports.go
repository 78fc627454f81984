package runtime

import (
	"encoding/json"
	"sync"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/internal/plainjson"
	kernelsession "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/sdk"
)

// What one run may tell; beyond it the rest is left out, and the trace says so once.
const (
	maxLogLines   = 200
	maxLogBytes   = 16 << 10 // of one line with its fields
	maxReports    = 500
	maxReportJobs = 32
)

// runLog is ctx.logger: lines in the trace.
type runLog struct {
	mu   sync.Mutex
	n    int
	emit func(trace.Type, any)
}

func (l *runLog) Debug(message string, fields map[string]any) { l.line("debug", message, fields) }
func (l *runLog) Info(message string, fields map[string]any)  { l.line("info", message, fields) }
func (l *runLog) Warn(message string, fields map[string]any)  { l.line("warn", message, fields) }
func (l *runLog) Error(message string, fields map[string]any) { l.line("error", message, fields) }

func (l *runLog) line(level, message string, fields map[string]any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n++; l.n > maxLogLines {
		if l.n == maxLogLines+1 {
			l.emit(trace.RuntimeLog, trace.LogLine{Level: "warn", Message: "this run logs too much; what follows is left out"})
		}
		return
	}
	line := trace.LogLine{Level: level, Message: cutTo(message, maxLogBytes)}
	if len(fields) > 0 {
		b, err := plainjson.Marshal(fields)
		switch {
		case err != nil:
			line.Dropped = "the fields cannot be written as JSON: " + err.Error()
		case len(b) > maxLogBytes:
			line.Dropped = "the fields are too large"
		default:
			line.Fields = b
		}
	}
	l.emit(trace.RuntimeLog, line)
}

// diagnose tells the trace what code noticed, and which effects it asked for that only a success has.
func (r *runtime) diagnose(h turn.Handled) {
	for _, d := range h.Effects.Diagnostics {
		if len(d.Data) > 0 && !json.Valid(d.Data) {
			d.Data = nil
		}
		r.emit(trace.RuntimeDiagnostic, trace.Diagnostic{Code: d.Code, Message: cutTo(d.Message, maxLogBytes), Data: d.Data})
	}
	if len(h.Stripped) > 0 {
		data, _ := json.Marshal(map[string]any{"effects": h.Stripped}) // of strings
		r.emit(trace.RuntimeDiagnostic, trace.Diagnostic{
			Code: turn.DiagnosticStripped, Message: "only a run that succeeds writes, and a concealed one has no row in the conversation; these effects were left out", Data: data,
		})
	}
}

// hidden leaves out the conversation row of a concealed run: rows are read by everybody. Records, blocks and questions are
// what its author shows on purpose (reference: worlds-and-story.md, "Revealing").
func (r *runtime) hidden(h turn.Handled) turn.Handled {
	if r.run.start.Runtime.IO.Concealed && h.Effects.Narrative != "" {
		h.Effects.Narrative, h.Stripped = "", append(h.Stripped, "narrative")
	}
	return h
}

// reports is ctx.progress: what is told live of pieces of work (reference: api-and-protocol.md §5.3).
type reports struct {
	mu   sync.Mutex
	n    int
	over bool
	open map[string]sdk.ProgressReport // the newest of each piece of work
	tell func(kernelsession.Progress)
}

func (p *reports) report(r sdk.ProgressReport) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, known := p.open[r.JobID]
	if p.over || r.JobID == "" || known && (r.Sequence <= last.Sequence || ended(last.State)) || !known && len(p.open) >= maxReportJobs || p.n >= maxReports {
		return
	}
	if !knownState(r.State) {
		return
	}
	r.Message = cutTo(r.Message, 2000)
	r.Progress = min(max(r.Progress, 0), 1)
	if len(r.Data) > maxLogBytes || !json.Valid(r.Data) {
		r.Data = nil
	}
	p.n++
	p.open[r.JobID] = r
	p.tell(kernelsession.Progress{Kind: kernelsession.JobStatusUpdated, Report: &r})
}

// close ends what the run left open, with how the run itself ended.
func (p *reports) close(res turn.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	state := sdk.ProgressFailed
	if res.Committable() {
		state = sdk.ProgressSucceeded
	} else if res.Status == turn.Suspended {
		state = sdk.ProgressWaiting
	}
	for id, r := range p.open {
		// A failure that the plugin reported stands; a success of a run that has failed does not.
		if !ended(r.State) || r.State == sdk.ProgressSucceeded && state != sdk.ProgressSucceeded {
			p.tell(kernelsession.Progress{Kind: kernelsession.JobStatusUpdated, Report: &sdk.ProgressReport{JobID: id, State: state, Sequence: r.Sequence + 1, Progress: r.Progress}})
		}
	}
}

func ended(s sdk.ProgressState) bool {
	return s == sdk.ProgressSucceeded || s == sdk.ProgressFailed || s == sdk.ProgressCancelled
}

func knownState(s sdk.ProgressState) bool {
	switch s {
	case sdk.ProgressQueued, sdk.ProgressRunning, sdk.ProgressStep, sdk.ProgressWaiting:
		return true
	}
	return ended(s)
}

func cutTo(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 { // not inside of a character
		n--
	}
	return s[:n] + "…"
}
