package turnscript

import (
	"context"
	"strings"

	"github.com/pkg/errors"

	"github.com/covel/covel/plugins/sdk"
)

// askStep runs a sub-agent, and notes what it answers.
func askStep(rest string) (act, error) {
	who, brief, ok := strings.Cut(rest, " ")
	if !ok {
		return nil, errors.New("the brief is missing")
	}
	target := sdk.AgentTarget{RuntimeID: who}
	if strings.Contains(who, "@") {
		target = sdk.AgentTarget{Contract: who}
	}
	return func(ctx context.Context, s *scene) error {
		out, err := s.rt.Agents.Run(ctx, sdk.AgentRequest{Target: target, Brief: brief})
		if err != nil {
			s.note("asked %s in vain: %v", who, err)
			return nil
		}
		s.note("asked %s, which %s with %s after %d calls", who, out.StopReason, out.Output, out.Usage.ModelCalls)
		return nil
	}, nil
}
