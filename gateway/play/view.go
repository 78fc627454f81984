package play

import (
	"context"
	"strconv"

	"github.com/covel/covel/actors/node"
	"github.com/covel/covel/events"
	"github.com/covel/covel/projections"
)

// ViewWindow is how many of the newest messages a view carries.
const ViewWindow = 80

// View is everything a client needs to show a session.
type View struct {
	Seq             events.Version                                       `json:"seq"`
	LastID          string                                               `json:"lastId"`
	Incarnation     string                                               `json:"incarnation"`
	Session         Session                                              `json:"session"`
	World           map[string]any                                       `json:"world"`
	Messages        []Message                                            `json:"messages"`
	MessagesCursor  *string                                              `json:"messagesCursor"`
	Characters      []Character                                          `json:"characters"`
	CharacterSchema any                                                  `json:"characterSchema"`
	Seats           []projections.Seat                                   `json:"seats"`
	Dimensions      map[string]Dimension                                 `json:"dimensions"`
	PluginData      map[string]map[string]map[string]projections.RawJSON `json:"pluginData"`
	Suspensions     []Suspension                                         `json:"suspensions"`
	Gathering       *Gathering                                           `json:"gathering,omitempty"`
	PausedPlugins   []string                                             `json:"pausedPlugins"` // after repeated errors
	Tree            Tree                                                 `json:"tree"`
	Execution       Execution                                            `json:"execution"`
	Running         *Running                                             `json:"running,omitempty"`
	Offline         bool                                                 `json:"offline"`
}

func (s *server) viewOf(ctx context.Context, v node.View) (View, error) {
	st := v.State
	pack, err := s.Node.World(ctx, st.Session)
	if err != nil {
		return View{}, err
	}
	world := worldDetail(pack)
	delete(world, "lore")
	out := View{
		Seq: st.Version, LastID: st.LastID, Incarnation: st.Session.Incarnation, Session: sessionOf(st.Session), World: world,
		Messages: []Message{}, Characters: []Character{}, CharacterSchema: schemaOf(st.Characters), Seats: nonNil(st.Session.Seats), Dimensions: dimensionsOf(st.Dimensions.List),
		PluginData: map[string]map[string]map[string]projections.RawJSON{}, Suspensions: suspensionsOf(st), Gathering: gatheringOf(st.Session), PausedPlugins: nonNil(v.PausedPlugins), Tree: treeOf(st.Tree), Execution: executionOf(st, v.Working), Running: runningOf(v.Live), Offline: s.Offline,
	}
	tail := st.History.Tail(ViewWindow)
	for _, m := range tail {
		out.Messages = append(out.Messages, messageOf(m, st))
	}
	if st.History.Len()+st.History.Dropped > len(tail) && len(tail) > 0 {
		cursor := strconv.FormatUint(uint64(tail[0].Version), 10)
		out.MessagesCursor = &cursor
	}
	for _, c := range st.Characters.List {
		out.Characters = append(out.Characters, characterOf(c))
	}
	for _, rec := range st.PluginData.List("", "") {
		if !visibleNamespace(rec.Namespace) {
			continue
		}
		ns := out.PluginData[rec.PluginID]
		if ns == nil {
			ns = map[string]map[string]projections.RawJSON{}
			out.PluginData[rec.PluginID] = ns
		}
		if ns[rec.Namespace] == nil {
			ns[rec.Namespace] = map[string]projections.RawJSON{}
		}
		ns[rec.Namespace][rec.Key] = rec.Value
	}
	return out, nil
}
