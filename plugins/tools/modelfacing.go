package tools

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

var (
	uuid    = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)
	anyUUID = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)
	isoTime = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?$`)
)

// ModelFacingJSON leaves bookkeeping out of data a model reads: keys named id or ending in Id or Ids whose values are UUIDs,
// keys named timestamp or ending in At whose values are ISO times, sessionId, and a row's own id that only repeats its key
// (reference: plugins.md §18.6). Everything else stays as it is, in its order. Code always reads the full value.
func ModelFacingJSON(raw json.RawMessage) json.RawMessage {
	if !json.Valid(raw) {
		return raw
	}
	var out bytes.Buffer
	writeFacing(&out, gjson.ParseBytes(raw), "")
	return out.Bytes()
}

// writeFacing writes a value; key is the key it stands under, "" in arrays and at the root.
func writeFacing(out *bytes.Buffer, v gjson.Result, key string) {
	switch {
	case v.IsArray():
		out.WriteByte('[')
		first := true
		v.ForEach(func(_, item gjson.Result) bool {
			if !first {
				out.WriteByte(',')
			}
			first = false
			writeFacing(out, item, "")
			return true
		})
		out.WriteByte(']')
	case v.IsObject():
		row := key
		if own := ownKey(v); own != "" {
			row = own
		}
		out.WriteByte('{')
		first := true
		v.ForEach(func(k, item gjson.Result) bool {
			if bookkeeping(k.String(), item, row) {
				return true
			}
			if !first {
				out.WriteByte(',')
			}
			first = false
			out.WriteString(k.Raw)
			out.WriteByte(':')
			writeFacing(out, item, k.String())
			return true
		})
		out.WriteByte('}')
	default:
		out.WriteString(v.Raw)
	}
}

// ownKey is the key a record carries itself.
func ownKey(object gjson.Result) string {
	key := ""
	object.ForEach(func(k, v gjson.Result) bool {
		if k.String() == "key" && v.Type == gjson.String {
			key = v.String()
			return false
		}
		return true
	})
	return key
}

func bookkeeping(key string, v gjson.Result, row string) bool {
	switch {
	case key == "sessionId":
		return true
	case key == "id" && row != "" && v.Type == gjson.String && v.String() == row:
		return true
	case key == "id" || strings.HasSuffix(key, "Id") || strings.HasSuffix(key, "Ids"):
		return onlyUUIDs(v)
	case key == "timestamp" || strings.HasSuffix(key, "At"):
		return v.Type == gjson.String && isoTime.MatchString(v.String())
	}
	return false
}

// onlyUUIDs holds for a UUID and for a list of nothing else.
func onlyUUIDs(v gjson.Result) bool {
	if !v.IsArray() {
		return v.Type == gjson.String && uuid.MatchString(v.String())
	}
	items := v.Array()
	for _, item := range items {
		if item.Type != gjson.String || !uuid.MatchString(item.String()) {
			return false
		}
	}
	return len(items) > 0
}
