package commit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
)

// droppable says whether a refused write costs only its own unit: that of an auxiliary run beside a committed story
// (reference: api-and-protocol.md §4.6).
func (p *planner) droppable(r turn.Result) bool {
	return p.hasStory && !r.Story && r.Stage != manifest.Setup
}

// unit writes a run with all that belongs to it: the calls below it first, its own writes, the operations last. On a
// refusal nothing of it is written.
func (p *planner) unit(r turn.Result) *Refusal {
	if lost(r) {
		p.lose(r.Nested)
		return nil
	}
	lost, refusal := p.depends(r)
	if refusal != nil {
		return refusal
	}
	if r.Status == turn.Suspended { // nothing is written: what it staged is kept with it
		if err := p.suspend(r); err != nil {
			return &Refusal{Code: RefusedSuspension, Message: err.Error()}
		}
		p.facts = append(p.facts, p.said(r)...)
		return nil
	}
	before, facts, ops := p.stand.clone(), len(p.facts), len(p.ops)
	refusal = p.own(r)
	if refusal == nil {
		refusal = p.operations(r)
	}
	if refusal != nil {
		p.stand, p.facts, p.ops = before, p.facts[:facts], p.ops[:ops]
		return refusal
	}
	if len(lost) > 0 {
		p.verdicts[r.RunID] = verdict{lost: lost}
	}
	return nil
}

// depends holds a unit against what was dropped before it. A unit whose needs are gone goes as well; so does an auxiliary
// one that has read what is gone, while a story or a setup run commits and lost tells whose writes those were (seed:
// turn-pipeline.txt §4.2, "when the upstream is dropped at commit, an auxiliary runtime is dropped with it, while a story or
// setup runtime commits and the trace records it").
func (p *planner) depends(r turn.Result) (lost []string, refusal *Refusal) {
	if up := p.droppedNeed(r); up != "" {
		return nil, &Refusal{Code: RefusedDependency, Message: fmt.Sprintf("needs %s, whose writes were refused", up)}
	}
	for _, id := range reads(r) {
		if p.gone[id] && !slices.Contains(lost, id) {
			lost = append(lost, id)
		}
	}
	if len(lost) > 0 && p.droppable(r) {
		return nil, &Refusal{Code: RefusedRead, Message: "has read writes of " + strings.Join(lost, ", ") + ", which were refused"}
	}
	return lost, nil
}

// reads are the runs and operations whose staged writes a unit has read.
func reads(r turn.Result) []string {
	out := slices.Clone(r.Reads)
	for _, n := range r.Nested {
		out = append(out, reads(n)...)
	}
	return out
}

// droppedNeed names the runs of which the run needs one, when all of them were dropped.
func (p *planner) droppedNeed(r turn.Result) string {
	for _, group := range r.Needs {
		kept := func(id string) bool { _, dropped := p.dropped[id]; return !dropped }
		if len(group) > 0 && !slices.ContainsFunc(group, kept) {
			return strings.Join(group, ", ")
		}
	}
	return ""
}

// own writes what the run and the calls below it propose, child before parent.
func (p *planner) own(r turn.Result) *Refusal {
	for _, n := range r.Nested {
		if lost(n) {
			p.lose(n.Nested)
		}
		if n.Seed || !n.Committable() {
			continue
		}
		if refusal := p.own(n); refusal != nil {
			return refusal
		}
	}
	return p.write(r)
}

// write writes the proposals of one run.
func (p *planner) write(r turn.Result) *Refusal {
	for _, m := range r.Media {
		p.stand.media[m.ID] = true
	}
	w := writer{planner: p, run: r, stand: p.stand.clone()}
	for i, pr := range r.Proposals {
		if why, no := r.Refused[i]; no {
			return &Refusal{Code: RefusedHook, ProposalType: pr.Type, Message: pr.Type + ": refused by a hook: " + why}
		}
		if err := w.proposal(pr); err != nil {
			return refused(pr.Type, err)
		}
	}
	w.stored(r.Media)
	p.stand = w.stand
	p.facts = append(append(p.facts, p.said(r)...), w.facts...)
	return nil
}

// drop leaves a unit out.
func (p *planner) drop(r turn.Result, refusal *Refusal) {
	p.dropped[r.RuntimeID] = refusal.Message
	p.verdicts[r.RunID] = verdict{refusal: refusal}
	p.leave(r, refusal)
}

// lose marks what runs below one that commits nothing have left.
func (p *planner) lose(list []turn.Result) {
	for _, n := range list {
		p.gone[n.RunID] = p.gone[n.RunID] || n.Committable()
		p.lose(n.Nested)
	}
}

// leave marks a run and all below it as not committed.
func (p *planner) leave(r turn.Result, refusal *Refusal) {
	p.gone[r.RunID] = true
	for _, n := range r.Nested {
		p.leave(n, refusal)
	}
	for _, op := range r.Operations {
		code := RefusedUnit
		if op.ID == refusal.Operation {
			code = refusal.Code
		}
		p.failed(r, op, code)
	}
}
