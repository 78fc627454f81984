package turn

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

// CharacterActor is the contract of sub-agents that play one character of the session.
const CharacterActor = "character-actor@1"

// TurnPolicy is the contract of advice on a turn: who acts in it, and in which order. What a policy says is its plugin's
// behaviour; no stage is scheduled for it and no plugin is activated by it (seed: turn-pipeline.txt, "Character composition and
// durable execution allowances").
const TurnPolicy = "turn-policy@1"

// Limits of a request (seed: tools.txt, "Sub-agents (delegate)").
const (
	maxBriefChars       = 20_000
	maxDataBytes        = 32 << 10
	maxCharacterChars   = 80
	maxInstructionChars = 2_000
)

// Brief is what a run that is a sub-agent was asked, and by whom.
type Brief struct {
	Text         string
	Payload      json.RawMessage // JSON object: data, or the character and its instruction; nil for none
	CharacterID  string          // of a character actor
	MaxSteps     int             // 0: the sub-agent's own
	ParentRunID  string
	ParentCallID string
	Private      bool // what is asked and answered stays out of traces and records
}

// CheckRequest holds a request against its limits, whoever made it.
func CheckRequest(ask sdk.AgentRequest) *sdk.ToolError {
	bad := func(format string, args ...any) *sdk.ToolError {
		return sdk.Fail(sdk.InvalidInput, format, args...).WithHint("Correct the request and try again.")
	}
	named := 0
	for _, name := range []string{ask.Target.Contract, ask.Target.RuntimeID} {
		if name != "" {
			named++
		}
	}
	switch {
	case named != 1:
		return bad("target: give either contract or runtimeId.")
	case strings.TrimSpace(ask.Brief) == "":
		return bad("brief: is required.")
	case utf8.RuneCountInString(ask.Brief) > maxBriefChars:
		return bad("brief: at most %d characters.", maxBriefChars)
	case len(ask.Data) > maxDataBytes:
		return bad("data: at most %d bytes of JSON, this is %d.", maxDataBytes, len(ask.Data))
	case len(ask.Data) > 0 && (!gjson.ValidBytes(ask.Data) || !gjson.ParseBytes(ask.Data).IsObject()):
		return bad("data: must be a JSON object.")
	case utf8.RuneCountInString(ask.Character) > maxCharacterChars:
		return bad("character: at most %d characters.", maxCharacterChars)
	case utf8.RuneCountInString(ask.Instruction) > maxInstructionChars:
		return bad("instruction: at most %d characters.", maxInstructionChars)
	case ask.MaxSteps < 0:
		return bad("maxSteps: must be at least 1.")
	}
	return nil
}

// FindSubagent finds who is asked, among the active runtimes that run as sub-agents only: by the contract of its output in
// any plugin, or by its id in the caller's own (seed: tools.txt, "Sub-agents (delegate)"). turn-policy@1 is
// given by the runtime that the execution has bound to it, and by no other.
func FindSubagent(active []manifest.Runtime, policy, caller string, t sdk.AgentTarget) (manifest.Runtime, *sdk.ToolError) {
	var found []manifest.Runtime
	unbound := 0
	for _, r := range active {
		switch {
		case !r.Schedule.SubagentOnly:
		case t.Contract == TurnPolicy && r.IO.OutputContract == TurnPolicy && r.ID != policy:
			unbound++
		case t.Contract != "" && r.IO.OutputContract == t.Contract, t.RuntimeID != "" && r.ID == t.RuntimeID && r.PluginID == caller:
			found = append(found, r)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case unbound > 1:
		return manifest.Runtime{}, sdk.Fail(sdk.Ambiguous, "Several plugins of this session provide %q, and none of them is chosen.", t.Contract)
	case len(found) > 1:
		return manifest.Runtime{}, sdk.Fail(sdk.Ambiguous, "Several sub-agents of this session provide %q.", t.Contract)
	case t.Contract != "":
		return manifest.Runtime{}, sdk.Fail(sdk.NotFound, "No sub-agent of this session provides %q.", t.Contract)
	}
	return manifest.Runtime{}, sdk.Fail(sdk.NotFound, "This plugin has no sub-agent %q.", t.RuntimeID)
}

// BindPolicy says which runtime an execution asks for turn-policy@1, "" for none: that of the plugin the session has chosen, else
// the only one there is among the active ones.
func BindPolicy(active []manifest.Runtime, chosen string) string {
	bound := ""
	for _, r := range active {
		switch {
		case !r.Schedule.SubagentOnly || r.IO.OutputContract != TurnPolicy || chosen != "" && r.PluginID != chosen:
		case bound != "":
			return ""
		default:
			bound = r.ID
		}
	}
	return bound
}

// BriefOf is what the sub-agent reads of a request that was checked. A character actor gets the profile of its character,
// whose id the host finds by name: no id is accepted for one (seed: tools.txt, "Character delegation and policy imports").
func BriefOf(ask sdk.AgentRequest, who manifest.Runtime, characters []sdk.Character) (Brief, *sdk.ToolError) {
	b := Brief{Text: ask.Brief, Payload: ask.Data, MaxSteps: ask.MaxSteps, Private: IsPrivate(who)}
	bad := func(format string, args ...any) (Brief, *sdk.ToolError) {
		return Brief{}, sdk.Fail(sdk.InvalidInput, format, args...)
	}
	if who.IO.OutputContract != CharacterActor {
		if ask.Character != "" || ask.Instruction != "" {
			return bad("character and instruction are for %s only.", CharacterActor)
		}
		return b, nil
	}
	switch {
	case len(ask.Data) > 0:
		return bad("data: a character actor takes none; say it in the brief.")
	case strings.TrimSpace(ask.Character) == "":
		return bad("character: name the character who acts.")
	}
	c, failure := byName(characters, ask.Character)
	if failure != nil {
		return Brief{}, failure
	}
	payload := map[string]any{"character": map[string]any{"name": c.Name, "aliases": c.Aliases, "type": c.Type, "description": c.Description, "fields": c.Fields}}
	if ask.Instruction != "" {
		payload["instruction"] = ask.Instruction
	}
	raw, err := plainjson.Marshal(payload)
	if err != nil {
		return Brief{}, sdk.Fail(sdk.Internal, "the profile of %q cannot be read", ask.Character)
	}
	b.Payload, b.CharacterID = raw, c.ID
	return b, nil
}

// byName finds a character by name or alias alone.
func byName(characters []sdk.Character, name string) (sdk.Character, *sdk.ToolError) {
	nameless := slices.Clone(characters)
	for i := range nameless {
		nameless[i].ID = fmt.Sprint("\x00", i) // no query is equal to it
	}
	found := sdk.ResolveCharacter(nameless, name, false)
	switch {
	case found.Found():
		i := slices.IndexFunc(nameless, func(c sdk.Character) bool { return c.ID == found.Character.ID })
		return characters[i], nil
	case found.Ambiguous():
		return sdk.Character{}, sdk.Fail(sdk.Ambiguous, "Several characters are called %q; use an alias that only one has.", name)
	}
	var known []string
	for _, c := range characters[:min(len(characters), 20)] {
		known = append(known, c.Label())
	}
	return sdk.Character{}, sdk.Fail(sdk.NotFound, "No character is called %q.", name).WithHint("Characters of this session: %s.", strings.Join(known, ", "))
}

// IsPrivate says whether what a sub-agent is told and answers is kept out of traces and records.
func IsPrivate(who manifest.Runtime) bool {
	return who.IO.Concealed || who.IO.OutputContract == CharacterActor
}

// Handed is what of a sub-agent's output goes on to records and to the caller's own output: of a character actor its
// segments, of a concealed one nothing (seed: tools.txt, "A completing delegate passes the output to the caller's output gate
// after private projection").
func Handed(who manifest.Runtime, output json.RawMessage) json.RawMessage {
	switch {
	case who.IO.Concealed:
		return nil
	case who.IO.OutputContract == CharacterActor:
		segments := gjson.GetBytes(output, "segments")
		if !segments.IsArray() {
			return nil
		}
		return json.RawMessage(`{"segments":` + segments.Raw + `}`)
	}
	return output
}

// SubagentFailure tells the caller why a sub-agent gave no answer; nil when it gave one. The stop reason is the sub-agent's
// and never becomes its caller's.
func SubagentFailure(res Result, concealed bool) *sdk.ToolError {
	if res.Status == Succeeded {
		return nil
	}
	code := sdk.Internal
	switch res.StopReason {
	case "timeout":
		code = sdk.TimedOut
	case "cancelled", "cancelled-by-parent", "aborted-by-player":
		code = sdk.Cancelled
	case "budget-exceeded":
		code = sdk.Unavailable
	}
	why := res.Error
	if concealed || why == "" {
		why = "it gave no answer"
	}
	return sdk.Fail(code, "The sub-agent ended with %s: %s", res.StopReason, why)
}

// SubagentRunOf is what is kept of a sub-agent that ended, for usage, trace and faults.
func SubagentRunOf(res Result, b Brief) SubagentRun {
	return SubagentRun{
		RuntimeID: res.RuntimeID, PluginID: res.PluginID, RunID: res.RunID, ParentCallID: b.ParentCallID, Status: res.Status,
		StopReason: res.StopReason, Error: res.Error, Usage: res.Usage, Fault: res.Fault,
	}
}

// ParentRunID is the run that called or asked this one, "" for a run of the stages.
func (r Run) ParentRunID() string {
	if r.Subagent != nil {
		return r.Subagent.ParentRunID
	}
	if n := len(r.Callers); n > 0 {
		return r.Callers[n-1].RunID
	}
	return ""
}
