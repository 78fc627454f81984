package sdk

import "encoding/json"

// World is the read view of a session's world: committed state, legal proposals of completed upstream runs, and the
// run's own buffered writes.
type World struct {
	Record     WorldRecord
	Schema     CharacterSchema // Version 0 when the session has none yet
	Characters []Character     // by creation order
	Seats      []Seat
	Lorebook   []LorebookEntry
	// DeclaredSchema is the character schema the world's author wrote, nil when the world declares none.
	DeclaredSchema *CharacterSchema
	// Dimensions are the world's changing values by id, as they were when the execution started: no write of the execution
	// shows in them (reference: worlds-and-story.md §13.4).
	Dimensions map[string]Dimension
	// DimensionProviderPluginID is who gives them, and Entries what else it tells of the world (session.world-context@1).
	DimensionProviderPluginID string
	Entries                   map[string]any
}

// Dimension is the public side of a world's changing value.
type Dimension struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema"`
	Value       json.RawMessage `json:"value"`
	Version     int             `json:"version"`
}

// WorldRecord is the world in the session's language.
type WorldRecord struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Summary  string         `json:"summary"`
	Lore     string         `json:"lore"`
	Locale   string         `json:"locale"`
	Tags     []string       `json:"tags,omitempty"`
	Opening  string         `json:"opening,omitempty"` // how the story begins, for the storyteller
	Tone     string         `json:"tone,omitempty"`
	Greeting string         `json:"greeting,omitempty"` // shown to the player before the character form
	Metadata map[string]any `json:"metadata,omitempty"`
}

// CharacterSchema is the open table of character types and attributes of a session. "player" is always a type.
type CharacterSchema struct {
	Version    int            `json:"version"`
	Types      []string       `json:"types"`
	Attributes []AttributeDef `json:"attributes"`
}

// AttributeDef describes one attribute (reference: worlds-and-story.md §12.3).
type AttributeDef struct {
	ID           string         `json:"id" yaml:"id"`
	Name         string         `json:"name" yaml:"name"`
	Type         string         `json:"type" yaml:"type"` // string number boolean enum array object map
	Category     string         `json:"category" yaml:"category"`
	Description  string         `json:"description,omitempty" yaml:"description,omitempty"`
	Min          *float64       `json:"min,omitempty" yaml:"min,omitempty"`
	Max          *float64       `json:"max,omitempty" yaml:"max,omitempty"`
	DefaultValue any            `json:"defaultValue,omitempty" yaml:"defaultValue,omitempty"`
	ItemType     string         `json:"itemType,omitempty" yaml:"itemType,omitempty"`
	Options      []string       `json:"options,omitempty" yaml:"options,omitempty"`
	SubSchema    []AttributeDef `json:"subSchema,omitempty" yaml:"subSchema,omitempty"`
	ValueType    string         `json:"valueType,omitempty" yaml:"valueType,omitempty"`
}

// Character is one person of the session.
type Character struct {
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Aliases     []string        `json:"aliases,omitempty"`
	Type        string          `json:"type"`
	Description string          `json:"description,omitempty"`
	Fields      json.RawMessage `json:"fields,omitempty"` // JSON object
	Version     int             `json:"version"`
	UpdatedAt   string          `json:"updatedAt,omitempty"` // RFC 3339, "" when the host does not tell
}

// Seat is a place at the table (decisions: "Seats, roles, gathering").
type Seat struct {
	ID                 string   `json:"id"`
	Name               string   `json:"name"`
	Role               string   `json:"role"`
	Control            string   `json:"control"`
	CharacterIDs       []string `json:"characterIds"`
	CurrentCharacterID string   `json:"currentCharacterId,omitempty"`
	Primary            bool     `json:"primary,omitempty"`
}

// LorebookEntry is a piece of lore that is always told to the model (constant) or when a key occurs (selective).
type LorebookEntry struct {
	ID             string         `json:"id" yaml:"id"`
	Keys           []string       `json:"keys,omitempty" yaml:"keys,omitempty"`
	Content        string         `json:"content" yaml:"content"`
	Strategy       string         `json:"strategy" yaml:"strategy"`
	Position       string         `json:"position,omitempty" yaml:"position,omitempty"`
	InsertionOrder int            `json:"insertionOrder,omitempty" yaml:"insertionOrder,omitempty"`
	Enabled        *bool          `json:"enabled,omitempty" yaml:"enabled,omitempty"` // nil means true
	Extra          map[string]any `json:"extra,omitempty" yaml:"extra,omitempty"`
}
