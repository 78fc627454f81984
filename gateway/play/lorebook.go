package play

import (
	"encoding/json"
	"net/http"

	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

// LoreEntry is an entry that players wrote into the lorebook.
type LoreEntry struct {
	ID             string          `json:"id"`
	Keys           []string        `json:"keys"`
	Content        string          `json:"content"`
	Strategy       string          `json:"strategy"` // constant | selective
	Position       string          `json:"position,omitempty"`
	InsertionOrder int32           `json:"insertionOrder"`
	Enabled        bool            `json:"enabled"`
	Extra          json.RawMessage `json:"extra,omitempty"`
}

func loreOf(e projections.LoreEntry) LoreEntry {
	return LoreEntry{e.ID, nonNil(e.Keys), e.Content, e.Strategy, e.Position, e.InsertionOrder, e.Enabled, json.RawMessage(e.Extra)}
}

// lorePayload is what edit_lore says.
type lorePayload struct {
	EntryID string `json:"entryId"`
	Entry   struct {
		Keys           []string       `json:"keys"`
		Content        string         `json:"content"`
		Strategy       string         `json:"strategy"`
		Position       string         `json:"position"`
		InsertionOrder int            `json:"insertionOrder"`
		Enabled        *bool          `json:"enabled"`
		Extra          map[string]any `json:"extra"`
	} `json:"entry"`
}

// readLore reads an entry that a player writes; body gets what the request asks for, by which a repeat is known.
func readLore(payload json.RawMessage, out *kernel.Command, body map[string]any) *Problem {
	var p lorePayload
	if problem := decodeStrict(orEmpty(payload), &p, "payload"); problem != nil {
		return problem
	}
	if p.EntryID == "" {
		return invalid("payload.entryId", "payload.entryId is missing")
	}
	e := p.Entry
	out.Lore = &sdk.LorebookEntry{
		ID: clean(p.EntryID), Content: clean(e.Content), Strategy: e.Strategy, Position: e.Position, InsertionOrder: e.InsertionOrder, Enabled: e.Enabled, Extra: e.Extra,
	}
	for _, k := range e.Keys {
		out.Lore.Keys = append(out.Lore.Keys, clean(k))
	}
	body["lore"] = out.Lore
	return nil
}

// lorebook lists what players wrote into the book. What the world and plugins wrote is for the model.
func (s *server) lorebook(w http.ResponseWriter, r *http.Request) {
	v, err := s.Node.View(r.Context(), r.PathValue("id"))
	if err != nil {
		s.error(w, err)
		return
	}
	items := []LoreEntry{}
	for _, e := range v.State.Lorebook.Of(projections.OwnerPlayer) {
		items = append(items, loreOf(e))
	}
	s.reply(w, http.StatusOK, map[string]any{"items": items})
}

// editLore writes an entry; it answers when the session has accepted it.
func (s *server) editLore(w http.ResponseWriter, r *http.Request) {
	in := struct {
		RequestID string          `json:"requestId"`
		Entry     json.RawMessage `json:"entry"`
	}{}
	if s.body(w, r, &in) {
		s.carryOut(w, r, kernel.EditLore, in.RequestID, map[string]any{"entryId": r.PathValue("entry"), "entry": in.Entry})
	}
}
