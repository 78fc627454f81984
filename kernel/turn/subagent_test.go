package turn

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

func helper(id, contract string) manifest.Runtime {
	plugin, _, _ := strings.Cut(id, "/")
	return manifest.Runtime{ID: id, PluginID: plugin, Type: manifest.TypeAgent, Schedule: manifest.Schedule{SubagentOnly: true}, IO: manifest.IO{OutputContract: contract}}
}

// Rule TL:710: target is a contract, of any package, or a runtime of the own package, never both.
// Rule TL:711: a brief has 1 to 20,000 characters; TL:712: data is a JSON object of at most 32 KB.
// Rule TL:713: a character's name has at most 80 characters; TL:714: an instruction at most 2,000.
func TestCheckRequest(t *testing.T) {
	at := sdk.AgentTarget{Contract: "look.scene@1"}
	for name, c := range map[string]struct {
		ask  sdk.AgentRequest
		says string
	}{
		"good":                 {sdk.AgentRequest{Target: at, Brief: strings.Repeat("谁", 20_000), Data: json.RawMessage(`{"在":"鼓楼"}`), MaxSteps: 3}, ""},
		"no target":            {sdk.AgentRequest{Brief: "谁？"}, "target: give either"},
		"two targets":          {sdk.AgentRequest{Target: sdk.AgentTarget{Contract: "a@1", RuntimeID: "b"}, Brief: "谁？"}, "target: give either"},
		"no brief":             {sdk.AgentRequest{Target: at, Brief: " \n"}, "brief: is required"},
		"a long brief":         {sdk.AgentRequest{Target: at, Brief: strings.Repeat("谁", 20_001)}, "brief: at most 20000"},
		"data that is a list":  {sdk.AgentRequest{Target: at, Brief: "谁？", Data: json.RawMessage(`[]`)}, "data: must be a JSON object"},
		"data that is no JSON": {sdk.AgentRequest{Target: at, Brief: "谁？", Data: json.RawMessage(`{`)}, "data: must be a JSON object"},
		"much data":            {sdk.AgentRequest{Target: at, Brief: "谁？", Data: json.RawMessage(`{"a":"` + strings.Repeat("x", 32<<10) + `"}`)}, "data: at most 32768 bytes"},
		"a long name":          {sdk.AgentRequest{Target: at, Brief: "谁？", Character: strings.Repeat("龙", 81)}, "character: at most 80"},
		"a long instruction":   {sdk.AgentRequest{Target: at, Brief: "谁？", Instruction: strings.Repeat("龙", 2_001)}, "instruction: at most 2000"},
		"fewer than no steps":  {sdk.AgentRequest{Target: at, Brief: "谁？", MaxSteps: -1}, "maxSteps"},
	} {
		failure := CheckRequest(c.ask)
		if c.says == "" && failure != nil || c.says != "" && (failure == nil || failure.Code != sdk.InvalidInput || !strings.Contains(failure.Message, c.says)) {
			t.Errorf("%s: %v", name, failure)
		}
	}
}

// Rule EP:9: the provider is an agent that declares subagentOnly and an output contract, in any package.
// Rule TL:768: a contract that several provide is ambiguous; TL:767: nobody's is not-found.
func TestFindSubagent(t *testing.T) {
	seer := helper("seer", "moon.phase@1")
	staged := helper("staged", "look.scene@1")
	staged.Schedule = manifest.Schedule{Stage: manifest.PostTurn}
	active := []manifest.Runtime{helper("scout/near", "look.scene@1"), seer, helper("other", "moon.phase@1"), staged}
	for name, c := range map[string]struct {
		caller string
		target sdk.AgentTarget
		want   string
		code   sdk.ToolErrorCode
	}{
		"by contract, of another plugin":       {"teller", sdk.AgentTarget{Contract: "look.scene@1"}, "scout/near", ""},
		"two providers":                        {"teller", sdk.AgentTarget{Contract: "moon.phase@1"}, "", sdk.Ambiguous},
		"nobody":                               {"teller", sdk.AgentTarget{Contract: "sun@1"}, "", sdk.NotFound},
		"by id, of the own plugin":             {"scout", sdk.AgentTarget{RuntimeID: "scout/near"}, "scout/near", ""},
		"by id, of another plugin":             {"teller", sdk.AgentTarget{RuntimeID: "scout/near"}, "", sdk.NotFound},
		"by id, of a runtime that has a stage": {"staged", sdk.AgentTarget{RuntimeID: "staged"}, "", sdk.NotFound},
	} {
		got, failure := FindSubagent(active, "", c.caller, c.target)
		if code := codeOf(failure); got.ID != c.want || code != c.code {
			t.Errorf("%s: %s %v", name, got.ID, failure)
		}
	}
}

// Rule TP:1176: the execution is bound to one policy, and asks no other. Rule TP:1178: which one is what the session prefers.
// Rule TP:1174: a policy that is not active is not activated for being preferred.
func TestBindPolicy(t *testing.T) {
	one, two := helper("dialogue/planner", TurnPolicy), helper("策略", TurnPolicy)
	one.PluginID, two.PluginID = "dialogue", "tactics"
	staged := helper("staged", TurnPolicy)
	staged.Schedule = manifest.Schedule{Stage: manifest.PreTurn}
	other := helper("scout", "look.scene@1")
	for name, c := range map[string]struct {
		active []manifest.Runtime
		chosen string
		want   string
		code   sdk.ToolErrorCode // of asking for it
	}{
		"nobody":                       {[]manifest.Runtime{other, staged}, "", "", sdk.NotFound},
		"the only one":                 {[]manifest.Runtime{staged, other, one}, "", one.ID, ""},
		"two, none is preferred":       {[]manifest.Runtime{one, two}, "", "", sdk.Ambiguous},
		"two, one is preferred":        {[]manifest.Runtime{one, two}, "tactics", two.ID, ""},
		"the preferred one is away":    {[]manifest.Runtime{one}, "tactics", "", sdk.NotFound},
		"the preferred one gives none": {[]manifest.Runtime{one, other}, "scout", "", sdk.NotFound},
	} {
		bound := BindPolicy(c.active, c.chosen)
		got, failure := FindSubagent(c.active, bound, "teller", sdk.AgentTarget{Contract: TurnPolicy})
		if bound != c.want || got.ID != c.want || codeOf(failure) != c.code {
			t.Errorf("%s: bound to %q, found %q %v", name, bound, got.ID, failure)
		}
	}
	if got, failure := FindSubagent([]manifest.Runtime{one, two, other}, one.ID, "teller", sdk.AgentTarget{Contract: "look.scene@1"}); got.ID != other.ID || failure != nil {
		t.Errorf("another contract: %v %v", got.ID, failure)
	}
}

func codeOf(e *sdk.ToolError) sdk.ToolErrorCode {
	if e == nil {
		return ""
	}
	return e.Code
}

// Rule TL:1952: a character actor needs a character, found by name or alias and never by an id, and takes no data; for every
// other contract character and instruction are refused, also when it is named by its runtime.
func TestBriefOf(t *testing.T) {
	cast := []sdk.Character{
		{ID: "npc-mara", Name: "Mara", Aliases: []string{"玛拉"}, Type: "npc", Description: "A ferrywoman.", Fields: json.RawMessage(`{"mood":"calm"}`)},
		{ID: "npc-a", Name: "双子"}, {ID: "npc-b", Name: "双子"},
	}
	actor, scout := helper("stage", CharacterActor), helper("scout", "look.scene@1")
	for name, c := range map[string]struct {
		who  manifest.Runtime
		ask  sdk.AgentRequest
		code sdk.ToolErrorCode
	}{
		"an actor":                   {actor, sdk.AgentRequest{Brief: "答", Character: "玛拉", Instruction: "低声"}, ""},
		"nobody named":               {actor, sdk.AgentRequest{Brief: "答"}, sdk.InvalidInput},
		"with data":                  {actor, sdk.AgentRequest{Brief: "答", Character: "Mara", Data: json.RawMessage(`{}`)}, sdk.InvalidInput},
		"by id":                      {actor, sdk.AgentRequest{Brief: "答", Character: "npc-mara"}, sdk.NotFound},
		"unknown":                    {actor, sdk.AgentRequest{Brief: "答", Character: "无名"}, sdk.NotFound},
		"two of a name":              {actor, sdk.AgentRequest{Brief: "答", Character: "双子"}, sdk.Ambiguous},
		"another contract":           {scout, sdk.AgentRequest{Brief: "谁？", Data: json.RawMessage(`{"a":1}`)}, ""},
		"a character for another":    {scout, sdk.AgentRequest{Brief: "谁？", Character: "Mara"}, sdk.InvalidInput},
		"an instruction for another": {scout, sdk.AgentRequest{Brief: "谁？", Instruction: "低声"}, sdk.InvalidInput},
	} {
		b, failure := BriefOf(c.ask, c.who, cast)
		if codeOf(failure) != c.code {
			t.Errorf("%s: %v", name, failure)
			continue
		}
		if name == "an actor" && (b.CharacterID != "npc-mara" || !b.Private || !strings.Contains(string(b.Payload), `"A ferrywoman."`) || strings.Contains(string(b.Payload), "npc-mara") || !strings.Contains(string(b.Payload), "低声")) {
			t.Errorf("%+v %s", b, b.Payload)
		}
		if name == "another contract" && (b.Private || string(b.Payload) != `{"a":1}`) {
			t.Errorf("%+v", b)
		}
		if strings.Contains(failureText(failure), "npc-mara") && c.ask.Character != "npc-mara" {
			t.Errorf("%s tells an id: %v", name, failure)
		}
	}
}

func failureText(e *sdk.ToolError) string {
	if e == nil {
		return ""
	}
	return e.Message + e.Hint
}

// Rule TL:1954: of a character actor only its segments go on to records and the caller's output, of a concealed one nothing.
func TestHanded(t *testing.T) {
	concealed := helper("scout", "look.scene@1")
	concealed.IO.Concealed = true
	out := json.RawMessage(`{"segments":[{"kind":"dialogue","text":"走吧"}],"intent":"骗他"}`)
	for _, c := range []struct {
		who    manifest.Runtime
		output json.RawMessage
		want   string
	}{
		{helper("stage", CharacterActor), out, `{"segments":[{"kind":"dialogue","text":"走吧"}]}`},
		{helper("stage", CharacterActor), json.RawMessage(`{"intent":"骗他"}`), ""},
		{concealed, out, ""},
		{helper("scout", "look.scene@1"), out, string(out)},
	} {
		if got := string(Handed(c.who, c.output)); got != c.want {
			t.Errorf("%s: %s", c.who.IO.OutputContract, got)
		}
	}
}

// Rule TL:766–774: how a sub-agent ended is told with a code: timeout, cancelled, unavailable for the budget, else internal.
// Rule REF plugins.md §8: the words of a concealed one stay hidden.
func TestSubagentFailure(t *testing.T) {
	for stop, code := range map[string]sdk.ToolErrorCode{
		"timeout": sdk.TimedOut, "cancelled": sdk.Cancelled, "cancelled-by-parent": sdk.Cancelled, "aborted-by-player": sdk.Cancelled,
		"budget-exceeded": sdk.Unavailable, "max-steps": sdk.Internal, "invalid-output": sdk.Internal, "model-error": sdk.Internal,
	} {
		failure := SubagentFailure(Result{Status: Failed, StopReason: stop, Error: "钥匙不对"}, false)
		if failure.Code != code || !strings.Contains(failure.Message, stop) || !strings.Contains(failure.Message, "钥匙不对") {
			t.Errorf("%s: %v", stop, failure)
		}
		if hidden := SubagentFailure(Result{Status: Failed, StopReason: stop, Error: "钥匙不对"}, true); strings.Contains(hidden.Message, "钥匙") {
			t.Errorf("%s tells %s", stop, hidden.Message)
		}
	}
	if failure := SubagentFailure(Result{Status: Succeeded}, true); failure != nil {
		t.Error(failure)
	}
}

// Rule TP:1168: what is kept of a sub-agent carries its fault and its usage, beside the results of the stages.
func TestSubagentRunOf(t *testing.T) {
	got := SubagentRunOf(Result{RuntimeID: "scout", PluginID: "scout", RunID: "r", Status: Failed, StopReason: "internal", Error: "x", Fault: true, Usage: Usage{ModelCalls: 2}}, Brief{ParentCallID: "call-1"})
	want := SubagentRun{RuntimeID: "scout", PluginID: "scout", RunID: "r", ParentCallID: "call-1", Status: Failed, StopReason: "internal", Error: "x", Fault: true, Usage: Usage{ModelCalls: 2}}
	if got != want {
		t.Errorf("%+v", got)
	}
}
