package turn

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Select reads the value at an RFC 6901 pointer; "" is the whole value. Every name is an ordinary key: nothing is inherited.
func Select(value json.RawMessage, pointer string) (json.RawMessage, bool) {
	if pointer == "" {
		return value, true
	}
	if pointer[0] != '/' {
		return nil, false
	}
	for _, part := range strings.Split(pointer[1:], "/") {
		key, ok := unescape(part)
		if !ok {
			return nil, false
		}
		var object map[string]json.RawMessage
		var list []json.RawMessage
		switch {
		case json.Unmarshal(value, &object) == nil:
			value, ok = object[key]
		case json.Unmarshal(value, &list) == nil:
			var i int
			if i, ok = index(key); ok {
				if ok = i < len(list); ok {
					value = list[i]
				}
			}
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return value, true
}

// unescape reads a reference token: ~1 is a slash, ~0 a tilde, and no other tilde is allowed.
func unescape(part string) (string, bool) {
	for i := range len(part) {
		if part[i] == '~' && (i+1 == len(part) || part[i+1] != '0' && part[i+1] != '1') {
			return "", false
		}
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(part), true
}

// index reads an array index: digits without a leading zero. "-", the element after the last, is never there.
func index(key string) (int, bool) {
	if key == "" || len(key) > 1 && key[0] == '0' || strings.Trim(key, "0123456789") != "" {
		return 0, false
	}
	i, err := strconv.Atoi(key)
	return i, err == nil
}
