package trace

import (
	"encoding/json"
	"strings"

	"github.com/covel/covel/internal/plainjson"
)

// Mask stands where a secret stood.
const Mask = "[secret]"

// TokenPrefix begins every token that Covel gives out, so that one is recognised wherever it turns up.
const TokenPrefix = "ckey_"

// Secret takes one secret of the host out of a text.
type Secret interface{ Scrub(text string) string }

// scrub takes secrets out of a payload: those of the host, what stands under a name that tells a secret, and what has the
// shape of one. It runs where entries are written, never where they are emitted.
func scrub(b []byte, known []Secret) []byte {
	var out []byte // what was changed so far; nil: nothing
	copied := 0
	hide, depth := false, 0 // the value is one of a secret name; inside of so many lists
	for i := 0; i < len(b); {
		switch b[i] {
		case '"':
			end := endOfString(b, i)
			text := stringOf(b[i:end])
			isName := end < len(b) && b[end] == ':' // the encoder writes no spaces
			clean := Mask
			switch {
			case isName:
				_, hide = secretNames[plainName(text)]
				depth, clean = 0, scrubText(text, known)
			case !hide || text == "":
				clean = scrubText(text, known)
			}
			if clean != text {
				quoted, _ := plainjson.Marshal(clean) // of a string: cannot fail
				out = append(append(out, b[copied:i]...), quoted...)
				copied = end
			}
			i = end
			continue
		case '[':
			if hide {
				depth++
			}
		case ']':
			if depth--; depth <= 0 {
				hide, depth = false, 0
			}
		case '{', '}':
			hide, depth = false, 0
		case ',':
			hide = hide && depth > 0
		}
		i++
	}
	if out == nil {
		return b
	}
	return append(out, b[copied:]...)
}

// endOfString gives where the JSON string that begins at i ends, its quote included.
func endOfString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

func stringOf(raw []byte) string {
	var s string
	_ = json.Unmarshal(raw, &s) // of an encoder: it is a string
	return s
}

// Names under which secrets stand, without case and punctuation. Those of headers whose value may hold spaces hide the rest
// of their line.
var secretNames = map[string]struct{ line bool }{
	"authorization": {true}, "proxyauthorization": {true}, "cookie": {true}, "setcookie": {true},
	"apikey": {}, "xapikey": {}, "xgoogapikey": {}, "openaiapikey": {}, "covelmodelkey": {}, "accesstoken": {}, "refreshtoken": {}, "bearertoken": {}, "authtoken": {},
	"sessiontoken": {}, "xsessiontoken": {}, "seattoken": {}, "invitetoken": {}, "ownertoken": {}, "operatortoken": {}, "clientsecret": {}, "secretkey": {}, "privatekey": {},
}

// longestName is that of secretNames, with room for punctuation.
const longestName = 24

func plainName(s string) string {
	if len(s) > longestName {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(s))
}

// shapes of keys by how they begin, and how long the rest is at least.
var shapes = []struct {
	prefix string
	rest   int
}{
	{TokenPrefix, 16}, {"sk-", 16}, {"sk_", 16}, {"gsk_", 16}, {"xai-", 16}, {"hf_", 16}, {"ghp_", 16}, {"AIza", 30}, {"AKIA", 16}, {"eyJ", 16},
}

// shortestKey is what the shortest of shapes allows.
const shortestKey = 19

// scrubText takes secrets out of one text.
func scrubText(s string, known []Secret) string {
	for _, k := range known {
		s = k.Scrub(s)
	}
	var out strings.Builder
	copied := 0
	mask := func(from, to int) int {
		if from < to && s[from:to] != Mask {
			out.WriteString(s[copied:from])
			out.WriteString(Mask)
			copied = to
		}
		return to
	}
	for i := 0; i < len(s); {
		if s[i] == '\\' { // in text that is JSON itself, the next letter belongs to it
			i += 2
			continue
		}
		if s[i] == ':' && strings.HasPrefix(s[i:], "://") {
			i = maskPassword(s, i+len("://"), mask)
			continue
		}
		if !wordByte(s[i]) {
			i++
			continue
		}
		end := i + 1
		for end < len(s) && wordByte(s[end]) {
			end++
		}
		i = maskAfter(s, i, end, mask)
	}
	if copied == 0 {
		return s
	}
	out.WriteString(s[copied:])
	return out.String()
}

// maskAfter looks at the word s[i:end]: is it a key, or does it say that one follows? It gives where to go on.
func maskAfter(s string, i, end int, mask func(from, to int) int) int {
	word := s[i:end]
	if len(word) >= shortestKey {
		if own := strings.Index(word, TokenPrefix); own > 0 { // also in the midst of a word
			i, word = i+own, word[own:]
		}
		for _, shape := range shapes {
			if strings.HasPrefix(word, shape.prefix) && len(word) >= len(shape.prefix)+shape.rest {
				return mask(i, tokenEnd(s, i))
			}
		}
	}
	from := end // most words are no name of anything: that is seen first
	for from < len(s) && (s[from] == ' ' || s[from] == '"' || s[from] == '\\' || s[from] == '\'') {
		from++
	}
	if from < len(s) && (s[from] == ':' || s[from] == '=') {
		name, ok := secretNames[plainName(word)]
		if !ok {
			return end
		}
		for from++; from < len(s) && strings.IndexByte(`"'\ [`, s[from]) >= 0 && !strings.HasPrefix(s[from:], Mask); from++ {
		}
		to := tokenEnd(s, from)
		if name.line {
			for to < len(s) && strings.IndexByte("\n\r\"'\\", s[to]) < 0 {
				to++
			}
		}
		return mask(from, to)
	}
	if scheme := len(word) == 6 && strings.EqualFold(word, "bearer") || len(word) == 5 && strings.EqualFold(word, "basic"); scheme && end < len(s) && s[end] == ' ' {
		to := tokenEnd(s, end+1)
		if token := s[end+1 : to]; len(token) >= 20 || len(token) >= 8 && strings.ContainsAny(token, "0123456789") {
			return mask(end+1, to)
		}
	}
	return end
}

// maskPassword hides the password of an address: user:password@host.
func maskPassword(s string, i int, mask func(from, to int) int) int {
	colon := -1
	for at := i; at < len(s); at++ {
		switch c := s[at]; {
		case c == ':' && colon < 0:
			colon = at
		case c == '@' && colon >= 0:
			return mask(colon+1, at)
		case c <= ' ' || strings.IndexByte(`/"'?#\<>`, c) >= 0:
			return i
		}
	}
	return i
}

// wordByte: letters, digits and what joins them, in names and keys alike.
func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// tokenEnd gives where the token that begins at i ends.
func tokenEnd(s string, i int) int {
	for i < len(s) && (wordByte(s[i]) || strings.IndexByte("./+=~%:", s[i]) >= 0) {
		i++
	}
	return i
}
