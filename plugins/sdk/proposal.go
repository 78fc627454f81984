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
	b, err := plainJSON(p)
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
	// Present are names of characters who are there beside those who speak or act.
	Present []string `json:"present,omitempty"`
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

// PluginDataUpdate is plugin.data.update: operations on one record. They are applied to the live value at the commit, so
// that increments, appends and merges of different members by parallel runs compose. A record that is missing begins as {}.
type PluginDataUpdate struct {
	Namespace string   `json:"namespace"`
	Key       string   `json:"key"`
	Ops       []DataOp `json:"ops"` // 1–64, applied in order; the first that fails rejects all
}

// AssetGenerate tells of a picture, a sound or another file that a run has made.
type AssetGenerate struct {
	Ref      MediaRef       `json:"ref"`
	Modality string         `json:"modality"` // image | speech | music | …
	Meta     map[string]any `json:"meta,omitempty"`
}

// MediaRef names a stored file by its content. Wherever such an object stands in a proposal, the session must know the file.
type MediaRef struct {
	ID   string `json:"id"` // lower-case hex SHA-256
	Mime string `json:"mime"`
	Size int64  `json:"size"` // bytes
}

// DimensionDefinition declares a dimension of the world (reference: worlds-and-story.md §13.1).
type DimensionDefinition struct {
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	Schema       json.RawMessage `json:"schema"`
	InitialValue json.RawMessage `json:"initialValue"`
	UpdateRule   string          `json:"updateRule,omitempty"`
}

// DimensionInitialize creates dimensions that are missing. Only the provider of world.dimensions@1 may.
type DimensionInitialize struct {
	Definitions map[string]DimensionDefinition `json:"definitions"`
}

// DimensionUpdate changes values of dimensions, all of them or none. Only the provider of world.dimensions@1 may.
type DimensionUpdate struct {
	Updates []DimensionChange `json:"updates"`
	// Source is the story that the values follow from; with it the update settles what that story left open.
	Source *DimensionSource `json:"source,omitempty"`
	// ReadVersions are the versions that were read. All must be current.
	ReadVersions map[string]int `json:"readVersions,omitempty"`
	Settlement   string         `json:"settlement,omitempty"` // "" | no-change | manual | skipped
}

// DimensionChange is the new whole value of one dimension.
type DimensionChange struct {
	ID              string          `json:"id"`
	ExpectedVersion int             `json:"expectedVersion"`
	Value           json.RawMessage `json:"value"`
	Reason          string          `json:"reason,omitempty"` // at most 2,000 characters
}

// DimensionSource names the run that told the story, and its logical turn.
type DimensionSource struct {
	ResultID   string `json:"resultId"`
	TurnNumber int    `json:"turnNumber"`
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
func (NarrativeAppend) ProposalType() string     { return "narrative.append" }
func (MessageAppend) ProposalType() string       { return "message.append" }
func (InteractionRequest) ProposalType() string  { return "interaction.request" }
func (EventEmit) ProposalType() string           { return "event.emit" }
func (UIRender) ProposalType() string            { return "ui.render" }
func (PluginDataWrite) ProposalType() string     { return "plugin.data" }
func (PluginDataBatch) ProposalType() string     { return "plugin.data.batch" }
func (PluginDataDelete) ProposalType() string    { return "plugin.data.delete" }
func (PluginDataUpdate) ProposalType() string    { return "plugin.data.update" }
func (AssetGenerate) ProposalType() string       { return "asset.generate" }
func (DimensionInitialize) ProposalType() string { return "dimension.initialize" }
func (DimensionUpdate) ProposalType() string     { return "dimension.update" }
func (CharacterUpsert) ProposalType() string     { return "character.upsert" }
func (CharacterSchemaSet) ProposalType() string  { return "character.schema.set" }
func (LorebookUpsert) ProposalType() string      { return "lorebook.upsert" }
