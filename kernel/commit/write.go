package commit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/kernel/world"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
	"github.com/covel/covel/worlds"
)

// writer gathers the facts of one run. Its stand becomes the planner's only when the whole run is accepted.
type writer struct {
	planner *planner
	run     turn.Result
	stand   stand
	facts   []Fact
	row     *eventsv1.MessageAppended // the run's row of the conversation, once it has one
	told    bool                      // the run has appended its story
}

// proposal checks one proposal and gives its event. The event holds the result, not the operation.
func (w *writer) proposal(p sdk.Proposal) error {
	if err := w.media("payload", p.Payload); err != nil {
		return err
	}
	switch p.Type {
	case sdk.NarrativeAppend{}.ProposalType():
		return w.narrative(p.Payload)
	case sdk.MessageAppend{}.ProposalType():
		return w.message(p.Payload)
	case sdk.InteractionRequest{}.ProposalType():
		return w.interaction(p.Payload)
	case sdk.UIRender{}.ProposalType():
		return w.render(p.Payload)
	case sdk.EventEmit{}.ProposalType():
		return w.event(p.Payload)
	case sdk.PluginDataWrite{}.ProposalType(), sdk.PluginDataBatch{}.ProposalType(), sdk.PluginDataDelete{}.ProposalType(),
		sdk.PluginDataUpdate{}.ProposalType():
		return w.data(p)
	case sdk.CharacterSchemaSet{}.ProposalType(), sdk.CharacterUpsert{}.ProposalType():
		return w.worldModel(p)
	case sdk.LorebookUpsert{}.ProposalType():
		return w.lorebook(p.Payload)
	case sdk.DimensionInitialize{}.ProposalType():
		return w.initialize(p.Payload)
	case sdk.DimensionUpdate{}.ProposalType():
		return w.dimensions(p.Payload)
	case sdk.AssetGenerate{}.ProposalType():
		return w.asset(p.Payload)
	}
	return fmt.Errorf("unknown proposal type %q", p.Type)
}

// messageID is the conversation row of a run: its text, form and blocks share one.
func (w *writer) messageID() string { return "m-" + w.run.RunID }

var segmentKinds = []string{"narration", "dialogue", "action"}

func (w *writer) narrative(payload json.RawMessage) error {
	var n sdk.NarrativeAppend
	if _, err := world.ReadPayload(payload, &n); err != nil {
		return err
	}
	switch {
	case !w.run.Story:
		return fmt.Errorf("only a runtime with story visibility appends to the story")
	case w.told:
		return fmt.Errorf("a run appends to the story once")
	case n.Kind != "story":
		return fmt.Errorf("the kind is story, got %q", n.Kind)
	}
	w.told = true
	story := StoryText(n.Segments)
	if story == "" {
		return fmt.Errorf("the story is empty")
	}
	ev := &eventsv1.NarrativeAppended{
		MessageId: w.messageID(), RuntimeId: w.run.RuntimeID, PluginId: w.run.PluginID, Kind: n.Kind, Text: story, Truncated: n.Truncated,
	}
	for i, s := range n.Segments {
		if !slices.Contains(segmentKinds, s.Kind) {
			return fmt.Errorf("segments[%d].kind: %q is none of %s", i, s.Kind, strings.Join(segmentKinds, ", "))
		}
		if strings.TrimSpace(s.Text) == "" {
			continue
		}
		seg := &eventsv1.Segment{Kind: s.Kind, Text: strings.TrimSpace(s.Text), Speaker: strings.TrimSpace(s.Speaker)}
		seg.CharacterId = w.named(seg.Speaker)
		ev.Segments = append(ev.Segments, seg)
	}
	ev.Presence = w.presence(ev.Segments, n.Present)
	w.add(ev)
	return nil
}

// named finds the character a story means by a name, "" when it means none that the session knows, or more than one.
func (w *writer) named(name string) string {
	if name == "" {
		return ""
	}
	if r := sdk.ResolveCharacter(w.stand.world.Characters, name, false); r.Found() {
		return r.Character.ID
	}
	return ""
}

// presence is who was there: who speaks or acts in the story, whom the story names as present, and the characters whose
// players acted in this turn, each once, in this order (seed: turn-pipeline.txt §3.2, "records the segments and the presence
// record on the story message").
func (w *writer) presence(segments []*eventsv1.Segment, present []string) (ids []string) {
	add := func(id string) {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, s := range segments {
		add(s.CharacterId)
	}
	for _, name := range present {
		add(w.named(strings.TrimSpace(name)))
	}
	if in := w.planner.in.State.Session.Input; in != nil && in.ExecutionID == w.planner.in.Execution.ID {
		for _, a := range in.Actions {
			add(a.CharacterID)
		}
	}
	return ids
}

// message writes the run's row of the conversation. Further texts of the same run join it: a run has one row.
func (w *writer) message(payload json.RawMessage) error {
	var m sdk.MessageAppend
	if _, err := world.ReadPayload(payload, &m); err != nil {
		return err
	}
	if w.run.Story {
		return fmt.Errorf("the row of a story runtime is its story")
	}
	said := strings.TrimSpace(m.Content)
	switch {
	case said == "": // no row for a run without text
	case w.row != nil:
		w.row.Text += "\n\n" + said
	default:
		w.row = &eventsv1.MessageAppended{
			MessageId: w.messageID(), RuntimeId: w.run.RuntimeID, PluginId: w.run.PluginID, Role: "assistant", Text: said,
		}
		w.add(w.row)
	}
	return nil
}

func (w *writer) interaction(payload json.RawMessage) error {
	var i struct { // sdk.InteractionRequest with the block as it was written
		InteractionID string          `json:"interactionId"`
		Type          string          `json:"type"`
		Data          json.RawMessage `json:"data"`
	}
	if _, err := world.ReadPayload(payload, &i); err != nil {
		return err
	}
	block, issues := tools.ReadInteraction(i.Data)
	if len(issues) > 0 {
		return fmt.Errorf("data.%s: %s", issues[0].Path, issues[0].Message)
	}
	if block.InteractionID != i.InteractionID || block.Type != i.Type {
		return fmt.Errorf("data is the %s %q, the request names the %s %q", block.Type, block.InteractionID, i.Type, i.InteractionID)
	}
	w.add(&eventsv1.InteractionRequested{
		TurnId: w.planner.in.Execution.ID, InteractionId: i.InteractionID, Type: i.Type, MessageId: w.messageID(),
		RuntimeId: w.run.RuntimeID, PluginId: w.run.PluginID, Block: i.Data,
	})
	return nil
}

var (
	partStates = []string{"pending", "streaming", "success", "error", "paused"}
	layouts    = []string{"", "stream", "split", "overlay"}
)

func (w *writer) render(payload json.RawMessage) error {
	var r sdk.UIRender
	clean, err := world.ReadPayload(payload, &r)
	switch {
	case err != nil:
		return err
	case len(r.Parts) == 0:
		return fmt.Errorf("a UI block must have parts")
	case !slices.Contains(layouts, r.Layout):
		return fmt.Errorf("layout: %q is none of stream, split, overlay", r.Layout)
	case r.Status != "" && !slices.Contains(partStates, r.Status):
		return fmt.Errorf("status: %q is none of %s", r.Status, strings.Join(partStates, ", "))
	}
	for i, part := range r.Parts {
		switch {
		case part.ID == "" || part.Type == "":
			return fmt.Errorf("parts[%d] needs an id and a type", i)
		case !slices.Contains(partStates, part.Status):
			return fmt.Errorf("parts[%d].status: %q is none of %s", i, part.Status, strings.Join(partStates, ", "))
		}
	}
	w.add(&eventsv1.UIRendered{MessageId: w.messageID(), RuntimeId: w.run.RuntimeID, PluginId: w.run.PluginID, Render: clean})
	return nil
}

func (w *writer) event(payload json.RawMessage) error {
	var e sdk.EventEmit
	if _, err := world.ReadPayload(payload, &e); err != nil {
		return err
	}
	schema, declared := w.planner.in.Topics[e.Topic]
	if !declared {
		return fmt.Errorf("no active plugin declares the topic %q", e.Topic)
	}
	if err := turn.CheckEvent(schema, sdk.EmittedEvent(e)); err != nil {
		return err
	}
	w.add(&eventsv1.DomainEventEmitted{Topic: e.Topic, Data: e.Data, RuntimeId: w.run.RuntimeID, PluginId: w.run.PluginID})
	return nil
}

func (w *writer) worldModel(p sdk.Proposal) error {
	next, err := world.Apply(w.stand.world, p)
	if err != nil {
		return err
	}
	if p.Type == (sdk.CharacterSchemaSet{}).ProposalType() {
		attrs, err := json.Marshal(next.Schema.Attributes)
		if err != nil {
			return err
		}
		w.add(&eventsv1.CharacterSchemaSet{Version: uint32(next.Schema.Version), Types: next.Schema.Types, Attributes: attrs})
	} else {
		var up sdk.CharacterUpsert
		if _, err := world.ReadPayload(p.Payload, &up); err != nil {
			return err
		}
		c, _ := sdk.CharacterByID(next.Characters, up.ID)
		w.add(&eventsv1.CharacterUpserted{Record: CharacterRecord(c)})
	}
	w.stand.world = next
	return nil
}

func (w *writer) lorebook(payload json.RawMessage) error {
	var l sdk.LorebookUpsert
	if _, err := world.ReadPayload(payload, &l); err != nil {
		return err
	}
	if len(l.Entries) == 0 {
		return fmt.Errorf("entries must not be empty")
	}
	ev, err := LorebookEvent("plugin", w.run.PluginID, l.Entries)
	if err != nil {
		return err
	}
	w.add(ev)
	return nil
}

// CharacterRecord is a character as an event holds it.
func CharacterRecord(c sdk.Character) *eventsv1.Character {
	return &eventsv1.Character{
		Id: c.ID, Name: c.Name, Aliases: c.Aliases, Type: c.Type, Description: c.Description, Fields: compact(c.Fields), Version: uint32(c.Version),
	}
}

// LorebookEvent is the event of lorebook entries of one owner. An error names the entry and says what it must be.
func LorebookEvent(kind, pluginID string, entries []sdk.LorebookEntry) (*eventsv1.LorebookUpserted, error) {
	ev := &eventsv1.LorebookUpserted{Owner: &eventsv1.LorebookOwner{Kind: kind, PluginId: pluginID}}
	for i, e := range entries {
		switch {
		case e.ID == "" || e.Content == "":
			return nil, fmt.Errorf("entries[%d] needs an id and a content", i)
		case e.Strategy != worlds.Constant && e.Strategy != worlds.Selective:
			return nil, fmt.Errorf("entry %q needs the strategy constant or selective, got %q", e.ID, e.Strategy)
		case !slices.Contains([]string{"", worlds.BeforePlugin, worlds.AfterPlugin, worlds.AtDepth}, e.Position):
			return nil, fmt.Errorf("entry %q: the position %q is none of before_plugin, after_plugin, at_depth", e.ID, e.Position)
		case int(int32(e.InsertionOrder)) != e.InsertionOrder:
			return nil, fmt.Errorf("entry %q: the insertionOrder %d is too large", e.ID, e.InsertionOrder)
		}
		out := &eventsv1.LorebookEntry{
			Id: e.ID, Keys: e.Keys, Content: e.Content, Strategy: e.Strategy, Position: e.Position,
			InsertionOrder: int32(e.InsertionOrder), Enabled: e.Enabled == nil || *e.Enabled,
		}
		if len(e.Extra) > 0 {
			b, err := json.Marshal(e.Extra)
			if err != nil {
				return nil, fmt.Errorf("lorebook entry %q: extra: %w", e.ID, err)
			}
			out.Extra = b
		}
		ev.Entries = append(ev.Entries, out)
	}
	return ev, nil
}

// StoryText is the text of a story: its segment texts joined by blank lines (seed: turn-pipeline.txt §3.2).
func StoryText(segments []sdk.StorySegment) string {
	var parts []string
	for _, s := range segments {
		if t := strings.TrimSpace(s.Text); t != "" {
			parts = append(parts, t)
		}
	}
	return strings.Join(parts, "\n\n")
}

func (w *writer) add(msg proto.Message) {
	w.facts = append(w.facts, Fact{Message: msg, RunID: w.run.RunID, PluginID: w.run.PluginID})
}

// compact gives the JSON without insignificant space, nil for none or for what is not JSON.
func compact(b json.RawMessage) []byte {
	if len(b) == 0 {
		return nil
	}
	var out bytes.Buffer
	if json.Compact(&out, b) != nil {
		return nil
	}
	return out.Bytes()
}
