package events

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

var update = flag.Bool("update", false, "write the golden bytes of samples that have none; those that exist never change")

// The folder testdata/golden holds, for every event type and schema version that was ever released, samples: what a program
// reads (<Type>.v<version>.txtpb, text form) and the bytes it reads it from (<Type>.v<version>.hex). The bytes are for ever.
// A field that is added gets a sample of its own beside the old ones (<Type>.v1.2.txtpb); an incompatible change gets a
// schema version, an upcaster, and new text for the old bytes.
const goldenDir = "testdata/golden"

var sampleName = regexp.MustCompile(`^(\w+)\.v(\d+)(\.\d+)?$`)

type sample struct {
	name  string // file name without its end
	entry Entry
	event Event // with the bytes of the hex file; none yet is nil
	text  []byte
}

// samples reads the folder. Files that belong to nothing fail the test.
func samples(t *testing.T) []sample {
	t.Helper()
	files, err := os.ReadDir(goldenDir)
	if err != nil {
		t.Fatal(err)
	}
	var out []sample
	for _, f := range files {
		name, isText := strings.CutSuffix(f.Name(), ".txtpb")
		if !isText {
			stem := strings.TrimSuffix(f.Name(), ".hex")
			if _, err := os.Stat(filepath.Join(goldenDir, stem+".txtpb")); err != nil {
				t.Errorf("%s has no text beside it: %v", f.Name(), err)
			}
			continue
		}
		m := sampleName.FindStringSubmatch(name)
		if m == nil {
			t.Errorf("%s: want <Type>.v<version>.txtpb", f.Name())
			continue
		}
		entry, ok := Lookup(m[1])
		if !ok {
			t.Errorf("%s: no such event type; types are never removed", f.Name())
			continue
		}
		version, err := strconv.ParseUint(m[2], 10, 32)
		if err != nil || version == 0 || uint32(version) > entry.SchemaVersion {
			t.Errorf("%s: the catalogue has version %d", f.Name(), entry.SchemaVersion)
			continue
		}
		s := sample{name: name, entry: entry, event: Event{ID: uuid.Max, Type: m[1], SchemaVersion: uint32(version)}}
		if s.text, err = os.ReadFile(filepath.Join(goldenDir, f.Name())); err != nil {
			t.Fatal(err)
		}
		if s.event.Data, err = readHex(s.hexFile()); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

func (s sample) hexFile() string { return filepath.Join(goldenDir, s.name+".hex") }

// payload is the sample's text as a message.
func (s sample) payload(t *testing.T) proto.Message {
	t.Helper()
	msg := s.entry.New()
	if err := prototext.Unmarshal(s.text, msg); err != nil {
		t.Fatalf("%s.txtpb: %v", s.name, err)
	}
	return msg
}

// readHex gives nil for a file that is not there.
func readHex(file string) ([]byte, error) {
	b, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := hex.DecodeString(strings.Join(strings.Fields(string(b)), ""))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if data == nil {
		data = []byte{}
	}
	return data, nil
}

func writeHex(file string, data []byte) error {
	var b strings.Builder
	for s := hex.EncodeToString(data); ; {
		n := min(len(s), 96)
		b.WriteString(s[:n] + "\n")
		if s = s[n:]; s == "" {
			return os.WriteFile(file, []byte(b.String()), 0o644)
		}
	}
}

func TestGolden(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range samples(t) {
		t.Run(s.name, func(t *testing.T) {
			want := s.payload(t)
			if s.event.SchemaVersion == s.entry.SchemaVersion {
				seen[s.entry.Type] = true
				ev, err := Encode(s.event.ID, nil, want)
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case s.event.Data == nil && !*update:
					t.Fatalf("no golden bytes: run this test with -update")
				case s.event.Data == nil:
					if err := writeHex(s.hexFile(), ev.Data); err != nil {
						t.Fatal(err)
					}
					s.event.Data = ev.Data
				case string(ev.Data) != string(s.event.Data):
					t.Fatalf("encodes to\n%x\nand the golden bytes are\n%x\nGolden bytes never change, also not with -update: an added field gets a sample of its own (%s.2.txtpb), an incompatible change a new schema version with an upcaster", ev.Data, s.event.Data, s.name)
				}
				if ev.Type != s.event.Type || ev.SchemaVersion != s.event.SchemaVersion || ev.ID != s.event.ID {
					t.Errorf("encodes as %s v%d", ev.Type, ev.SchemaVersion)
				}
			}
			if s.event.Data == nil {
				t.Fatal("an old version without its bytes")
			}
			got, err := Decode(s.event)
			if err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(got, want) {
				t.Errorf("decodes to\n%v\nwant\n%v", got, want)
			}
			if unknown := got.ProtoReflect().GetUnknown(); len(unknown) > 0 {
				t.Errorf("%d bytes of unknown fields", len(unknown))
			}
		})
	}
	for _, e := range Catalogue {
		if !seen[e.Type] {
			t.Errorf("%s v%d has no sample in %s", e.Type, e.SchemaVersion, goldenDir)
		}
	}
}

// TestGoldenSamplesFillEveryField: a field that no sample has is a field whose bytes nobody guards.
func TestGoldenSamplesFillEveryField(t *testing.T) {
	filled := map[protoreflect.FullName]bool{}
	var walk func(m protoreflect.Message)
	walk = func(m protoreflect.Message) {
		m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			filled[f.FullName()] = true
			if f.Message() == nil {
				return true
			}
			if !f.IsList() {
				walk(v.Message())
				return true
			}
			for i := range v.List().Len() {
				walk(v.List().Get(i).Message())
			}
			return true
		})
	}
	for _, s := range samples(t) {
		walk(s.payload(t).ProtoReflect())
	}
	var check func(d protoreflect.MessageDescriptor)
	checked := map[protoreflect.FullName]bool{}
	check = func(d protoreflect.MessageDescriptor) {
		if checked[d.FullName()] {
			return
		}
		checked[d.FullName()] = true
		for i := range d.Fields().Len() {
			f := d.Fields().Get(i)
			if !filled[f.FullName()] {
				t.Errorf("no golden sample fills %s", f.FullName())
			}
			if f.Message() != nil {
				check(f.Message())
			}
		}
	}
	for _, e := range Catalogue {
		check(e.New().ProtoReflect().Descriptor())
	}
}
