package world

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/plugins/sdk"
)

// PlayerType is the character type that is always there and may not be declared.
const PlayerType = "player"

// Rejection says why a proposal is not acceptable; the text is English and names the field.
type Rejection struct {
	Code    string // Invalid, or a more exact one
	Message string
}

func (r *Rejection) Error() string { return r.Message }

// Invalid is the code of a proposal that breaks a rule of its type (seed: tools.txt, "A proposal that fails is not
// committed. Its error code is proposal-invalid or the rejection reason of the media check").
const Invalid = "proposal-invalid"

func reject(format string, args ...any) error {
	return &Rejection{Invalid, fmt.Sprintf(format, args...)}
}

// Apply folds one proposal into the view. Proposals that are not about the world leave it unchanged. A proposal that the
// world model does not accept is a *Rejection, and the view is unchanged.
func Apply(w sdk.World, p sdk.Proposal) (sdk.World, error) {
	switch p.Type {
	case sdk.CharacterSchemaSet{}.ProposalType():
		var set sdk.CharacterSchemaSet
		if _, err := ReadPayload(p.Payload, &set); err != nil {
			return w, err
		}
		return applySchema(w, set)
	case sdk.CharacterUpsert{}.ProposalType():
		var up sdk.CharacterUpsert
		if _, err := ReadPayload(p.Payload, &up); err != nil {
			return w, err
		}
		return applyUpsert(w, up)
	}
	return w, nil
}

// Overlay folds the acceptable world proposals of a list in order; what is not acceptable does not enter the view.
func Overlay(w sdk.World, proposals []sdk.Proposal) sdk.World {
	for _, p := range proposals {
		if next, err := Apply(w, p); err == nil {
			w = next
		}
	}
	return w
}

// applySchema replaces the character schema; the kernel raises the version. Existing characters must fit the new one.
func applySchema(w sdk.World, set sdk.CharacterSchemaSet) (sdk.World, error) {
	next := sdk.CharacterSchema{Version: w.Schema.Version + 1, Attributes: set.Attributes}
	for _, t := range set.Types {
		if t = strings.TrimSpace(t); t == "" || strings.EqualFold(t, PlayerType) || slices.Contains(next.Types, t) {
			return w, reject("types: %q is empty, reserved or named twice", t)
		}
		next.Types = append(next.Types, t)
	}
	if len(next.Types) == 0 {
		next.Types = slices.Clone(defaultTypes)
	}
	if err := checkAttributes("attributes", set.Attributes); err != nil {
		return w, err
	}
	for _, c := range w.Characters {
		if err := checkCharacter(next, c); err != nil {
			return w, err
		}
	}
	w.Schema = next
	return w, nil
}

// defaultTypes are the character types of a schema that names none (reference: worlds-and-story.md §12.2).
var defaultTypes = []string{"npc", "companion"}

var attributeTypes = []string{sdk.AttrString, sdk.AttrNumber, sdk.AttrBoolean, sdk.AttrEnum, sdk.AttrArray, sdk.AttrObject, sdk.AttrMap}

func checkAttributes(at string, attributes []sdk.AttributeDef) error {
	seen := map[string]bool{}
	for i, a := range attributes {
		switch {
		case a.ID == "" || seen[a.ID]:
			return reject("%s[%d].id: %q is empty or named twice", at, i, a.ID)
		case !slices.Contains(attributeTypes, a.Type):
			return reject("%s[%d].type: %q is none of %s", at, i, a.Type, strings.Join(attributeTypes, ", "))
		case a.Min != nil && a.Max != nil && *a.Min > *a.Max:
			return reject("%s[%d]: min is above max", at, i)
		}
		seen[a.ID] = true
		if err := checkAttributes(fmt.Sprintf("%s[%d].subSchema", at, i), a.SubSchema); err != nil {
			return err
		}
	}
	return nil
}

// applyUpsert materialises one character write (seed: tools.txt, "Which data is read", "character.upsert").
func applyUpsert(w sdk.World, up sdk.CharacterUpsert) (sdk.World, error) {
	if up.ID == "" || strings.TrimSpace(up.Name) == "" {
		return w, reject("id and name must not be empty")
	}
	at := slices.IndexFunc(w.Characters, func(c sdk.Character) bool { return c.ID == up.ID })
	var next sdk.Character
	var err error
	switch {
	case up.ExpectedVersion == nil:
		next, err = replacement(up)
	case at < 0:
		err = reject("character %q does not exist, so it has no version %d to change", up.ID, *up.ExpectedVersion)
	default:
		next, err = patched(w.Characters[at], up)
	}
	if err != nil {
		return w, err
	}
	if err := checkCharacter(w.Schema, next); err != nil {
		return w, err
	}
	for _, name := range append([]string{next.Name}, next.Aliases...) {
		if owner, taken := sdk.NameOwner(w.Characters, name, next.ID); taken {
			return w, reject("%q is already a name of %s", name, owner.Label())
		}
	}
	w = clone(w)
	if at >= 0 {
		w.Characters[at] = next
	} else {
		w.Characters = append(w.Characters, next)
	}
	return w, nil
}

// replacement is the whole character as a write without expectedVersion says: what it leaves out is not kept.
func replacement(up sdk.CharacterUpsert) (sdk.Character, error) {
	if up.Version < 0 || up.Version > math.MaxInt32 {
		return sdk.Character{}, reject("version %d is no version", up.Version)
	}
	next := sdk.Character{ID: up.ID, Name: strings.TrimSpace(up.Name), Type: up.Type, Version: max(up.Version, 1)}
	if sdk.NameKey(next.Name) == "" {
		return next, reject("the name %q has nothing to call somebody by", next.Name)
	}
	next.Aliases = aliases(next.Name, up.Aliases)
	if next.Type == "" {
		next.Type = "npc"
	}
	if up.Description != nil {
		next.Description = *up.Description
	}
	if !isNull(up.Fields) {
		next.Fields = up.Fields
	}
	return next, nil
}

// patched is the live character with the changes of a write that expects a version. Name and type stay; a live version
// above the expected one is no conflict: writes of parallel runs compose, the same field goes to the later one.
func patched(live sdk.Character, up sdk.CharacterUpsert) (sdk.Character, error) {
	if *up.ExpectedVersion > live.Version {
		return live, reject("character %q is at version %d, the change expects %d", up.ID, live.Version, *up.ExpectedVersion)
	}
	next := live
	next.Version++
	if up.Aliases != nil {
		next.Aliases = aliases(live.Name, up.Aliases)
	}
	if up.Description != nil {
		next.Description = *up.Description
	}
	switch {
	case len(up.Fields) == 0: // not given
	case isNull(up.Fields):
		next.Fields = nil
	default:
		next.Fields = merged(live.Fields, up.Fields)
	}
	return next, nil
}

// aliases drops what says nothing new: an alias that is the name, or another alias, in other letters.
func aliases(name string, given []string) []string {
	known := []string{"", sdk.NameKey(name)}
	var out []string
	for _, a := range given {
		if k := sdk.NameKey(a); !slices.Contains(known, k) {
			known = append(known, k)
			out = append(out, strings.TrimSpace(a))
		}
	}
	return out
}

func isNull(b json.RawMessage) bool { return len(b) == 0 || string(bytes.TrimSpace(b)) == "null" }

// merged is a shallow merge of objects; anything else replaces the whole. Values that are not changed keep their bytes.
func merged(live, patch json.RawMessage) json.RawMessage {
	var old, change map[string]json.RawMessage
	if json.Unmarshal(patch, &change) != nil || json.Unmarshal(live, &old) != nil || old == nil {
		return patch
	}
	maps.Copy(old, change)
	b, err := plainjson.Marshal(old)
	if err != nil {
		return patch // all values were just read
	}
	return b
}

func checkCharacter(schema sdk.CharacterSchema, c sdk.Character) error {
	if c.Type != PlayerType && schema.Version > 0 && !slices.Contains(schema.Types, c.Type) {
		return reject("character %q has type %q; the types are %s", c.Name, c.Type, strings.Join(append([]string{PlayerType}, schema.Types...), ", "))
	}
	if len(c.Fields) == 0 {
		return nil
	}
	var fields map[string]any
	if err := json.Unmarshal(c.Fields, &fields); err != nil {
		return reject("character %q: fields must be an object", c.Name)
	}
	if issues := sdk.ValidateFields(schema, fields); len(issues) > 0 {
		return reject("character %q: %s", c.Name, issues[0].Error())
	}
	return nil
}
