package projections

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Characters is the character schema of a session and its people, in the order they came.
type Characters struct {
	SchemaVersion uint32      `json:"schemaVersion"`
	Types         []string    `json:"types,omitempty"`
	Attributes    RawJSON     `json:"attributes,omitempty"` // JSON AttributeDef[]
	List          []Character `json:"list"`
}

// Character is a record as it was committed.
type Character struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Aliases     []string  `json:"aliases,omitempty"`
	Type        string    `json:"type"`
	Description string    `json:"description,omitempty"`
	Fields      RawJSON   `json:"fields,omitempty"`
	Version     uint32    `json:"version"`
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
}

// Find gives a character by id.
func (c Characters) Find(id string) (Character, bool) {
	for _, x := range c.List {
		if x.ID == id {
			return x, true
		}
	}
	return Character{}, false
}

func (c Characters) apply(r events.Recorded, msg proto.Message) Characters {
	switch m := msg.(type) {
	case *eventsv1.CharacterSchemaSet:
		c.SchemaVersion, c.Types, c.Attributes = m.Version, m.Types, RawJSON(m.Attributes)
	case *eventsv1.CharacterUpserted:
		rec := m.Record
		x := Character{
			ID: rec.Id, Name: rec.Name, Aliases: rec.Aliases, Type: rec.Type, Description: rec.Description,
			Fields: RawJSON(rec.Fields), Version: rec.Version, CreatedAt: r.RecordedAt, UpdatedAt: r.RecordedAt,
		}
		list := slices.Clone(c.List)
		if i := slices.IndexFunc(list, func(y Character) bool { return y.ID == x.ID }); i >= 0 {
			x.CreatedAt = list[i].CreatedAt
			list[i] = x
		} else {
			list = append(list, x)
		}
		c.List = list
	}
	return c
}
