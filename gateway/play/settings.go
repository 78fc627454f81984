package play

import (
	"net/http"

	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
)

// settingsBody are the settings of a request; what is absent stays.
type settingsBody struct {
	Gathering       *string `json:"gathering"`
	GatherTimeoutMs *uint64 `json:"gatherTimeoutMs"`
	AdvanceLimit    *uint32 `json:"advanceLimit"`
	Allowances      struct {
		ModelCalls *uint32 `json:"modelCalls"`
		ToolCalls  *uint32 `json:"toolCalls"`
		Subagents  *uint32 `json:"subagents"`
		DurationMs *uint64 `json:"durationMs"`
	} `json:"allowances"`
	RuntimeModelOverrides map[string]string `json:"runtimeModelOverrides"`
	Orchestration         struct {
		Policy *string `json:"policy"`
	} `json:"orchestration"`
}

func (b settingsBody) change() kernel.SettingsChange {
	return kernel.SettingsChange{
		Gathering: b.Gathering, GatherTimeoutMs: b.GatherTimeoutMs, AdvanceLimit: b.AdvanceLimit, ModelCalls: b.Allowances.ModelCalls,
		ToolCalls: b.Allowances.ToolCalls, Subagents: b.Allowances.Subagents, DurationMs: b.Allowances.DurationMs, ModelOverrides: b.RuntimeModelOverrides, Policy: b.Orchestration.Policy,
	}
}

// patch changes the status of a session, its settings, or both. The language of a session is fixed for good.
func (s *server) patch(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Status   *string       `json:"status"`
		Settings *settingsBody `json:"settings"`
	}
	if !s.body(w, r, &body) {
		return
	}
	if body.Status == nil && body.Settings == nil {
		s.fail(w, http.StatusBadRequest, invalid("body", "send status, settings or both"))
		return
	}
	var kind kernel.ChangeKind
	if body.Status != nil {
		var ok bool
		if kind, ok = map[string]kernel.ChangeKind{
			projections.StatusPaused: kernel.Pause, projections.StatusActive: kernel.Resume, projections.StatusEnded: kernel.End,
		}[*body.Status]; !ok {
			s.fail(w, http.StatusBadRequest, invalid("status", "status is active, paused or ended"))
			return
		}
	}
	var a kernel.Answer
	var err error
	if body.Settings != nil {
		a, err = s.Node.ChangeSettings(r.Context(), r.PathValue("id"), body.Settings.change())
	}
	if err == nil && a.Refusal == nil && body.Status != nil {
		a, err = s.Node.ChangeStatus(r.Context(), r.PathValue("id"), kind)
	}
	if err = refusal(a, err); err != nil {
		s.error(w, err)
		return
	}
	s.session(w, r)
}
