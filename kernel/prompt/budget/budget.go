package budget

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pkg/errors"

	"github.com/covel/covel/kernel/model"
)

// Errors. The request of a call that cannot be made is not sent.
var (
	// ErrOverflow: what may not be left out is more than the model takes (stop reason context-overflow).
	ErrOverflow = errors.New("the request does not fit the model's context window")
	// ErrInvalid: the limits leave no room for any request (stop reason invalid-context).
	ErrInvalid = errors.New("the model's limits leave no room for a request")
)

// Ledger is what the requests of a run have left out so far. The zero value is a run without requests. It is never saved: a
// resumed run decides anew, in the same way.
type Ledger struct {
	elided    map[string]bool // tool call ids whose results are cut
	collapsed map[string]bool // first call ids of steps that became digests
	pruned    int             // messages of the history, from the oldest on
}

// Options of one request.
type Options struct {
	Capacity model.Capacity
	// Newest lets the newest tool step be cut too: a last request after an overflow.
	Newest bool
	// Chinese chooses the language of the marks.
	Chinese bool
}

// Report counts what one request lost. Tokens are estimates.
type Report struct {
	Before    int `json:"before"`
	After     int `json:"after"`
	Budget    int `json:"budget"`
	Images    int `json:"images"`
	Elided    int `json:"elided"`
	Collapsed int `json:"collapsed"`
	Pruned    int `json:"pruned"`
	Truncated int `json:"truncated"`
}

// Changed says whether anything was left out.
func (r Report) Changed() bool { return r.Images+r.Elided+r.Collapsed+r.Pruned+r.Truncated > 0 }

// Reserve is how many tokens are kept free for the answer; it is also the request's maximum output. asked may only lower what
// the model allows.
func Reserve(l model.Capacity, asked int) int {
	reserve := l.MaxOutputTokens
	if asked > 0 && (reserve == 0 || asked < reserve) {
		reserve = asked
	}
	if reserve == 0 {
		reserve = min(4096, l.ContextWindow/4)
	}
	return reserve
}

// Apply gives the copy of a request that is sent, and what this run has left out so far. A request that fits is the same
// request, but for pictures that the model cannot see. Without a known window nothing is cut. The given request stays as it
// was.
func Apply(l Ledger, req model.Request, o Options) (model.Request, Ledger, Report, error) {
	w := work{req: req, o: o, ledger: Ledger{maps.Clone(l.elided), maps.Clone(l.collapsed), l.pruned}}
	w.req.Messages = slices.Clone(req.Messages)
	w.stripImages()
	if o.Capacity.ContextWindow <= 0 {
		w.clean()
		return w.req, l, w.report, nil
	}
	reserve := Reserve(o.Capacity, req.MaxOutputTokens)
	w.req.MaxOutputTokens = reserve
	w.report.Budget = o.Capacity.ContextWindow - reserve
	if w.report.Budget <= 0 {
		return req, l, w.report, errors.Wrapf(ErrInvalid, "a window of %d tokens, of which %d are kept for the answer", o.Capacity.ContextWindow, reserve)
	}
	w.size = size(w.req)
	w.report.Before = tokens(w.size)
	w.replay()
	for _, shorten := range []func(){w.elide, w.collapse, w.prune, w.truncate} {
		if w.fits() {
			break
		}
		shorten()
	}
	w.report.After = tokens(w.size)
	if !w.fits() {
		return req, l, w.report, errors.Wrapf(ErrOverflow, "about %d tokens, %d are possible", w.report.After, w.report.Budget)
	}
	w.markGap()
	w.clean()
	return w.req, w.ledger, w.report, nil
}

// work is one request being made shorter.
type work struct {
	req    model.Request
	o      Options
	ledger Ledger
	report Report
	size   int // in quarters of a token
	gap    int // where messages of the history are missing
}

func (w *work) fits() bool { return tokens(w.size) <= w.report.Budget }

func (w *work) over() int { return w.size - 4*w.report.Budget }

// replace puts other messages in the place of some, and keeps the size up to date.
func (w *work) replace(from, to int, with ...model.Message) {
	for _, m := range w.req.Messages[from:to] {
		w.size -= messageSize(m)
	}
	for _, m := range with {
		w.size += messageSize(m)
	}
	w.req.Messages = slices.Replace(w.req.Messages, from, to, with...)
}

// clean takes out what is only for the host.
func (w *work) clean() {
	for i := range w.req.Messages {
		w.req.Messages[i].Part = ""
	}
}

func (w *work) stripImages() {
	if w.o.Capacity.Images {
		return
	}
	for i, m := range w.req.Messages {
		if len(m.Images) > 0 {
			w.report.Images += len(m.Images)
			w.req.Messages[i].Images = nil
		}
	}
}

// replay leaves out again what earlier requests of the run left out.
func (w *work) replay() {
	for _, s := range slices.Backward(w.steps()) {
		if w.ledger.collapsed[s.id] {
			w.collapseStep(s)
			continue
		}
		for i := s.from; i < s.to; i++ {
			if w.ledger.elided[w.req.Messages[i].ToolCallID] {
				w.elideAt(i)
			}
		}
	}
	if n := w.ledger.pruned; n > 0 {
		w.ledger.pruned = 0
		w.pruneFirst(n)
	}
}

func (w *work) mark(english, chinese string, n int) string {
	if w.o.Chinese {
		return fmt.Sprintf(chinese, n)
	}
	return fmt.Sprintf(english, n)
}
