package job

import (
	"slices"

	"github.com/covel/covel/projections"
)

// Stale says why a job may not run or commit any more, "" when it may (seed: turn-pipeline.txt §2.1, "Inside the session lock,
// it checks again that the session and plugin are still the same instance and version").
func Stale(j projections.Job, s projections.Session) string {
	if s.Status != projections.StatusActive {
		return ReasonInactive
	}
	if j.Incarnation != s.Incarnation {
		return ReasonIncarnation
	}
	i := slices.IndexFunc(s.Plugins, func(p projections.PluginRef) bool { return p.ID == j.PluginID })
	switch {
	case i < 0:
		return ReasonPluginInactive
	case s.Plugins[i].Digest != j.PluginDigest:
		return ReasonPluginChanged
	}
	return ""
}
