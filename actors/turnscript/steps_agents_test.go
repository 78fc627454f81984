package turnscript

import (
	"context"
	"strings"

	"github.com/pkg/errors"

	"github.com/covel/covel/plugins/sdk"
)

// witnessed are the stories at which a character was present.
func witnessed(rt *sdk.Runtime, characterID string) string {
	var told []string
	for _, m := range rt.Conversation.HistoryFor(characterID, 0) {
		told = append(told, strings.ReplaceAll(m.Content, "\n\n", " "))
	}
	return orNothing(strings.Join(told, " / "))
}

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

// generateStep asks a model and notes what it said, or why it did not.
func generateStep(prompt string) (act, error) {
	return func(ctx context.Context, s *scene) error {
		reply, err := s.rt.Gateway.GenerateText(ctx, sdk.TextRequest{Prompt: prompt})
		if err != nil {
			s.note("asked a model in vain: %v", err)
			return nil
		}
		s.note("asked a model, which said %s", reply.Text)
		return nil
	}, nil
}

func diagnoseStep(rest string) (act, error) {
	w, err := words(rest, 2)
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, s *scene) error {
		s.effects.Diagnostics = append(s.effects.Diagnostics, sdk.Diagnostic{Code: w[0], Message: w[1]})
		return nil
	}, nil
}
