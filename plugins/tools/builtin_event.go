package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/covel/covel/plugins/schema"
	"github.com/covel/covel/plugins/sdk"
)

// Topic is a domain event that agents may emit in this session: declared by an active plugin and advertised.
type Topic struct {
	Topic       string
	Description string
	Schema      json.RawMessage // of the data; nil accepts any object
}

type eventArgs struct {
	Topic string          `json:"topic" jsonschema:"minLength=1" describe:"Event topic."`
	Data  json.RawMessage `json:"data,omitempty"`
}

// eventParameters is what a call is checked against; the data is checked against its topic's schema by the tool, so that an
// unknown topic is refused and not invalid-input.
var eventParameters = json.RawMessage(`{"type":"object","properties":{"topic":{"type":"string","minLength":1,"description":"Event topic."},"data":{"type":"object","description":"Event payload."}},"required":["topic"]}`)

// emitEvent is the tool for one call: topics are the session's advertised ones, emitted those this loop has emitted already
// (seed: tools.txt, "The four results of a call").
func emitEvent(topics []Topic, emitted []string, compiled *schema.Cache) sdk.Tool {
	t := emitEventTool
	t.Execute = func(_ context.Context, raw json.RawMessage, _ *sdk.Runtime) (sdk.ToolResult, error) {
		var a eventArgs
		if err := json.Unmarshal(raw, &a); err != nil {
			return sdk.ToolResult{}, sdk.Fail(sdk.InvalidInput, "%s.", err)
		}
		return emit(a, topics, emitted, compiled)
	}
	return t
}

var emitEventTool = sdk.MustDefine(sdk.Tool{
	Name:        EmitEvent,
	Description: "Emit one domain event of this session. One topic per call; emit a topic once per turn.",
	Parameters:  eventParameters,
}, func(context.Context, eventArgs, *sdk.Runtime) (sdk.ToolResult, error) {
	return sdk.ToolResult{}, sdk.Fail(sdk.Unavailable, "There is no event directory.")
})

type eventEmitted struct {
	Topic   string `json:"topic"`
	Emitted bool   `json:"emitted"`
}

func emit(a eventArgs, topics []Topic, emitted []string, compiled *schema.Cache) (sdk.ToolResult, error) {
	if slices.Contains(emitted, a.Topic) {
		return sdk.WithModelView(eventEmitted{Topic: a.Topic}, sdk.ModelView{
			Summary: fmt.Sprintf("event %q was already emitted this turn and is recorded. Do not emit it again; continue with the task.", a.Topic),
		}), nil
	}
	at := slices.IndexFunc(topics, func(t Topic) bool { return t.Topic == a.Topic })
	if at < 0 {
		return sdk.ToolResult{}, sdk.Fail(sdk.Refused,
			"unknown topic %q; no active plugin consumes it, so it cannot be emitted. Do not retry it. Available topics: %s", a.Topic, topicList(topics))
	}
	data := a.Data
	if len(data) == 0 || string(data) == "null" {
		data = json.RawMessage("{}")
	}
	if s := topics[at].Schema; len(s) > 0 {
		fits, err := compiled.Compile(s)
		if err != nil {
			return sdk.ToolResult{}, sdk.Fail(sdk.Internal, "event payload rejected: the schema of %q cannot be read", a.Topic)
		}
		if f := fits.CheckJSON(data); f != nil {
			return sdk.ToolResult{}, sdk.Fail(sdk.InvalidInput, "event payload rejected: %s", f)
		}
	}
	view := sdk.ModelView{Summary: fmt.Sprintf("event %q emitted and recorded for this turn. Do not emit it again.", a.Topic)}
	return sdk.WithEmittedEvents(sdk.WithModelView(eventEmitted{Topic: a.Topic, Emitted: true}, view), []sdk.EmittedEvent{{Topic: a.Topic, Data: data}}), nil
}

func topicList(topics []Topic) string {
	if len(topics) == 0 {
		return "(none — no consumer plugin active)"
	}
	names := make([]string, len(topics))
	for i, t := range topics {
		names[i] = t.Topic
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}
