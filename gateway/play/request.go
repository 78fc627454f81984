package play

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
	"github.com/pkg/errors"

	"github.com/covel/covel/events"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
)

// MaxBody is the largest JSON body and the largest WebSocket message that is read, in bytes.
const MaxBody = 1 << 20

var requestIDs = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`)

// Problem is an error for a client: docs/protocol.md §5.
type Problem struct {
	Code    string
	Message string
	Details any
}

func (p *Problem) Error() string { return p.Code + ": " + p.Message }

func problem(code, format string, args ...any) *Problem {
	return &Problem{Code: code, Message: fmt.Sprintf(format, args...)}
}

func invalid(field, format string, args ...any) *Problem {
	message := fmt.Sprintf(format, args...)
	return &Problem{"invalid_action_request", message, map[string]any{"issues": []kernel.Issue{{Field: field, Message: message}}}}
}

func problemOf(r *kernel.Refusal) *Problem {
	p := &Problem{Code: r.Code, Message: r.Message}
	if len(r.Issues) > 0 {
		p.Details = map[string]any{"issues": r.Issues}
	}
	return p
}

// command is a request as it comes in, over HTTP and over the socket.
type command struct {
	Type      string          `json:"type"`
	RequestID string          `json:"requestId"`
	SessionID string          `json:"sessionId"` // HTTP only
	Base      *events.Version `json:"base"`
	Payload   json.RawMessage `json:"payload"`
}

type actionsPayload struct {
	Actions []actionRequest `json:"actions"`
}

type actionRequest struct {
	Kind        string                      `json:"kind"`
	Text        string                      `json:"text"`
	SeatID      string                      `json:"seatId"`
	CharacterID string                      `json:"characterId"`
	Interaction *projections.InteractionRef `json:"interaction"`
	Fields      json.RawMessage             `json:"fields"`
}

// readCommand checks the form of a command. What it means for the session is the kernel's to say.
func readCommand(c command) (kernel.Command, *Problem) {
	var out kernel.Command
	switch c.Type {
	case kernel.StartSession, kernel.SubmitActions, kernel.RetryTurn, kernel.ResumeSuspension, kernel.MoveHead, kernel.Regenerate, kernel.ReviseMessage, kernel.NameTurn,
		kernel.EditLore, kernel.RunRuntimes, kernel.Interject:
	default:
		return out, problem("unknown_type", "unknown type %q; there are start_session, submit_actions, retry_turn, run_runtimes, interject, resume_suspension, move_head, regenerate, revise_message, name_turn and edit_lore", clip(c.Type))
	}
	if c.RequestID == "" {
		return out, problem("request_id_required", "requestId is missing: choose one for each request, and send the same one again to repeat it")
	}
	if !requestIDs.MatchString(c.RequestID) {
		return out, invalid("requestId", "requestId must be 1 to 64 of A-Z a-z 0-9 . _ : -")
	}
	out = kernel.Command{RequestID: c.RequestID, Type: c.Type, Base: c.Base}
	body := map[string]any{"type": c.Type}
	var payload actionsPayload
	switch c.Type {
	case kernel.MoveHead, kernel.Regenerate, kernel.ReviseMessage, kernel.NameTurn:
		if p := readHead(c.Payload, &out, body); p != nil {
			return out, p
		}
	case kernel.EditLore:
		if p := readLore(c.Payload, &out, body); p != nil {
			return out, p
		}
	case kernel.RunRuntimes:
		if p := readRun(c.Payload, &out, body); p != nil {
			return out, p
		}
	case kernel.Interject:
		if p := readLine(c.Payload, &out, body); p != nil {
			return out, p
		}
	case kernel.ResumeSuspension:
		if p := readResume(c.Payload, &out, body); p != nil {
			return out, p
		}
	case kernel.SubmitActions:
		if p := decodeStrict(c.Payload, &payload, "payload"); p != nil {
			return out, p
		}
	default:
		if p := decodeStrict(orEmpty(c.Payload), &struct{}{}, "payload"); p != nil {
			return out, p
		}
	}
	for i, a := range payload.Actions {
		if utf8.RuneCountInString(a.Text) > kernel.MaxText {
			return out, invalid(fmt.Sprintf("payload.actions[%d].text", i), "the text is longer than %d characters", kernel.MaxText)
		}
		if len(a.Fields) > 0 && !isObject(a.Fields) {
			return out, invalid(fmt.Sprintf("payload.actions[%d].fields", i), "fields must be an object")
		}
		out.Actions = append(out.Actions, projections.Action{
			Kind: a.Kind, Text: clean(a.Text), SeatID: a.SeatID, CharacterID: a.CharacterID, Interaction: a.Interaction, Fields: projections.RawJSON(a.Fields),
		})
	}
	if c.Type == kernel.SubmitActions && (len(payload.Actions) == 0 || len(payload.Actions) > kernel.MaxActions) {
		return out, invalid("payload.actions", "a submission carries 1 to %d actions", kernel.MaxActions)
	}
	if out.Actions != nil {
		body["actions"] = out.Actions
	}
	hash, err := bodyHash(body)
	if err != nil {
		return out, invalid("payload", "%v", err)
	}
	out.BodyHash = hash
	return out, nil
}

// bodyHash names what a request asks for, whatever order its keys came in (RFC 8785).
func bodyHash(body map[string]any) (string, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	if b, err = jcs.Transform(b); err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// decodeStrict reads one JSON object, and nothing that it does not know.
func decodeStrict(b []byte, into any, field string) *Problem {
	if !isObject(b) {
		return invalid(field, "%s must be an object", field)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return invalid(field+"."+wrong.Field, "%s.%s must not be %s %s", field, wrong.Field, article(wrong.Value), wrong.Value)
		}
		return invalid(field, "%s: %s", field, strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); err != io.EOF {
		return invalid(field, "%s: something stands after the object", field)
	}
	return nil
}

func article(noun string) string {
	if strings.ContainsAny(noun[:min(len(noun), 1)], "aeiou") {
		return "an"
	}
	return "a"
}

func isObject(b []byte) bool {
	b = bytes.TrimSpace(b)
	return len(b) > 1 && b[0] == '{' && json.Valid(b)
}

func orEmpty(b json.RawMessage) json.RawMessage {
	if len(b) == 0 {
		return json.RawMessage("{}")
	}
	return b
}

// clean turns what no text may hold into U+FFFD, once, at the border (decisions: "Text").
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func clip(s string) string {
	if len(s) > 64 {
		return strings.ToValidUTF8(s[:64], "") + "…"
	}
	return s
}
