package prompt

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// fieldsOf sees what a full decoding sees.
func TestFieldsOf(t *testing.T) {
	value := rapid.OneOf(
		rapid.Map(rapid.StringMatching(`[a-z龙 "\\<]{0,8}`), func(s string) any { return s }),
		rapid.Map(rapid.IntRange(-1e9, 1e9), func(n int) any { return n }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Just[any](nil),
		rapid.Just[any](1.5e300),
		rapid.Just[any](map[string]any{"x": 1, "ownerId": "01a22f82-4227-7424-9bd8-f2b1d688ce28"}),
		rapid.Just[any]([]any{"a", 1, "01a22f82-4227-7424-9bd8-f2b1d688ce28"}),
		rapid.Just[any]("01a22f82-4227-7424-9bd8-f2b1d688ce28"),
		rapid.Just[any]("2026-12-01T03:22:26Z"),
	)
	key := rapid.SampledFrom([]string{"health", "id", "ownerId", "seenAt", "sessionId", "timestamp", "姓名", "a.b", "", "constructor"})
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(rapid.MapOf(key, value).Draw(t, "fields"))
		if err != nil {
			t.Fatal(err)
		}
		want, _ := modelFacing(decode(raw)).(map[string]any)
		got := map[string]any{}
		for _, f := range fieldsOf(raw) {
			got[f.key] = f.value
		}
		if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: got %v, want %v", raw, got, want)
		}
	})
	for _, raw := range []string{``, `[]`, `"x"`, `{`, `null`, `{"a":1}x`} {
		if got := fieldsOf(json.RawMessage(raw)); len(got) != 0 {
			t.Errorf("%q: %v", raw, got)
		}
	}
}
