package sdk

import (
	"maps"
	"slices"
	"strings"
)

// Translate gives a text of the plugin in the session's language. The key is the English text itself; without a
// translation it is what is shown. {name} in the text is replaced by args["name"]; a placeholder without an argument stays
// as it is.
func Translate(messages Messages, key string, args map[string]any) string {
	text, ok := messages[key]
	if !ok || text == "" {
		text = key
	}
	if len(args) == 0 {
		return text
	}
	pairs := make([]string, 0, 2*len(args))
	for _, name := range slices.Sorted(maps.Keys(args)) {
		pairs = append(pairs, "{"+name+"}", TemplateText(args[name]))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
