package session

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/covel/covel/kernel/prompt"
	"github.com/covel/covel/kernel/world"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
	"github.com/covel/covel/projections"
)

// MaxText is the longest text of an action, in characters.
const MaxText = 100_000

// MaxActions is how many actions one submission may carry.
const MaxActions = 20

// Check holds a command against the state of the session and fills in what it leaves out: seat, character, source, the
// text of an answer. One failure refuses all, and nothing is stored (seed: turn-pipeline.txt §3.1).
func Check(hot projections.State, cmd Command, kinds Kinds) (Command, *Refusal) {
	s := hot.Session
	if s.ID == "" {
		return cmd, &Refusal{Code: "session_not_found", Message: "there is no such session"}
	}
	if refusal := mayAsk(s, cmd); refusal != nil {
		return cmd, refusal
	}
	if cmd.Type == ResumeSuspension {
		return checkResume(hot, cmd)
	}
	if refusal := mayPlay(s); refusal != nil {
		return cmd, refusal
	}
	switch cmd.Type {
	case StartSession:
		if s.Phase == projections.PhasePlaying && hot.History.Stories > 0 {
			return cmd, &Refusal{Code: "already_started", Message: "the session has its opening already; send a line instead"}
		}
		return cmd, nil
	case RetryTurn:
		if s.Draft == nil {
			return cmd, &Refusal{Code: "nothing_to_retry", Message: "no line waits to be tried again"}
		}
		return cmd, nil
	case MoveHead, Regenerate, ReviseMessage, NameTurn:
		return checkHead(hot, cmd)
	case EditLore:
		return checkLore(hot, cmd)
	case RunRuntimes:
		return checkTargets(hot, cmd)
	case SubmitActions, Interject:
		return checkActions(hot, cmd, kinds)
	}
	return cmd, &Refusal{Code: "unknown_type", Message: "unknown command type " + strconv.Quote(cmd.Type)}
}

// mayAsk refuses what comes from a seat that cannot ask for anything: the owner took it away, or it only looks on.
func mayAsk(s projections.Session, cmd Command) *Refusal {
	if cmd.Holder == "" {
		return nil
	}
	seat, ok := s.SeatByID(cmd.Holder)
	switch {
	case !ok || seat.Control != ControlHuman:
		return &Refusal{Code: "seat_not_allowed", Message: "the seat is not yours any more"}
	case seat.Role == RoleSpectator:
		return &Refusal{Code: "seat_not_allowed", Message: "a spectator looks on and does nothing else"}
	}
	return nil
}

// mayPlay refuses whatever starts an execution in a session that is paused or has ended.
func mayPlay(s projections.Session) *Refusal {
	switch s.Status {
	case projections.StatusActive:
		return nil
	case projections.StatusEnded:
		return &Refusal{Code: "session_ended", Message: "the session has ended"}
	}
	return &Refusal{Code: "session_not_active", Message: "the session is paused; resume it first"}
}

func checkActions(hot projections.State, cmd Command, kinds Kinds) (Command, *Refusal) {
	if len(cmd.Actions) == 0 || len(cmd.Actions) > MaxActions*max(1, len(cmd.gathered)) {
		return cmd, &Refusal{Code: "invalid_action_request", Message: "a submission carries 1 to " + strconv.Itoa(MaxActions) + " actions"}
	}
	if cmd.Type == Interject && (len(cmd.Actions) != 1 || cmd.Actions[0].Interaction != nil) {
		return cmd, &Refusal{Code: "invalid_action_request", Message: "an interjection is one line of text"}
	}
	c := checker{hot: hot, cmd: cmd, kinds: kinds, answered: map[projections.InteractionRef]bool{}}
	out := make([]projections.Action, len(cmd.Actions))
	for i, a := range cmd.Actions {
		resolved, refusal := c.action(i, a)
		if refusal != nil {
			return cmd, refusal
		}
		out[i] = resolved
	}
	if len(c.answered) == 0 && hot.Session.Phase == projections.PhaseSetup && len(hot.Interactions.Open("")) > 0 {
		return cmd, &Refusal{Code: "interaction_required", Message: "the story waits for an answer to its question first"}
	}
	if len(c.issues) > 0 {
		return cmd, &Refusal{Code: "form_rejected", Message: "some answers need another look", Issues: c.issues}
	}
	cmd.Actions = out
	return cmd, nil
}

type checker struct {
	hot      projections.State
	cmd      Command
	kinds    Kinds
	answered map[projections.InteractionRef]bool
	issues   []Issue
}

func (c *checker) action(i int, a projections.Action) (projections.Action, *Refusal) {
	bad := func(field, message string) *Refusal {
		return &Refusal{Code: "invalid_action", Message: message, Issues: []Issue{{"actions[" + strconv.Itoa(i) + "]." + field, message}}}
	}
	if a.SeatID == "" {
		a.SeatID = c.cmd.SeatID
	}
	seat, ok := c.hot.Session.SeatByID(a.SeatID)
	switch {
	case !ok:
		return a, bad("seatId", "there is no seat "+strconv.Quote(a.SeatID))
	case c.cmd.Holder != "" && a.SeatID != c.cmd.Holder:
		return a, bad("seatId", "you do not have the seat "+strconv.Quote(a.SeatID))
	case seat.Control != ControlHuman:
		return a, bad("seatId", "nobody plays the seat "+strconv.Quote(a.SeatID))
	}
	if a.CharacterID == "" {
		a.CharacterID = seat.CurrentCharacterID
	} else if !slices.Contains(seat.CharacterIDs, a.CharacterID) {
		return a, bad("characterId", "the seat does not play the character "+strconv.Quote(a.CharacterID))
	}
	a.Source = projections.SourcePlayer
	if a.Interaction != nil {
		return c.answer(a, seat.Role, bad)
	}
	if a.Kind == "" {
		a.Kind = spokenKind(a.Text)
	}
	if why := c.kinds.allowed(a.Kind, seat.Role); why != "" {
		return a, bad("kind", why)
	}
	if field, why := c.kinds.fits(a); why != "" {
		return a, bad(field, why)
	}
	return a, nil
}

// answer holds an answer against the question as it was committed; the client chooses nothing but the values.
func (c *checker) answer(a projections.Action, role string, bad func(field, message string) *Refusal) (projections.Action, *Refusal) {
	q, ok := c.hot.Interactions.Find(a.Interaction.TurnID, a.Interaction.InteractionID)
	if !ok || q.Type != a.Interaction.Type {
		return a, &Refusal{Code: "invalid_interaction_submission", Message: "this session asked no such question"}
	}
	if q.Status != projections.InteractionOpen || c.answered[*a.Interaction] {
		return a, &Refusal{Code: "interaction_already_submitted", Message: "this question was answered or has become void"}
	}
	c.answered[*a.Interaction] = true
	block, unreadable := tools.ReadInteraction(json.RawMessage(q.Block))
	if len(unreadable) > 0 {
		return a, &Refusal{Code: "invalid_interaction_submission", Message: "the question cannot be read any more: " + unreadable[0].Message}
	}
	kind := block.Kind()
	if a.Kind == "" {
		a.Kind = kind
	}
	if a.Kind != kind {
		return a, bad("kind", "this question is answered as "+strconv.Quote(kind))
	}
	if why := c.kinds.allowed(a.Kind, role); why != "" {
		return a, bad("kind", why)
	}
	var values map[string]any
	if json.Unmarshal(a.Fields, &values) != nil || values == nil {
		return a, &Refusal{Code: "invalid_interaction_submission", Message: "fields must be an object of the answer's values"}
	}
	normal, issues := tools.Submit(block, values, c.hot.Session.Locale)
	for _, is := range issues {
		if is.Code == tools.IssueUnknown {
			return a, &Refusal{Code: "invalid_interaction_submission", Message: is.Message}
		}
		c.issues = append(c.issues, Issue{is.Field, is.Message})
	}
	b, err := json.Marshal(normal)
	if err != nil {
		return a, &Refusal{Code: "invalid_interaction_submission", Message: err.Error()}
	}
	a.Fields = b
	a.Text = tools.Narrative(block, normal, c.hot.Session.Locale)
	return a, nil
}

// Rendered is the text the model reads for a submission (seed: turn-pipeline.txt §3.1, renderActions). The sentence of a
// form that keeps it out of the conversation is left out.
func Rendered(hot projections.State, actions []projections.Action) string {
	var told []projections.Action
	for _, a := range actions {
		if a.Interaction == nil || echoes(hot, *a.Interaction) {
			told = append(told, a)
		}
	}
	if len(told) == 0 {
		return ""
	}
	w := world.Actors(hot)
	return prompt.RenderActions(SDKActions(told), w.Characters, w.Seats, hot.Session.Locale)
}

// echoes says whether the filled sentence of an answer stands in the conversation (submitBehavior.echoFilledNarrative).
func echoes(hot projections.State, ref projections.InteractionRef) bool {
	q, _ := hot.Interactions.Find(ref.TurnID, ref.InteractionID)
	block, _ := tools.ReadInteraction(json.RawMessage(q.Block))
	b := block.SubmitBehavior
	return b == nil || b.EchoFilledNarrative == nil || *b.EchoFilledNarrative
}

// SDKActions gives actions as plugins see them.
func SDKActions(actions []projections.Action) []sdk.Action {
	out := make([]sdk.Action, len(actions))
	for i, a := range actions {
		out[i] = sdk.Action{Kind: a.Kind, SeatID: a.SeatID, CharacterID: a.CharacterID, Source: a.Source, Text: a.Text, Fields: json.RawMessage(a.Fields)}
		if a.Interaction != nil {
			out[i].Interaction = &sdk.InteractionRef{TurnID: a.Interaction.TurnID, InteractionID: a.Interaction.InteractionID, Type: a.Interaction.Type}
		}
	}
	return out
}
