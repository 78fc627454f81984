package plainjson

import (
	"encoding/json"
	"testing"
)

func TestMarshal(t *testing.T) {
	if got, err := Marshal("<雨> & \n"); err != nil || string(got) != `"<雨> & \n"` {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := Marshal(map[string]any{"raw": json.RawMessage(`"a<b"`), "n": 1}); err != nil || string(got) != `{"n":1,"raw":"a<b"}` {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := Marshal(func() {}); err == nil {
		t.Error("a function is no JSON")
	}
}
