package play

import (
	"encoding/json"
	"testing"
)

// The words of a panel are translated, whatever else happens to read like them stays.
func TestSpecWordsAreLocalized(t *testing.T) {
	messages := map[string]string{"Guide": "向导", "compass": "指南针", "Look": "看"}
	spec := `{"label":"Guide","icon":"compass","order":100000000000000001,"view":{"component":"Guide","children":[{"props":{"label":"Look","content":{"$state":"/label"},"placeholder":"More"}}]}}`
	want := `{"icon":"compass","label":"向导","order":100000000000000001,"view":{"children":[{"props":{"content":{"$state":"/label"},"label":"看","placeholder":"More"}}],"component":"Guide"}}`
	if got := string(localize(json.RawMessage(spec), messages)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(localize(json.RawMessage(spec), nil)); got != spec {
		t.Errorf("without translations: %s", got)
	}
}
