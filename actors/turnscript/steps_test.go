package turnscript

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/plugins/sdk"
)

// scene is one call of plugin code that the script plays.
type scene struct {
	cast    *cast
	role    string
	rt      *sdk.Runtime // not of hooks and extensions
	payload json.RawMessage
	effects sdk.Effects
	result  sdk.Result
	guarded sdk.GuardResult
	tool    sdk.ToolResult
	answer  sdk.HookAnswer
}

// act is one step of a scene.
type act func(context.Context, *scene) error

// stepKind is a step of the language. A step is read before anything is played, so that a mistake in it is the script's and
// not the plugin's.
type stepKind struct {
	usage string
	of    string // the roles that can do it
	parse func(rest string) (act, error)
}

var steps map[string]stepKind

const code = "function guard tool"

func init() {
	steps = map[string]stepKind{
		// What it comes to.
		"value":   {"value JSON", "function extension", jsonStep(func(s *scene, v json.RawMessage) { s.result.Value = v })},
		"done":    {"done", "function guard", plain(func(s *scene) { s.result.Done, s.guarded.Skip, s.guarded.PreGameDone = true, true, true })},
		"skip":    {"skip [REASON]", "function guard", text(func(s *scene, r string) { s.result.Outcome, s.result.SkipReason, s.guarded.Skip = sdk.Skipped, r, true })},
		"output":  {"output JSON", "guard", outputStep},
		"fail":    {"fail MESSAGE", "function tool", failStep},
		"refuse":  {"refuse MESSAGE", "tool", erring(func(m string) error { return sdk.Fail(sdk.Refused, "%s", m) })},
		"error":   {"error MESSAGE", "function guard tool hook extension", erring(func(m string) error { return errors.New(m) })},
		"panic":   {"panic MESSAGE", "function guard tool hook extension", func(m string) (act, error) { return func(context.Context, *scene) error { panic(m) }, nil }},
		"content": {"content JSON", "tool", jsonStep(func(s *scene, v json.RawMessage) { s.tool.Content = v })},
		"suspend": {"suspend REASON", "function", text(func(s *scene, r string) { s.result.Outcome, s.result.Reason = sdk.Suspended, r })},
		"schema":  {"schema JSON", "function", jsonStep(func(s *scene, v json.RawMessage) { s.result.ResumeSchema = v })},
		"abort":   {"abort [REASON]", "hook", text(func(s *scene, r string) { s.answer.Action, s.answer.Reason = sdk.HookAbort, r })},
		"replace": {"replace JSON", "hook", jsonStep(func(s *scene, v json.RawMessage) { s.answer.Replace = v })},
		// What it asks to be written.
		"set":      {"set NAMESPACE KEY JSON", code, setStep},
		"message":  {"message TEXT", code, text(func(s *scene, r string) { s.effects.Narrative = r })},
		"event":    {"event TOPIC [JSON]", code, topicStep},
		"propose":  {"propose TYPE JSON", code, proposeStep},
		"form":     {"form JSON", code, formStep},
		"call":     {"call TOOL JSON", "function", callStep},
		"ask":      {"ask CONTRACT|RUNTIME BRIEF", "function", askStep},
		"recurse":  {"recurse RUNTIME [JSON]", "function guard", recurseStep},
		"generate": {"generate PROMPT", "function guard", generateStep},
		// What it tells operators.
		"log":      {"log MESSAGE", code, text(func(s *scene, r string) { s.rt.Log.Info(r, map[string]any{"role": s.role}) })},
		"diagnose": {"diagnose CODE MESSAGE", code, diagnoseStep},
		// What it notes of what it is given.
		"read":       {"read NAMESPACE KEY", code, readStep},
		"inputs":     {"inputs NAME…", code, inputsStep},
		"activation": {"activation", code, plain(func(s *scene) { s.note("is activated with %s", orNothing(string(s.rt.Activation))) })},
		"actions":    {"actions", code, plain(func(s *scene) { s.note("sees the actions %s", asJSON(s.rt.PlayerActions)) })},
		"turn":       {"turn", code, plain(func(s *scene) { s.note("runs in logical turn %d, %s", s.rt.LogicalTurn, s.rt.Locale) })},
		"witnessed":  {"witnessed CHARACTER", code, text(func(s *scene, id string) { s.note("%s has witnessed %s", id, witnessed(s.rt, id)) })},
		"line":       {"line", code, plain(func(s *scene) { s.note("reads the line %s", orNothing(s.rt.PlayerMessage)) })},
		"settings":   {"settings", code, plain(func(s *scene) { s.note("has the settings %s", asJSON(s.rt.Settings)) })},
		"exports":    {"exports NAME…", "function guard", exportsStep},
		"draw":       {"draw MIN MAX", code, drawStep},
		"resumed":    {"resumed", "function", plain(func(s *scene) { s.note("goes on with %s", orNothing(string(s.rt.ResumeData))) })},
		"sees":       {"sees [WORDS]", "hook extension", seesStep},
		// How long it takes.
		"wait": {"wait DURATION", "function guard tool hook extension", waitStep},
		"gate": {"gate NAME", "function guard tool hook extension", gateStep},
	}
}

func parseStep(role, line string) (act, error) {
	verb, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	kind, ok := steps[verb]
	if !ok || !slices.Contains(strings.Fields(kind.of), role) {
		var can []string
		for _, name := range sortedKeys(steps) {
			if slices.Contains(strings.Fields(steps[name].of), role) {
				can = append(can, name)
			}
		}
		return nil, errors.Errorf("a %s has no step %q; its steps are %s", role, verb, strings.Join(can, ", "))
	}
	a, err := kind.parse(rest)
	if err != nil {
		return nil, errors.Errorf("%s: %v; write %s", line, err, kind.usage)
	}
	return a, nil
}

func (s *scene) note(format string, args ...any) { s.cast.note(s.role+" "+format, args...) }

func plain(do func(*scene)) func(string) (act, error) {
	return func(rest string) (act, error) {
		if rest != "" {
			return nil, errors.Errorf("it takes nothing, got %q", rest)
		}
		return func(_ context.Context, s *scene) error { do(s); return nil }, nil
	}
}

func text(do func(*scene, string)) func(string) (act, error) {
	return func(rest string) (act, error) {
		return func(_ context.Context, s *scene) error { do(s, rest); return nil }, nil
	}
}

func erring(make func(string) error) func(string) (act, error) {
	return func(rest string) (act, error) {
		return func(context.Context, *scene) error { return make(rest) }, nil
	}
}

func jsonStep(do func(*scene, json.RawMessage)) func(string) (act, error) {
	return func(rest string) (act, error) {
		if !json.Valid([]byte(rest)) {
			return nil, errors.New("that is no JSON")
		}
		return func(_ context.Context, s *scene) error { do(s, json.RawMessage(rest)); return nil }, nil
	}
}

func words(rest string, n int) ([]string, error) {
	w := strings.SplitN(rest, " ", n)
	if len(w) < n || slices.Contains(w, "") {
		return nil, errors.New("something is missing")
	}
	return w, nil
}

func outputStep(rest string) (act, error) {
	var out map[string]any
	if err := json.Unmarshal([]byte(rest), &out); err != nil {
		return nil, errors.New("that is no JSON object")
	}
	return func(_ context.Context, s *scene) error { s.guarded.Skip, s.guarded.Output = true, out; return nil }, nil
}

func failStep(rest string) (act, error) {
	return func(_ context.Context, s *scene) error {
		if strings.HasPrefix(s.role, "tool ") {
			return sdk.Fail(sdk.InvalidInput, "%s", rest)
		}
		s.result.Outcome, s.result.Error = sdk.Failed, rest
		return nil
	}, nil
}

func setStep(rest string) (act, error) {
	w, err := words(rest, 3)
	if err == nil && !json.Valid([]byte(w[2])) {
		err = errors.New("that is no JSON")
	}
	return func(_ context.Context, s *scene) error { return s.rt.PluginData.Set(w[0], w[1], json.RawMessage(w[2])) }, err
}

func topicStep(rest string) (act, error) {
	topic, data, _ := strings.Cut(rest, " ")
	if topic == "" || data != "" && !json.Valid([]byte(data)) {
		return nil, errors.New("that is no topic with JSON")
	}
	return func(_ context.Context, s *scene) error {
		s.effects.Events = append(s.effects.Events, sdk.EmittedEvent{Topic: topic, Data: json.RawMessage(data)})
		return nil
	}, nil
}

// proposeStep takes any payload: what is wrong with it is for the commit to say.
func proposeStep(rest string) (act, error) {
	w, err := words(rest, 2)
	return func(_ context.Context, s *scene) error {
		s.effects.Proposals = append(s.effects.Proposals, sdk.Proposal{Type: w[0], Payload: json.RawMessage(w[1])})
		return nil
	}, err
}

func formStep(rest string) (act, error) {
	var form map[string]any
	if err := json.Unmarshal([]byte(rest), &form); err != nil {
		return nil, errors.New("that is no JSON object")
	}
	return func(_ context.Context, s *scene) error {
		s.effects.Interactions = append(s.effects.Interactions, form)
		return nil
	}, nil
}

func callStep(rest string) (act, error) {
	name, args, _ := strings.Cut(rest, " ")
	if name == "" {
		return nil, errors.New("the tool is missing")
	}
	return func(ctx context.Context, s *scene) error {
		out, err := s.rt.Tools.Call(ctx, name, json.RawMessage(args))
		s.note("called %s: %s %v", name, out, err)
		return nil
	}, nil
}

// recurseStep calls another runtime of the package. A refusal is noted, and the code goes on.
func recurseStep(rest string) (act, error) {
	name, payload, _ := strings.Cut(rest, " ")
	if name == "" {
		return nil, errors.New("the runtime is missing")
	}
	if payload != "" && !json.Valid([]byte(payload)) {
		return nil, errors.New("the payload is no JSON")
	}
	return func(ctx context.Context, s *scene) error {
		call := sdk.RecursiveCall{RuntimeID: name}
		if payload != "" {
			call.Payload = json.RawMessage(payload)
		}
		res, err := s.rt.RecursiveCall(ctx, call)
		if err != nil {
			s.note("may not call %s: %v", name, err)
			return nil
		}
		s.note("called %s: %s %s%s%s", name, res.Status, res.Output, res.Error, res.SkipReason)
		return nil
	}, nil
}

func exportsStep(rest string) (act, error) {
	return func(_ context.Context, s *scene) error {
		for _, name := range strings.Fields(rest) {
			s.note("reads the export %s: %s", name, orNothing(string(s.rt.Exports[name].Value())))
		}
		return nil
	}, nil
}

func drawStep(rest string) (act, error) {
	w, err := words(rest, 2)
	if err != nil {
		return nil, err
	}
	from, err := strconv.Atoi(w[0])
	if err != nil {
		return nil, err
	}
	to, err := strconv.Atoi(w[1])
	return func(_ context.Context, s *scene) error {
		n := s.rt.Random.Int(from, to)
		s.note("draws a number from %d up to %d: %v", from, to, n >= from && n < to)
		return nil
	}, err
}

func readStep(rest string) (act, error) {
	w, err := words(rest, 2)
	return func(_ context.Context, s *scene) error {
		s.note("reads %s/%s: %s", w[0], w[1], orNothing(string(s.rt.PluginData.Get(w[0], w[1]))))
		return nil
	}, err
}

func inputsStep(rest string) (act, error) {
	return func(_ context.Context, s *scene) error {
		for _, name := range strings.Fields(rest) {
			got := "nothing"
			if in, ok := s.rt.Inputs[name]; ok {
				got = asJSON(in.Items)
			}
			s.note("gets %s: %s", name, got)
		}
		return nil
	}, nil
}

// seesStep notes the payload, or that the words stand in it.
func seesStep(rest string) (act, error) {
	return func(_ context.Context, s *scene) error {
		switch {
		case rest == "":
			s.note("sees %s", s.payload)
		case containsAll(string(s.payload), rest):
			s.note("sees %s", rest)
		default:
			s.note("does not see %s", rest)
		}
		return nil
	}, nil
}

func waitStep(rest string) (act, error) {
	d, err := time.ParseDuration(rest)
	return func(ctx context.Context, _ *scene) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, err
}

func gateStep(rest string) (act, error) {
	if rest == "" {
		return nil, errors.New("its name is missing")
	}
	return func(ctx context.Context, s *scene) error { return s.cast.wait(ctx, rest) }, nil
}

func asJSON(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}
