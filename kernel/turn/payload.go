package turn

import (
	"encoding/json"

	"github.com/pkg/errors"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/schema"
	"github.com/covel/covel/plugins/sdk"
)

// compiled remembers schemas; it holds nothing but what follows from their bytes.
var compiled schema.Cache

// CheckPayload holds what a runtime is activated with against its io.payloadSchema; contracts are the public schemas of the
// active plugins. A runtime without one takes any payload (reference: plugins.md §4.2, "payloadSchema").
func CheckPayload(r manifest.Runtime, contracts map[string]json.RawMessage, payload json.RawMessage) error {
	raw, name := r.IO.PayloadSchema, "its payload schema"
	if r.IO.PayloadFrom != "" {
		raw, name = contracts[r.IO.PayloadFrom], r.IO.PayloadFrom
	}
	if len(payload) == 0 {
		payload = json.RawMessage("null")
	}
	return errors.Wrapf(fits(raw, payload), "the payload of %s does not fit %s", r.ID, name)
}

// CheckEvent holds a domain event against the schema that the plugin which declares its topic gives it, nil for any (seed:
// tools.txt, "the payload is always checked against that single schema"). Without data it is the empty object.
func CheckEvent(schema json.RawMessage, e sdk.EmittedEvent) error {
	data := e.Data
	if len(data) == 0 || string(data) == "null" {
		data = json.RawMessage("{}")
	}
	return errors.Wrapf(fits(schema, data), "the data of the event %q does not fit its topic", e.Topic)
}

// fits holds a value against a schema; none accepts everything.
func fits(raw, value json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	s, err := compiled.Compile(raw)
	if err != nil {
		return err
	}
	if failure := s.CheckJSON(value); failure != nil {
		return failure
	}
	return nil
}
