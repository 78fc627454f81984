package guide

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/covel/covel/plugins/sdk"
)

// Where the page reads the guide of the newest story from. The shape of the record is schemas/message.json.
const (
	namespace = "message"
	key       = "current"
)

// How many suggestions a guide has (reference: worlds-and-story.md §24.4, guide).
const (
	minSuggestions = 3
	maxSuggestions = 6
)

// Lengths (reference: worlds-and-story.md §24.4, guide). The Chinese figures are ours: two characters say about what one
// English word says.
var (
	sceneLimits      = limits{minWords: 1, maxWords: 6, minCJK: 1, maxCJK: 16}
	recapLimits      = limits{minWords: 1, maxWords: 60, minCJK: 1, maxCJK: 120}
	decisionLimits   = limits{minWords: 1, maxWords: 25, minCJK: 1, maxCJK: 50}
	suggestionLimits = limits{minWords: 3, maxWords: 12, minCJK: 2, maxCJK: 24}
)

var suggestionTypes = []string{"observe", "ask", "act", "social"}

// suggestion is one thing the player could do, in words they could send as they are.
type suggestion struct {
	Type string `json:"type" jsonschema:"enum=observe,enum=ask,enum=act,enum=social" describe:"observe: look, listen, examine; ask: a question to someone present; act: do something; social: deal with someone's feelings or standing."`
	Text string `json:"text" jsonschema:"minLength=1,maxLength=160" describe:"What the player would say or do, in the player's own voice, 3-12 words (2-24 characters in Chinese)."`
}

type guideArgs struct {
	Scene       string       `json:"scene" jsonschema:"minLength=1,maxLength=80" describe:"Where we are now, 2-6 words (at most 16 characters in Chinese)."`
	Recap       string       `json:"recap" jsonschema:"minLength=1,maxLength=600" describe:"What happened on this page, facts only, at most 60 words (120 characters in Chinese)."`
	Decision    string       `json:"decision" jsonschema:"minLength=1,maxLength=250" describe:"What now waits for the player to decide, at most 25 words (50 characters in Chinese)."`
	Suggestions []suggestion `json:"suggestions" jsonschema:"minItems=3,maxItems=6" describe:"Three to six different things the player could do next."`
}

// record is what is stored: the guide and the execution it was written in.
type record struct {
	TurnID      string       `json:"turnId,omitempty"`
	Scene       string       `json:"scene"`
	Recap       string       `json:"recap"`
	Decision    string       `json:"decision"`
	Suggestions []suggestion `json:"suggestions"`
}

// generateGuide checks a guide and stages it as one record: all of it or nothing (seed: tools.txt, overview,
// "generate-guide").
var generateGuide = sdk.MustDefine(sdk.Tool{
	Name: "generate-guide",
	Description: "Write the guide of this page at once: where the player is, what happened, what is to be decided, and three " +
		"to six suggestions in the player's voice. Call it once; it finishes the task.",
	Annotations: sdk.Annotations{Idempotent: true},
}, func(_ context.Context, args guideArgs, rt *sdk.Runtime) (sdk.ToolResult, error) {
	guide := tidy(args)
	if problems := check(guide); len(problems) > 0 {
		return sdk.ToolResult{}, sdk.Fail(sdk.InvalidInput, "%s", strings.Join(problems, "\n")).
			WithHint("Correct these and send the whole guide again.")
	}
	guide.TurnID = rt.TurnID
	value, err := json.Marshal(guide)
	if err != nil {
		return sdk.ToolResult{}, err
	}
	write, err := sdk.Propose(sdk.PluginDataWrite{Namespace: namespace, Key: key, Value: value})
	if err != nil {
		return sdk.ToolResult{}, err
	}
	return sdk.WithModelView(
		sdk.WithPendingProposals(guide, []sdk.Proposal{write}),
		sdk.ModelView{Summary: sdk.Translate(rt.Messages, "Guide written.", nil)},
	), nil
})

// listMark is one bullet or a number before a suggestion: the page makes a button of it, a mark would be read aloud.
var listMark = regexp.MustCompile(`^(?:[-*•·]|\(?\d{1,2}[.)、．）])\s*`)

// tidy trims what a model often adds around its texts.
func tidy(args guideArgs) record {
	r := record{
		Scene:       oneLine(args.Scene),
		Recap:       strings.TrimSpace(args.Recap),
		Decision:    strings.TrimSpace(args.Decision),
		Suggestions: make([]suggestion, len(args.Suggestions)),
	}
	for i, s := range args.Suggestions {
		r.Suggestions[i] = suggestion{Type: s.Type, Text: listMark.ReplaceAllString(oneLine(s.Text), "")}
	}
	return r
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// check gives all problems of a guide, one line each, each with the argument it is about.
func check(r record) []string {
	var problems []string
	add := func(path, problem string) {
		if problem != "" {
			problems = append(problems, path+": "+problem+".")
		}
	}
	add("scene", sceneLimits.problem(r.Scene))
	add("recap", recapLimits.problem(r.Recap))
	add("decision", decisionLimits.problem(r.Decision))
	if n := len(r.Suggestions); n < minSuggestions || n > maxSuggestions {
		add("suggestions", fmt.Sprintf("there are %d, expected %d to %d", n, minSuggestions, maxSuggestions))
	}
	first := map[string]int{}
	for i, s := range r.Suggestions {
		path := fmt.Sprintf("suggestions[%d]", i)
		if !slices.Contains(suggestionTypes, s.Type) {
			add(path+".type", fmt.Sprintf("%q is not one of %s", s.Type, strings.Join(suggestionTypes, ", ")))
		}
		if p := suggestionLimits.problem(s.Text); p != "" {
			add(path+".text", p)
			continue
		}
		k := sameness(s.Text)
		if j, twice := first[k]; twice {
			add(path+".text", fmt.Sprintf("says the same as suggestions[%d]; each suggestion is a different thing to do", j))
			continue
		}
		first[k] = i
	}
	return problems
}

// sameness is the key by which suggestions are told apart: as names are, and a closing mark makes no difference.
func sameness(text string) string {
	return sdk.NameKey(strings.TrimRight(text, ".!?…。！？ "))
}
