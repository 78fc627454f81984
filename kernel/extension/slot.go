package extension

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/tidwall/gjson"

	"github.com/covel/covel/plugins/points"
)

// SlotCode says what is wrong with a slot's value.
type SlotCode string

// Codes of a refused value.
const (
	SlotShape    SlotCode = "shape"           // it does not fit the slot's schema
	SlotRepeated SlotCode = "repeated-id"     // two parts of it have one id
	SlotRange    SlotCode = "empty-range"     // a meter ends where it begins
	SlotDropped  SlotCode = "dropped-entries" // what other providers said is not there any more
)

// SlotRefusal is why a provider's value of a slot is not taken. The provider is skipped and the previous valid value stays
// (seed: extension-points.txt, "Each output is validated against the selected slot").
type SlotRefusal struct {
	Slot   string
	Code   SlotCode
	Detail string
}

// Error says what to write instead.
func (r *SlotRefusal) Error() string { return fmt.Sprintf("%s: %s (%s)", r.Slot, r.Detail, r.Code) }

// CheckSlot holds a provider's value of ui.slot@1 against the slot it has declared, and for session.summary@1 against what
// the providers before it said. The error is a *SlotRefusal.
func CheckSlot(who Provider, input, output json.RawMessage) error {
	refuse := func(code SlotCode, format string, args ...any) error {
		return &SlotRefusal{Slot: who.Slot, Code: code, Detail: fmt.Sprintf(format, args...)}
	}
	if err := points.CheckSlot(who.Slot, output); err != nil {
		return refuse(SlotShape, "%s", err)
	}
	value := gjson.ParseBytes(output)
	for _, parts := range slotParts {
		seen := map[string]bool{}
		for _, part := range value.Get(parts.list).Array() {
			id := part.Get(parts.id).String()
			if seen[id] {
				return refuse(SlotRepeated, "%s has the %s %q twice", parts.list, parts.id, id)
			}
			seen[id] = true
		}
	}
	if who.Slot != points.SummarySlot {
		return nil
	}
	entries := value.Get("entries").Array()
	for _, e := range entries {
		if e.Get("kind").String() == "meter" && e.Get("max").Float() <= e.Get("min").Float() {
			return refuse(SlotRange, "the meter %q needs a max above its min", e.Get("id").String())
		}
	}
	for i, before := range gjson.GetBytes(input, "previous.entries").Array() {
		if i >= len(entries) || !reflect.DeepEqual(entries[i].Value(), before.Value()) {
			return refuse(SlotDropped, "append to the entries before; %q is gone or changed", before.Get("id").String())
		}
	}
	return nil
}

// slotParts are the lists of the slots' values whose parts are told apart by an id.
var slotParts = []struct{ list, id string }{
	{"actors", "characterId"}, {"characters", "characterId"}, {"choices", "id"}, {"entries", "id"},
}
