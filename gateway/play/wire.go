// Package play is the gateway to players: HTTP, one WebSocket per player, and the SSE answer to POST /api/actions. It asks
// sessions and read models, never a store, and shows committed facts as protocol events (docs/protocol.md).
package play

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/covel/covel/events"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
)

// The JSON shapes of docs/protocol.md.

// Event is one protocol event.
type Event struct {
	Type      string    `json:"type"`
	TurnID    string    `json:"turnId,omitempty"`
	RequestID string    `json:"requestId,omitempty"`
	Timestamp time.Time `json:"timestamp"`
	Payload   any       `json:"payload"`

	body json.RawMessage // Payload, written; nil when it has not been yet
}

// Session is a session as clients see it.
type Session struct {
	ID                   string           `json:"id"`
	WorldID              string           `json:"worldId"`
	WorldName            string           `json:"worldName"`
	Title                string           `json:"title"`
	Incarnation          string           `json:"incarnation"`
	Status               string           `json:"status"`
	Phase                string           `json:"phase"`
	CompletedPlayerTurns uint32           `json:"completedPlayerTurns"`
	SetupRuntimes        map[string]Setup `json:"setupRuntimes"`
	Locale               string           `json:"locale"`
	ActivePlugins        []string         `json:"activePlugins"`
	Settings             Settings         `json:"settings"`
	Metadata             SessionMetadata  `json:"metadata"`
	CreatedAt            time.Time        `json:"createdAt"`
	UpdatedAt            time.Time        `json:"updatedAt"`
}

// SessionMetadata is what was chosen for a session, beside what it came to.
type SessionMetadata struct {
	PluginSelection projections.PluginSelection `json:"pluginSelection"`
}

// Setup is the mirror of one setup runtime.
type Setup struct {
	Status     string `json:"status"`
	Generation uint32 `json:"generation"`
	Attempts   uint32 `json:"attempts"`
	LastError  string `json:"lastError,omitempty"`
	Resolution string `json:"resolution,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

// Settings are what the owner has set; what is 0 takes the host's.
type Settings struct {
	Gathering             string                 `json:"gathering"` // off | on
	GatherTimeoutMs       uint64                 `json:"gatherTimeoutMs"`
	AdvanceLimit          uint32                 `json:"advanceLimit"`
	Allowances            projections.Allowances `json:"allowances"`
	RuntimeModelOverrides map[string]string      `json:"runtimeModelOverrides"`

	Orchestration projections.Orchestration `json:"orchestration"`
}

func settingsOf(s projections.Settings) Settings {
	out := Settings{orElse(s.Gathering, projections.GatheringOff), s.GatherTimeoutMs, s.AdvanceLimit, s.Allowances, map[string]string{}, s.Orchestration}
	for _, o := range s.ModelOverrides {
		out.RuntimeModelOverrides[o.RuntimeID] = o.Model
	}
	return out
}

// Message is one row of the conversation with what hangs on it.
type Message struct {
	ID            string                `json:"id"`
	TurnID        string                `json:"turnId"`
	Seq           events.Version        `json:"seq"`
	Role          string                `json:"role"`
	Source        string                `json:"source"`
	RuntimeID     string                `json:"runtimeId,omitempty"`
	PluginID      string                `json:"pluginId,omitempty"`
	Text          string                `json:"text"`
	Segments      []projections.Segment `json:"segments,omitempty"`
	Truncated     bool                  `json:"truncated,omitempty"`
	Revised       bool                  `json:"revised,omitempty"` // text is not what was committed
	Metadata      *MessageMetadata      `json:"metadata,omitempty"`
	CharacterName string                `json:"characterName,omitempty"`
	Interactions  []Interaction         `json:"interactions,omitempty"`
	Blocks        []projections.RawJSON `json:"blocks,omitempty"`
	CreatedAt     time.Time             `json:"createdAt"`
	projections.Anchor
}

// MessageMetadata is what stands behind a player's row: the text is as they wrote it, prompts read it rendered.
type MessageMetadata struct {
	Actions []MessageAction `json:"actions"`
}

// MessageAction is what the player did, as written.
type MessageAction struct {
	Kind        string                      `json:"kind"`
	Text        string                      `json:"text"`
	SeatID      string                      `json:"seatId,omitempty"`
	CharacterID string                      `json:"characterId,omitempty"`
	Interaction *projections.InteractionRef `json:"interaction,omitempty"`
}

// Interaction is a question and, once given, its answer.
type Interaction struct {
	TurnID        string              `json:"turnId"`
	InteractionID string              `json:"interactionId"`
	Type          string              `json:"type"`
	Status        string              `json:"status"`
	Block         projections.RawJSON `json:"block"`
	Values        projections.RawJSON `json:"values,omitempty"`
}

// Character is a person of the session.
type Character struct {
	ID          string              `json:"id"`
	Name        string              `json:"name"`
	Aliases     []string            `json:"aliases,omitempty"`
	Type        string              `json:"type"`
	Description string              `json:"description,omitempty"`
	Fields      projections.RawJSON `json:"fields,omitempty"`
	Version     uint32              `json:"version"`
}

// Execution says how the newest execution stands.
type Execution struct {
	State       string     `json:"state"` // idle | running | completed | failed | interrupted
	TurnID      string     `json:"turnId,omitempty"`
	RequestID   string     `json:"requestId,omitempty"`
	Origin      string     `json:"origin,omitempty"`
	StartedAt   *time.Time `json:"startedAt,omitempty"`
	Error       string     `json:"error,omitempty"`
	AbortReason string     `json:"abortReason,omitempty"`
	Retry       *Retry     `json:"retry,omitempty"`
	Input       *Input     `json:"input,omitempty"`
	Draft       *Text      `json:"draft,omitempty"`
}

// Retry is what to send again, with a fresh requestId.
type Retry struct {
	Type    string         `json:"type"`
	Payload map[string]any `json:"payload"`
}

// Input is the player's line of an execution: as text, and as the row it will be when the execution commits.
type Input struct {
	Text    string   `json:"text"`
	Message *Message `json:"message"`
}

// Text is a kept text.
type Text struct {
	Text string `json:"text"`
}

// Running is the buffer of a running turn.
type Running struct {
	ExecutionID   string            `json:"executionId"`
	N             uint64            `json:"n"`
	RequestID     string            `json:"requestId,omitempty"`
	Text          string            `json:"text"`
	TextRuntimeID string            `json:"textRuntimeId,omitempty"`
	Steps         []kernel.LiveStep `json:"steps"`
}

func sessionOf(s projections.Session) Session {
	out := Session{
		ID: s.ID, WorldID: s.WorldID, WorldName: s.WorldName, Title: s.WorldName, Incarnation: s.Incarnation, Status: s.Status, Phase: s.Phase,
		CompletedPlayerTurns: s.CompletedPlayerTurns, SetupRuntimes: map[string]Setup{}, Locale: s.Locale, ActivePlugins: []string{}, Settings: settingsOf(s.Settings),
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
	out.Metadata.PluginSelection = projections.PluginSelection{Requested: nonNil(s.Selection.Requested), Excluded: nonNil(s.Selection.Excluded)}
	for _, p := range s.Plugins {
		out.ActivePlugins = append(out.ActivePlugins, p.ID)
	}
	for _, su := range s.Setup {
		out.SetupRuntimes[su.RuntimeID] = Setup{su.Status, su.Generation, su.Attempts, su.LastError, su.Resolution, su.Reason}
	}
	return out
}

func messageOf(m projections.Message, s projections.State) Message {
	out := Message{
		ID: m.ID, TurnID: m.TurnID, Seq: m.Version, Role: m.Role, Source: m.Source, RuntimeID: m.RuntimeID, PluginID: m.PluginID,
		Text: m.Shown(), Segments: m.Segments, Revised: m.Revised != "", Truncated: m.Truncated, Blocks: m.Blocks, CreatedAt: m.At,
		Anchor: m.Anchor, Metadata: metadataOf(m.Actions), CharacterName: actingName(m.Actions, s),
	}
	if m.Role == projections.RoleUser {
		out.Text = rawText(m.Actions, out.Text)
	}
	if out.Revised {
		out.Segments = nil // they are the paragraphs of what it was
	}
	for _, i := range s.Interactions {
		if i.MessageID == m.ID {
			out.Interactions = append(out.Interactions, interactionOf(i))
		}
	}
	return out
}

func metadataOf(actions []projections.Action) *MessageMetadata {
	if len(actions) == 0 {
		return nil
	}
	out := &MessageMetadata{}
	for _, a := range actions {
		out.Actions = append(out.Actions, MessageAction{a.Kind, a.Text, a.SeatID, a.CharacterID, a.Interaction})
	}
	return out
}

// rawText is what players wrote, an action a line (seed: turn-pipeline.txt §3.1, "the chat message keeps the raw text"); what
// was rendered stands for actions without text.
func rawText(actions []projections.Action, rendered string) string {
	var lines []string
	for _, a := range actions {
		if t := strings.TrimSpace(a.Text); t != "" {
			lines = append(lines, t)
		}
	}
	if len(lines) == 0 {
		return rendered
	}
	return strings.Join(lines, "\n")
}

func actingName(actions []projections.Action, s projections.State) string {
	for _, a := range actions {
		if c, ok := s.Characters.Find(a.CharacterID); ok {
			return c.Name
		}
	}
	return ""
}

func inputMessage(in projections.Input, s projections.State) *Message {
	if in.Rendered == "" {
		return nil
	}
	return &Message{
		ID: in.MessageID, TurnID: in.ExecutionID, Seq: in.Version, Role: projections.RoleUser, Source: projections.SourcePlayer,
		Text: rawText(in.Actions, in.Rendered), Metadata: metadataOf(in.Actions), CharacterName: actingName(in.Actions, s), CreatedAt: in.At,
	}
}

func interactionOf(i projections.Interaction) Interaction {
	return Interaction{i.TurnID, i.InteractionID, i.Type, i.Status, i.Block, i.Values}
}

func characterOf(c projections.Character) Character {
	return Character{c.ID, c.Name, c.Aliases, c.Type, c.Description, c.Fields, c.Version}
}

func runningOf(l *kernel.Live) *Running {
	if l == nil {
		return nil
	}
	r := &Running{l.ExecutionID, l.N, l.RequestID, l.Text, l.TextRuntimeID, l.Steps}
	if r.Steps == nil {
		r.Steps = []kernel.LiveStep{}
	}
	return r
}

// executionOf says how the newest execution stands and what can be sent to go on.
func executionOf(s projections.State, working bool) Execution {
	st := kernel.Stand(s, working)
	out := Execution{State: st.State, Error: st.Error, AbortReason: st.AbortReason}
	if x := st.Execution; x != nil {
		out.TurnID, out.RequestID, out.Origin, out.StartedAt = x.ID, x.RequestID, x.Origin, &x.StartedAt
	}
	if st.Retry != "" {
		out.Retry = &Retry{st.Retry, map[string]any{}}
	}
	if st.Input != nil && st.Input.Rendered != "" {
		out.Input = &Input{st.Input.Rendered, inputMessage(*st.Input, s)}
	}
	if st.Draft != "" {
		out.Draft = &Text{st.Draft}
	}
	return out
}

// visibleNamespace says whether players may see a plugin-data namespace.
func visibleNamespace(ns string) bool { return !strings.HasPrefix(ns, "_") }

func schemaOf(c projections.Characters) any {
	if c.SchemaVersion == 0 {
		return nil
	}
	return map[string]any{"version": c.SchemaVersion, "types": c.Types, "attributes": json.RawMessage(c.Attributes)}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
