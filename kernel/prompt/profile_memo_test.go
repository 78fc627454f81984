package prompt

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/covel/covel/plugins/sdk"
)

// A remembered line is the line that would be written anew, whatever changed of a character or the schema.
func TestRememberedProfiles(t *testing.T) {
	text := rapid.SampledFrom([]string{"", "a", "b", "ab", "龙胆", "Ольга"})
	number := rapid.SampledFrom([]*float64{nil, new(float64), func() *float64 { f := 10.0; return &f }()})
	rapid.Check(t, func(t *rapid.T) {
		c := sdk.Character{
			ID: "x", Name: text.Draw(t, "name"), Type: text.Draw(t, "type"), Description: text.Draw(t, "description"),
			Aliases: rapid.SliceOfN(text, 0, 2).Draw(t, "aliases"),
			Fields:  json.RawMessage(fmt.Sprintf(`{"hp":%d,"mood":%q}`, rapid.IntRange(0, 2).Draw(t, "hp"), text.Draw(t, "mood"))),
		}
		in := In{Characters: []sdk.Character{c}, Schema: sdk.CharacterSchema{Attributes: []sdk.AttributeDef{
			{ID: rapid.SampledFrom([]string{"hp", "mood"}).Draw(t, "id"), Name: text.Draw(t, "attribute"), Min: number.Draw(t, "min"), Max: number.Draw(t, "max")},
		}}}
		if got, want := in.profiles(), in.profile(c); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}
