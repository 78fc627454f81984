package tools

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/covel/covel/plugins/sdk"
)

// reference: plugins.md §18.6.
func TestModelFacingJSON(t *testing.T) {
	const id = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
	for name, c := range map[string]struct{ in, want string }{
		"ids that are UUIDs":        {`{"id":"` + id + `","runId":"` + id + `","turnIds":["` + id + `"],"name":"龙胆"}`, `{"name":"龙胆"}`},
		"readable ids stay":         {`{"id":"npc-mira","characterId":"char-苏婉","sceneIds":["hall","` + id + `"]}`, `{"id":"npc-mira","characterId":"char-苏婉","sceneIds":["hall","` + id + `"]}`},
		"an empty list of ids":      {`{"turnIds":[]}`, `{"turnIds":[]}`},
		"a UUID that is no id":      {`{"code":"` + id + `"}`, `{"code":"` + id + `"}`},
		"times":                     {`{"createdAt":"2026-01-02T03:04:05.678Z","timestamp":"2026-01-02T03:04:05+08:00","at":"noon","storyAt":"第三日"}`, `{"at":"noon","storyAt":"第三日"}`},
		"a date is not a time":      {`{"bornAt":"2026-01-02","madeAt":5}`, `{"bornAt":"2026-01-02","madeAt":5}`},
		"the session":               {`{"sessionId":"any","x":1}`, `{"x":1}`},
		"an id that repeats a key":  {`{"key":"gate","value":{"id":"gate","text":"锁"}}`, `{"key":"gate","value":{"id":"gate","text":"锁"}}`},
		"a row's id and its key":    {`{"rows":[{"key":"gate","id":"gate","text":"x"}]}`, `{"rows":[{"key":"gate","text":"x"}]}`},
		"an entry under its own id": {`{"gate":{"id":"gate","open":true},"door":{"id":"other"}}`, `{"gate":{"open":true},"door":{"id":"other"}}`},
		"order and numbers stay":    {`{"z":1.50,"a":[{"b":1e3}],"m":null}`, `{"z":1.50,"a":[{"b":1e3}],"m":null}`},
		"scalars":                   {`"` + id + `"`, `"` + id + `"`},
		"nothing":                   {``, ``},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(ModelFacingJSON(json.RawMessage(c.in))); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Rule TP:525–527: a tool gives its content and perhaps a view for the model; the model reads one object of summary, data and
// staged.
//
// seed: tools.txt, "Unified result format and error codes".
func TestEnvelope(t *testing.T) {
	write := []sdk.Proposal{{Type: "plugin.data"}, {Type: "character.upsert"}, {Type: "plugin.data"}}
	event := []sdk.EmittedEvent{{Topic: "scene.set"}}
	for name, c := range map[string]struct {
		content   string
		view      *sdk.ModelView
		proposals []sdk.Proposal
		events    []sdk.EmittedEvent
		language  string
		want      string
	}{
		"the seed's example": {`{"x":1}`, &sdk.ModelView{Summary: "Queued a note.", Data: map[string]any{"key": "gate"}}, write[:1], nil, "zh",
			`{"summary":"Queued a note.","data":{"key":"gate"},"staged":{"count":1,"kinds":["plugin.data"],"notice":"已暂存，回合结束时生效（可能被拒绝）。"}}`},
		"content without a view":       {`{"ok":true,"value":"灯"}`, nil, nil, nil, "en", `{"data":{"ok":true,"value":"灯"}}`},
		"content is projected":         {`{"sessionId":"s","x":"<b>&"}`, nil, nil, nil, "en", `{"data":{"x":"<b>&"}}`},
		"the ui array is left out":     {`{"ui":[{"parts":[]}],"x":1}`, nil, nil, nil, "en", `{"data":{"x":1}}`},
		"nothing but ui":               {`{"ui":[{"parts":[]}]}`, nil, nil, nil, "en", `{"summary":"Done."}`},
		"a ui that is no list stays":   {`{"ui":"x"}`, nil, nil, nil, "en", `{"data":{"ui":"x"}}`},
		"an empty object is data":      {`{}`, nil, nil, nil, "en", `{"data":{}}`},
		"nothing at all":               {``, nil, nil, nil, "en", `{"summary":"Done."}`},
		"nothing at all, Chinese":      {`null`, nil, nil, nil, "zh", `{"summary":"完成。"}`},
		"a scalar":                     {`5`, nil, nil, nil, "en", `{"data":5}`},
		"a view without anything":      {`{"x":1}`, &sdk.ModelView{}, nil, nil, "en", `{"summary":"Done."}`},
		"a summary leaves the data":    {`{"x":1}`, &sdk.ModelView{Summary: "  kept <as> is "}, nil, nil, "en", `{"summary":"  kept <as> is "}`},
		"the view's data is projected": {`{}`, &sdk.ModelView{Data: map[string]any{"sessionId": 1, "y": 2}}, nil, nil, "en", `{"data":{"y":2}}`},
		"kinds in first-seen order": {``, nil, write, event, "en",
			`{"staged":{"count":4,"kinds":["plugin.data","character.upsert","event"],"notice":"Staged: it takes effect when the turn ends and may still be rejected."}}`},
		"an unknown language is English": {``, nil, nil, event, "fr",
			`{"staged":{"count":1,"kinds":["event"],"notice":"Staged: it takes effect when the turn ends and may still be rejected."}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Envelope(json.RawMessage(c.content), c.view, c.proposals, c.events, c.language)
			if err != nil || got != c.want {
				t.Errorf("got  %s %v\nwant %s", got, err, c.want)
			}
		})
	}
	if _, err := Envelope(nil, &sdk.ModelView{Data: func() {}}, nil, nil, "en"); err == nil {
		t.Error("a view that is no JSON was written")
	}
}

func TestErrorEnvelope(t *testing.T) {
	e := sdk.Fail(sdk.InvalidInput, "The name is required.").WithHint("Fix these fields and call the tool again.")
	want := `{"error":{"code":"invalid-input","message":"The name is required.","hint":"Fix these fields and call the tool again."}}`
	if got := ErrorEnvelope(e); got != want {
		t.Errorf("got %s", got)
	}
	long := bounded(sdk.Fail(sdk.Refused, "%s", strings.Repeat("灯", 2_500)))
	if n := len([]rune(long.Message)); n != 2_000 {
		t.Errorf("a message has %d characters", n)
	}
}

// "only the first error line, UUIDs replaced by <id>, and at most 300 characters of error text".
func TestInternalErrorsAreSanitised(t *testing.T) {
	err := errors.New("row 0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b is gone\nat secret.go:5")
	if got := internalError("look", err).Message; got != `Tool "look" failed: row <id> is gone` {
		t.Errorf("got %q", got)
	}
	if got := internalError("look", errors.New(strings.Repeat("长", 400))).Message; len([]rune(got)) != len([]rune(`Tool "look" failed: `))+300 {
		t.Errorf("%d characters", len([]rune(got)))
	}
}
