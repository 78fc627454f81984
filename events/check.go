package events

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/pkg/errors"
)

// MaxStreamName is the length in bytes that the name of a stream may have.
const MaxStreamName = 256

// ErrInvalid: an argument breaks a rule of this package; the text names it. Nothing was written.
var ErrInvalid = errors.New("events: invalid argument")

// CheckAppend holds the rules that every store applies to an append before it does anything else: the stream has a name
// of 1 to MaxStreamName bytes of UTF-8 without NUL, there is at least one event, and each has an id, a type and a schema
// version. It fails with ErrInvalid.
func CheckAppend(stream string, evs []Event) error {
	if err := CheckStream(stream); err != nil {
		return err
	}
	if len(evs) == 0 {
		return errors.Wrapf(ErrInvalid, "append to %s: no events", stream)
	}
	for i := range evs {
		ev := &evs[i]
		switch {
		case ev.ID == uuid.Nil:
			return errors.Wrapf(ErrInvalid, "append to %s: event %d (%s) has no id", stream, i, ev.Type)
		case ev.Type == "" || !utf8.ValidString(ev.Type):
			return errors.Wrapf(ErrInvalid, "append to %s: event %d has type %q", stream, i, ev.Type)
		case ev.SchemaVersion == 0:
			return errors.Wrapf(ErrInvalid, "append to %s: event %d (%s) has no schema version", stream, i, ev.Type)
		}
	}
	return nil
}

// CheckStream says whether a stream may have this name. It fails with ErrInvalid.
func CheckStream(name string) error {
	if name == "" || len(name) > MaxStreamName || !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
		return errors.Wrapf(ErrInvalid, "stream name %.64q: want 1 to %d bytes of UTF-8 without NUL", name, MaxStreamName)
	}
	return nil
}

var (
	scopeForm  = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,127}$`)
	digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// CheckScope says whether a name may be the scope of blobs: lower-case letters, digits and hyphens, as session ids have.
// Because it becomes the name of a folder, nothing else is let through. It fails with ErrInvalid.
func CheckScope(scope string) error {
	if !scopeForm.MatchString(scope) {
		return errors.Wrapf(ErrInvalid, "blob scope %.160q: want 1 to 128 lower-case letters, digits or hyphens", scope)
	}
	return nil
}

// Check says whether a reference has the form of one. It fails with ErrInvalid.
func (r BlobRef) Check() error {
	if err := CheckScope(r.Scope); err != nil {
		return err
	}
	if !digestForm.MatchString(r.Digest) {
		return errors.Wrapf(ErrInvalid, "blob digest %.80q: want 64 lower-case hex digits", r.Digest)
	}
	return nil
}

// Digest is the name of a value: its lower-case hex SHA-256.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
