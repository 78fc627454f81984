package turn

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
)

// DiagnosticUnknownTopic is the code under which the trace tells that an agent's answer emitted an event that it may not.
const DiagnosticUnknownTopic = "event-topic-unknown"

// AgentOutput is what the final object of an agent comes to.
type AgentOutput struct {
	Value  json.RawMessage // for its contract and its readers
	Events []sdk.EmittedEvent
	Done   bool // it reports its set-up done
	// Refused are events on topics that agents may not emit in this session: left out, and no failure.
	Refused []sdk.EmittedEvent
}

// SplitOutput takes the final object of an agent apart (seed: turn-pipeline.txt §2.2, "split agent protocol"). Of the list
// events only entries of the shape {topic, data?} are domain events, which leave the value; others are the plugin's own
// data (seed: tools.txt, "Normalization only recognizes a { topic, data? } envelope"). topics are those that agents may emit;
// what the loop emitted already is not emitted again. An error says which event does not fit the schema of its topic.
func SplitOutput(output json.RawMessage, topics []tools.Topic, emitted []string) (AgentOutput, error) {
	out := AgentOutput{Value: output}
	var object map[string]json.RawMessage
	if json.Unmarshal(output, &object) != nil || object == nil {
		return out, nil
	}
	out.Done = string(bytes.TrimSpace(object["preGameDone"])) == "true"
	var list, data []json.RawMessage
	if json.Unmarshal(object["events"], &list) != nil {
		return out, nil
	}
	for _, entry := range list {
		e, ok := envelope(entry)
		if !ok {
			data = append(data, entry)
			continue
		}
		at := slices.IndexFunc(topics, func(t tools.Topic) bool { return t.Topic == e.Topic })
		switch {
		case at < 0:
			out.Refused = append(out.Refused, e)
		case slices.Contains(emitted, e.Topic): // once in a loop
		default:
			if err := CheckEvent(topics[at].Schema, e); err != nil {
				return out, err
			}
			out.Events, emitted = append(out.Events, e), append(slices.Clone(emitted), e.Topic)
		}
	}
	if len(data) == len(list) {
		return out, nil
	}
	delete(object, "events")
	if len(data) > 0 {
		object["events"] = marshal(data)
	}
	value, err := plainjson.Marshal(object)
	out.Value = value
	return out, err
}

// envelope reads a domain event: an object with a topic, which is text, and nothing beside it but data.
func envelope(raw json.RawMessage) (sdk.EmittedEvent, bool) {
	entry := gjson.ParseBytes(raw)
	if !entry.IsObject() || entry.Get("topic").Type != gjson.String {
		return sdk.EmittedEvent{}, false
	}
	e, ok := sdk.EmittedEvent{}, true
	entry.ForEach(func(key, value gjson.Result) bool {
		switch key.String() {
		case "topic":
			e.Topic = value.String()
		case "data":
			e.Data = json.RawMessage(value.Raw)
		default:
			ok = false
		}
		return ok
	})
	return e, ok
}
