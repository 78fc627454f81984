package sdk

import (
	"context"
	"encoding/json"
)

// ExtensionHandler is the code of a provider of an extension point. input is the point's own JSON, checked by the host; what
// is returned is turned into JSON and checked too. A handler does not write. Within one execution the host may answer equal
// inputs with an earlier result, so a provider does not vary by who asks. Extend makes one with Go types.
type ExtensionHandler func(ctx context.Context, input json.RawMessage, x *ExtensionContext) (any, error)

// Extend makes a handler whose input and output have Go types.
func Extend[I, O any](f func(ctx context.Context, in I, x *ExtensionContext) (O, error)) ExtensionHandler {
	return func(ctx context.Context, raw json.RawMessage, x *ExtensionContext) (any, error) {
		var in I
		if err := json.Unmarshal(raw, &in); err != nil {
			return nil, err
		}
		return f(ctx, in, x)
	}
}

// ExtensionContext is what a provider gets beside its input. It is read-only and frozen when the execution starts; outside
// of a turn it shows the committed state.
type ExtensionContext struct {
	SessionID  string
	TurnID     string // "" outside of a turn
	PluginID   string
	Locale     string
	Messages   Messages
	World      World
	PluginData DataReader // the provider's own records, without _hidden.*
	Settings   map[string]json.RawMessage
	Gateway    Gateway // nil when the host offers no model here
}

// DataReader reads a plugin's own records. It is the same for a function, a guard and a provider of an extension point.
type DataReader interface {
	// Get gives the stored JSON, nil when there is none.
	Get(namespace, key string) json.RawMessage
	// List gives the records of a namespace in the order in which they were created.
	List(namespace string) []Record
}

// Gateway calls language models on behalf of plugin code (seed: reference plugins.md §11, "gateway").
type Gateway interface {
	// GenerateText asks for a text. It returns when the answer is complete; a failure of the model is an error.
	GenerateText(ctx context.Context, req TextRequest) (TextReply, error)
	// GenerateObject asks for a JSON value that fits a schema. An answer that does not, or is cut off, is an error.
	GenerateObject(ctx context.Context, req ObjectRequest) (json.RawMessage, error)
}

// ObjectRequest asks a model for a JSON value.
type ObjectRequest struct {
	TextRequest
	Schema json.RawMessage
}

// TextRequest asks a model for a text.
type TextRequest struct {
	Slot   string // story | fast | …; "" is the runtime's own slot, else fast
	System string
	Prompt string
	// MaxOutputTokens may only lower what the slot allows; 0 leaves it.
	MaxOutputTokens int
}

// TextReply is a complete answer. Truncated: it was cut off at the limit of its length.
type TextReply struct {
	Text      string
	Truncated bool
}

// Segment is one passage that prompt.segment@1 adds to the prompt.
type Segment struct {
	ID         string   `json:"id"`
	Content    string   `json:"content"`
	Position   Position `json:"position"`
	Role       string   `json:"role,omitempty"` // system (default), user, assistant
	Audience   Audience `json:"audience"`
	Volatility string   `json:"volatility"` // stable, session, turn: how often the content changes
	Order      int      `json:"order,omitempty"`
}

// Position is system, pre-history or post-history, or (Place "") a depth: so many messages before the end of the history.
type Position struct {
	Place string
	Depth int
}

// Audience is all, story or self, or (Group "") the runtimes whose output has a contract.
type Audience struct {
	Group    string
	Contract string
}

// MarshalJSON writes a place as a word and a depth as an object.
func (p Position) MarshalJSON() ([]byte, error) {
	if p.Place != "" {
		return json.Marshal(p.Place)
	}
	return json.Marshal(map[string]int{"depth": p.Depth})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *Position) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &p.Place) == nil {
		return nil
	}
	var at struct{ Depth int }
	err := json.Unmarshal(b, &at)
	*p = Position{Depth: at.Depth}
	return err
}

// MarshalJSON writes a group as a word and a contract as an object.
func (a Audience) MarshalJSON() ([]byte, error) {
	if a.Group != "" {
		return json.Marshal(a.Group)
	}
	return json.Marshal(map[string]string{"contract": a.Contract})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (a *Audience) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &a.Group) == nil {
		return nil
	}
	var to struct{ Contract string }
	err := json.Unmarshal(b, &to)
	*a = Audience{Contract: to.Contract}
	return err
}

// SegmentInput is the input of prompt.segment@1.
type SegmentInput struct {
	TurnID        string `json:"turnId"`
	PlayerMessage string `json:"playerMessage"`
}

// SlotInput is the input of ui.slot@1. Previous is the slot's value so far, null when it is empty: a provider that changes
// nothing returns it, null empties the slot.
type SlotInput struct {
	Slot     string          `json:"slot"`
	Key      string          `json:"key,omitempty"`
	Previous json.RawMessage `json:"previous"`
	Events   []SlotEvent     `json:"events"`
}

// SlotEvent is an event of the running turn that a provider previews.
type SlotEvent struct {
	Topic    string          `json:"topic"`
	Data     json.RawMessage `json:"data"`
	TurnID   string          `json:"turnId"`
	PluginID string          `json:"pluginId,omitempty"`
}

// HistoryMessage is one message of the conversation as providers see it.
type HistoryMessage struct {
	ID        string `json:"id"`
	Role      string `json:"role"` // user | assistant
	Content   string `json:"content"`
	TurnID    string `json:"turnId,omitempty"`
	RuntimeID string `json:"runtimeId,omitempty"`
	PluginID  string `json:"pluginId,omitempty"`
	Source    string `json:"source,omitempty"` // player | story | runtime
}

// HistoryTransform is the input of prompt.history-transform@1; its output has Messages only.
type HistoryTransform struct {
	Messages []HistoryMessage `json:"messages"`
	TurnID   string           `json:"turnId,omitempty"`
}

// CompactInput is the input of history.compact@2.
type CompactInput struct {
	Messages          []HistoryMessage `json:"messages"` // that may be compressed, oldest first
	ExistingSummaries []Summary        `json:"existingSummaries"`
	Locale            string           `json:"locale"`
	EstimatedTokens   int              `json:"estimatedTokens"`
	ContextWindow     int              `json:"contextWindow"` // of the smaller of the story and the fast model, without the reply's reserve
	InputWindow       int              `json:"inputWindow"`   // of the fast model: a summary request must fit
	SummaryBudget     SummaryBudget    `json:"summaryBudget"`
}

// Summary is a summary segment that exists.
type Summary struct {
	ID            string   `json:"id"`
	Content       string   `json:"content"`
	FocusSections []string `json:"focusSections,omitempty"`
}

// SummaryBudget bounds all summaries together and each one.
type SummaryBudget struct {
	MaxTokens        int `json:"maxTokens"`
	MaxSegmentTokens int `json:"maxSegmentTokens"`
	MaxSegments      int `json:"maxSegments"`
}

// CompactOutput is the output of history.compact@2. A nil one means that there is nothing to compress; who cannot finish
// returns an error instead.
type CompactOutput struct {
	Summaries []NewSummary `json:"summaries"`
	Deferred  *Deferral    `json:"deferred,omitempty"`
}

// NewSummary covers a run of messages from the oldest on, or a run of summaries from the oldest on.
type NewSummary struct {
	MessageIDs         []string `json:"messageIds"`
	ReplacesSummaryIDs []string `json:"replacesSummaryIds"`
	Content            string   `json:"content"`
	FocusSections      []string `json:"focusSections"`
	Truncated          bool     `json:"truncated,omitempty"`
}

// Deferral says why old summaries were not merged this time; the new ones are kept all the same.
type Deferral struct {
	Reason string `json:"reason"`
}

// EstimateTokens estimates how many tokens a model needs for a text, on the high side for what stories, data and their markup
// are made of, in all scripts: four letters of English count as one token, a digit or a mark as three quarters, a Chinese
// character as one and three quarters. Vocabularies of today need less for Chinese; older ones need that much.
func EstimateTokens(s string) int { return (QuarterTokens(s) + 3) / 4 }

// QuarterTokens is the estimate in quarters of a token, which adds up exactly over the parts of a text.
func QuarterTokens(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == ' ':
			n++
		case r < 0x80: // digits, marks, line ends: ids, JSON, Markdown
			n += 3
		case r < 0x0250: // a letter with a mark breaks its word
			n += 12
		case r < 0x0590: // Greek, Cyrillic
			n += 3
		case r < 0x0800: // Hebrew, Arabic
			n += 4
		case r >= 0xAC00 && r <= 0xD7AF: // Hangul
			n += 6
		case r >= 0x3400 && r <= 0x9FFF, r >= 0xF900 && r <= 0xFAFF:
			n += 7
		case r <= 0xFFFF:
			n += 5
		default: // emoji, rare characters: as many as bytes
			n += 16
		}
	}
	return n
}

// WorldContext is the output of session.world-context@1: what there is now. All fields are optional.
type WorldContext struct {
	Schema            map[string]any       `json:"schema,omitempty"`
	Entries           map[string]any       `json:"entries,omitempty"`
	Dimensions        map[string]Dimension `json:"dimensions,omitempty"`
	DimensionRecovery *DimensionRecovery   `json:"dimensionRecovery,omitempty"`
	// DimensionProviderPluginID is filled in by the host.
	DimensionProviderPluginID string `json:"-"`
}

// DimensionRecovery names the provider's own runtimes by which a player edits and tracks dimensions again.
type DimensionRecovery struct {
	EditorRuntimeID  string `json:"editorRuntimeId"`
	TrackerRuntimeID string `json:"trackerRuntimeId"`
}
