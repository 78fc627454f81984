package runtime

import (
	"encoding/json"
	"sync"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/internal/plainjson"
	kernelsession "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/kernel/text"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/sdk"
)

// What one run may log; beyond it the rest is left out, and the trace says so once.
const (
	maxLogLines = 200
	maxLogBytes = 16 << 10 // of one line with its fields
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
	line := trace.LogLine{Level: level, Message: text.Cut(message, maxLogBytes)}
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

// note tells what may be told of any outcome: the player how pieces of work stand, the trace what code noticed and which
// effects it asked for that only a success has.
func (r *runtime) note(h turn.Handled) {
	for _, report := range h.Effects.JobStatus {
		r.work.report(report)
	}
	for _, d := range h.Effects.Diagnostics {
		if len(d.Data) > 0 && !json.Valid(d.Data) {
			d.Data = nil
		}
		r.emit(trace.RuntimeDiagnostic, trace.Diagnostic{Code: d.Code, Message: text.Cut(d.Message, maxLogBytes), Data: d.Data})
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

// reports is ctx.progress and ctx.assetProgress: what is told live of pieces of work (reference: api-and-protocol.md §5.3).
type reports struct {
	mu sync.Mutex
	turn.Reports
	tell func(kernelsession.Progress)
}

func (p *reports) report(r sdk.ProgressReport) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r, ok := p.Take(r); ok {
		p.tell(kernelsession.Progress{Kind: kernelsession.JobStatusUpdated, Report: &r})
	}
}

func (p *reports) asset(a sdk.AssetProgress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a, ok := p.TakeAsset(a); ok {
		p.tell(kernelsession.Progress{Kind: kernelsession.AssetProgressed, Asset: &a})
	}
}

// close ends what the run left open.
func (p *reports) close(res turn.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.Close(res) {
		p.tell(kernelsession.Progress{Kind: kernelsession.JobStatusUpdated, Report: &r})
	}
}
