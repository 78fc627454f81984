package turn

import (
	"maps"
	"slices"
	"strings"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
	"github.com/covel/covel/projections"
)

// Activations of deferred runs.
const (
	ActivationStage = "stage" // schedule.detached
	ActivationEvent = "event" // a follower with schedule.background
)

// defers says how a runtime that is due would leave the execution, "" when it does not ask to. A runtime that was named
// runs now: a manual run was asked for, and a retry is not widened by work in the background.
func (p Plan) defers(r manifest.Runtime) string {
	switch {
	case p.Phase == projections.PhaseSetup || len(p.Targets) > 0 && slices.ContainsFunc(p.Targets, func(t projections.Target) bool { return t.RuntimeID == r.ID }):
		return ""
	case r.Schedule.Detached != nil && r.Schedule.Trigger != manifest.TriggerEvent:
		return ActivationStage
	case r.Schedule.Background != nil && r.Schedule.Trigger == manifest.TriggerEvent:
		return ActivationEvent
	}
	return ""
}

// KeepsForeground says why a runtime with schedule.detached runs in the foreground, "" when it may become a job; others are
// the runtimes that can still run in the same execution (seed: turn-pipeline.txt §2.3, "Which runtimes can move to the
// background").
func KeepsForeground(r manifest.Runtime, others []manifest.Runtime) string {
	switch {
	case r.Type != manifest.TypeFunction:
		return "only a function can be detached"
	case r.Schedule.Stage != manifest.PostTurn && r.Schedule.Stage != manifest.Audit:
		return "only post-turn and audit runtimes can be detached"
	case len(r.Effects.Reads)+len(r.Effects.Writes) == 0:
		return "it does not declare its effects"
	case r.IO.RecordAs != "":
		return "its result is exported as " + r.IO.RecordAs
	case slices.Contains(r.Function.BuiltinTools, tools.EmitEvent) || slices.Contains(r.Agent.BuiltinTools, tools.EmitEvent) || r.Agent.AdvertiseEvents:
		return "it can emit events"
	}
	for _, w := range r.Effects.Writes {
		if !isolated(w) {
			return "it writes " + w
		}
	}
	for _, o := range others {
		if o.ID != r.ID && !before(o, r) && waitsFor(o, r) {
			return o.ID + " waits for its result"
		}
	}
	return ""
}

// isolated says whether a declared write cannot meet another's: media, UI, HTTP, and own data the kernel does not keep.
func isolated(effect string) bool {
	kind, rest, _ := strings.Cut(effect, ":")
	switch kind {
	case "assets", "media", "ui", "http":
		return true
	case "plugin-data":
		namespace, own := strings.CutPrefix(rest, "self:")
		return own && ownNamespace(namespace)
	}
	return false
}

func ownNamespace(namespace string) bool {
	return !strings.HasPrefix(namespace, "_") || strings.HasPrefix(namespace, "_hidden.")
}

// before says whether a runs in an earlier stage than b.
func before(a, b manifest.Runtime) bool {
	i, j := slices.Index(manifest.MainStages, a.Schedule.Stage), slices.Index(manifest.MainStages, b.Schedule.Stage)
	return i >= 0 && i < j
}

// waitsFor says whether a declares an edge to b: a need, an order, or an input of this turn.
func waitsFor(a, b manifest.Runtime) bool {
	names := func(runtime, contract string) bool { return provides(b.ID, b.IO.OutputContract, runtime, contract) }
	edge := func(n manifest.Need) bool { return names(n.Runtime, n.Contract) }
	return slices.ContainsFunc(a.Schedule.Needs, edge) || slices.ContainsFunc(a.Schedule.After, edge) ||
		slices.ContainsFunc(slices.Collect(maps.Values(a.IO.Inputs)), func(i manifest.Binding) bool { return turnScoped(i) && names(i.Runtime, i.Contract) })
}

// freeze gives the upstream a job takes along. What the runtime declares it depends on keeps its output; of the rest only
// who they are and how they ended is kept. All of it is committed when the job runs, so nothing of it is a staged write
// (seed: §2.1, "Only the upstream outputs the runtime declares it depends on are kept").
func freeze(r manifest.Runtime, upstream []Result) []Result {
	var out []Result
	for _, up := range upstream {
		kept := Result{RuntimeID: up.RuntimeID, PluginID: up.PluginID, RunID: up.RunID, Stage: up.Stage, Story: up.Story, Contract: up.Contract, Status: up.Status, SkipReason: up.SkipReason, Seed: true}
		if up.Satisfies() && waitsFor(r, manifest.Runtime{ID: up.RuntimeID, IO: manifest.IO{OutputContract: up.Contract}}) {
			kept.Output, kept.Segments, kept.Truncated = up.Output, up.Segments, up.Truncated
		}
		out = append(out, kept)
	}
	return out
}

// Dropped gives a deferred run as it is queued when the commit has dropped runs of its execution: to the job they have
// failed, also in its turn digest. It reports false when the job depended on one and is not queued at all (reference:
// api-and-protocol.md §4.6, "Detached jobs and followers that depend on a dropped runtime are not queued").
func (d Deferred) Dropped(dropped func(runtimeID string) bool) (Deferred, bool) {
	kept := func(id string) bool { return !dropped(id) }
	for _, group := range d.Run.Needs {
		if len(group) > 0 && !slices.ContainsFunc(group, kept) {
			return d, false
		}
	}
	d.Run.Upstream = slices.Clone(d.Run.Upstream)
	for i, up := range d.Run.Upstream {
		if dropped(up.RuntimeID) {
			up.Status, up.SkipReason, up.Output, up.Segments = Failed, "", nil, nil
			d.Run.Upstream[i] = up
		}
	}
	inputs := map[string]sdk.Input{}
	for name, in := range d.Run.Inputs {
		left := sdk.Input{Cardinality: in.Cardinality}
		for _, item := range in.Items {
			if item.PluginID == kernelPlugin && item.Runtime == InputTurnDigest {
				item.Value = redigest(item.Value, dropped)
			}
			if kept(item.Runtime) {
				left.Items = append(left.Items, item)
			}
		}
		if len(left.Items) > 0 {
			inputs[name] = left
		}
	}
	d.Run.Inputs = inputs
	return d, true
}
