package worlds

import (
	"regexp"

	"github.com/covel/covel/plugins/sdk"
)

var recordID = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)

const recordIDRule = "a lower-case letter, then lower-case letters, digits or -, at most 64"

const (
	maxCharacters = 500
	maxAliases    = 20
)

// readCharacters reads characters/characters.yaml or .json: a list of people (reference: worlds-and-story.md §8.1). A
// name or alias names one person, compared by sdk.NameKey.
func readCharacters(c cursor, schema, main *sdk.CharacterSchema) []sdk.Character {
	if schema == nil {
		schema = &sdk.CharacterSchema{Types: defaultTypes}
	}
	var mainAttributes []sdk.AttributeDef
	if main != nil {
		mainAttributes = main.Attributes
	}
	out := []sdk.Character{}
	ids := map[string]bool{}
	owners := map[string]string{} // name key → who has it
	for _, item := range c.items(maxCharacters) {
		o := item.object("id", "name", "aliases", "type", "description", "fields")
		if o.noMap {
			continue
		}
		person := sdk.Character{Version: 1}
		if id := o.get("id"); id.require() {
			person.ID = id.matching(recordID, recordIDRule)
			if person.ID != "" && ids[person.ID] {
				id.fail("choose another id.", "another character has the id %q.", person.ID)
			}
			ids[person.ID] = true
		}
		claim := func(c cursor, name string) bool {
			key := sdk.NameKey(name)
			owner, taken := owners[key]
			switch {
			case name == "": // reported
			case key == "":
				c.fail("use letters.", "%q is no name.", name)
			case taken && owner == person.ID:
				return false // an alias that says the name again
			case taken:
				c.fail("give one of them another name.", "%q is already a name of %s.", name, owner)
			default:
				owners[key] = person.ID
				return true
			}
			return false
		}
		if name := o.get("name"); name.require() {
			person.Name = name.label(maxNameRunes)
			claim(name, person.Name)
		}
		aliases := o.get("aliases")
		for _, alias := range aliases.labels(maxAliases, maxNameRunes) {
			if claim(aliases, alias) {
				person.Aliases = append(person.Aliases, alias)
			}
		}
		if kind := o.get("type"); kind.require() {
			if t := kind.label(maxNameRunes); t == PlayerType {
				kind.fail("leave the player's character out: the player makes it.", "%q is reserved.", PlayerType)
			} else {
				person.Type = kind.oneOf("", schema.Types...)
			}
		}
		person.Description = o.get("description").prose(maxFieldsRunes)
		if person.Description == "" {
			o.get("description").warn("say who this is, how they speak and what they want.", "the character has no description.")
		}
		person.Fields = rawObject(fitFields(o.get("fields"), schema.Attributes, mainAttributes, true))
		out = append(out, person)
	}
	return out
}
