package world

import (
	"encoding/json"
	"slices"

	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

// Dimensions gives the public snapshot of the committed values: never their initial value, their rule, or what they follow
// (reference: worlds-and-story.md §13.4).
func Dimensions(d projections.Dimensions) map[string]sdk.Dimension {
	out := make(map[string]sdk.Dimension, len(d.List))
	for _, x := range d.List {
		out[x.ID] = sdk.Dimension{
			Name: x.Name, Description: x.Description, Schema: orNull(x.Schema), Value: orNull(x.Value), Version: int(x.Version),
		}
	}
	return out
}

// orNull gives a copy of a value; a fold keeps null as no value.
func orNull(b projections.RawJSON) json.RawMessage {
	if len(b) == 0 {
		return json.RawMessage("null")
	}
	return slices.Clone(json.RawMessage(b))
}
