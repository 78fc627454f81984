package worldinit

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/covel/covel/plugins/sdk"
)

// worldArgs are the arguments of initialize-world; schemas/initialize-world.json is what the model reads of them.
type worldArgs struct {
	Types      []string        `json:"types"`
	Attributes []attributeArgs `json:"attributes"`
}

// attributeArgs is an attribute as a model writes it: names may be given in several languages.
type attributeArgs struct {
	ID           string          `json:"id"`
	Name         label           `json:"name"`
	Type         string          `json:"type"`
	Category     string          `json:"category"`
	Description  label           `json:"description"`
	Min          *float64        `json:"min"`
	Max          *float64        `json:"max"`
	DefaultValue any             `json:"defaultValue"`
	ItemType     string          `json:"itemType"`
	Options      []string        `json:"options"`
	SubSchema    []attributeArgs `json:"subSchema"`
	ValueType    string          `json:"valueType"`
}

// label is a text, or a text for each locale.
type label struct {
	plain    string
	byLocale map[string]string
}

// UnmarshalJSON reads a string or an object of locale and string.
func (l *label) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &l.plain) == nil {
		return nil
	}
	if json.Unmarshal(b, &l.byLocale) == nil {
		return nil
	}
	return errors.New("a name or description is a string, or an object of locale and string")
}

// in picks the text for a locale: that locale, its language, English, then the first by locale.
func (l label) in(locale string) string {
	if l.byLocale == nil {
		return strings.TrimSpace(l.plain)
	}
	language, _, _ := strings.Cut(locale, "-")
	for _, key := range []string{locale, language, "en"} {
		if text := strings.TrimSpace(l.byLocale[key]); text != "" {
			return text
		}
	}
	first := ""
	for key, text := range l.byLocale {
		if strings.TrimSpace(text) != "" && (first == "" || key < first) {
			first = key
		}
	}
	return strings.TrimSpace(l.byLocale[first])
}

// initialized is the content of the tool and the value of world-data-provider@1.
type initialized struct {
	Success        bool                `json:"success"`
	AttributeCount int                 `json:"attributeCount"`
	WorldSchema    sdk.CharacterSchema `json:"worldSchema"`
	PreGameDone    bool                `json:"preGameDone"`
}

// initializeWorld sets the character schema of a world whose author declared none (seed: tools.txt, "initialize-world").
// The dimensions of the seed's tool join it with the dimension runtimes.
var initializeWorld = sdk.MustDefine(sdk.Tool{
	Name: "initialize-world",
	Description: "Set the attributes that describe every character of this world. Call it once, with all attributes; it finishes " +
		"the task. defaultValue is what a newcomer starts with, not an example of a person from the lore.",
	Parameters: mustRead("schemas/initialize-world.json"),
}, func(_ context.Context, args worldArgs, rt *sdk.Runtime) (sdk.ToolResult, error) {
	attributes, problems := attributesOf(args.Attributes, rt.Locale)
	if len(problems) > 0 {
		return sdk.ToolResult{}, sdk.Fail(sdk.InvalidInput, "%s", strings.Join(problems, "\n")).
			WithHint("Correct these and send all attributes again.")
	}
	schema := sdk.CharacterSchema{Version: rt.CharacterSchema().Version + 1, Types: typesOf(args.Types), Attributes: attributes}
	set, err := sdk.Propose(sdk.CharacterSchemaSet{Types: schema.Types, Attributes: schema.Attributes})
	if err != nil {
		return sdk.ToolResult{}, err
	}
	content := initialized{Success: true, AttributeCount: len(attributes), WorldSchema: schema, PreGameDone: true}
	return sdk.WithModelView(
		sdk.WithPendingProposals(content, []sdk.Proposal{set}),
		sdk.ModelView{Summary: sdk.Translate(rt.Messages, "World initialized: {count} attributes.", map[string]any{"count": float64(len(attributes))})},
	), nil
})

func mustRead(name string) json.RawMessage {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(err) // embedded with this package: cannot be missing in a built program
	}
	return b
}
