package events

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// eventMessages are the messages of the package that are events: those at the top that no other message is made of, the
// envelope apart.
func eventMessages() []string {
	part := map[protoreflect.FullName]bool{"covel.events.v1.Envelope": true}
	var all []protoreflect.MessageDescriptor
	protoregistry.GlobalFiles.RangeFilesByPackage("covel.events.v1", func(f protoreflect.FileDescriptor) bool {
		for i := range f.Messages().Len() {
			msg := f.Messages().Get(i)
			all = append(all, msg)
			for j := range msg.Fields().Len() {
				if m := msg.Fields().Get(j).Message(); m != nil {
					part[m.FullName()] = true
				}
			}
		}
		return true
	})
	var out []string
	for _, m := range all {
		if !part[m.FullName()] {
			out = append(out, string(m.Name()))
		}
	}
	return out
}

func TestCatalogueHasEveryEventOnce(t *testing.T) {
	var types []string
	for _, e := range Catalogue {
		if slices.Contains(types, e.Type) {
			t.Errorf("%s is there twice", e.Type)
		}
		types = append(types, e.Type)
	}
	events := eventMessages()
	for _, name := range events {
		if !slices.Contains(types, name) {
			t.Errorf("%s of the package is not in the catalogue", name)
		}
	}
	for _, typ := range types {
		if !slices.Contains(events, typ) {
			t.Errorf("%s of the catalogue is no event of the package", typ)
		}
	}
}

func TestCatalogueEntries(t *testing.T) {
	for _, e := range Catalogue {
		t.Run(e.Type, func(t *testing.T) {
			msg := e.New()
			if got := string(msg.ProtoReflect().Descriptor().Name()); got != e.Type {
				t.Errorf("makes a %s", got)
			}
			if a, b := e.New(), e.New(); a == b {
				t.Error("New gives the same message twice")
			}
			if TypeOf(msg) != e.Type {
				t.Errorf("TypeOf says %q", TypeOf(msg))
			}
			if found, ok := Lookup(e.Type); !ok || found.Type != e.Type || found.SchemaVersion != e.SchemaVersion {
				t.Errorf("Lookup gives %+v", found)
			}
			if e.SchemaVersion < 1 {
				t.Errorf("schema version %d", e.SchemaVersion)
			}
			for from := uint32(1); from < e.SchemaVersion; from++ {
				if upcasters[upcastKey{e.Type, from}] == nil {
					t.Errorf("no upcaster from version %d", from)
				}
			}
			if !slices.Contains([]Scope{ScopeSession, ScopePath}, e.Scope) {
				t.Errorf("scope %q", e.Scope)
			}
			if !slices.Contains([]Effect{AtOnce, OnCommit}, e.Effect) {
				t.Errorf("effect %q", e.Effect)
			}
			if !slices.Contains([]View{ViewOperator, ViewHost, ViewSeat, ViewAll}, e.View) {
				t.Errorf("view %q", e.View)
			}
			if e.View == ViewOperator && len(e.Frames) > 0 {
				t.Errorf("players do not see it, and it yields %v", e.Frames)
			}
			for what, names := range map[string][]string{"frame": e.Frames, "projection": e.Projections} {
				for i, n := range names {
					if n == "" || slices.Contains(names[:i], n) {
						t.Errorf("%s %q is empty or there twice", what, n)
					}
				}
			}
		})
	}
	for key := range upcasters {
		if e, ok := Lookup(key.typ); !ok || key.from == 0 || key.from >= e.SchemaVersion {
			t.Errorf("upcaster of %s from version %d leads nowhere", key.typ, key.from)
		}
	}
}
