package play

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/covel/covel/events"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
)

// Turn is one player turn in the tree of turns. Takes are the turns of the same moment, itself included, oldest first.
type Turn struct {
	TurnID string   `json:"turnId"`
	Before string   `json:"before,omitempty"`
	Name   string   `json:"name,omitempty"`
	OnPath bool     `json:"onPath"`
	Takes  []string `json:"takes"`
}

// Tree is how the player turns of a session stand to each other.
type Tree struct {
	Head  string `json:"head"`
	Turns []Turn `json:"turns"`
}

func treeOf(t projections.Tree) Tree { return Tree{Head: t.Head, Turns: turnsOf(t, t.Turns)} }

func turnsOf(t projections.Tree, list []projections.Take) []Turn {
	on := map[string]bool{}
	for _, x := range t.OnPath() {
		on[x.TurnID] = true
	}
	out := make([]Turn, 0, len(list))
	for _, x := range list {
		turn := Turn{TurnID: x.TurnID, Before: x.Before, Name: x.Name, OnPath: on[x.TurnID]}
		for _, y := range t.Takes(x.TurnID) {
			turn.Takes = append(turn.Takes, y.TurnID)
		}
		out = append(out, turn)
	}
	return out
}

// grown tells of the player turn that has just committed, together with the other takes of its moment.
func (b *framer) grown(r events.Recorded, execution string) {
	if b.after.Tree.Head != execution {
		return
	}
	b.add(r, "tree.changed", Tree{Head: execution, Turns: turnsOf(b.after.Tree, b.after.Tree.Takes(execution))})
}

// headPayload is what the commands that move, revise and name say.
type headPayload struct {
	TurnID    string `json:"turnId"`
	MessageID string `json:"messageId"`
	Text      string `json:"text"`
	Name      string `json:"name"`
}

func elsewhere(typ string) bool {
	switch typ {
	case kernel.MoveHead, kernel.Regenerate, kernel.ReviseMessage, kernel.NameTurn, kernel.EditLore, kernel.Interject:
		return true
	}
	return false
}

// readHead reads such a command; body gets what the request asks for, by which a repeat is known.
func readHead(payload json.RawMessage, out *kernel.Command, body map[string]any) *Problem {
	var p headPayload
	if problem := decodeStrict(orEmpty(payload), &p, "payload"); problem != nil {
		return problem
	}
	switch {
	case out.Type == kernel.ReviseMessage && p.MessageID == "":
		return invalid("payload.messageId", "payload.messageId is missing")
	case out.Type == kernel.NameTurn && p.TurnID == "":
		return invalid("payload.turnId", "payload.turnId is missing")
	}
	out.TurnID, out.MessageID, out.Text = p.TurnID, p.MessageID, clean(p.Text)
	if out.Type == kernel.NameTurn {
		out.Text = clean(p.Name)
	}
	body["turnId"], body["messageId"], body["text"] = out.TurnID, out.MessageID, out.Text
	return nil
}

// goElsewhere is the HTTP side of one of these commands: it answers when the session has accepted it.
func (s *server) goElsewhere(typ string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		in := struct {
			RequestID string `json:"requestId"`
			headPayload
		}{}
		if !s.body(w, r, &in) {
			return
		}
		if id := r.PathValue("turn"); id != "" {
			in.TurnID = id
		}
		if id := r.PathValue("message"); id != "" {
			in.MessageID = id
		}
		s.carryOut(w, r, typ, in.RequestID, in.headPayload)
	}
}

// acceptedReply answers a command that the session has accepted.
type acceptedReply struct {
	OK          bool           `json:"ok"`
	Version     events.Version `json:"version"`
	ExecutionID string         `json:"executionId,omitempty"`
}

// carryOut makes a command of a request and answers when the session has accepted it.
func (s *server) carryOut(w http.ResponseWriter, r *http.Request, typ, requestID string, payload any) {
	cmd, ok := s.command(w, r, typ, requestID, payload)
	if !ok {
		return
	}
	a, err := s.accepted(r.Context(), r.PathValue("id"), cmd)
	if err != nil {
		s.error(w, err)
		return
	}
	s.reply(w, http.StatusOK, acceptedReply{true, a.Version, a.ExecutionID})
}

// accepted submits a command and waits until the session has accepted it.
func (s *server) accepted(ctx context.Context, session string, cmd kernel.Command) (kernel.Answer, error) {
	answers := make(chan kernel.Answer, 8)
	if err := s.Node.Submit(ctx, session, cmd, func(a kernel.Answer) {
		select {
		case answers <- a:
		default:
		}
	}); err != nil {
		return kernel.Answer{}, err
	}
	for {
		select {
		case a := <-answers:
			switch {
			case a.Refusal != nil:
				return a, a.Refusal
			case a.Status == kernel.Accepted:
				return a, nil
			}
		case <-ctx.Done():
			return kernel.Answer{}, ctx.Err()
		}
	}
}
