package charcreator

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/covel/covel/plugins/sdk"
)

var placeholder = regexp.MustCompile(`\{\{\s*([^{}]+?)\s*\}\}`)

// piece is a part of the filled sentence: the template's own words, or what stands in a placeholder.
type piece struct {
	text  string
	field string // "" for the template's own words
	shown bool   // a stand-in for an answer that is not known yet: only the label, in brackets
}

// piecesOf cuts a template at its placeholders and fills them with the defaults.
func piecesOf(f form) []piece {
	var out []piece
	at := 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(f.NarrativeTemplate, -1) {
		if m[0] > at {
			out = append(out, piece{text: f.NarrativeTemplate[at:m[0]]})
		}
		name := f.NarrativeTemplate[m[2]:m[3]]
		p := piece{field: name}
		if fl := f.field(name); fl != nil {
			if p.text = fl.DefaultValue; p.text == "" {
				p.text, p.shown = "["+fl.Label+"]", true
			}
		}
		out = append(out, p)
		at = m[1]
	}
	if at < len(f.NarrativeTemplate) {
		out = append(out, piece{text: f.NarrativeTemplate[at:]})
	}
	return out
}

// preview is the sentence as it reads with the defaults; an answer without one shows its label in brackets.
func preview(f form) string {
	values := map[string]any{}
	for _, p := range piecesOf(f) {
		if p.field != "" {
			values[p.field] = p.text
		}
	}
	return sdk.FillNarrativeTemplate(f.NarrativeTemplate, values)
}

// checkTemplate checks the sentence that an answer becomes: it names the character, uses only fields of the form, repeats no
// word where a value meets the sentence and leaves nothing to be decided.
func checkTemplate(f form, schema sdk.CharacterSchema) error {
	named := false
	var unknown []string
	for _, p := range piecesOf(f) {
		switch {
		case p.field == nameField:
			named = true
		case p.field != "" && f.field(p.field) == nil:
			unknown = append(unknown, "{{"+p.field+"}}")
		}
	}
	if !named {
		return invalid("The narrativeTemplate does not contain {{%s}}. It is the sentence by which the character enters the story, for example: My name is {{%s}}.", nameField, nameField)
	}
	if len(unknown) > 0 {
		return invalid("The narrativeTemplate has placeholders that are no fields of the form: %s. Each placeholder is {{<field name>}}.", strings.Join(unknown, ", "))
	}
	problems := append(undecidedIn(f, schema), repeatsIn(f)...)
	if len(problems) > 0 {
		return invalid("%s\nThe sentence reads: %s", strings.Join(problems, "\n"), preview(f)).
			WithHint("Change the default or the words around the placeholder so that the sentence reads well, and call the tool again.")
	}
	return nil
}

// repeatsIn finds words that stand twice where two pieces meet, as in "the lamp keeper keeper".
func repeatsIn(f form) []string {
	var problems []string
	pieces := piecesOf(f)
	for i := 1; i < len(pieces); i++ {
		a, b := pieces[i-1], pieces[i]
		if a.shown || b.shown {
			continue
		}
		twice := overlap(a.text, b.text)
		if twice == "" {
			continue
		}
		where := b
		if a.field != "" {
			where = a
		}
		problems = append(problems, fmt.Sprintf("%q stands twice where {{%s}} meets the words around it.", twice, where.field))
	}
	return problems
}
