// Package plainjson writes JSON without the escapes that only HTML needs.
package plainjson

import (
	"bytes"
	"encoding/json"
)

// Marshal is json.Marshal with < > & left as they are: for texts that models and people read, and for raw JSON inside of
// values that must keep its bytes. It returns the errors of encoding/json.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
