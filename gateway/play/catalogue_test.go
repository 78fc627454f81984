package play

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/covel/covel/events"
	"github.com/covel/covel/projections"
)

// The catalogue says which protocol events each domain event may give; a whole session gives no others, and the protocol
// document knows them all.
func TestFramesAreWhatTheCatalogueSays(t *testing.T) {
	s := open(t, game())
	id := s.played("en")
	s.act(id, "r1", "submit_actions", `{"actions":[{"text":"我去码头。"}]}`)
	s.call("PATCH", "/api/sessions/"+id, `{"status":"paused"}`)
	s.call("PATCH", "/api/sessions/"+id, `{"status":"active"}`)
	s.call("PATCH", "/api/sessions/"+id, `{"status":"ended"}`)
	var log []events.Recorded
	for r, err := range s.store.ReadStream(context.Background(), "session-"+id, 1) {
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, r)
	}
	state := projections.State{}
	for from := 0; from < len(log); {
		to := int(log[from].Metadata.AppendEnd)
		for _, r := range log[from:to] {
			var err error
			if state, err = projections.Apply(state, r); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range log[from:to] { // one by one: what this event alone gives
			entry, _ := events.Lookup(r.Type)
			for _, e := range frameOf([]events.Recorded{r}, state).Events {
				if !slices.Contains(entry.Frames, e.Type) {
					t.Errorf("%s gives %s, the catalogue says %v", r.Type, e.Type, entry.Frames)
				}
			}
		}
		from = to
	}
	doc, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Catalogue {
		for _, f := range e.Frames {
			if !strings.Contains(string(doc), "`"+f+"`") {
				t.Errorf("%s: docs/protocol.md does not know %s", e.Type, f)
			}
		}
	}
	for _, code := range regexp.MustCompile(`problem\("([a-z_]+)"|Code: "([a-z_]+)"`).FindAllStringSubmatch(sources(t, ".", "../../kernel/session"), -1) {
		if c := code[1] + code[2]; !strings.Contains(string(doc), "`"+c+"`") {
			t.Errorf("docs/protocol.md does not know the error code %s", c)
		}
	}
}

func sources(t *testing.T, dirs ...string) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
				b, err := os.ReadFile(dir + "/" + name)
				if err != nil {
					t.Fatal(err)
				}
				all.Write(b)
			}
		}
	}
	return all.String()
}
