package runtime

import (
	"encoding/json"

	"github.com/pkg/errors"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/kernel/world"
	"github.com/covel/covel/plugins/schema"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
)

// restore gives a resumed run what it had staged when it suspended: it reads the world committed now with its own writes on
// top (seed: tools.txt, "ctx.world is the World Model committed at resume time, with the writes buffered in the state added
// on top").
func (r *run) restore(from *turn.Resumed) {
	if from == nil {
		return
	}
	r.proposals = append(r.proposals, from.Proposals...)
	r.events = append(r.events, from.Events...)
	r.operations = append(r.operations, from.Operations...)
	r.exports = from.Exports
	r.world = world.Overlay(r.world, from.Proposals)
	r.data.Overlay(from.Proposals)
	for _, raw := range from.Interactions {
		if block, issues := tools.ReadInteraction(raw); len(issues) == 0 { // it was read before it was saved
			r.ask(block)
		}
	}
}

// keep fills in what a suspended run goes on from.
func (r *run) keep(res turn.Result) turn.Result {
	fail := func(err error) turn.Result {
		res.Status, res.StopReason, res.Error, res.Suspension = turn.Failed, "invalid-output", err.Error(), nil
		return res
	}
	if err := r.flush(); err != nil {
		return fail(err)
	}
	s := *res.Suspension
	s.PluginVersion, s.PluginDigest = r.plugin.Manifest.Version, r.plugin.Manifest.Digest
	view := r.view()
	s.Kept = turn.Continuation{
		Inputs: r.start.Inputs, Event: r.start.Activation(), PlayerMessage: view.PlayerMessage, PlayerActions: view.PlayerActions,
	}
	for _, i := range r.interactions {
		raw, err := json.Marshal(i.Map())
		if err != nil {
			return fail(err)
		}
		s.Kept.Interactions = append(s.Kept.Interactions, raw)
	}
	res.Suspension = &s
	res.Proposals, res.Events, res.Operations, res.Exports = r.proposals, r.events, r.operations, r.exports
	return turn.Unnested(res)
}

// suspensionOf checks what a handler wants to wait for (reference: plugins.md §12, "suspended without reason"). It returns a
// raw JSON Schema (seed: tools.txt, "Function runtimes still return a raw JSON Schema in outcome: \"suspended\"").
func suspensionOf(out sdk.Result) (*turn.Suspension, error) {
	if out.Reason == "" {
		return nil, errors.New("the handler suspended without a reason: say in Reason what the player is asked")
	}
	if len(out.ResumeSchema) > 0 {
		if _, err := schema.Compile(out.ResumeSchema); err != nil {
			return nil, errors.Wrap(err, "the handler suspended with a resumeSchema that is no JSON Schema")
		}
	}
	return &turn.Suspension{Reason: out.Reason, ResumeSchema: out.ResumeSchema}, nil
}
