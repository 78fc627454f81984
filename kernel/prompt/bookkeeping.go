package prompt

import (
	"encoding/json"
	"regexp"
	"strings"
)

var (
	uuidShape    = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)
	instantShape = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$`)
)

// ModelFacing is a copy of a JSON value without bookkeeping: sessionId, ids that are UUIDs (id, …Id, …Ids) and times of
// day (timestamp, …At). Name and value must both match: a readable id or an in-story date stays (reference: plugins.md
// §18.6, worlds-and-story.md §20). What is no JSON is null.
func ModelFacing(raw json.RawMessage) json.RawMessage {
	return json.RawMessage(toJSON(modelFacing(decode(raw)), false))
}

func modelFacing(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = modelFacing(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			if !isBookkeeping(k, item) {
				out[k] = modelFacing(item)
			}
		}
		return out
	}
	return v
}

func isBookkeeping(key string, v any) bool {
	switch {
	case key == "sessionId":
		return true
	case key == "id" || strings.HasSuffix(key, "Id") || strings.HasSuffix(key, "Ids"):
		return isUUIDs(v)
	case key == "timestamp" || strings.HasSuffix(key, "At"):
		s, ok := v.(string)
		return ok && instantShape.MatchString(s)
	}
	return false
}

func isUUIDs(v any) bool {
	switch v := v.(type) {
	case string:
		return uuidShape.MatchString(v)
	case []any:
		for _, item := range v {
			if s, ok := item.(string); !ok || !uuidShape.MatchString(s) {
				return false
			}
		}
		return len(v) > 0
	}
	return false
}
