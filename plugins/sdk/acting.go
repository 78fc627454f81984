package sdk

// ActingCharacterOf finds the character the player acts as: the first action's character that is still in the session, else
// the current character of the primary seat, whom the story follows. Extension providers pass no actions. false when there
// is none, as before the character form is answered (seed: extension-points.txt, "actingCharacterOf").
//
// Do not look for type "player" instead: a session may have several player characters.
func ActingCharacterOf(actions []Action, characters []Character, seats []Seat) (Character, bool) {
	for _, a := range actions {
		if c, ok := CharacterByID(characters, a.CharacterID); ok {
			return c, true
		}
	}
	for _, s := range seats {
		if s.Primary {
			return CharacterByID(characters, s.CurrentCharacterID)
		}
	}
	return Character{}, false
}

// CharacterByID finds a character by its exact id.
func CharacterByID(characters []Character, id string) (Character, bool) {
	if id == "" {
		return Character{}, false
	}
	for _, c := range characters {
		if c.ID == id {
			return c, true
		}
	}
	return Character{}, false
}
