package world

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/covel/covel/plugins/sdk"
)

// PlayerType is the character type that is always there and may not be declared.
const PlayerType = "player"

// Rejection says why a world proposal is not acceptable; the text is English and names the field.
type Rejection struct{ Message string }

func (r *Rejection) Error() string { return r.Message }

func reject(format string, args ...any) error { return &Rejection{fmt.Sprintf(format, args...)} }

// Apply folds one proposal into the view. Proposals that are not about the world leave it unchanged. A proposal that the
// world model does not accept is a *Rejection, and the view is unchanged.
func Apply(w sdk.World, p sdk.Proposal) (sdk.World, error) {
	switch p.Type {
	case sdk.CharacterSchemaSet{}.ProposalType():
		var set sdk.CharacterSchemaSet
		if err := decode(p.Payload, &set); err != nil {
			return w, err
		}
		return applySchema(w, set)
	case sdk.CharacterUpsert{}.ProposalType():
		var up sdk.CharacterUpsert
		if err := decode(p.Payload, &up); err != nil {
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

func decode(b json.RawMessage, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return reject("payload: %v", err)
	}
	return nil
}

// applySchema replaces the character schema; the kernel raises the version. Existing characters must fit the new one.
func applySchema(w sdk.World, set sdk.CharacterSchemaSet) (sdk.World, error) {
	seen := map[string]bool{}
	for _, t := range set.Types {
		if t = strings.TrimSpace(t); t == "" || t == PlayerType || seen[t] {
			return w, reject("types: %q is empty, reserved or named twice", t)
		}
		seen[t] = true
	}
	ids := map[string]bool{}
	for _, a := range set.Attributes {
		if a.ID == "" || ids[a.ID] {
			return w, reject("attributes: id %q is empty or named twice", a.ID)
		}
		ids[a.ID] = true
	}
	next := sdk.CharacterSchema{Version: w.Schema.Version + 1, Types: set.Types, Attributes: set.Attributes}
	for _, c := range w.Characters {
		if err := checkCharacter(next, c); err != nil {
			return w, err
		}
	}
	w.Schema = next
	return w, nil
}

// applyUpsert materialises one character write (seed: tools.txt, "character.upsert").
func applyUpsert(w sdk.World, up sdk.CharacterUpsert) (sdk.World, error) {
	if up.ID == "" || strings.TrimSpace(up.Name) == "" {
		return w, reject("id and name must not be empty")
	}
	at := slices.IndexFunc(w.Characters, func(c sdk.Character) bool { return c.ID == up.ID })
	var next sdk.Character
	if up.ExpectedVersion != nil {
		if at < 0 {
			return w, reject("character %q does not exist, so it has no version %d to change", up.ID, *up.ExpectedVersion)
		}
		live := w.Characters[at]
		if *up.ExpectedVersion > live.Version {
			return w, reject("character %q is at version %d, the change expects %d", up.ID, live.Version, *up.ExpectedVersion)
		}
		next = live
		next.Version++
		if up.Aliases != nil {
			next.Aliases = up.Aliases
		}
		if up.Description != nil {
			next.Description = *up.Description
		}
		fields, err := patchFields(live.Fields, up.Fields)
		if err != nil {
			return w, err
		}
		next.Fields = fields
	} else {
		next = sdk.Character{ID: up.ID, Name: strings.TrimSpace(up.Name), Aliases: up.Aliases, Type: up.Type, Version: max(up.Version, 1)}
		if next.Type == "" {
			next.Type = "npc"
		}
		if up.Description != nil {
			next.Description = *up.Description
		}
		if len(up.Fields) > 0 && string(up.Fields) != "null" {
			next.Fields = up.Fields
		}
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

// patchFields merges object fields shallowly; null as a whole clears them, anything else replaces them.
func patchFields(live, patch json.RawMessage) (json.RawMessage, error) {
	if len(patch) == 0 {
		return live, nil
	}
	if string(bytes.TrimSpace(patch)) == "null" {
		return nil, nil
	}
	var old, change map[string]any
	if json.Unmarshal(patch, &change) != nil {
		return patch, nil
	}
	if len(live) == 0 || json.Unmarshal(live, &old) != nil || old == nil {
		return patch, nil
	}
	for k, v := range change {
		old[k] = v
	}
	b, err := json.Marshal(old)
	if err != nil {
		return nil, reject("fields: %v", err)
	}
	return b, nil
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
