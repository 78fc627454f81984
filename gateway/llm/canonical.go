package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"unicode/utf16"

	"github.com/pkg/errors"

	"github.com/covel/covel/kernel/model"
)

// RequestHash names a request by what a model would read: SHA-256 in hex over its canonical JSON, without Subject, which
// is only for us. Key order and spaces in schemas do not matter.
func RequestHash(req model.Request) (string, error) {
	req.Subject = ""
	raw, err := json.Marshal(req)
	if err != nil {
		return "", errors.Wrap(err, "the request is not JSON")
	}
	canonical, err := canonicalJSON(raw)
	if err != nil {
		return "", errors.WithMessage(err, "the request has no canonical form")
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}

// canonicalJSON writes a JSON value as RFC 8785 does: no spaces, members sorted by UTF-16 code units, numbers in the
// shortest form of a float64, strings escaped only where JSON demands it. Numbers beyond float64 keep their text.
func canonicalJSON(raw []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, errors.WithStack(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return appendCanonical(nil, value), nil
}

func appendCanonical(out []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(out, "null"...)
	case bool:
		return strconv.AppendBool(out, v)
	case json.Number:
		return appendNumber(out, v)
	case string:
		return appendString(out, v)
	case []any:
		out = append(out, '[')
		for i, item := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendCanonical(out, item)
		}
		return append(out, ']')
	case map[string]any:
		out = append(out, '{')
		for i, key := range slices.SortedFunc(maps.Keys(v), compareUTF16) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendString(out, key), ':')
			out = appendCanonical(out, v[key])
		}
		return append(out, '}')
	}
	return out // encoding/json decodes into nothing else
}

func compareUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

func appendNumber(out []byte, n json.Number) []byte {
	f, err := n.Float64()
	if err != nil {
		return append(out, n...)
	}
	if f == 0 {
		return append(out, '0') // -0 too
	}
	shortest, err := json.Marshal(f) // encoding/json writes floats as ECMAScript does
	if err != nil {
		return append(out, n...)
	}
	return append(out, shortest...)
}

func appendString(out []byte, s string) []byte {
	const short = "btn\x00fr" // \b \t \n \f \r are 8, 9, 10, 12, 13
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c >= 8 && c <= 13 && c != 11:
			out = append(out, '\\', short[c-8])
		case c < 0x20:
			const digits = "0123456789abcdef"
			out = append(out, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}
