package job

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/pkg/errors"
	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// InputVersion is the version of JobInput this program writes and can continue.
const InputVersion = 1

// ErrInputVersion: the job was frozen by a program of another version. It is stale.
var ErrInputVersion = errors.New("job: frozen input of another version")

// Frozen is what a run was frozen with: nothing of it changes while the job waits.
type Frozen struct {
	Inputs   map[string]sdk.Input
	Exports  map[string]sdk.Input
	Upstream []turn.Result
	Topic    string          // event: what set it off
	Payload  json.RawMessage // of the event, or of the manual run
	Rendered string          // the player's line of the source turn
	Actions  []projections.Action
	Settings map[string]json.RawMessage // of the plugin
}

// Freeze takes what a deferred run is to start with. Of upstream results only those the runtime declares it depends on keep
// their output; of the rest identity and state stay (seed: turn-pipeline.txt §2.1, "Only the upstream outputs the runtime
// declares it depends on are kept").
func Freeze(run turn.Run, line *projections.Input, settings map[string]json.RawMessage) *eventsv1.JobInput {
	in := &eventsv1.JobInput{Version: InputVersion, Inputs: slots(run.Inputs), Exports: slots(run.Exports)}
	for _, up := range run.Upstream {
		u := &eventsv1.JobUpstream{
			RuntimeId: up.RuntimeID, PluginId: up.PluginID, RunId: up.RunID, Stage: string(up.Stage), Contract: up.Contract,
			Status: string(up.Status), SkipReason: up.SkipReason, Story: up.Story,
		}
		if dependsOn(run.Runtime, up) {
			u.Output, u.Truncated = up.Output, up.Truncated
			if len(up.Segments) > 0 {
				u.Segments, _ = plainjson.Marshal(up.Segments) // of strings: cannot fail
			}
		}
		in.Upstream = append(in.Upstream, u)
	}
	if run.Event != nil {
		in.Topic, in.Payload = run.Event.Topic, run.Event.Data
	}
	if line != nil {
		in.Rendered = line.Rendered
		for _, a := range line.Actions {
			in.Actions = append(in.Actions, action(a))
		}
	}
	in.Settings = settingsJSON(settings)
	return in
}

func slots(inputs map[string]sdk.Input) []*eventsv1.JobSlot {
	var out []*eventsv1.JobSlot
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		slot := &eventsv1.JobSlot{Name: name, Cardinality: inputs[name].Cardinality}
		for _, i := range inputs[name].Items {
			slot.Items = append(slot.Items, &eventsv1.JobItem{PluginId: i.PluginID, RuntimeId: i.Runtime, Value: i.Value})
		}
		out = append(out, slot)
	}
	return out
}

func thawSlots(from []*eventsv1.JobSlot) map[string]sdk.Input {
	out := map[string]sdk.Input{}
	for _, s := range from {
		slot := sdk.Input{Cardinality: s.Cardinality}
		for _, i := range s.Items {
			slot.Items = append(slot.Items, sdk.InputItem{Value: i.Value, PluginID: i.PluginId, Runtime: i.RuntimeId})
		}
		out[s.Name] = slot
	}
	return out
}

// FreezeManual takes what a client named to run.
func FreezeManual(payload []byte, settings map[string]json.RawMessage) *eventsv1.JobInput {
	return &eventsv1.JobInput{Version: InputVersion, Payload: payload, Settings: settingsJSON(settings)}
}

func settingsJSON(settings map[string]json.RawMessage) []byte {
	if len(settings) == 0 {
		return nil
	}
	b, err := plainjson.Marshal(settings)
	if err != nil {
		return nil // they were read from JSON
	}
	return b
}

// dependsOn says whether a runtime declares that it depends on what another one gave.
func dependsOn(r manifest.Runtime, up turn.Result) bool {
	edges := append(slices.Clone(r.Schedule.Needs), r.Schedule.After...)
	for _, n := range edges {
		if n.Runtime == up.RuntimeID || n.Contract != "" && n.Contract == up.Contract {
			return true
		}
	}
	for _, b := range r.IO.Inputs {
		if b.Runtime == up.RuntimeID && b.Runtime != "" || b.Contract != "" && b.Contract == up.Contract {
			return true
		}
	}
	return false
}

// Thaw reads the frozen input of a job.
func Thaw(b []byte) (Frozen, error) {
	var in eventsv1.JobInput
	if err := proto.Unmarshal(b, &in); err != nil {
		return Frozen{}, errors.Wrap(ErrInputVersion, err.Error())
	}
	if in.Version != InputVersion {
		return Frozen{}, errors.Wrapf(ErrInputVersion, "version %d, this program continues %d", in.Version, InputVersion)
	}
	f := Frozen{Inputs: thawSlots(in.Inputs), Exports: thawSlots(in.Exports), Topic: in.Topic, Payload: in.Payload, Rendered: in.Rendered}
	for _, u := range in.Upstream {
		up := turn.Result{ // committed long ago: nothing of it is a staged write
			RuntimeID: u.RuntimeId, PluginID: u.PluginId, RunID: u.RunId, Stage: manifest.Stage(u.Stage), Contract: u.Contract,
			Status: turn.Status(u.Status), SkipReason: u.SkipReason, Output: u.Output, Story: u.Story, Truncated: u.Truncated, Seed: true,
		}
		if len(u.Segments) > 0 {
			if err := json.Unmarshal(u.Segments, &up.Segments); err != nil {
				return Frozen{}, errors.Wrap(ErrInputVersion, err.Error())
			}
		}
		f.Upstream = append(f.Upstream, up)
	}
	for _, a := range in.Actions {
		f.Actions = append(f.Actions, thawAction(a))
	}
	if len(in.Settings) > 0 {
		if err := json.Unmarshal(in.Settings, &f.Settings); err != nil {
			return Frozen{}, errors.Wrap(ErrInputVersion, err.Error())
		}
	}
	return f, nil
}

// Run gives the run of a thawed job.
func (f Frozen) Run(r manifest.Runtime) turn.Run {
	run := turn.Run{Runtime: r, Inputs: f.Inputs, Exports: f.Exports, Upstream: f.Upstream}
	switch {
	case f.Topic != "":
		run.Event = &sdk.EmittedEvent{Topic: f.Topic, Data: f.Payload}
	case r.Schedule.Stage == "": // it was named to run
		run.Manual, run.Payload = true, f.Payload
	}
	return run
}

func action(a projections.Action) *eventsv1.Action {
	out := &eventsv1.Action{Kind: a.Kind, SeatId: a.SeatID, CharacterId: a.CharacterID, Source: a.Source, Text: a.Text, Fields: a.Fields}
	if a.Interaction != nil {
		out.Interaction = &eventsv1.InteractionRef{TurnId: a.Interaction.TurnID, InteractionId: a.Interaction.InteractionID, Type: a.Interaction.Type}
	}
	return out
}

func thawAction(a *eventsv1.Action) projections.Action {
	out := projections.Action{Kind: a.Kind, SeatID: a.SeatId, CharacterID: a.CharacterId, Source: a.Source, Text: a.Text, Fields: a.Fields}
	if a.Interaction != nil {
		out.Interaction = &projections.InteractionRef{TurnID: a.Interaction.TurnId, InteractionID: a.Interaction.InteractionId, Type: a.Interaction.Type}
	}
	return out
}
