package play

import (
	"context"
	"net/http"
	"regexp"
	"slices"

	kernel "github.com/covel/covel/kernel/session"
)

// maxPlugins is how many plugins a request may name.
const maxPlugins = 256

var pluginForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)

// pluginIDs says what is wrong with a list of plugins, nil for nothing.
func pluginIDs(field string, ids []string) *Problem {
	if len(ids) > maxPlugins {
		return invalid(field, "a session has at most %d plugins", maxPlugins)
	}
	for i, id := range ids {
		switch {
		case !pluginForm.MatchString(id):
			return invalid(field, "%q is no plugin id", clip(id))
		case slices.Contains(ids[:i], id):
			return invalid(field, "%s is named twice", id)
		}
	}
	return nil
}

// enablePlugin lets a plugin take part in a session from its next execution on.
func (s *server) enablePlugin(w http.ResponseWriter, r *http.Request) {
	s.changePlugins(w, r, s.Node.EnablePlugin)
}

// disablePlugin excludes a plugin from a session, a core one too.
func (s *server) disablePlugin(w http.ResponseWriter, r *http.Request) {
	s.changePlugins(w, r, s.Node.DisablePlugin)
}

func (s *server) changePlugins(w http.ResponseWriter, r *http.Request, change func(ctx context.Context, id, plugin string) (kernel.Answer, error)) {
	id, plugin := r.PathValue("id"), r.PathValue("plugin")
	if p := pluginIDs("pluginId", []string{plugin}); p != nil {
		s.fail(w, http.StatusBadRequest, p)
		return
	}
	a, err := change(r.Context(), id, plugin)
	if err = refusal(a, err); err != nil {
		s.error(w, err)
		return
	}
	v, err := s.Node.View(r.Context(), id)
	if err != nil {
		s.error(w, err)
		return
	}
	s.reply(w, http.StatusOK, map[string]any{"ok": true, "activePluginIds": sessionOf(v.State.Session).ActivePlugins})
}

// resumePlugin lets a plugin run again that was paused after repeated errors.
func (s *server) resumePlugin(w http.ResponseWriter, r *http.Request) {
	a, err := s.Node.ResumePlugin(r.Context(), r.PathValue("id"), r.PathValue("plugin"))
	if err = refusal(a, err); err != nil {
		s.error(w, err)
		return
	}
	s.reply(w, http.StatusOK, map[string]any{"ok": true, "pluginId": r.PathValue("plugin")})
}
