package turn

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/plugins/sdk"
)

// What io.inputs may bind from the kernel.
const (
	InputTurnDigest = "turn-digest@1"
	InputOperations = "operations@1"
)

// kernelPlugin stands where a value names the plugin it comes from.
const kernelPlugin = "kernel"

// digest is turn-digest@1: what the turn was about and what of it is final (seed: turn-pipeline.txt §2.4; reference:
// plugins.md §8).
type digest struct {
	SessionID       string         `json:"sessionId"`
	TurnID          string         `json:"turnId"`
	LogicalTurn     int            `json:"logicalTurn"`
	Locale          string         `json:"locale"`
	PlayerMessage   string         `json:"playerMessage"`
	Narrative       string         `json:"narrative"`
	LastPlayerInput *digestInput   `json:"lastPlayerInput"`
	RuntimeResults  []digestResult `json:"runtimeResults"`
}

type digestInput struct {
	ID        string          `json:"id"`
	SessionID string          `json:"sessionId"`
	TurnID    string          `json:"turnId"` // may be of an older turn
	FormID    string          `json:"formId"`
	Values    json.RawMessage `json:"values"`
	CreatedAt time.Time       `json:"createdAt"`
}

type digestResult struct {
	RuntimeID string `json:"runtimeId"`
	Status    Status `json:"status"`
}

// digestOf freezes the summary of the turn as it stands.
func (p Plan) digestOf(upstream []Result) json.RawMessage {
	d := digest{
		SessionID: p.Session.ID, TurnID: p.ExecutionID, LogicalTurn: p.LogicalTurn, Locale: p.Session.Locale, PlayerMessage: p.PlayerMessage,
		RuntimeResults: []digestResult{},
	}
	if a, ok := p.Interactions.Newest(); ok {
		values := json.RawMessage(a.Values)
		if len(values) == 0 {
			values = json.RawMessage("{}")
		}
		d.LastPlayerInput = &digestInput{a.AnswerID(), p.Session.ID, a.TurnID, a.InteractionID, values, a.AnsweredAt}
	}
	for _, r := range upstream {
		d.RuntimeResults = append(d.RuntimeResults, digestResult{r.RuntimeID, r.Status})
		if r.Story && r.Satisfies() {
			d.Narrative = narrativeOf(r)
		}
	}
	return marshal(d)
}

// narrativeOf is the story a run told.
func narrativeOf(r Result) string {
	var out struct{ NarrativeOutput string }
	if json.Unmarshal(r.Output, &out) == nil && out.NarrativeOutput != "" {
		return out.NarrativeOutput
	}
	var parts []string
	for _, s := range r.Segments {
		if t := strings.TrimSpace(s.Text); t != "" {
			parts = append(parts, t)
		}
	}
	return strings.Join(parts, "\n\n")
}

// redigest tells a frozen digest that runs were dropped at the commit.
func redigest(value json.RawMessage, dropped func(string) bool) json.RawMessage {
	var d digest
	if json.Unmarshal(value, &d) != nil {
		return value
	}
	for i, r := range d.RuntimeResults {
		if dropped(r.RuntimeID) {
			d.RuntimeResults[i].Status = Failed
		}
	}
	return marshal(d)
}

// Statuses of an operation.
const (
	OperationStaged    = "staged"
	OperationCommitted = "committed"
	OperationFailed    = "failed"
	OperationDiscarded = "discarded"
)

// operation is an entry of operations@1.
type operation struct {
	ID        string    `json:"id"`
	PluginID  string    `json:"pluginId"`
	Contract  string    `json:"contract"`
	Summary   string    `json:"summary"`
	Status    string    `json:"status"` // staged | committed
	InvokedBy invokedBy `json:"invokedBy"`
}

type invokedBy struct {
	RuntimeID string `json:"runtimeId"`
	PluginID  string `json:"pluginId"`
}

// operationsOf freezes the operations of completed runs: those staged in this execution, which the reader then depends on,
// and the committed ones of seeds, which are only to be known (seed: turn-pipeline.txt §2.3, "Kernel inputs also include
// operations@1").
func operationsOf(upstream []Result) (value json.RawMessage, reads []string) {
	list := []operation{}
	var add func(results []Result, seed bool)
	add = func(results []Result, seed bool) {
		for _, r := range results {
			if !r.Committable() {
				continue
			}
			add(r.Nested, seed || r.Seed)
			for _, o := range r.Operations {
				status := OperationStaged
				if seed || r.Seed {
					if o.Status != OperationCommitted {
						continue
					}
					status = OperationCommitted
				} else if !slices.Contains(reads, r.RunID) {
					reads = append(reads, r.RunID)
				}
				list = append(list, operation{o.ID, o.PluginID, o.Service, o.Summary, status, invokedBy{o.InvokedBy.RuntimeID, o.InvokedBy.PluginID}})
			}
		}
	}
	add(upstream, false)
	return marshal(list), reads
}

func kernelInput(name string, value json.RawMessage) sdk.Input {
	return sdk.Input{Cardinality: "one", Items: []sdk.InputItem{{Value: value, PluginID: kernelPlugin, Runtime: name}}}
}

// marshal writes a value of ours, whose free parts are JSON already.
func marshal(v any) json.RawMessage {
	b, err := plainjson.Marshal(v)
	if err != nil {
		panic("turn: " + err.Error())
	}
	return b
}
