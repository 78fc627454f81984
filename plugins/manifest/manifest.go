package manifest

import (
	"encoding/json"
	"strings"
)

// Stage is a band of a turn.
type Stage string

// Stages in the order they run. Setup runs alone, while the phase is setup.
const (
	Setup     Stage = "setup"
	PreTurn   Stage = "pre-turn"
	Narrative Stage = "narrative"
	PostTurn  Stage = "post-turn"
	Audit     Stage = "audit"
)

// MainStages is the order of a turn while the phase is playing; each is a strict barrier.
var MainStages = []Stage{PreTurn, Narrative, PostTurn, Audit}

// Trigger types.
const (
	TriggerAuto   = "auto"
	TriggerManual = "manual"
	TriggerEvent  = "event"
)

// Visibility of a runtime's output.
const (
	VisibilityStory  = "story"
	VisibilityPlugin = "plugin"
	VisibilitySystem = "system"
)

// PluginOf is the plugin that a runtime's id names.
func PluginOf(runtimeID string) string {
	plugin, _, _ := strings.Cut(runtimeID, "/")
	return plugin
}

// Plugin is a whole package after reading: identity, contracts, contributions and its runtimes.
type Plugin struct {
	ID          string
	Kind        string // core | plugin
	Version     string // "0.0.0" when missing
	Host        string // covel: the range of host versions the author names, "" for any
	DisplayName Text
	Description Text
	Tags        []string
	Author      Author
	License     string
	Homepage    string
	Entry       string // package path of the JavaScript entry module, "" for none
	Provides    []Provided
	Requires    []string
	Optional    []string
	Conflicts   []string
	Contracts   map[string]json.RawMessage // public JSON Schema of a contract
	Contributes Contributes
	Runtimes    []Runtime                    // by ID
	Digest      string                       // lower-case hex SHA-256 over all files of the package, by path
	Locales     map[string]map[string]string // messages by locale: English text → translation
	Warnings    []Problem                    // what does not stop the package from loading
}

// Author is shown before play and never enters a prompt or a decision.
type Author struct {
	Name  string
	URL   string
	About string
	Links []Link
}

// Link is an address with its label.
type Link struct{ Label, URL string }

// Text is a string per locale; key "en" is always there.
type Text map[string]string

// Provided is a contract the package provides. Default providers step aside for another active provider.
type Provided struct {
	Contract string
	Default  bool
}

// Contributes is what the package adds beside its runtimes.
type Contributes struct {
	Tools []string
	Forms []string
	// ActionKinds are what players may submit beside say, act and command.
	ActionKinds []ActionKindDecl
	Events      []EventDecl
	Hooks       []HookDecl
	Data        map[string]DataDecl
	UI          UIDecl
	Prompt      []PromptSegment
	// Extensions are the extension points the entry provides, in the order they are written.
	Extensions []ExtensionDecl
}

// ActionKindDecl declares a kind of action; players submit it as <pluginId>/<name> (decisions: "Seats, roles, gathering").
type ActionKindDecl struct {
	Name        string
	Description string
	Roles       []string        // of the seats that may use it: player, host
	Text        string          // required | optional | none
	Fields      json.RawMessage // JSON Schema of its fields; nil: it takes none
}

// ExtensionDecl declares a provider of an extension point. Order sorts the providers of a point, lower first. The other
// fields belong to ui.slot@1.
type ExtensionDecl struct {
	Point   string
	ID      string
	Order   int
	Slot    string
	Watch   []string // own data namespaces that refresh the slot
	Preview []string // event topics whose preview within the turn refreshes it
}

// EventDecl declares a topic with the JSON Schema of its data.
type EventDecl struct {
	Topic       string
	Description string
	Advertise   bool
	Schema      json.RawMessage
}

// HookDecl declares that the entry registers handlers for an event.
type HookDecl struct {
	Event   string
	Enforce string // pre | normal | post
}

// DataDecl declares a plugin-data namespace.
type DataDecl struct {
	Version     int
	Description string
	Schema      json.RawMessage
	Accepts     []string
	SearchText  string
}

// UIDecl holds json-render specs by surface.
type UIDecl struct {
	Right   []json.RawMessage
	Message []json.RawMessage
	Left    []json.RawMessage
}

// PromptSegment is a fixed piece of prompt of the package itself, with its Chinese variant.
type PromptSegment struct {
	ID       string
	Content  Text
	Position string // system | pre-history | post-history | depth
	Depth    int    // for depth: conversation messages from the end
	Role     string // system | user | assistant
}

// Runtime is one part of a plugin that can run.
type Runtime struct {
	ID          string // <plugin> or <plugin>/<runtime>
	PluginID    string
	Type        string // agent | function
	Description Text
	Body        Text // prompt; Text["zh"] is the Chinese variant
	Schedule    Schedule
	IO          IO
	Agent       Agent
	Function    Function
	Guard       string // the name the entry registers, or the package path of a JavaScript module; "" for none
	Effects     Effects
	HTTP        []HTTPPermission
}

// Schedule says when a runtime runs and what it waits for.
type Schedule struct {
	Stage           Stage // "" for event and manual
	Trigger         string
	Every           int // auto: turns whose logical number it divides; at least 1
	Topic           string
	MaxTriggerCount int // 0 = unlimited; on setup the attempt budget
	CooldownTurns   int
	StartTurn       int
	Needs           []Need
	After           []Need
	SubagentOnly    bool
	Background      *Background // manual and event: runs as a job outside the session's turn
	Detached        *Detached   // post-turn and audit functions: runs as a job after the commit
}

// Background limits a background job; 0 means the host's default.
type Background struct {
	MaxQueueMs     int
	MaxExecutionMs int
}

// Detached limits a detached job. With Settle the next execution waits for it, at most MaxSettleWaitMs.
type Detached struct {
	Settle          bool
	MaxSettleWaitMs int
	MaxQueueMs      int
	MaxExecutionMs  int
}

// Need is an edge to a runtime or to the providers of a contract.
type Need struct {
	Runtime     string
	Contract    string
	Cardinality string // one | all; contract only
	Scope       string // turn | session; session only on setup
}

// IO is what a runtime reads and gives.
type IO struct {
	Inputs         map[string]Binding
	OutputContract string
	OutputSchema   json.RawMessage
	RecordAs       string
	PayloadSchema  json.RawMessage // of a manual or event activation
	PayloadFrom    string          // instead of PayloadSchema: the contract whose schema it is
	Visibility     string
	Concealed      bool
	SelfData       []SelfData
}

// Binding fills one input slot.
type Binding struct {
	Runtime     string
	Contract    string
	Kernel      string
	Cardinality string // one | all
	Scope       string // turn | committed
	Select      string // RFC 6901
	Required    bool
	RecordAs    string
	Accepts     json.RawMessage // an extra schema of the value
	AcceptsFrom string          // instead of Accepts: the contract whose schema it is
}

// SelfData inlines the plugin's own records in the agent's prompt.
type SelfData struct {
	Namespace  string
	As         string
	Format     string // summary | full | ids-only
	MaxEntries int
}

// Agent configures a model loop.
type Agent struct {
	Model             string
	ReasoningEffort   string // "" | disabled
	ToolChoice        string // "" | required | <tool name>
	HistoryMaxTurns   *int   // nil: shared session view
	HistorySummaries  bool
	BuiltinTools      []string
	PluginTools       []string
	DeferAll          bool     // every tool is found through search-tools
	DeferTools        []string // only these are
	AdvertiseEvents   bool
	Profile           string // "" | story | system | actor
	MaxSteps          int    // 0: default
	TimeoutMs         int    // 0: default
	CallTimeoutMs     int    // 0: default
	FirstTokenMs      int    // 0: default
	IdleMs            int    // 0: default
	MaxRetries        int    // 1 when not written
	LoopDetection     *int   // nil: default; 0 switches it off
	MaxRecursionDepth *int
	Corrections       Corrections
	Finalizer         Finalizer
	Stream            *bool // nil: as the profile says; so are the next three
	Steering          *bool
	KeepTruncated     *bool
	Fallback          string   // "" | tools-off | fail
	Require           string   // "" | tool-use | explicit
	AfterTools        []string // completeAfterTools
}

// Corrections are the budgets of the loop's corrections; nil means the profile's.
type Corrections struct{ ToolUse, Review, Perturbation, Output *int }

// Finalizer says when a last request with tools off is made; nil means the profile's.
type Finalizer struct {
	MaxSteps          *bool
	DeadlineReserveMs *int
}

// Function configures a handler.
type Function struct {
	Handler      string // the name the entry registers, or the package path of a JavaScript module
	Model        string // the slot its own model calls use
	TimeoutMs    int
	BuiltinTools []string
	PluginTools  []string
}

// Effects are hazard hints.
type Effects struct {
	Reads        []string
	Writes       []string
	ParallelSafe bool
}

// HTTPPermission is an origin community code may reach.
type HTTPPermission struct {
	Origin  string   // https://host
	Methods []string // upper case; GET when not written
}
