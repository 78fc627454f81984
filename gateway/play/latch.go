package play

import "net/http"

// resumePlugin lets a plugin run again that was paused after repeated errors.
func (s *server) resumePlugin(w http.ResponseWriter, r *http.Request) {
	a, err := s.Node.ResumePlugin(r.Context(), r.PathValue("id"), r.PathValue("plugin"))
	if err = refusal(a, err); err != nil {
		s.error(w, err)
		return
	}
	s.reply(w, http.StatusOK, map[string]any{"ok": true, "pluginId": r.PathValue("plugin")})
}
