package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/covel/covel/kernel/loop"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/prompt/budget"
	"github.com/covel/covel/plugins/sdk"
)

// textGateway lets plugin code ask a model (reference: plugins.md §11, "gateway").
type textGateway struct {
	model   model.Provider
	subject string // the plugin, for records and scripted replies
	slot    string // where a request names none; "" is fast
	// asking, which may be nil, is told of each request before it is sent; what it returns is told of the answer. An error
	// refuses the request.
	asking func(context.Context, model.Request) (context.Context, func(model.Reply, error), error)
}

// fastSlot is the slot of small work.
const fastSlot = "fast"

// GenerateText implements sdk.Gateway.
func (g textGateway) GenerateText(ctx context.Context, in sdk.TextRequest) (sdk.TextReply, error) {
	reply, err := g.ask(ctx, in, nil)
	if err != nil {
		return sdk.TextReply{}, err
	}
	return sdk.TextReply{Text: reply.Text, Truncated: reply.FinishReason == model.FinishLength}, nil
}

// GenerateObject implements sdk.Gateway.
func (g textGateway) GenerateObject(ctx context.Context, in sdk.ObjectRequest) (json.RawMessage, error) {
	if len(in.Schema) == 0 {
		return nil, errors.New("generateObject needs a schema")
	}
	reply, err := g.ask(ctx, in.TextRequest, &model.ResponseFormat{Name: "object", Schema: in.Schema})
	if err != nil {
		return nil, err
	}
	if reply.FinishReason == model.FinishLength {
		return nil, errors.New("the model's answer was cut off at the limit of its length")
	}
	return loop.ReadOutput(in.Schema, reply.Text)
}

func (g textGateway) ask(ctx context.Context, in sdk.TextRequest, format *model.ResponseFormat) (reply model.Reply, err error) {
	slot := cmp.Or(in.Slot, g.slot, fastSlot)
	req := model.Request{Slot: slot, Subject: g.subject, MaxOutputTokens: max(in.MaxOutputTokens, 0), ResponseFormat: format}
	if s := strings.TrimSpace(in.System); s != "" {
		req.Messages = append(req.Messages, model.Message{Role: model.System, Content: s})
	}
	req.Messages = append(req.Messages, model.Message{Role: model.User, Content: in.Prompt})
	if strings.TrimSpace(in.Prompt) == "" {
		return reply, errors.New("the request to a model needs a prompt")
	}
	req, _, _, err = budget.Apply(budget.Ledger{}, req, budget.Options{Capacity: model.CapacityOf(g.model, slot)})
	if err != nil {
		return reply, err
	}
	if g.asking != nil {
		var answered func(model.Reply, error)
		if ctx, answered, err = g.asking(ctx, req); err != nil {
			return reply, err
		}
		defer func() { answered(reply, err) }()
	}
	if reply, err = g.model.Generate(ctx, req, nil); err != nil {
		return reply, err
	}
	if reply.FinishReason == model.FinishContentFilter || reply.FinishReason == model.FinishError {
		return reply, errors.Errorf("the model ended its answer with %q", reply.FinishReason)
	}
	return reply, nil
}

// modelGateway is the gateway of a guard or a handler: what it asks is traced and counts as the run's.
func (k *code) modelGateway() sdk.Gateway {
	if k.r.Model == nil {
		return nil
	}
	rt := k.run.start.Runtime
	return textGateway{model: k.run.frozen.Account.Provider(k.r.Model), subject: rt.ID, slot: cmp.Or(rt.Function.Model, rt.Agent.Model), asking: k.asking}
}

func (k *code) asking(ctx context.Context, req model.Request) (context.Context, func(model.Reply, error), error) {
	var n int
	if err := k.do(func() error { k.run.asked++; n = k.run.asked; return nil }); err != nil {
		return ctx, nil, err
	}
	ctx, stop := k.r.within(ctx)
	told := emitGateway(k.r.Trace, k.run.scope(), k.r.Model, k.run.start.RunID+"-code-"+strconv.Itoa(n), "", req)
	return ctx, func(reply model.Reply, err error) {
		stop()
		k.r.spend(told.ended(reply, err))
	}, nil
}
