// Package secret holds values that must never be printed: provider keys. It is a leaf package so that every provider can
// use it; users of gateway/llm know the type as llm.Secret.
package secret

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"
)

// Mask is what every way of printing a Secret yields, and what Scrub leaves in its place.
const Mask = "[secret]"

// shortest is the length below which Scrub leaves text alone: local servers accept keys like "x", and masking every x
// would destroy the message without protecting anything.
const shortest = 4

// Secret is a string that prints as Mask in every way Go has: fmt with any verb, slog, encoding/json and other text
// encoders. The zero value is unset. Only Reveal gives the text.
type Secret struct {
	// A func, not a string: fmt does not call the methods of unexported struct fields, it prints their contents by
	// reflection, and of a func that is an address.
	reveal func() string
}

// New wraps s. An empty s gives the unset Secret.
func New(s string) Secret {
	if s == "" {
		return Secret{}
	}
	return Secret{reveal: func() string { return s }}
}

// Reveal returns the text, "" when unset. Call it only where the text goes to its owner.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// IsSet reports whether there is a secret at all.
func (s Secret) IsSet() bool { return s.reveal != nil }

// Scrub replaces every occurrence of the secret in text, also in its URL-escaped forms, with Mask. Secrets shorter than
// four bytes are left alone.
func (s Secret) Scrub(text string) string {
	value := s.Reveal()
	if len(value) < shortest {
		return text
	}
	for _, form := range []string{value, url.QueryEscape(value), url.PathEscape(value)} {
		text = strings.ReplaceAll(text, form, Mask)
	}
	return text
}

// String implements fmt.Stringer.
func (Secret) String() string { return Mask }

// GoString implements fmt.GoStringer.
func (Secret) GoString() string { return Mask }

// Format implements fmt.Formatter, so that no verb and no flag reaches the contents.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(Mask)) }

// LogValue implements slog.LogValuer.
func (Secret) LogValue() slog.Value { return slog.StringValue(Mask) }

// MarshalJSON implements json.Marshaler.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + Mask + `"`), nil }

// MarshalText implements encoding.TextMarshaler (YAML, XML, flags).
func (Secret) MarshalText() ([]byte, error) { return []byte(Mask), nil }
