package sdk

import (
	"context"
	"encoding/json"
	"time"
)

// Runtime is what a handler, a guard and a tool get to know about the run they belong to (ctx in the seeds). Everything
// in it is a read view: writes are proposals in the result or buffered through PluginData.
type Runtime struct {
	SessionID     string
	TurnID        string
	RunID         string
	PluginID      string
	RuntimeID     string
	Locale        string // content language of the session, BCP 47
	LogicalTurn   int    // fixed when the execution started; kept over a suspension
	TurnNumber    int    // completed player turns when the execution started; kept over a suspension
	PlayerMessage string // the rendered input of this execution, "" when there is none
	PlayerActions []Action
	Messages      Messages // the plugin's own translations in the session's language
	// World is the world as the run sees it. Read its characters and its schema with Characters and CharacterSchema: they
	// note that the run has read them.
	World      World
	PluginData PluginData
	Inputs     map[string]Input // bound io.inputs of this turn, and of the kernel
	Exports    map[string]Input // io.inputs with scope: committed
	Activation json.RawMessage  // payload of a manual, event or recursive run; null for a stage run
	// TriggerEvent is what set off an event run, nil for others.
	TriggerEvent *EmittedEvent
	Execution    ExecutionInfo
	Session      SessionInfo
	Conversation Conversation
	Settings     map[string]json.RawMessage
	// LastPlayerInput is the newest answer to an interaction of this plugin that is not void, or nil.
	LastPlayerInput *PlayerInput
	// OpenInteractions are the plugin's own interactions that still wait for an answer.
	OpenInteractions []OpenInteraction
	Tools            ToolCaller // function runtimes only, else nil
	Agents           Agents     // function runtimes only, else nil
	// ResumeData is the player's answer, JSON, when the handler is called again after it suspended; nil before. What the
	// first call staged is still staged.
	ResumeData              json.RawMessage
	ResumedFromSuspensionID string
	Random                  Random
	Log                     Logger
	// Progress tells the player live how a piece of work goes, AssetProgress how the making of a file goes.
	Progress      func(ProgressReport)
	AssetProgress func(AssetProgress)
	// Gateway asks models. A function's calls go to function.model unless they name a slot. Nil where the host offers none.
	Gateway Gateway
	// RecursiveCall runs another runtime of the package inside this run: handlers and guards only, else nil. RecursionDepth is
	// how many runs stand above this one.
	RecursiveCall  Recurser
	RecursionDepth int
	// NewID gives a readable id from a prefix and a label, unique in the session and the same when the execution is run again.
	NewID func(prefix, label string) string
	// Observe is told by the readers below what is read; the host sets it, nil notes nothing.
	Observe func(WorldPart)
}

// WorldPart is a part of the world that runs of the same execution may change for later ones.
type WorldPart string

// Parts.
const (
	PartCharacters WorldPart = "characters"
	PartSchema     WorldPart = "schema"
)

// Characters are the characters the run sees. A run that read what an earlier run of the execution wrote depends on it.
func (rt *Runtime) Characters() []Character {
	rt.observe(PartCharacters)
	return rt.World.Characters
}

// CharacterSchema is the character schema the run sees, noted as Characters does.
func (rt *Runtime) CharacterSchema() CharacterSchema {
	rt.observe(PartSchema)
	return rt.World.Schema
}

func (rt *Runtime) observe(part WorldPart) {
	if rt.Observe != nil {
		rt.Observe(part)
	}
}

// Action is one thing a player did in the submission that started the execution.
type Action struct {
	Kind        string          `json:"kind"`
	SeatID      string          `json:"seatId,omitempty"`
	CharacterID string          `json:"characterId,omitempty"`
	Source      string          `json:"source,omitempty"`
	Text        string          `json:"text,omitempty"`
	Interaction *InteractionRef `json:"interaction,omitempty"`
	Fields      json.RawMessage `json:"fields,omitempty"`
}

// InteractionRef names an interaction: the execution that asked and its id.
type InteractionRef struct {
	TurnID        string `json:"turnId"`
	InteractionID string `json:"interactionId"`
	Type          string `json:"type"` // form | choice | confirmation
}

// PlayerInput is an accepted answer. Values are normalised: numbers are numbers, missing fields have their defaults.
type PlayerInput struct {
	ID            string // of the answer in the session
	PluginID      string // whose question it was
	TurnID        string // the execution that asked
	InteractionID string
	FormID        string
	Values        map[string]any
	CreatedAt     time.Time // when it was accepted
}

// OpenInteraction is an interaction the player has not answered yet, as it was committed.
type OpenInteraction struct {
	InteractionRef
	Block json.RawMessage
}

// Input is a bound io.inputs slot. With cardinality "one" Items has one element.
type Input struct {
	Cardinality string      `json:"cardinality"`
	Items       []InputItem `json:"items"`
}

// Value is the value of a slot of cardinality one, nil when the slot is empty.
func (i Input) Value() json.RawMessage {
	if len(i.Items) == 0 {
		return nil
	}
	return i.Items[0].Value
}

// InputItem is one value and where it came from.
type InputItem struct {
	Value    json.RawMessage `json:"value"`
	PluginID string          `json:"pluginId"`
	Runtime  string          `json:"runtimeId"`
	ResultID string          `json:"resultId,omitempty"` // the run that gave it
}

// PluginData reads and writes the plugin's own records. Reads see committed values, the writes of completed upstream
// runtimes of the same plugin, and the run's own buffer. Writes are buffered until the execution commits.
type PluginData interface {
	DataReader
	// Set buffers a write; a nil value removes the record. Namespaces beginning with "_" are refused, except "_hidden.<ns>".
	Set(namespace, key string, value any) error
	// Update buffers operations on a record; they are applied to what the run sees now, and again to the live value at the
	// commit. A record that is missing begins as {}. The first operation that fails rejects all of them.
	Update(namespace, key string, ops ...DataOp) error
}

// Record is one plugin-data record.
type Record struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
	// CreatedAt and UpdatedAt are when the record was first and last committed; zero for what this execution writes.
	CreatedAt time.Time `json:"createdAt,omitzero"`
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
}

// ToolCaller runs tools that the runtime's function.tools lists. Calls run in order; one failure fails the runtime.
type ToolCaller interface {
	Call(ctx context.Context, name string, args any) (json.RawMessage, error)
}

// Handler is the code of a function runtime.
type Handler func(ctx context.Context, rt *Runtime) (Result, error)

// Outcome is how a function runtime ended.
type Outcome string

// Outcomes (reference: plugins.md §12).
const (
	Success   Outcome = "success"
	Suspended Outcome = "suspended" // waits for the player; the handler is called again with ResumeData
	Skipped   Outcome = "skipped"
	Failed    Outcome = "failed"
)

// Result is what a handler returns.
type Result struct {
	Outcome    Outcome
	Value      any     // the canonical value: contract checks, inputs of other runtimes
	Effects    Effects // success only
	Done       bool    // completion: "done"; ends a setup runtime
	SkipReason string
	Error      string
	// Reason is what a suspended handler asks the player, in a sentence; ResumeSchema the JSON Schema of the answer, nil for
	// any.
	Reason       string
	ResumeSchema json.RawMessage
}

// Effects are the writes a run asks for besides its value. Only a success writes: of a run that is skipped or has failed
// JobStatus and Diagnostics are kept and the rest is stripped, which the trace tells.
type Effects struct {
	Narrative     string           // a conversation row of this runtime that is not the story
	Interactions  []map[string]any // form, choice, confirmation blocks
	Notifications []Notification
	UI            []UIRender
	Events        []EmittedEvent
	Proposals     []Proposal
	JobStatus     []ProgressReport // as if they had been reported while the run lasted; a malformed one fails the run
	Diagnostics   []Diagnostic     // for the trace
}

// Notification is a line the player is shown. Level: info | success | warning | error.
type Notification struct {
	Level   string `json:"level"`
	Title   string `json:"title"`
	Message string `json:"message"`
}

// Diagnostic tells authors and operators, in the trace, what a run noticed.
type Diagnostic struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// EmittedEvent is a domain event on a topic some active plugin declares.
type EmittedEvent struct {
	Topic string          `json:"topic"`
	Data  json.RawMessage `json:"data,omitempty"`
}

// Guard runs before a runtime and may answer in its place.
type Guard func(ctx context.Context, rt *Runtime) (GuardResult, error)

// GuardResult with Skip false lets the runtime run. With Skip true the model is not called, the run ends "skipped", and
// Output is the runtime's output, checked against its contract and bound to consumers; Effects are committed.
type GuardResult struct {
	Skip bool
	// PreGameDone: this set-up runtime has finished its work. To skip says so too, unless Output has preGameDone: false.
	PreGameDone bool
	Output      map[string]any
	Effects     Effects
}

// FormValidator checks the normalised values of a form beyond its field rules. It is pure. No issues: the form passes.
type FormValidator func(values map[string]any, data json.RawMessage, locale string, messages Messages) []FormIssue

// FormIssue is an error under one field, or for the whole form when Field is empty or unknown.
type FormIssue struct {
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// Messages are a plugin's translated texts by key, with {name} placeholders.
type Messages map[string]string
