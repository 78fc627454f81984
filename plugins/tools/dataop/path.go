// Package dataop applies operation-based writes to a JSON value (decisions: "Operation-based writes"). The same function
// serves the call that stages a write and the commit that applies it to the live value. It is pure.
package dataop

import (
	"slices"
	"strconv"
	"strings"
)

// Bounds of a path. No plugin needs more; a deeper one is somebody's mistake or attack.
const (
	maxPathBytes = 1024
	maxSegments  = 64
)

// Segment is one step of a path: the name of a member, or the index of an element. A JSON Pointer does not tell them
// apart; there a number is an index in an array and a name in an object.
type Segment struct {
	Name    string
	Bracket bool // written [i]: an index and nothing else
}

// index gives the segment as the index of an array.
func (s Segment) index() (int, bool) {
	if s.Name == "" || len(s.Name) > 9 || (len(s.Name) > 1 && s.Name[0] == '0') || strings.Trim(s.Name, "0123456789") != "" {
		return 0, false
	}
	i, err := strconv.Atoi(s.Name)
	return i, err == nil
}

// forbidden are names that mean more than a member in JavaScript.
var forbidden = []string{"__proto__", "constructor", "prototype"}

// ParsePath reads a path in the grammar of world-dimension-get: dots, [i], or a JSON Pointer (seed: tools.txt, "path is
// relative to the dimension's value"). The empty path is the value itself and has no segments. why says what is wrong.
func ParsePath(path string) (segments []Segment, why string) {
	switch {
	case len(path) > maxPathBytes:
		return nil, "is longer than 1024 bytes"
	case path == "":
		return nil, ""
	case path[0] == '/':
		segments, why = pointer(path[1:])
	default:
		segments, why = dotted(path)
	}
	if why != "" {
		return nil, why
	}
	if len(segments) > maxSegments {
		return nil, "has more than 64 parts"
	}
	for _, s := range segments {
		if slices.Contains(forbidden, s.Name) {
			return nil, "touches " + s.Name
		}
	}
	return segments, ""
}

func pointer(path string) (segments []Segment, why string) {
	for _, token := range strings.Split(path, "/") {
		for i := 0; i < len(token); i++ {
			if token[i] == '~' && (i+1 == len(token) || token[i+1] != '0' && token[i+1] != '1') {
				return nil, "has a ~ that is neither ~0 nor ~1"
			}
		}
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		segments = append(segments, Segment{Name: token})
	}
	return segments, ""
}

// dotted reads names parted by dots, each with any number of [i] behind it; the first name may be missing.
func dotted(path string) (segments []Segment, why string) {
	rest := path
	for {
		end := strings.IndexAny(rest, ".[]")
		if end < 0 {
			end = len(rest)
		}
		name := rest[:end]
		rest = rest[end:]
		if name != "" {
			segments = append(segments, Segment{Name: name})
		} else if len(segments) > 0 || !strings.HasPrefix(rest, "[") {
			return nil, "has an empty name"
		}
		for strings.HasPrefix(rest, "[") {
			closing := strings.IndexByte(rest, ']')
			if closing < 0 {
				return nil, "has a [ without its ]"
			}
			s := Segment{Name: rest[1:closing], Bracket: true}
			if _, ok := s.index(); !ok {
				return nil, "has [" + s.Name + "], which is no index"
			}
			segments = append(segments, s)
			rest = rest[closing+1:]
		}
		switch {
		case rest == "":
			return segments, ""
		case rest[0] != '.':
			return nil, "has " + rest[:1] + " in a wrong place"
		}
		rest = rest[1:]
	}
}
