package sdk

import (
	"context"
	"encoding/json"
)

// Agents runs sub-agents inside the execution of the run that asks: another agent answers a brief and returns its output
// (seed: turn-pipeline.txt §4.4). A sub-agent writes nothing of its own; what it stages through write services commits with
// the run that asked, when it succeeds.
type Agents interface {
	// Run blocks until the sub-agent has ended, at most until ctx or the run ends. Calls may overlap; at most eight sub-agents
	// of one execution run at once, and one more is refused at once. The error is a *ToolError with the codes of the tool
	// delegate: invalid-input, not-found, ambiguous, unavailable, timeout, cancelled, internal. It does not fail the run.
	Run(ctx context.Context, ask AgentRequest) (AgentAnswer, error)
}

// AgentTarget names the sub-agent: the provider of a contract in any active plugin, or a runtime of the own package.
type AgentTarget struct {
	Contract  string `json:"contract,omitempty" describe:"Contract of the sub-agent's output, such as look.scene@1."`
	RuntimeID string `json:"runtimeId,omitempty" describe:"A sub-agent of this plugin."`
}

// AgentRequest is what a sub-agent is asked.
type AgentRequest struct {
	Target AgentTarget `json:"target" describe:"Who is asked: contract or runtimeId, not both."`
	Brief  string      `json:"brief" jsonschema:"minLength=1,maxLength=20000" describe:"The task, with everything the sub-agent has to know: it does not read the conversation."`
	// Data are further facts, a JSON object of at most 32 KB; not for character actors.
	Data json.RawMessage `json:"data,omitempty" jsonschema:"type=object" describe:"Optional facts for the task, a JSON object."`
	// Character and Instruction are for character actors (character-actor@1) only.
	Character   string `json:"character,omitempty" jsonschema:"maxLength=80" describe:"Character actors only: name or alias of the character."`
	Instruction string `json:"instruction,omitempty" jsonschema:"maxLength=2000" describe:"Character actors only: direction for the character."`
	// MaxSteps lowers the sub-agent's own step limit; 0 leaves it.
	MaxSteps int `json:"maxSteps,omitempty" jsonschema:"minimum=1" describe:"Optional step limit, at most the sub-agent's own."`
}

// AgentAnswer is what a sub-agent that succeeded returns.
type AgentAnswer struct {
	Output     json.RawMessage // fits the contract
	StopReason string
	Usage      AgentUsage
}

// AgentUsage is what a sub-agent has used.
type AgentUsage struct {
	InputTokens  int
	OutputTokens int
	ModelCalls   int
	ToolCalls    int
}
