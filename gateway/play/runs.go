package play

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/google/uuid"

	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/kernel/text"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// target names a runtime and what it is given.
type target struct {
	RuntimeID string          `json:"runtimeId"`
	Payload   json.RawMessage `json:"payload"`
}

type runPayload struct {
	Runtimes        []target `json:"runtimes"`
	RetryFromTurnID string   `json:"retryFromTurnId"`
}

// readRun reads a run by name or a retry; body gets what the request asks for, by which a repeat is known.
func readRun(payload json.RawMessage, out *kernel.Command, body map[string]any) *Problem {
	var p runPayload
	if problem := decodeStrict(payload, &p, "payload"); problem != nil {
		return problem
	}
	for i, t := range p.Runtimes {
		if t.RuntimeID == "" {
			return invalid("payload.runtimes", "payload.runtimes[%d].runtimeId is missing", i)
		}
		var given projections.RawJSON
		if len(t.Payload) > 0 {
			b, err := text.CleanJSON(t.Payload)
			if err != nil {
				return invalid("payload.runtimes", "payload.runtimes[%d].payload: %v", i, err)
			}
			given = projections.RawJSON(b)
		}
		out.Targets = append(out.Targets, projections.Target{RuntimeID: t.RuntimeID, Payload: given})
	}
	out.SourceTurnID = p.RetryFromTurnID
	body["runtimes"], body["retryFromTurnId"] = out.Targets, out.SourceTurnID
	return nil
}

// linePayload is a line that is said into a running turn.
type linePayload struct {
	Text        string `json:"text"`
	SeatID      string `json:"seatId"`
	CharacterID string `json:"characterId"`
}

func readLine(payload json.RawMessage, out *kernel.Command, body map[string]any) *Problem {
	var p linePayload
	if problem := decodeStrict(payload, &p, "payload"); problem != nil {
		return problem
	}
	out.Actions = []projections.Action{{Kind: "say", Text: clean(p.Text), SeatID: p.SeatID, CharacterID: p.CharacterID}}
	body["actions"] = out.Actions
	return nil
}

// steer says a line into the turn that runs. It answers when the turn has committed with it; where nothing runs, when the
// line is stored as an action.
func (s *server) steer(w http.ResponseWriter, r *http.Request) {
	in := struct {
		RequestID   string `json:"requestId"`
		Message     string `json:"message"`
		SeatID      string `json:"seatId"`
		CharacterID string `json:"characterId"`
	}{}
	if !s.body(w, r, &in) {
		return
	}
	s.carryOut(w, r, kernel.Interject, in.RequestID, linePayload{in.Message, in.SeatID, in.CharacterID})
}

// command makes the command of an address of its own; it has answered when it gives false.
func (s *server) command(w http.ResponseWriter, r *http.Request, typ, requestID string, payload any) (kernel.Command, bool) {
	if requestID == "" {
		requestID = uuid.NewString()
	}
	b, err := json.Marshal(payload)
	if err != nil {
		s.error(w, err)
		return kernel.Command{}, false
	}
	cmd, p := readCommand(command{Type: typ, RequestID: requestID, Payload: b})
	if p != nil {
		s.fail(w, statusOf(p.Code), p)
		return cmd, false
	}
	if err := s.seated(r.Context(), r.PathValue("id"), tokenOf(r), &cmd); err != nil {
		s.error(w, err)
		return cmd, false
	}
	return cmd, true
}

// rpc is a call from a plugin's panel (reference: api-and-protocol.md §1.8). Fields of another kind are refused.
func (s *server) rpc(w http.ResponseWriter, r *http.Request) {
	in := struct {
		Kind            string          `json:"kind"`
		RequestID       string          `json:"requestId"`
		PluginID        string          `json:"pluginId"`
		RuntimeID       string          `json:"runtimeId"`
		Payload         json.RawMessage `json:"payload"`
		RetryFromTurnID string          `json:"retryFromTurnId"`
	}{}
	if !s.body(w, r, &in) {
		return
	}
	switch {
	case in.Kind != "runtime":
		s.fail(w, http.StatusBadRequest, invalid("kind", "kind is runtime; this version of Covel calls no other"))
		return
	case in.RuntimeID == "":
		s.fail(w, http.StatusBadRequest, invalid("runtimeId", "runtimeId is missing"))
		return
	}
	rt, _, ok := s.Plugins().Runtime(in.RuntimeID)
	switch {
	case ok && in.PluginID != "" && in.PluginID != rt.PluginID:
		s.fail(w, http.StatusBadRequest, problem("plugin_mismatch", "the runtime %s belongs to the plugin %s", clip(in.RuntimeID), rt.PluginID))
		return
	case !ok:
		s.fail(w, http.StatusNotFound, problem("runtime_not_active", "there is no runtime %q", clip(in.RuntimeID)))
		return
	}
	s.runNamed(w, r, in.RequestID, runPayload{[]target{{rt.ID, in.Payload}}, in.RetryFromTurnID})
}

// retryRuntimes tries failed runs of the newest turn again, together.
func (s *server) retryRuntimes(w http.ResponseWriter, r *http.Request) {
	in := struct {
		RequestID       string   `json:"requestId"`
		RuntimeIDs      []string `json:"runtimeIds"`
		RetryFromTurnID string   `json:"retryFromTurnId"`
	}{}
	if !s.body(w, r, &in) {
		return
	}
	if in.RetryFromTurnID == "" {
		s.fail(w, http.StatusBadRequest, invalid("retryFromTurnId", "retryFromTurnId is missing: name the turn whose runs failed"))
		return
	}
	payload := runPayload{RetryFromTurnID: in.RetryFromTurnID}
	for _, id := range in.RuntimeIDs {
		payload.Runtimes = append(payload.Runtimes, target{RuntimeID: id})
	}
	s.runNamed(w, r, in.RequestID, payload)
}

// runResult is what a run by name gave. Of a concealed one nothing but how it ended is told.
type runResult struct {
	RuntimeID  string          `json:"runtimeId"`
	PluginID   string          `json:"pluginId"`
	Status     string          `json:"status"`
	Output     json.RawMessage `json:"output"`
	DurationMs *int64          `json:"durationMs,omitempty"`
	Error      string          `json:"error,omitempty"`
	Concealed  bool            `json:"concealed,omitempty"`
}

// runNamed runs runtimes by name and answers with what they gave. One that runs in the background is a job, and nobody waits
// for it.
func (s *server) runNamed(w http.ResponseWriter, r *http.Request, requestID string, payload runPayload) {
	cmd, ok := s.command(w, r, kernel.RunRuntimes, requestID, payload)
	if !ok {
		return
	}
	ended, err := s.run(r.Context(), r.PathValue("id"), cmd)
	switch {
	case err != nil:
		s.error(w, err)
		return
	case ended.job != "":
		s.reply(w, http.StatusAccepted, map[string]any{"status": "accepted", "jobId": ended.job, "pending": true, "turnId": ended.job, "runtimeId": cmd.Targets[0].RuntimeID})
		return
	case !ended.committed:
		p := problem("turn_commit_failed", "nothing was saved: %s", orElse(ended.failure, "it did not commit"))
		p.Details = map[string]any{"outcomes": ended.outcomes}
		s.fail(w, http.StatusInternalServerError, p)
		return
	}
	results := []runResult{}
	for _, res := range ended.results {
		x := runResult{RuntimeID: res.RuntimeId, PluginID: res.PluginId, Status: res.Status, Output: rawOrNull(nil), Error: res.Error}
		if len(res.Output) > 0 || res.Status == "success" {
			x.Output = turn.Display(res.Output)
		}
		if ms, ok := ended.took[res.RunId]; ok {
			x.DurationMs = &ms
		}
		if rt, _, ok := s.Plugins().Runtime(res.RuntimeId); ok && rt.IO.Concealed {
			x.Output, x.Error, x.Concealed = nil, "", true
		}
		results = append(results, x)
	}
	failed := slices.IndexFunc(ended.results, func(x *eventsv1.RunResult) bool { return x.Status == "failed" })
	if payload.RetryFromTurnID == "" && len(cmd.Targets) == 1 && failed >= 0 && ended.results[failed].RuntimeId == cmd.Targets[0].RuntimeID {
		p := problem("runtime_execution_failed", "the runtime %s failed", cmd.Targets[0].RuntimeID)
		p.Details = map[string]any{"turnId": ended.execution, "runtimeResults": results}
		s.fail(w, http.StatusInternalServerError, p)
		return
	}
	s.reply(w, http.StatusOK, map[string]any{"status": "ok", "turnId": ended.execution, "runtimeResults": results, "durationMs": ended.durationMs})
}
