package job

import (
	"slices"

	"github.com/covel/covel/projections"
)

// Stale says why a job may not run or commit any more, "" when it may (seed: turn-pipeline.txt §2.1, "Inside the session lock,
// it checks again that the session and plugin are still the same instance and version"). digests name the code that ran it,
// by plugin; nil before it runs.
func Stale(j projections.Job, s projections.Session, digests map[string]string) string {
	if s.Status != projections.StatusActive {
		return ReasonInactive
	}
	if j.Incarnation != s.Incarnation {
		return ReasonIncarnation
	}
	if !slices.ContainsFunc(s.Plugins, func(p projections.PluginRef) bool { return p.ID == j.PluginID }) {
		return ReasonPluginInactive
	}
	if digests != nil && digests[j.PluginID] != j.PluginDigest {
		return ReasonPluginChanged
	}
	return ""
}
