package world

import (
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// ShortID makes a readable id from a prefix and a label: a slug of its Latin letters and digits, or a short hash where it
// has none, with a number behind it while the id is taken. The same label in the same session gives the same id.
func ShortID(prefix, label, sessionID string, taken func(string) bool) string {
	slug := slugOf(label)
	if slug == "" {
		sum := sha256.Sum256([]byte(sessionID + "\x00" + norm.NFKC.String(label)))
		slug = strings.ToLower(base32.StdEncoding.EncodeToString(sum[:4])[:6])
	}
	id := prefix + "-" + slug
	for n := 2; taken(id); n++ {
		id = prefix + "-" + slug + "-" + strconv.Itoa(n)
	}
	return id
}

// slugOf keeps letters a–z and digits, without marks, parted by single hyphens, at most 32 of them; "" for a label with
// letters of another script.
func slugOf(label string) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFKD.String(strings.ToLower(label)) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
		case unicode.Is(unicode.Mn, r):
		case unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r), unicode.IsNumber(r):
			return "" // a slug of the rest would name somebody else
		default:
			gap = true
		}
		if b.Len() >= 32 {
			break
		}
	}
	return b.String()
}
