package session

import (
	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/commit"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
	"github.com/covel/covel/worlds"
)

// Creation is what a new session is made of.
type Creation struct {
	SessionID   string
	Incarnation string // fresh
	Pack        worlds.View
	PackDigest  string // under which the pack is stored
	Plugins     []projections.PluginRef
	Selection   projections.PluginSelection // by which they were chosen
	Runtimes    []manifest.Runtime          // of the active plugins
}

// Create gives the first append of a session's stream: the session, its set-up, and the world's characters and lore. It
// is all or nothing, at expected version NoStream.
func Create(c Creation) ([]events.Event, error) {
	created := &eventsv1.SessionCreated{
		SessionId: c.SessionID, Incarnation: c.Incarnation, WorldId: c.Pack.Record.ID, WorldDigest: c.PackDigest,
		WorldName: c.Pack.Record.Name, Locale: c.Pack.Record.Locale, Phase: projections.PhasePlaying,
		Seats:   []*eventsv1.Seat{{Id: "seat-1", Role: "player", Control: "human", Primary: true}},
		Plugins: pluginRefs(c.Plugins), Selection: selectionEvent(c.Selection),
	}
	versions := map[string]string{}
	for _, p := range c.Plugins {
		versions[p.ID] = p.Version
	}
	for _, r := range c.Runtimes {
		if r.Schedule.Stage == manifest.Setup && r.Schedule.Trigger == manifest.TriggerAuto && !r.Schedule.SubagentOnly {
			created.Phase = projections.PhaseSetup
			created.SetupRuntimes = append(created.SetupRuntimes, &eventsv1.SetupRuntime{
				RuntimeId: r.ID, Status: projections.SetupPending, Generation: 1, MaxAttempts: uint32(r.Schedule.MaxTriggerCount),
				PluginVersion: versions[r.PluginID],
			})
		}
	}
	msgs := []proto.Message{created}
	for _, ch := range c.Pack.Characters {
		ch.Version = max(ch.Version, 1)
		msgs = append(msgs, &eventsv1.CharacterUpserted{Record: commit.CharacterRecord(ch)})
	}
	if len(c.Pack.Lorebook) > 0 {
		lore, err := commit.LorebookEvent("world", "", c.Pack.Lorebook)
		if err != nil {
			return nil, err
		}
		msgs = append(msgs, lore)
	}
	stream := StreamOf(c.SessionID)
	out := make([]events.Event, len(msgs))
	for i, m := range msgs {
		ev, err := events.Encode(events.NewID(stream, c.Incarnation, 0, i), &eventsv1.Metadata{AppendEnd: uint64(len(msgs))}, m)
		if err != nil {
			return nil, err
		}
		out[i] = ev
	}
	return out, nil
}
