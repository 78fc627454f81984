package runtime

import (
	"cmp"
	"context"
	"strings"

	"github.com/pkg/errors"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/prompt/budget"
	"github.com/covel/covel/plugins/sdk"
)

// textGateway lets plugin code ask a model for a text (reference: plugins.md §11, "gateway").
type textGateway struct {
	model   model.Provider
	subject string // the plugin, for records and scripted replies
}

// fastSlot is the slot of small work.
const fastSlot = "fast"

// GenerateText implements sdk.Gateway.
func (g textGateway) GenerateText(ctx context.Context, in sdk.TextRequest) (sdk.TextReply, error) {
	slot := cmp.Or(in.Slot, fastSlot)
	req := model.Request{Slot: slot, Subject: g.subject, MaxOutputTokens: max(in.MaxOutputTokens, 0)}
	if s := strings.TrimSpace(in.System); s != "" {
		req.Messages = append(req.Messages, model.Message{Role: model.System, Content: s})
	}
	req.Messages = append(req.Messages, model.Message{Role: model.User, Content: in.Prompt})
	if strings.TrimSpace(in.Prompt) == "" {
		return sdk.TextReply{}, errors.New("generateText needs a prompt")
	}
	req, _, _, err := budget.Apply(budget.Ledger{}, req, budget.Options{Capacity: model.CapacityOf(g.model, slot)})
	if err != nil {
		return sdk.TextReply{}, err
	}
	reply, err := g.model.Generate(ctx, req, nil)
	if err != nil {
		return sdk.TextReply{}, err
	}
	if reply.FinishReason == model.FinishContentFilter || reply.FinishReason == model.FinishError {
		return sdk.TextReply{}, errors.Errorf("the model ended its answer with %q", reply.FinishReason)
	}
	return sdk.TextReply{Text: reply.Text, Truncated: reply.FinishReason == model.FinishLength}, nil
}
