package play

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
)

// uiSpecs answers with the panels of a session's plugins, in the session's language.
func (s *server) uiSpecs(w http.ResponseWriter, r *http.Request) {
	v, err := s.Node.View(r.Context(), r.URL.Query().Get("sessionId"))
	if err != nil {
		s.error(w, err)
		return
	}
	type spec struct {
		PluginID string          `json:"pluginId"`
		Spec     json.RawMessage `json:"spec"`
	}
	right, message, left := []spec{}, []spec{}, []spec{}
	gen := s.Plugins()
	for _, ref := range v.State.Session.Plugins {
		p, ok := gen.Plugins[ref.ID]
		if !ok {
			continue
		}
		messages := p.Manifest.MessagesIn(v.State.Session.Locale)
		add := func(to *[]spec, specs []json.RawMessage) {
			for _, x := range specs {
				*to = append(*to, spec{ref.ID, localize(x, messages)})
			}
		}
		ui := p.Manifest.Contributes.UI
		add(&right, ui.Right)
		add(&message, ui.Message)
		add(&left, ui.Left)
	}
	s.reply(w, http.StatusOK, map[string]any{"right": right, "message": message, "left": left})
}

// shown are the properties of a spec that hold words for people.
var shown = []string{"label", "shortLabel", "groupLabel", "message", "title", "content", "text", "placeholder", "description"}

// localize puts a plugin's messages (of its locales folder) in place of the words of its spec; what has no translation stays.
func localize(spec json.RawMessage, messages map[string]string) json.RawMessage {
	if len(messages) == 0 {
		return spec
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(spec))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return spec
	}
	translate(v, messages)
	b, err := json.Marshal(v)
	if err != nil {
		return spec
	}
	return b
}

func translate(v any, messages map[string]string) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			translate(x, messages)
		}
	case map[string]any:
		for key, x := range v {
			text, ok := x.(string)
			if !ok {
				translate(x, messages)
			} else if said, ok := messages[text]; ok && slices.Contains(shown, key) {
				v[key] = said
			}
		}
	}
}
