package prompt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/covel/covel/plugins/sdk"
)

const (
	defaultDataEntries = 50
	maxDataSummary     = 200 // characters of a row in format summary
)

// dataBlock shows the plugin's own records, a line each: "- key" (ids-only), "- key: json" (full) or "- key | json" cut at
// 200 characters (summary). Over maxEntries half are the oldest, half the ones changed last, and a note tells the total
// (reference: plugins.md §18.6).
func (in In) dataBlock(d DataBlock) string {
	limit := d.Decl.MaxEntries
	if limit <= 0 {
		limit = defaultDataEntries
	}
	rows := newestAndOldest(d.Rows, limit)
	var lines []string
	for _, r := range rows {
		lines = append(lines, Escape(dataLine(d.Decl.Format, r)))
	}
	if len(rows) < len(d.Rows) {
		lines = append(lines, fmt.Sprintf(in.say().in("(%d of %d records: the oldest and the ones changed last)", "（共 %[2]d 条记录，此处为最早的与最近更改的 %[1]d 条）"), len(rows), len(d.Rows)))
	}
	tag := tagName(cmp.Or(d.Decl.As, d.Decl.Namespace))
	if tag == "" {
		return ""
	}
	return block(tag, strings.Join(lines, "\n"))
}

func newestAndOldest(rows []DataRow, limit int) []DataRow {
	if len(rows) <= limit {
		return rows
	}
	oldest := rows[:(limit+1)/2]
	rest := slices.Clone(rows[len(oldest):])
	slices.SortStableFunc(rest, byChange)
	return slices.Concat(oldest, rest[len(rest)-(limit-len(oldest)):])
}

// byChange puts what was changed longest ago first, and what this execution writes last.
func byChange(a, b DataRow) int {
	switch {
	case a.Updated.IsZero() && b.Updated.IsZero():
		return 0
	case a.Updated.IsZero():
		return 1
	case b.Updated.IsZero():
		return -1
	}
	return a.Updated.Compare(b.Updated)
}

func dataLine(format string, r DataRow) string {
	key := oneLine(r.Key)
	if format == "ids-only" {
		return "- " + key
	}
	v := modelFacing(decode(r.Value))
	if m, ok := v.(map[string]any); ok && m["id"] == r.Key {
		delete(m, "id") // a row's own id says nothing beside its key
	}
	value := toJSON(v, false)
	if format == "full" {
		return "- " + key + ": " + value
	}
	return "- " + key + " | " + cutRunes(value, maxDataSummary)
}

// slotsBlock shows bound input slots as a JSON map. A value that is this execution's own story is not repeated.
func (in In) slotsBlock(tag string, inputs map[string]sdk.Input) string {
	slots := map[string]any{}
	for name, input := range inputs {
		if len(input.Items) == 0 {
			continue
		}
		items := make([]any, len(input.Items))
		for i, item := range sortedItems(input.Items) {
			items[i] = map[string]any{"value": in.inputValue(item.Value), "source": map[string]any{"pluginId": item.PluginID, "runtimeId": item.Runtime}}
		}
		if input.Cardinality == "all" {
			slots[name] = map[string]any{"cardinality": "all", "items": items}
			continue
		}
		slot := items[0].(map[string]any)
		slot["cardinality"] = "one"
		slots[name] = slot
	}
	if len(slots) == 0 {
		return ""
	}
	return block(tag, Escape(toJSON(slots, false)))
}

func sortedItems(items []sdk.InputItem) []sdk.InputItem {
	sorted := slices.Clone(items)
	slices.SortStableFunc(sorted, func(a, b sdk.InputItem) int { return cmp.Compare(a.Runtime, b.Runtime) })
	return sorted
}

func (in In) inputValue(raw json.RawMessage) any {
	v := modelFacing(decode(raw))
	if in.isStory(v) {
		return in.say().in("(this turn's story: it stands in the conversation as the last assistant message)", "（本回合的正文：见对话中最后一条助手消息）")
	}
	return v
}

func (in In) isStory(v any) bool {
	s, ok := v.(string)
	return ok && in.Story != "" && s == in.Story
}

// bindsStory: the runtime has this execution's story as an input, whole or as the story runtime's output.
func (in In) bindsStory() bool {
	for _, input := range in.Inputs {
		for _, item := range input.Items {
			v := decode(item.Value)
			if m, ok := v.(map[string]any); ok {
				v = m["narrativeOutput"]
			}
			if in.isStory(v) {
				return true
			}
		}
	}
	return false
}

func (in In) activationBlock() string {
	if in.Activation == nil {
		return ""
	}
	a := map[string]any{"source": in.Activation.Source, "detached": in.Activation.Detached, "payload": modelFacing(decode(in.Activation.Payload))}
	if in.Activation.Topic != "" {
		a["topic"] = in.Activation.Topic
	}
	return block("runtime-activation", Escape(toJSON(a, false)))
}
