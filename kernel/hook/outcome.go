package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pkg/errors"

	"github.com/covel/covel/kernel/text"
	"github.com/covel/covel/plugins/sdk"
)

// MaxAnswer is the longest answer a handler may give, in bytes of JSON.
const MaxAnswer = 4 << 20

// Outcome is what an event came to so far. Handlers after an abort are not asked.
type Outcome struct {
	Payload  json.RawMessage // as the next handler reads it
	Rewrote  bool            // some handler replaced something
	Aborted  bool
	By       string // the plugin that aborted
	Reason   string // for whoever is refused: a model, a player
	Failed   bool   // the abort is a failure of the handler, not its decision
	End      bool   // PostToolUse: the loop ends after this result
	Rejected string // PostLLMResponse: what the model must change; corrections are joined
}

// Kind is what one handler did; the names are the trace's.
type Kind string

// Kinds.
const (
	Fired   Kind = "hook.fired"
	Rewrote Kind = "hook.rewrote"
	Aborted Kind = "hook.aborted"
	Errored Kind = "hook.error"
)

// Report tells what one handler did. A handler that aborted by failing is Aborted with an Error.
type Report struct {
	Kind   Kind
	Diff   json.RawMessage // the fields it replaced
	Reason string
	Error  string
}

// Take holds a handler's answer, or its failure, against the rule of the event.
func Take(event sdk.HookEvent, o Outcome, h Handler, raw json.RawMessage, failure error) (Outcome, Report) {
	rule := RuleOf(event)
	answer, err := sdk.HookAnswer{}, failure
	if err == nil {
		answer, err = read(raw)
	}
	next := o
	changed := false
	if err == nil && answer.Action != sdk.HookAbort && len(answer.Replace) > 0 && rule.replace != nil {
		next.Payload, err = rule.replace(o.Payload, answer.Replace, &next)
		changed = err == nil
	}
	switch {
	case err != nil && rule.Guard:
		o.Aborted, o.Failed, o.By = true, true, h.PluginID
		o.Reason = fmt.Sprintf("the %s hook of %s failed", event, owner(h))
		return o, Report{Kind: Aborted, Reason: o.Reason, Error: err.Error()}
	case err != nil:
		return o, Report{Kind: Errored, Error: err.Error()}
	case answer.Action == sdk.HookAbort && rule.Guard:
		o.Aborted, o.By, o.Reason = true, h.PluginID, cut(strings.TrimSpace(text.Clean(answer.Reason)))
		if o.Reason == "" {
			o.Reason = fmt.Sprintf("the %s hook of %s refused", event, owner(h))
		}
		return o, Report{Kind: Aborted, Reason: o.Reason}
	case changed && !unchanged(o, next):
		next.Rewrote = true
		return next, Report{Kind: Rewrote, Diff: answer.Replace}
	}
	return o, Report{Kind: Fired}
}

// unchanged: what was replaced was so already.
func unchanged(a, b Outcome) bool {
	return bytes.Equal(a.Payload, b.Payload) && a.End == b.End && a.Rejected == b.Rejected
}

// maxReason is how much of a reason is handed on, in characters.
const maxReason = 2000

func cut(reason string) string {
	if r := []rune(reason); len(r) > maxReason {
		return string(r[:maxReason-1]) + "…"
	}
	return reason
}

func owner(h Handler) string {
	if h.PluginID == "" {
		return "the framework"
	}
	return h.PluginID
}

// read takes an answer apart. Nothing and null change nothing; an unknown key or action is malformed.
func read(raw json.RawMessage) (sdk.HookAnswer, error) {
	var a sdk.HookAnswer
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return a, nil
	case len(raw) > MaxAnswer:
		return a, errors.Errorf("the answer has %d bytes; at most %d are read", len(raw), MaxAnswer)
	}
	if err := strict(raw, &a); err != nil {
		return a, errors.Wrap(err, "the answer is not {action, replace, reason}")
	}
	if string(bytes.TrimSpace(a.Replace)) == "null" {
		a.Replace = nil
	}
	switch a.Action {
	case "":
		a.Action = sdk.HookContinue
	case sdk.HookContinue, sdk.HookAbort:
	default:
		return a, errors.Errorf("action %q: use continue or abort", a.Action)
	}
	return a, nil
}

// strict decodes one JSON value; keys nobody knows and anything after it are errors.
func strict(raw json.RawMessage, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more than one value")
	}
	return nil
}
