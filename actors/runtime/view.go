package runtime

import (
	"encoding/json"

	kernelsession "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/kernel/world"
	"github.com/covel/covel/plugins/sdk"
)

// view is what the plugin's code gets to see (ctx in the seeds).
func (r *run) view() *sdk.Runtime {
	rt := r.start.Runtime
	v := &sdk.Runtime{
		SessionID: r.frozen.State.Session.ID, TurnID: r.frozen.Execution.ID, RunID: r.start.RunID, PluginID: rt.PluginID, RuntimeID: rt.ID,
		Locale: r.frozen.Locale(), LogicalTurn: int(r.frozen.Execution.LogicalTurn), Messages: r.plugin.Manifest.MessagesIn(r.frozen.Locale()),
		World: r.world, PluginData: ownRecords{r, nil}, Inputs: r.start.Inputs, Exports: r.start.Exports, Settings: r.frozen.Pack.PluginSettings[rt.PluginID],
		NewID: r.newID, Observe: r.observed, Random: r.random, RecursionDepth: len(r.start.Callers), TriggerEvent: r.start.Event,
		Execution: r.execution(), Session: sessionInfo(r.frozen), Conversation: conversationOf(r.frozen),
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
		in := playerInput(a)
		v.LastPlayerInput = &in
	}
	for _, o := range interactions.Open(rt.PluginID) {
		v.OpenInteractions = append(v.OpenInteractions, sdk.OpenInteraction{
			InteractionRef: sdk.InteractionRef{TurnID: o.TurnID, InteractionID: o.InteractionID, Type: o.Type}, Block: json.RawMessage(o.Block),
		})
	}
	if r.equip != nil {
		r.equip(v)
	}
	return v
}

// observed notes whose writes are in a part of the world that was read.
func (r *run) observed(part sdk.WorldPart) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads.Note(r.shown[part]...)
}

func (r *run) execution() sdk.ExecutionInfo {
	e := r.frozen.Execution
	info := sdk.ExecutionInfo{Origin: sdk.Origin(e.Origin), StartedAt: e.StartedAt, SourceTurnID: e.SourceTurnID}
	if len(r.start.Callers) > 0 {
		info.Origin = sdk.OriginRecursive
	}
	return info
}

func sessionInfo(f Frozen) sdk.SessionInfo {
	s := f.State.Session
	return sdk.SessionInfo{
		ID: s.ID, WorldID: s.WorldID, Locale: s.Locale, Status: s.Status, Phase: s.Phase, CompletedPlayerTurns: int(s.CompletedPlayerTurns),
		CreatedAt: s.CreatedAt, ActivePluginIDs: f.Plugins(),
	}
}

func (r *run) newID(prefix, label string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return world.ShortID(prefix, label, r.frozen.State.Session.ID, func(id string) bool {
		_, taken := sdk.CharacterByID(r.world.Characters, id)
		return taken
	})
}
