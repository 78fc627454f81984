// Package world is the read view of a session's world model, and the one function that folds a world proposal into it.
// The same function serves the preview inside an execution and the commit (seed: tools.txt, "Which data is read").
package world

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	"github.com/covel/covel/worlds"
)

// View gives the committed world of a session; pack is the world as the session stored it. It shares nothing with them
// that a plugin could write to.
func View(s projections.State, pack worlds.View) sdk.World {
	w := Model(s)
	w.Record = pack.Record
	w.Record.Tags, w.Record.Metadata = slices.Clone(pack.Record.Tags), maps.Clone(pack.Record.Metadata)
	if pack.DeclaredSchema != nil {
		w.DeclaredSchema = &sdk.CharacterSchema{
			Version: pack.DeclaredSchema.Version, Types: slices.Clone(pack.DeclaredSchema.Types), Attributes: slices.Clone(pack.DeclaredSchema.Attributes),
		}
	}
	w.Dimensions = Dimensions(s.Dimensions)
	w.Lorebook = make([]sdk.LorebookEntry, 0, len(s.Lorebook))
	for _, e := range s.Lorebook {
		enabled := e.Enabled
		entry := sdk.LorebookEntry{
			ID: e.ID, Keys: slices.Clone(e.Keys), Content: e.Content, Strategy: e.Strategy, Position: e.Position,
			InsertionOrder: int(e.InsertionOrder), Enabled: &enabled,
		}
		if len(e.Extra) > 0 {
			_ = json.Unmarshal(e.Extra, &entry.Extra) // checked at the commit
		}
		w.Lorebook = append(w.Lorebook, entry)
	}
	return w
}

// Model gives the part of the view that world proposals are held against: the schema, who there is, who plays whom.
func Model(s projections.State) sdk.World {
	w := Actors(s)
	w.Schema = Schema(s.Characters)
	return w
}

// Actors gives the part of the view that says who plays whom: characters and seats.
func Actors(s projections.State) sdk.World {
	w := sdk.World{
		Characters: make([]sdk.Character, 0, len(s.Characters.List)),
		Seats:      make([]sdk.Seat, 0, len(s.Session.Seats)),
	}
	for _, c := range s.Characters.List {
		w.Characters = append(w.Characters, Character(c))
	}
	for _, seat := range s.Session.Seats {
		seat.CharacterIDs = slices.Clone(seat.CharacterIDs)
		w.Seats = append(w.Seats, sdk.Seat(seat))
	}
	return w
}

// Schema gives the committed character schema; Version 0 when there is none.
func Schema(c projections.Characters) sdk.CharacterSchema {
	schema := sdk.CharacterSchema{Version: int(c.SchemaVersion), Types: slices.Clone(c.Types)}
	if len(c.Attributes) > 0 {
		_ = json.Unmarshal(c.Attributes, &schema.Attributes) // checked at the commit
	}
	return schema
}

// Character gives a committed record as plugins see it.
func Character(c projections.Character) sdk.Character {
	return sdk.Character{
		ID: c.ID, Name: c.Name, Aliases: slices.Clone(c.Aliases), Type: c.Type, Description: c.Description,
		Fields: slices.Clone(json.RawMessage(c.Fields)), Version: int(c.Version),
	}
}

// clone lets the fold write without touching the view it was given.
func clone(w sdk.World) sdk.World {
	w.Characters = slices.Clone(w.Characters)
	return w
}
