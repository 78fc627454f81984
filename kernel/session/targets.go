package session

import (
	"slices"
	"strconv"

	"github.com/covel/covel/kernel/commit"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// MaxTargets is how many runtimes one request may name (reference: api-and-protocol.md §8).
const MaxTargets = 20

// checkTargets holds a run by name, or a retry, against the session. Whether the runtimes can be named at all is asked when
// it is known what is installed.
func checkTargets(hot projections.State, cmd Command) (Command, *Refusal) {
	if len(cmd.Targets) == 0 || len(cmd.Targets) > MaxTargets {
		return cmd, &Refusal{Code: "invalid_action_request", Message: "a request names 1 to " + strconv.Itoa(MaxTargets) + " runtimes"}
	}
	for i, t := range cmd.Targets {
		if slices.ContainsFunc(cmd.Targets[:i], func(u projections.Target) bool { return u.RuntimeID == t.RuntimeID }) {
			return cmd, &Refusal{Code: "invalid_action_request", Message: strconv.Quote(t.RuntimeID) + " is named twice"}
		}
	}
	if cmd.SourceTurnID == "" {
		return cmd, nil
	}
	if refusal := checkSource(hot, cmd.SourceTurnID); refusal != nil {
		return cmd, refusal
	}
	for _, t := range cmd.Targets {
		if run, ok := hot.Latest.Run(t.RuntimeID); !ok || !failed(run) {
			return cmd, &Refusal{Code: "runtime_not_failed", Message: strconv.Quote(t.RuntimeID) + " did not fail in that turn, or was tried again with success"}
		}
	}
	return cmd, nil
}

// failed says whether a run may be tried again: it failed, or never ran because another one did.
func failed(run projections.Run) bool {
	return run.Status == string(turn.Failed) ||
		run.Status == string(turn.Skipped) && (run.SkipReason == turn.SkipDependency || run.SkipReason == turn.SkipInput)
}

// FailedRuns names the runs of the newest committed turn that may be tried again.
func FailedRuns(hot projections.State) []string {
	var out []string
	for _, run := range hot.Latest.Runs {
		if failed(run) {
			out = append(out, run.RuntimeID)
		}
	}
	return out
}

// checkSource says whether the runs of a turn may still be tried again: it is the newest committed turn of the story
// (reference: api-and-protocol.md §2.5).
func checkSource(hot projections.State, turnID string) *Refusal {
	_, played := hot.Tree.Take(turnID)
	last := hot.Session.Last
	switch {
	case turnID == hot.Latest.TurnID:
		return nil
	case played:
		return &Refusal{Code: "retry_source_superseded", Message: "the story has gone on since that turn; what failed in it is not tried again"}
	case last != nil && last.ID == turnID && last.End != projections.EndCommitted:
		return &Refusal{Code: "retry_source_not_committed", Message: "that turn did not commit; try the whole of it again"}
	}
	return &Refusal{Code: "retry_turn_not_found", Message: "the session has no such turn to try runs of again"}
}

// checkInstalled says whether every target can be named: a runtime of an active plugin that does not only run as a
// sub-agent (seed: turn-pipeline.txt §4.3).
func checkInstalled(cmd Command, installed *Installed) *Refusal {
	if installed == nil || cmd.Type != RunRuntimes {
		return nil
	}
	for _, t := range cmd.Targets {
		i := slices.IndexFunc(installed.Runtimes, func(r manifest.Runtime) bool { return r.ID == t.RuntimeID })
		switch {
		case i < 0:
			return &Refusal{Code: "runtime_not_active", Message: "no active plugin of the session has the runtime " + strconv.Quote(t.RuntimeID)}
		case installed.Runtimes[i].Schedule.SubagentOnly:
			return &Refusal{Code: "runtime_not_active", Message: strconv.Quote(t.RuntimeID) + " runs as a sub-agent only"}
		case cmd.SourceTurnID != "":
			continue
		}
		if err := turn.CheckPayload(installed.Runtimes[i], installed.Contracts, []byte(t.Payload)); err != nil {
			return &Refusal{Code: "invalid_payload", Message: err.Error()}
		}
	}
	return nil
}

// named is the start of an execution whose runtimes were named. A retry keeps the number of the turn it goes back to.
func (s *step) named(cmd Command) *eventsv1.ExecutionStarted {
	started := s.started(cmd.ExecutionID, commit.OriginManual, cmd.RequestID)
	started.SourceTurnId = cmd.SourceTurnID
	if cmd.SourceTurnID != "" {
		started.LogicalTurn = s.Hot.Latest.LogicalTurn
	}
	for _, t := range cmd.Targets {
		started.Targets = append(started.Targets, &eventsv1.RuntimeTarget{RuntimeId: t.RuntimeID, Payload: t.Payload})
	}
	return started
}
