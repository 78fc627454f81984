package border

import "strconv"

// Unquote reads a JSON string literal without judging its contents: bytes stay as they are and a lone surrogate escape
// becomes its three-byte form, so that a text.Cleaner can still join it with its other half. encoding/json would have
// replaced both already. It reports false when raw is not a string literal.
func Unquote(raw string) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", false
	}
	raw = raw[1 : len(raw)-1]
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c == '"' {
			return "", false
		}
		if c != '\\' {
			out = append(out, c)
			continue
		}
		i++
		if i == len(raw) {
			return "", false
		}
		switch raw[i] {
		case '"', '\\', '/':
			out = append(out, raw[i])
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			if i+4 >= len(raw) {
				return "", false
			}
			unit, err := strconv.ParseUint(raw[i+1:i+5], 16, 16)
			if err != nil {
				return "", false
			}
			out = appendUnit(out, rune(unit))
			i += 4
		default:
			return "", false
		}
	}
	return string(out), true
}

// appendUnit appends one UTF-16 unit in one to three bytes, surrogates included.
func appendUnit(out []byte, u rune) []byte {
	switch {
	case u < 0x80:
		return append(out, byte(u))
	case u < 0x800:
		return append(out, 0xC0|byte(u>>6), 0x80|byte(u&0x3F))
	}
	return append(out, 0xE0|byte(u>>12), 0x80|byte(u>>6&0x3F), 0x80|byte(u&0x3F))
}
