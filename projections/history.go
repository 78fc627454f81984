package projections

import (
	"slices"
	"time"

	"github.com/benbjohnson/immutable"
	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// HotMessages is how many of the newest messages the hot state keeps; older ones are read from the log on demand.
const HotMessages = 500

// Roles and sources of a message (seed: turn-pipeline.txt §6.3).
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"

	SourcePlayer  = "player"
	SourceStory   = "story"
	SourceRuntime = "runtime"
	// SourceInterjection is what a player said into a running turn. It is no player turn.
	SourceInterjection = "player-interjection"
)

// Message is one row of the conversation. Only committed turns have rows.
type Message struct {
	ID          string         `json:"id"`
	TurnID      string         `json:"turnId"`
	Version     events.Version `json:"version"` // of the event that made the row; rows stand in this order
	LogicalTurn uint32         `json:"logicalTurn"`
	Role        string         `json:"role"`
	Source      string         `json:"source"`
	RuntimeID   string         `json:"runtimeId,omitempty"`
	PluginID    string         `json:"pluginId,omitempty"`
	Text        string         `json:"text"`
	Segments    []Segment      `json:"segments,omitempty"`
	Presence    []string       `json:"presence,omitempty"`
	Truncated   bool           `json:"truncated,omitempty"`
	Actions     []Action       `json:"actions,omitempty"`
	Blocks      []RawJSON      `json:"blocks,omitempty"`
	At          time.Time      `json:"at"`
	Anchor
	Revised string `json:"revised,omitempty"` // what is shown in place of Text, "" when nobody revised it
}

// Shown is the text that views and prompts show.
func (m Message) Shown() string {
	if m.Revised != "" {
		return m.Revised
	}
	return m.Text
}

// WitnessedBy says whether a character was present at the story that the row tells.
func (m Message) WitnessedBy(characterID string) bool {
	return m.Source == SourceStory && slices.Contains(m.Presence, characterID)
}

// Anchor says what a row of a later execution belongs to: a retry, or what went on after a suspension.
type Anchor struct {
	SourceTurnID string `json:"sourceTurnId,omitempty"`
	AnchorID     string `json:"anchorId,omitempty"` // id of the story row of that turn
}

// Segment is a paragraph of the story.
type Segment struct {
	Kind        string `json:"kind"`
	Text        string `json:"text"`
	Speaker     string `json:"speaker,omitempty"`
	CharacterID string `json:"characterId,omitempty"`
}

// History is the conversation, oldest first, of which the newest HotMessages are kept. A row belongs to one commit: forms
// and blocks join it only there, so that a reader who sees commit after commit sees whole rows.
type History struct {
	messages *immutable.List[*Message] // never changed once they are in
	begun    int                       // rows there were, dropped ones included, when the commit that is being folded began
	Dropped  int                       // how many older rows there are in the log
	Stories  int                       // story rows ever committed
	Players  int                       // player rows ever committed

	// Summaries stand for the first Compacted rows in prompts, oldest first; the rows themselves stay.
	Summaries []Summary
	Compacted int // counted from the very first row
}

// Summary stands for a run of older rows.
type Summary struct {
	ID            string   `json:"id"`
	Content       string   `json:"content"`
	FocusSections []string `json:"focusSections,omitempty"`
	Truncated     bool     `json:"truncated,omitempty"`
}

// Uncompacted gives the kept rows that no summary stands for, oldest first.
func (h History) Uncompacted() []Message { return h.Tail(h.Len() - max(0, h.Compacted-h.Dropped)) }

func (h History) compact(m *eventsv1.HistoryCompacted) History {
	h.Summaries = nil
	for _, s := range m.Summaries {
		h.Summaries = append(h.Summaries, Summary{s.GetId(), s.GetContent(), s.GetFocusSections(), s.GetTruncated()})
	}
	// A row that is not kept any more is older than all that are.
	through := h.Dropped
	if i := h.index(m.ThroughMessageId, 0); i >= 0 {
		through += i + 1
	}
	if m.ThroughMessageId != "" {
		h.Compacted = max(h.Compacted, through)
	}
	return h
}

// Len is the number of rows kept.
func (h History) Len() int {
	if h.messages == nil {
		return 0
	}
	return h.messages.Len()
}

// At is the i-th kept row, oldest first.
func (h History) At(i int) Message { return *h.messages.Get(i) }

// Tail gives the newest n rows, oldest first.
func (h History) Tail(n int) []Message {
	from := max(0, h.Len()-n)
	out := make([]Message, 0, h.Len()-from)
	for i := from; i < h.Len(); i++ {
		out = append(out, h.At(i))
	}
	return out
}

// Find gives a kept row by its id.
func (h History) Find(id string) (Message, bool) {
	if i := h.index(id, 0); i >= 0 {
		return h.At(i), true
	}
	return Message{}, false
}

// index finds the newest kept row with this id at or after a row number that counts from the very first row, -1 if none.
func (h History) index(id string, from int) int {
	for i := h.Len() - 1; i >= 0 && h.Dropped+i >= from; i-- {
		if h.messages.Get(i).ID == id {
			return i
		}
	}
	return -1
}

func (h History) append(m Message) History {
	if h.messages == nil {
		h.messages = immutable.NewList[*Message]()
	}
	h.messages = h.messages.Append(&m)
	if over := h.messages.Len() - HotMessages; over > 0 {
		h.messages = h.messages.Slice(over, h.messages.Len())
		h.Dropped += over
	}
	return h
}

func (h History) appendPlayer(r events.Recorded, in Input) History {
	if in.Rendered == "" {
		return h
	}
	h.Players++
	return h.append(Message{
		ID: in.MessageID, TurnID: in.ExecutionID, Version: in.Version, LogicalTurn: r.Metadata.GetLogicalTurn(),
		Role: RoleUser, Source: SourcePlayer, Text: in.Rendered, Actions: in.Actions, At: in.At,
	})
}

func (h History) apply(r events.Recorded, msg proto.Message, anchor Anchor) History {
	row := Message{Anchor: anchor, TurnID: r.Metadata.GetCausationId(), Version: r.Version, LogicalTurn: r.Metadata.GetLogicalTurn(), At: r.RecordedAt}
	switch m := msg.(type) {
	case *eventsv1.NarrativeAppended:
		row.ID, row.Role, row.Source = m.MessageId, RoleAssistant, SourceStory
		row.RuntimeID, row.PluginID, row.Text, row.Truncated, row.Presence = m.RuntimeId, m.PluginId, m.Text, m.Truncated, m.Presence
		for _, sg := range m.Segments {
			row.Segments = append(row.Segments, Segment{sg.Kind, sg.Text, sg.Speaker, sg.CharacterId})
		}
		h.Stories++
		return h.append(row)
	case *eventsv1.InterjectionMerged:
		row.ID, row.Role, row.Source, row.Text = m.MessageId, RoleUser, SourceInterjection, m.Text
		if m.Rendered != "" {
			row.Text = m.Rendered
		}
		row.Actions = []Action{{Kind: "say", SeatID: m.SeatId, CharacterID: m.CharacterId, Source: SourcePlayer, Text: m.Text}}
		return h.append(row)
	case *eventsv1.MessageAppended:
		row.ID, row.Role, row.Source = m.MessageId, m.Role, SourceRuntime
		row.RuntimeID, row.PluginID, row.Text = m.RuntimeId, m.PluginId, m.Text
		return h.append(row)
	case *eventsv1.HistoryCompacted:
		return h.compact(m)
	case *eventsv1.InteractionRequested:
		// A row without text carries the form of a run that said nothing.
		if h.index(m.MessageId, h.begun) < 0 {
			row.ID, row.Role, row.Source, row.RuntimeID, row.PluginID = m.MessageId, RoleAssistant, SourceRuntime, m.RuntimeId, m.PluginId
			return h.append(row)
		}
	case *eventsv1.MessageRevised:
		if i := h.index(m.MessageId, 0); i >= 0 {
			revised := h.At(i).Revise(m.Text)
			h.messages = h.messages.Set(i, &revised)
		}
	case *eventsv1.UIRendered:
		i := h.index(m.MessageId, h.begun)
		if i < 0 {
			row.ID, row.Role, row.Source, row.RuntimeID, row.PluginID = m.MessageId, RoleAssistant, SourceRuntime, m.RuntimeId, m.PluginId
			row.Blocks = []RawJSON{RawJSON(m.Render)}
			return h.append(row)
		}
		joined := h.At(i)
		joined.Blocks = append(joined.Blocks[:len(joined.Blocks):len(joined.Blocks)], RawJSON(m.Render))
		h.messages = h.messages.Set(i, &joined)
	}
	return h
}
