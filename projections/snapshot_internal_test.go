package projections

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/covel/covel/events"
)

func TestSnapshotOfOtherFolds(t *testing.T) {
	body, err := State{Version: 3}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	body, err = unseal(body)
	if err != nil {
		t.Fatal(err)
	}
	other := seal(bytes.Replace(bytes.Clone(body), []byte(Fingerprint), []byte("covel-fold-0"), 1))
	if _, err := DecodeState(other); !errors.Is(err, ErrStaleSnapshot) || !strings.Contains(err.Error(), "covel-fold-0") {
		t.Errorf("error %v", err)
	}
	for name, staged := range map[string]string{
		"not an envelope": `["/w=="]`, "of an unknown type": `["EgdOb3RoaW5n"]`, "without an id": `[""]`,
	} {
		b := seal(bytes.Replace(bytes.Clone(body), []byte(`"staged":null`), []byte(`"staged":`+staged), 1))
		if _, err := DecodeState(b); !errors.Is(err, ErrStaleSnapshot) {
			t.Errorf("staged event %s: %v", name, err)
		}
	}
}

// Whatever a snapshot holds, it is refused or becomes a state that can be kept and gone on from.
func FuzzDecodeState(f *testing.F) {
	for _, s := range []State{{}, {Version: 7, LastID: "x", Session: Session{ID: "s1", Open: &Execution{ID: "e"}, Setup: []SetupRuntime{{RuntimeID: "a"}}}}} {
		b, err := s.Encode()
		if err != nil {
			f.Fatal(err)
		}
		body, err := unseal(b)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	head := `{"fingerprint":"` + Fingerprint + `",`
	for _, rest := range []string{
		`"messages":[{"id":"m","blocks":[null,{"a":1}]},null],"dropped":-5}`, `"pluginData":[{"pluginId":"p","namespace":"n","key":"k","value":{"x":1}},{"pluginId":"a"}]}`,
		`"interactions":[{"turnId":"e","status":"open","values":null}],"characters":{"list":[{"id":"龙胆","fields":[]}]}}`, `"staged":["AA=="]}`,
		`"session":{"input":{"actions":[{"fields":{"a":"<"}}]},"requests":[{}]}}`,
	} {
		f.Add([]byte(head + rest))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := DecodeState(seal(bytes.Clone(body)))
		if err != nil {
			if !errors.Is(err, ErrStaleSnapshot) {
				t.Fatalf("error %v", err)
			}
			return
		}
		first, err := s.Encode()
		if err != nil {
			return // a time JSON cannot write, above the year 9999: no store records it
		}
		again, err := DecodeState(first)
		if err != nil {
			t.Fatalf("what was written is not read: %v", err)
		}
		second, err := again.Encode()
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("not canonical (%v):\n%s\n%s", err, first, second)
		}
		for _, e := range events.Catalogue {
			if next, err := Apply(again, events.Recorded{Version: again.Version + 1, Event: events.Event{Type: e.Type, SchemaVersion: 1}}); err == nil {
				next.History.Tail(next.History.Len())
			}
		}
	})
}
