package prompt

import (
	"encoding/json"
	"time"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
	"github.com/covel/covel/projections"
)

// In is everything a prompt depends on. Zero values leave the matching part out.
type In struct {
	Runtime    manifest.Runtime
	PluginName string // display name of the plugin in the session's language

	Locale            string // content language of the session, BCP 47
	InstructionLocale string // "zh" or "en"; "" derives it from Locale (InstructionLocale)

	World sdk.WorldRecord
	// LoreBefore and LoreAfter are the active entries of the lorebook by position, in order.
	LoreBefore []sdk.LorebookEntry
	LoreAfter  []sdk.LorebookEntry
	LoreAt     []LoreAtDepth
	HasStory   bool // a story message is committed: the world's opening is over

	History   []HistoryRow // committed turns, oldest first, as the runtime sees them (Visible)
	Summaries []string     // of the turns before, oldest first

	Player     *sdk.Character  // nil until the player has a character
	Characters []sdk.Character // by creation; the player's own may be among them
	Schema     sdk.CharacterSchema

	Inputs     map[string]sdk.Input          // bound io.inputs slots
	Exports    map[string]sdk.Input          // those with scope: committed
	NotApplied []projections.FailedOperation // own operations of the turn before that failed (NotAppliedFor)
	Data       []DataBlock                   // own plugin data, in the order of io.selfData
	Static     []manifest.PromptSegment      // the package's own fixed segments
	Segments   []Segment                     // what prompt.segment@1 gave, of all providers
	Activation *Activation                   // event and manual runs only
	Topics     []tools.Topic                 // the session's event directory; shown to runtimes that ask for it

	PlayerMessage string // rendered input of this execution (RenderActions), "" when there is none
	Story         string // story already written in this execution, "" before the narrative

	LogicalTurn     int
	LastPlayerInput *sdk.PlayerInput
	Settings        map[string]json.RawMessage // userSettings of the plugin
	Dimensions      map[string]sdk.Dimension
	Entries         map[string]any // what the provider of session.world-context@1 tells besides
}

// HistoryRow is one committed message. Role is user or assistant; rows with another role or without text are left out.
type HistoryRow struct {
	Role   string
	Text   string
	Images []model.Image
}

// LoreAtDepth is an active entry of the lorebook that stands so many messages before the end of the conversation.
type LoreAtDepth struct {
	Depth int
	Entry sdk.LorebookEntry
}

// DataBlock is one io.selfData entry with its records in creation order.
type DataBlock struct {
	Decl manifest.SelfData
	Rows []DataRow
}

// DataRow is one record. Updated is when it was last committed, zero for what this execution writes.
type DataRow struct {
	Key     string
	Value   json.RawMessage
	Updated time.Time
}

// Activation is why a runtime outside the stages runs.
type Activation struct {
	Source   string // event | manual
	Topic    string
	Detached bool // the run is a job of its own
	Payload  json.RawMessage
}
