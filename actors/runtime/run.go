package runtime

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/covel/covel/kernel/prompt"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/kernel/world"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
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
	random *turn.Random
	asked  int           // how often plugin code asked a model
	nested []turn.Result // of recursive calls, in order

	mu    sync.Mutex         // held while plugin code reads or writes what is here
	equip func(*sdk.Runtime) // adds to a view what only the actor can give; nil for nothing

	proposals    []sdk.Proposal
	events       []sdk.EmittedEvent
	interactions []tools.Interaction // the last of each id
	operations   []turn.Operation    // staged through write services, its own and those of its sub-agents
	exports      []turn.Export       // of calls before it was resumed
	attempted    []string            // of a sub-agent: the tools that write which it called in vain
}

func newRun(f Frozen, start turn.Run, plugin *registry.Loaded) *run {
	r := &run{frozen: f, start: start, plugin: plugin, reads: &world.Reads{}, random: turn.NewRandom(f.Execution.ID, start.RunID)}
	if start.Exports == nil {
		r.start.Exports = turn.CommittedInputs(start.Runtime, f.Active, f.State.Exports, f.Contracts)
	}
	r.look()
	r.restore(start.Resumed)
	return r
}

// look makes the views: committed, below what runs before this one will write, below what calls of this one will, below what
// it has staged itself. That is the order of the commit.
func (r *run) look() {
	visible := slices.Concat(turn.VisibleWrites(r.start.Upstream), turn.VisibleWrites(r.nested))
	seen := r.frozen.World
	seen.Characters = slices.Clone(seen.Characters) // plugin code gets a list of its own
	seen, r.shown = world.Visible(seen, visible)
	r.world = world.Overlay(seen, r.proposals)
	r.data = world.NewData(r.start.Runtime.PluginID, r.frozen.State.PluginData, visible, r.reads)
	r.data.Overlay(r.proposals)
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

// mayEmit refuses the internal topics of other plugins, since who declares a topic with advertise: false alone raises it, and
// data that does not fit its topic (seed: tools.txt, "Internal topics"). A topic that nobody declares is the commit's to refuse.
func (r *run) mayEmit(e sdk.EmittedEvent) error {
	schema, declared := r.frozen.Declared[e.Topic]
	own := slices.ContainsFunc(r.plugin.Manifest.Contributes.Events, func(d manifest.EventDecl) bool { return d.Topic == e.Topic })
	if declared && !own && !slices.ContainsFunc(r.frozen.Topics, func(t tools.Topic) bool { return t.Topic == e.Topic }) {
		return fmt.Errorf("the topic %q is internal to the plugin that declares it", e.Topic)
	}
	return turn.CheckEvent(schema, e)
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
	for n, note := range e.Notifications {
		block, err := tools.NotificationBlock(note)
		if err != nil {
			return fmt.Errorf("effects.notifications[%d]: %w", n, err)
		}
		if err := r.propose(block); err != nil {
			return err
		}
	}
	for n, ui := range e.UI {
		if len(ui.Parts) == 0 {
			return fmt.Errorf("effects.ui[%d].parts: a block needs at least one part", n)
		}
		if err := r.propose(ui); err != nil {
			return fmt.Errorf("effects.ui[%d]: %w", n, err)
		}
	}
	for n, e := range e.Events {
		if err := r.mayEmit(e); err != nil {
			return fmt.Errorf("effects.events[%d]: %w", n, err)
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
	res.RecordAs, res.Concealed = rt.IO.RecordAs, rt.IO.Concealed
	res.Nested = r.nested
	res.Usage.ModelCalls += r.asked
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
	res.Proposals, res.Events, res.Operations, res.Exports = r.proposals, r.events, r.operations, r.exports
	return res
}
