package projections

import eventsv1 "github.com/covel/covel/proto/covel/events/v1"

// Values of Settings.Gathering (decisions: "Seats, roles, gathering").
const (
	GatheringOff = "off"
	GatheringOn  = "on"
)

// Settings are what the owner of a session has set. Zero numbers take what the host sets.
type Settings struct {
	Gathering       string          `json:"gathering,omitempty"`       // off | on, "" is off
	GatherTimeoutMs uint64          `json:"gatherTimeoutMs,omitempty"` // how long submissions wait for the other seats; 0 waits for the owner
	AdvanceLimit    uint32          `json:"advanceLimit,omitempty"`    // rounds of automatic advancement within one input
	Allowances      Allowances      `json:"allowances"`
	ModelOverrides  []ModelOverride `json:"modelOverrides,omitempty"` // by runtime
	Orchestration   Orchestration   `json:"orchestration,omitzero"`
}

// Orchestration is how the session likes its stories to be put together (seed: turn-pipeline.txt, "metadata.orchestration"). Like
// all settings it does not follow the head, stands in every snapshot and goes with a copy of the session.
type Orchestration struct {
	Policy string `json:"policy,omitempty"` // plugin that is asked for turn-policy@1; "": the one there is
}

// Allowances bound what one root execution may spend, lowered for this session; 0 takes the host's.
type Allowances struct {
	ModelCalls uint32 `json:"modelCalls,omitempty"`
	ToolCalls  uint32 `json:"toolCalls,omitempty"`
	Subagents  uint32 `json:"subagents,omitempty"`
	DurationMs uint64 `json:"durationMs,omitempty"`
}

// ModelOverride gives a runtime, or all runtimes of a plugin, another model.
type ModelOverride struct {
	RuntimeID string `json:"runtimeId"`
	Model     string `json:"model"`
}

func settingsOf(m *eventsv1.Settings) Settings {
	a := m.GetAllowances()
	s := Settings{
		Gathering: m.GetGathering(), GatherTimeoutMs: m.GetGatherTimeoutMs(), AdvanceLimit: m.GetAdvanceLimit(),
		Allowances:    Allowances{a.GetModelCalls(), a.GetToolCalls(), a.GetSubagents(), a.GetDurationMs()},
		Orchestration: Orchestration{m.GetOrchestration().GetPolicy()},
	}
	for _, o := range m.GetModelOverrides() {
		s.ModelOverrides = append(s.ModelOverrides, ModelOverride{o.RuntimeId, o.Model})
	}
	return s
}
