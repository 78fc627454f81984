package prompt

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var variable = regexp.MustCompile(`\{\{([^{}]*)\}\}`)

// interpolate fills the {{ path }} variables of a plugin's own body (reference: plugins.md §18.3). A path walks own
// properties only, so that names such as constructor are ordinary. What is not there is empty, objects and lists are
// indented JSON. Values are escaped and are not read for variables again.
func interpolate(body string, vars map[string]any) string {
	return variable.ReplaceAllStringFunc(body, func(mark string) string {
		v, ok := lookup(vars, strings.Split(strings.TrimSpace(mark[2:len(mark)-2]), "."))
		if !ok {
			return ""
		}
		return Escape(variableText(v))
	})
}

// lookup walks a path. Ids may hold dots, so that the longest key that fits is tried first.
func lookup(v any, path []string) (any, bool) {
	if len(path) == 0 {
		return v, true
	}
	switch v := v.(type) {
	case map[string]any:
		for n := len(path); n > 0; n-- {
			if item, ok := v[strings.Join(path[:n], ".")]; ok {
				if found, ok := lookup(item, path[n:]); ok {
					return found, true
				}
			}
		}
	case []any:
		if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < len(v) {
			return lookup(v[i], path[1:])
		}
	}
	return nil, false
}

func variableText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return v.String()
	case int:
		return strconv.Itoa(v)
	}
	return toJSON(v, true)
}

// variables are the values a body may name.
func (in In) variables() map[string]any {
	player := map[string]any{"message": in.PlayerMessage}
	if in.Player != nil {
		player["character"] = in.playerSheet()
	}
	if in.LastPlayerInput != nil {
		values := plain(in.LastPlayerInput.Values)
		player["lastFormValues"] = toJSON(values, false)
		player["lastFormValuesRaw"] = values
	}
	settings := map[string]any{}
	for k, raw := range in.Settings {
		settings[k] = decode(raw)
	}
	return map[string]any{
		"player":       player,
		"characters":   map[string]any{"npcs": in.profiles()},
		"session":      map[string]any{"turnNumber": in.LogicalTurn},
		"inputs":       in.inputVariables(),
		"world":        in.worldVariables(),
		"userSettings": settings,
	}
}

func (in In) worldVariables() map[string]any {
	w := in.World
	entries := map[string]any{}
	for _, e := range slices.Concat(in.LoreBefore, in.LoreAfter) {
		if e.Strategy != selective {
			entries[loreTitle(e)] = e.Content
		}
	}
	world := map[string]any{
		"id": w.ID, "name": w.Name, "description": w.Summary, "lore": cutLines(w.Lore, maxLoreTokens), "tone": w.Tone,
		"openingScenario": w.Opening, "greeting": w.Greeting, "tags": strings.Join(w.Tags, ", "),
		"entries": entries, "metadata": plain(w.Metadata),
	}
	for k, v := range in.Entries {
		entries[k] = plain(v)
	}
	if len(in.Dimensions) > 0 {
		world["dimensions"] = plain(in.Dimensions)
	}
	if in.Schema.Version > 0 {
		world["schema"] = plain(map[string]any{"types": in.Schema.Types, "attributes": in.Schema.Attributes})
	}
	return world
}

// inputVariables are inputs.<pluginId>.<runtimeId>.<field>. A runtime of a package with several is known by its own part
// of the id.
func (in In) inputVariables() map[string]any {
	out := map[string]any{}
	for _, slot := range in.Inputs {
		for _, item := range slot.Items {
			plugin, _ := out[item.PluginID].(map[string]any)
			if plugin == nil {
				plugin = map[string]any{}
				out[item.PluginID] = plugin
			}
			_, own, ok := strings.Cut(item.Runtime, "/")
			if !ok {
				own = item.Runtime
			}
			plugin[own] = modelFacing(decode(item.Value))
		}
	}
	return out
}

// plain turns a Go value into what JSON makes of it, without bookkeeping.
func plain(v any) any { return modelFacing(decode(json.RawMessage(toJSON(v, false)))) }
