package terminal

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/covel/covel/projections"
)

// A plugin's panel under the newest message is a tree of components with addresses into the plugin's data. In a terminal
// its texts become lines, and its buttons, when they put a line into the player's mouth, become numbered suggestions.

// panel is what is read of a specification.
type panel struct {
	pluginID   string
	DataSource struct {
		Namespace string `json:"namespace"`
	} `json:"dataSource"`
	View component `json:"view"`
}

type component struct {
	Component string         `json:"component"`
	Type      string         `json:"type"` // the other name of component
	Props     map[string]any `json:"props"`
	Children  []component    `json:"children"`
	Repeat    *struct {
		StatePath string `json:"statePath"`
	} `json:"repeat"`
	On map[string]json.RawMessage `json:"on"` // an action, or a list of them
}

type binding struct {
	Action string         `json:"action"`
	Params map[string]any `json:"params"`
}

// drawn is a panel as lines.
type drawn struct {
	Lines       []panelLine
	Suggestions []string // lines a player can send as they are
}

type panelLine struct {
	Text          string
	Strong, Muted bool
}

// readPanel reads a specification; ok false when a terminal cannot show it.
func readPanel(pluginID string, spec json.RawMessage) (p panel, ok bool) {
	if json.Unmarshal(spec, &p) != nil || p.DataSource.Namespace == "" {
		return p, false
	}
	p.pluginID = pluginID
	return p, true
}

// draw shows the panel over the records of its namespace. An address that leads nowhere is empty text.
func (p panel) draw(records map[string]projections.RawJSON) drawn {
	entries := []any{}
	state := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(records)) {
		var value any
		if json.Unmarshal(records[key], &value) != nil {
			continue
		}
		state[key] = value
		entries = append(entries, map[string]any{"key": key, "value": value})
	}
	state["entries"] = entries
	d := drawing{state: state}
	d.component(p.View, nil, 0)
	return d.drawn
}

type drawing struct {
	drawn
	state any
}

// Limits of what is drawn of a foreign tree.
const (
	maxDepth = 32
	maxLines = 200
)

func (d *drawing) component(c component, item any, depth int) {
	if depth > maxDepth || len(d.Lines) > maxLines {
		return
	}
	d.text(c, item)
	d.suggestion(c, item)
	if c.Repeat == nil {
		for _, child := range c.Children {
			d.component(child, item, depth+1)
		}
		return
	}
	list, _ := at(d.state, c.Repeat.StatePath).([]any)
	for _, each := range list {
		for _, child := range c.Children {
			d.component(child, each, depth+1)
		}
	}
}

func (d *drawing) text(c component, item any) {
	kind := c.Component
	if kind == "" {
		kind = c.Type
	}
	var from string
	switch kind {
	case "Text", "Prose", "Heading", "PlayerMessage":
		from = "content"
	case "Badge", "Source":
		from = "label"
	default:
		return
	}
	if text := strings.TrimSpace(textOf(d.value(c.Props[from], item))); text != "" {
		d.Lines = append(d.Lines, panelLine{text, kind == "Heading" || c.Props["weight"] == "bold", c.Props["variant"] == "muted"})
	}
}

// suggestion takes the text of an action that drafts or sends a player's line.
func (d *drawing) suggestion(c component, item any) {
	for _, event := range slices.Sorted(maps.Keys(c.On)) {
		var all []binding
		if json.Unmarshal(c.On[event], &all) != nil {
			var one binding
			if json.Unmarshal(c.On[event], &one) != nil {
				continue
			}
			all = []binding{one}
		}
		for _, b := range all {
			text := strings.TrimSpace(textOf(d.value(b.Params["text"], item)))
			if (b.Action == "draftMessage" || b.Action == "sendMessage") && text != "" {
				d.Suggestions = append(d.Suggestions, oneLine(text))
			}
		}
	}
}

// value resolves an expression: a constant, {"$state": "/address"} or {"$item": "field"}.
func (d *drawing) value(expression, item any) any {
	m, ok := expression.(map[string]any)
	if !ok {
		return expression
	}
	if address, ok := m["$state"].(string); ok {
		return at(d.state, address)
	}
	if field, ok := m["$item"].(string); ok {
		if field == "" {
			return item
		}
		return at(item, field)
	}
	return nil
}

// at follows an address, with or without a leading slash.
func at(v any, address string) any {
	for part := range strings.SplitSeq(strings.Trim(address, "/"), "/") {
		switch x := v.(type) {
		case map[string]any:
			v = x[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

func textOf(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case float64, bool:
		return fmt.Sprint(x)
	}
	return ""
}
