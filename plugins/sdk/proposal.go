package sdk

import "encoding/json"

// Proposal asks for one write. Only the commit decides. Payload is the JSON of the type's payload struct.
type Proposal struct {
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// Payload is the typed body of a proposal.
type Payload interface{ ProposalType() string }

// Propose makes a proposal of a payload. A value JSON cannot hold is an error.
func Propose(p Payload) (Proposal, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return Proposal{}, &ToolError{Code: InvalidInput, Message: "the " + p.ProposalType() + " payload cannot be written as JSON: " + err.Error()}
	}
	return Proposal{Type: p.ProposalType(), Payload: b}, nil
}

// StorySegment is one paragraph of the story.
type StorySegment struct {
	Kind    string `json:"kind"` // narration | dialogue | action
	Text    string `json:"text"`
	Speaker string `json:"speaker,omitempty"`
}

// NarrativeAppend is the story of an execution.
type NarrativeAppend struct {
	Segments  []StorySegment `json:"segments"`
	Kind      string         `json:"kind"` // story
	Truncated bool           `json:"truncated,omitempty"`
}

// MessageAppend is a conversation row of a runtime that is not the story.
type MessageAppend struct {
	Content string `json:"content"`
}

// InteractionRequest asks the player something; Data is the block as the tool returned it.
type InteractionRequest struct {
	InteractionID string         `json:"interactionId"`
	Type          string         `json:"type"`
	Data          map[string]any `json:"data"`
}

// EventEmit publishes a domain event.
type EventEmit struct {
	Topic string          `json:"topic"`
	Data  json.RawMessage `json:"data,omitempty"`
}

// UIRender is a block of parts with their own states.
type UIRender struct {
	Parts  []UIPart `json:"parts"`
	Layout string   `json:"layout,omitempty"` // stream | split | overlay
	Status string   `json:"status,omitempty"`
}

// UIPart is one part of a block. Status: pending | streaming | success | error | paused.
type UIPart struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Status  string `json:"status"`
	Content any    `json:"content"`
	// Retry tells how often the part was tried, for parts that failed.
	Retry *UIRetry `json:"retry,omitempty"`
}

// UIRetry is how often a part was tried and why the last try failed.
type UIRetry struct {
	Count     int    `json:"count"`
	LastError string `json:"lastError,omitempty"`
}

// PluginDataWrite is plugin.data: one record, whole value. A null value removes it.
type PluginDataWrite struct {
	Namespace string          `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
}

// PluginDataBatch is plugin.data.batch.
type PluginDataBatch struct {
	Items []PluginDataWrite `json:"items"`
}

// PluginDataDelete is plugin.data.delete.
type PluginDataDelete struct {
	Namespace string `json:"namespace"`
	Key       string `json:"key"`
}

// CharacterUpsert writes a character. With ExpectedVersion it is a patch (fields merged, version raised), without it a
// full replacement (seed: tools.txt, "character.upsert").
type CharacterUpsert struct {
	ID              string          `json:"id"`
	Name            string          `json:"name"`
	Aliases         []string        `json:"aliases,omitempty"`
	Type            string          `json:"type,omitempty"`
	Description     *string         `json:"description,omitempty"`
	Fields          json.RawMessage `json:"fields,omitempty"`
	Version         int             `json:"version,omitempty"`
	ExpectedVersion *int            `json:"expectedVersion,omitempty"`
}

// CharacterSchemaSet replaces the session's character schema; the kernel raises its version.
type CharacterSchemaSet struct {
	Types      []string       `json:"types"`
	Attributes []AttributeDef `json:"attributes"`
}

// LorebookUpsert writes entries of the proposing plugin.
type LorebookUpsert struct {
	Entries []LorebookEntry `json:"entries"`
}

// ProposalType names.
func (NarrativeAppend) ProposalType() string    { return "narrative.append" }
func (MessageAppend) ProposalType() string      { return "message.append" }
func (InteractionRequest) ProposalType() string { return "interaction.request" }
func (EventEmit) ProposalType() string          { return "event.emit" }
func (UIRender) ProposalType() string           { return "ui.render" }
func (PluginDataWrite) ProposalType() string    { return "plugin.data" }
func (PluginDataBatch) ProposalType() string    { return "plugin.data.batch" }
func (PluginDataDelete) ProposalType() string   { return "plugin.data.delete" }
func (CharacterUpsert) ProposalType() string    { return "character.upsert" }
func (CharacterSchemaSet) ProposalType() string { return "character.schema.set" }
func (LorebookUpsert) ProposalType() string     { return "lorebook.upsert" }
