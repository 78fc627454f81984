package runtime

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/covel/covel/kernel/prompt"
	kernelsession "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/kernel/world"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
	"github.com/covel/covel/projections"
	"github.com/covel/covel/worlds"
)

// run is the working state of one start of a runtime: its views, and what it has staged. One goroutine at a time uses it.
type run struct {
	frozen Frozen
	start  turn.Run
	plugin *registry.Loaded
	world  sdk.World // committed, visible upstream, own staged writes
	data   *world.Data
	reads  *world.Reads // upstream runs whose writes were read
	shown  world.Producers

	proposals    []sdk.Proposal
	events       []sdk.EmittedEvent
	interactions []tools.Interaction // the last of each id
}

func newRun(f Frozen, start turn.Run, plugin *registry.Loaded) *run {
	r := &run{frozen: f, start: start, plugin: plugin, world: f.World, reads: &world.Reads{}}
	r.world.Characters = slices.Clone(f.World.Characters) // plugin code gets a list of its own
	visible := turn.VisibleWrites(start.Upstream)
	r.world, r.shown = world.Visible(r.world, visible)
	if start.Exports == nil {
		r.start.Exports = turn.CommittedInputs(start.Runtime, f.Active, f.State.Exports, f.Contracts)
	}
	r.data = world.NewData(start.Runtime.PluginID, f.State.PluginData, visible, r.reads)
	r.restore(start.Resumed)
	return r
}

// view is what the plugin's code gets to see (ctx in the seeds).
func (r *run) view() *sdk.Runtime {
	rt := r.start.Runtime
	v := &sdk.Runtime{
		SessionID: r.frozen.State.Session.ID, TurnID: r.frozen.Execution.ID, RunID: r.start.RunID, PluginID: rt.PluginID, RuntimeID: rt.ID,
		Locale: r.frozen.Locale(), LogicalTurn: int(r.frozen.Execution.LogicalTurn), Messages: r.plugin.Manifest.MessagesIn(r.frozen.Locale()),
		World: r.world, PluginData: r.data, Inputs: r.start.Inputs, Exports: r.start.Exports, Settings: r.frozen.Pack.PluginSettings[rt.PluginID],
		NewID: r.newID, Observe: func(part sdk.WorldPart) { r.reads.Note(r.shown[part]...) },
	}
	if in := r.frozen.Input(); in != nil {
		v.PlayerMessage = in.Rendered
		v.PlayerActions = kernelsession.SDKActions(in.Actions)
	}
	v.TurnNumber = int(r.frozen.State.Session.CompletedPlayerTurns)
	if from := r.start.Resumed; from != nil {
		v.PlayerMessage, v.PlayerActions, v.TurnNumber = from.PlayerMessage, from.PlayerActions, from.TurnNumber
		v.ResumeData, v.ResumedFromSuspensionID = from.Answer, from.SuspensionID
	}
	switch {
	case r.start.Manual:
		v.Activation = r.start.Payload
	case r.start.Event != nil:
		v.Activation = r.start.Event.Data
	}
	interactions := r.frozen.State.Interactions
	if a, ok := interactions.LastAnswered(rt.PluginID); ok {
		v.LastPlayerInput = &sdk.PlayerInput{TurnID: a.TurnID, InteractionID: a.InteractionID, FormID: a.InteractionID, Values: map[string]any{}}
		_ = json.Unmarshal(a.Values, &v.LastPlayerInput.Values) // checked when it was accepted
	}
	for _, o := range interactions.Open(rt.PluginID) {
		v.OpenInteractions = append(v.OpenInteractions, sdk.OpenInteraction{
			InteractionRef: sdk.InteractionRef{TurnID: o.TurnID, InteractionID: o.InteractionID, Type: o.Type}, Block: json.RawMessage(o.Block),
		})
	}
	return v
}

func (r *run) newID(prefix, label string) string {
	return world.ShortID(prefix, label, r.frozen.State.Session.ID, func(id string) bool {
		_, taken := sdk.CharacterByID(r.world.Characters, id)
		return taken
	})
}

// prompt is what the context builder needs to know, but for the history.
func (r *run) prompt() prompt.In {
	rt, f := r.start.Runtime, r.frozen
	in := prompt.In{
		Runtime: rt, PluginName: r.plugin.Manifest.DisplayName.In(f.Locale()), Locale: f.Locale(), InstructionLocale: f.Instructions, World: r.world.Record,
		HasStory: f.State.History.Stories > 0, Characters: r.world.Characters, Schema: r.world.Schema, Inputs: r.start.Inputs, Exports: r.start.Exports,
		Static: r.plugin.Manifest.Contributes.Prompt, Topics: f.Topics,
		Dimensions: r.world.Dimensions, Entries: r.world.Entries, LogicalTurn: int(f.Execution.LogicalTurn), Settings: f.Pack.PluginSettings[rt.PluginID],
	}
	in.NotApplied = prompt.NotAppliedFor(f.State.Session, f.Execution, rt.ID)
	view := r.view()
	in.PlayerMessage, in.LastPlayerInput = view.PlayerMessage, view.LastPlayerInput
	if c, ok := sdk.ActingCharacterOf(view.PlayerActions, r.world.Characters, r.world.Seats); ok {
		in.Player = &c
	}
	if rt.IO.Visibility == manifest.VisibilityStory { // nobody else is told lore
		var recent []string
		for _, m := range f.State.History.Tail(worlds.MaxScanDepth) { // summarised or not
			recent = append(recent, m.Shown())
		}
		var lore []sdk.LorebookEntry
		for _, a := range worlds.Activate(r.world.Lorebook, in.PlayerMessage, recent) {
			lore = append(lore, a.Entry)
		}
		in.PlaceLore(lore)
	}
	for _, decl := range rt.IO.SelfData {
		block := prompt.DataBlock{Decl: decl}
		for _, rec := range r.data.List(decl.Namespace) {
			block.Rows = append(block.Rows, prompt.DataRow{Key: rec.Key, Value: rec.Value, Updated: rec.UpdatedAt})
		}
		in.Data = append(in.Data, block)
	}
	if r.start.Manual {
		in.Activation = &prompt.Activation{Source: "manual", Detached: f.Only != nil, Payload: r.start.Payload}
	} else if r.start.Event != nil {
		in.Activation = &prompt.Activation{Source: "event", Topic: r.start.Event.Topic, Detached: f.Only != nil, Payload: r.start.Event.Data}
	}
	for _, up := range r.start.Upstream {
		if up.Story && up.Committable() && rt.Schedule.Stage != manifest.Narrative && rt.Schedule.Stage != manifest.PreTurn {
			in.Story = storyText(up.Segments)
		}
	}
	return in
}

// historyMessages is the conversation as the context builder and providers see it: what is not compacted yet, oldest first.
func historyMessages(h projections.History) []sdk.HistoryMessage {
	var out []sdk.HistoryMessage
	for _, m := range h.Uncompacted() {
		out = append(out, sdk.HistoryMessage{
			ID: m.ID, Role: m.Role, Content: m.Shown(), TurnID: m.TurnID, RuntimeID: m.RuntimeID, PluginID: m.PluginID, Source: m.Source,
		})
	}
	return out
}

// stage takes over what a tool, a guard or a handler asks to be written, all of it or nothing; later reads of the run see
// it. What the run set in its own plugin data before stands before it, so that the commit writes what the run saw.
func (r *run) stage(proposals []sdk.Proposal, events []sdk.EmittedEvent) error {
	staged := slices.Clone(proposals)
	for _, e := range events {
		p, err := sdk.Propose(sdk.EventEmit(e))
		if err != nil {
			return fmt.Errorf("event %s: %w", e.Topic, err)
		}
		staged = append(staged, p)
	}
	if err := r.flush(); err != nil {
		return err
	}
	r.world = world.Overlay(r.world, proposals)
	r.data.Overlay(proposals)
	r.proposals = append(r.proposals, staged...)
	r.events = append(r.events, events...)
	return nil
}

// flush turns what the run has set in its plugin data into proposals.
func (r *run) flush() error {
	for _, w := range r.data.Take() {
		if err := r.propose(w); err != nil {
			return err
		}
	}
	return nil
}

// ask takes over a question to the player; the last one with the same id is the one that is asked.
func (r *run) ask(i tools.Interaction) {
	for n := range r.interactions {
		if r.interactions[n].InteractionID == i.InteractionID {
			r.interactions[n] = i
			return
		}
	}
	r.interactions = append(r.interactions, i)
}

// effects takes over the effects of a handler or a guard. An entry that cannot become a write fails the run.
func (r *run) effects(e sdk.Effects) error {
	if e.Narrative != "" {
		if err := r.propose(sdk.MessageAppend{Content: e.Narrative}); err != nil {
			return err
		}
	}
	for n, raw := range e.Interactions {
		b, err := json.Marshal(raw)
		if err != nil {
			return fmt.Errorf("effects.interactions[%d]: %w", n, err)
		}
		block, issues := tools.ReadInteraction(b)
		if len(issues) > 0 {
			return fmt.Errorf("effects.interactions[%d].%s: %s", n, issues[0].Path, issues[0].Message)
		}
		r.ask(block)
	}
	for _, ui := range e.UI {
		if err := r.propose(ui); err != nil {
			return err
		}
	}
	return r.stage(e.Proposals, e.Events)
}

func (r *run) propose(p sdk.Payload) error {
	pr, err := sdk.Propose(p)
	if err != nil {
		return err
	}
	r.proposals = append(r.proposals, pr)
	return nil
}

// result fills in what the run staged. What cannot become a write fails the run.
func (r *run) result(res turn.Result) turn.Result {
	rt := r.start.Runtime
	res.RuntimeID, res.PluginID, res.RunID, res.Stage = rt.ID, rt.PluginID, r.start.RunID, rt.Schedule.Stage
	res.Story, res.Contract, res.Needs = rt.IO.Visibility == manifest.VisibilityStory, rt.IO.OutputContract, r.start.Needs
	res.RecordAs = rt.IO.RecordAs
	if res.Committable() || res.Status == turn.Suspended {
		r.reads.Note(r.start.Reads...)
		res.Reads = r.reads.List()
	}
	if res.Status == turn.Suspended && res.Suspension != nil {
		return r.keep(res)
	}
	if !res.Committable() {
		return res
	}
	err := r.flush()
	for _, i := range r.interactions {
		if err == nil {
			err = r.propose(sdk.InteractionRequest{InteractionID: i.InteractionID, Type: i.Type, Data: i.Map()})
		}
	}
	if err != nil {
		res.Status, res.StopReason, res.SkipReason, res.Error = turn.Failed, "invalid-output", "", err.Error()
		return res
	}
	res.Proposals, res.Events = r.proposals, r.events
	return res
}
