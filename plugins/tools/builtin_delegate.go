package tools

import (
	"context"
	"encoding/json"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/plugins/sdk"
)

// Delegated is a sub-agent's answer to a call of delegate.
type Delegated struct {
	Output json.RawMessage // what the model reads, projected like any result
	Kept   json.RawMessage // what code and records get of it; nil when it is private
	Staged []string        // types of the writes that it staged through write services, one for each
}

// delegate is answered by whoever runs the agent loop (Call.Delegate): a tool has no way to start a run.
var delegate = sdk.MustDefine(sdk.Tool{
	Name: Delegate,
	Description: "Hand one job to a sub-agent and get its output back. The sub-agent reads only what the brief and data say, and " +
		"cannot delegate further. Calls run one after another.",
	Annotations: sdk.Annotations{StagesWrites: &stagesWrites},
}, func(context.Context, sdk.AgentRequest, *sdk.Runtime) (sdk.ToolResult, error) {
	return sdk.ToolResult{}, sdk.Fail(sdk.Unavailable, "This run cannot start sub-agents.")
})

var stagesWrites = true

// delegated answers a call of delegate. Whatever fails beyond the arguments is the sub-agent's and not the caller's failure
// (seed: tools.txt, "delegate keeps its own rule: every failure except invalid-input sets the flag").
func (r CallResult) delegated(ctx context.Context, c Call, args json.RawMessage) CallResult {
	var ask sdk.AgentRequest
	if err := json.Unmarshal(args, &ask); err != nil {
		return r.crash(err)
	}
	done, err := c.Delegate(ctx, ask)
	if err != nil {
		r = r.failed(err)
		r.Refused = r.Err.Code != sdk.InvalidInput
		return r
	}
	text := success{Data: ModelFacingJSON(done.Output)}
	if n := len(done.Staged); n > 0 {
		var types []sdk.Proposal
		for _, t := range done.Staged {
			types = append(types, sdk.Proposal{Type: t})
		}
		text.Staged = &staged{Count: n, Kinds: kinds(types, nil), Notice: inLanguage(stagedNotice, c.Language)}
	}
	b, err := plainjson.Marshal(text)
	if err != nil {
		return r.crash(err)
	}
	r.Envelope, r.Content, r.Wrote = string(b), done.Kept, len(done.Staged) > 0
	if r.Content == nil {
		r.Content = json.RawMessage("null")
	}
	return r
}
