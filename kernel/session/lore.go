package session

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/covel/covel/kernel/commit"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Limits of what players write into the lorebook.
const (
	MaxLore     = 1000 // entries of players in one session
	maxLoreID   = 64
	maxLoreKeys = 64
)

// checkLore holds an entry that a player writes against the form of the book. It is the player's whatever its id: entries of the
// world and of plugins are other ones (seed: turn-pipeline.txt §6.2, "The normal HTTP lorebook editing writes only the player
// owner").
func checkLore(hot projections.State, cmd Command) (Command, *Refusal) {
	invalid := func(field, message string) (Command, *Refusal) {
		return cmd, &Refusal{Code: "invalid_lore", Message: message, Issues: []Issue{{field, message}}}
	}
	switch e := cmd.Lore; {
	case utf8.RuneCountInString(e.ID) > maxLoreID:
		return invalid("entryId", "an id has at most "+strconv.Itoa(maxLoreID)+" characters")
	case len(e.Keys) > maxLoreKeys:
		return invalid("entry.keys", "an entry has at most "+strconv.Itoa(maxLoreKeys)+" keys")
	case utf8.RuneCountInString(e.Content) > MaxText:
		return invalid("entry.content", "the text is longer than "+strconv.Itoa(MaxText)+" characters")
	}
	if _, err := loreEdited(cmd); err != nil {
		return invalid("entry", err.Error())
	}
	written := hot.Lorebook.Of(projections.OwnerPlayer)
	if len(written) >= MaxLore && !slices.ContainsFunc(written, func(e projections.LoreEntry) bool { return e.ID == cmd.Lore.ID }) {
		return cmd, &Refusal{Code: "lorebook_full", Message: "players write at most " + strconv.Itoa(MaxLore) + " entries; change one of them"}
	}
	return cmd, nil
}

func loreEdited(cmd Command) (*eventsv1.LoreEdited, error) {
	ev, err := commit.LorebookEvent(projections.OwnerPlayer, "", []sdk.LorebookEntry{*cmd.Lore})
	if err != nil {
		return nil, err
	}
	return &eventsv1.LoreEdited{Entry: ev.Entries[0], Request: requestOf(cmd)}, nil
}
