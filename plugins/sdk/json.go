package sdk

import (
	"bytes"
	"encoding/json"
)

// plainJSON is json.Marshal with < > & left as they are: texts of stories are full of them, and raw JSON inside of a value
// keeps its bytes.
func plainJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
