// Package hook decides what becomes of the answers that plugins' hooks give: in which order handlers are asked, which fields
// an answer may replace, what an abort and a failure mean. It is pure: the shell in actors/hook calls the plugins' code.
package hook

import (
	"encoding/json"

	"github.com/covel/covel/plugins/sdk"
)

// Rule is how one event treats its handlers.
type Rule struct {
	// Parallel: handlers run side by side and only look on. Otherwise they run one after another, each with what the one
	// before made of the payload.
	Parallel bool
	// Guard: the event can be intercepted. An abort stops it, and a handler that fails counts as an abort (seed:
	// extension-points.txt, "a handler that fails counts as a rejection").
	Guard bool
	// replace puts the fields of an answer into the payload; nil ignores replacements. An error is a malformed answer.
	replace func(payload, with json.RawMessage, o *Outcome) (json.RawMessage, error)
}

// rules are the events (reference: plugins.md §15; PreStep: turn-pipeline.txt, "The order within each step").
var rules = map[sdk.HookEvent]Rule{
	sdk.OnSessionStart.Name:        {Parallel: true},
	sdk.OnTurnStart.Name:           {Guard: true},
	sdk.OnPreCompaction.Name:       {Guard: true},
	sdk.OnPostCompaction.Name:      {Parallel: true},
	sdk.OnPreSchedule.Name:         {replace: schedule},
	sdk.OnPreRuntime.Name:          {Guard: true},
	sdk.OnPostContextAssembly.Name: {replace: merge(assembledContext)},
	sdk.OnPreStep.Name:             {Guard: true, replace: merge(step)},
	sdk.OnPreLLMCall.Name:          {replace: merge(modelCall)},
	sdk.OnPostLLMResponse.Name:     {replace: merge(modelResponse)},
	sdk.OnPostRuntime.Name:         {replace: merge(runtimeEnded)},
	sdk.OnPreToolUse.Name:          {Guard: true, replace: merge(toolUse)},
	sdk.OnPostToolUse.Name:         {replace: merge(toolUsed)},
	sdk.OnPreStateCommit.Name:      {Guard: true, replace: merge(committing)},
	sdk.OnPostStateCommit.Name:     {Parallel: true},
	sdk.OnTurnStop.Name:            {Parallel: true},
	sdk.OnSessionEnd.Name:          {Parallel: true},
}

// RuleOf gives the rule of an event; an unknown event has the zero rule, which nobody registers for.
func RuleOf(e sdk.HookEvent) Rule { return rules[e] }
