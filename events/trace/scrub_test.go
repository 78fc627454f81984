package trace_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/events/trace/memory"
)

// hostKey is a secret that the host knows, whatever it looks like.
type hostKey string

func (k hostKey) Scrub(text string) string { return strings.ReplaceAll(text, string(k), trace.Mask) }

// written gives what a writer keeps of payloads.
func written(t testing.TB, known []trace.Secret, payloads ...any) string {
	store := &memory.Store{}
	w, err := trace.NewWriter(t.Context(), store, slog.New(slog.DiscardHandler), known...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range payloads {
		w.Emit(trace.Scope{SessionID: "s"}, trace.RuntimeLog, p)
	}
	w.Close()
	entries, err := store.Read(t.Context(), trace.Query{SessionID: "s"})
	if err != nil || len(entries) != len(payloads) {
		t.Fatalf("%d entries (%v)", len(entries), err)
	}
	var all []string
	for _, e := range entries {
		if !json.Valid(e.Payload) {
			t.Fatalf("not JSON any more: %s", e.Payload)
		}
		all = append(all, string(e.Payload))
	}
	return strings.Join(all, "\n")
}

// Rule DESIGN §10: secrets never reach the trace: planted in errors, arguments, headers, messages and logs they come out masked.
func TestNoSecretIsTraced(t *testing.T) {
	const word = "abcdefghijklmnopqrstuvwxyz0123456789"
	rapid.Check(t, func(rt *rapid.T) {
		random := rapid.StringOfN(rapid.RuneFrom([]rune(word+"ABCDEFGH-_")), 24, 60, -1).Draw(rt, "secret")
		random = "x7" + random // a token of this length without any digit is no token
		own := trace.TokenPrefix + random
		host := hostKey("龙-" + random)
		texts := map[string]string{
			"a key of a model's host":  "sk-" + random,
			"a token of this program":  own,
			"a token inside of a word": "seat_" + own,
			"the host's own key":       string(host),
			"a bearer token":           "Bearer " + random,
			"a header in a text":       "X-Session-Token: " + random,
			"an authorization line":    "Authorization: Digest user=" + random + "\n",
			"a printed header":         fmt.Sprint(http.Header{"Authorization": {"Basic " + random}}),
			"a query":                  "https://example.org/v1?api_key=" + random + "&n=1",
			"an address":               "https://user:" + random + "@example.org/v1",
			"arguments of a tool":      `{"n":1,"apiKey":"` + random + `","说":"好"}`,
			"arguments, quoted again":  fmt.Sprintf("%q", `{"x":"y\n`+own+`"}`),
			"a cookie":                 "Cookie: a=b; session=" + random,
		}
		for what, text := range texts {
			around := rapid.SampledFrom([]string{"%s", "雾港：%s。", "could not ask: %s (status 401)", "\"%s\"", "[%s]\n那么"}).Draw(rt, "around")
			if strings.HasPrefix(what, "an authorization") || what == "a cookie" {
				around = "could not ask:\n%s"
			}
			text = fmt.Sprintf(around, text)
			got := written(t, []trace.Secret{host},
				trace.ToolEnd{ToolName: "问", Error: text, Arguments: text, Details: []any{text}, Result: text},
				trace.LLMCall{Messages: []map[string]string{{"role": "user", "content": text}}},
				trace.LogLine{Message: text, Fields: json.RawMessage(mustJSON(map[string]any{"深": map[string]any{"里": text}}))},
				make(map[string]string), map[string]any{text: 1})
			if strings.Contains(got, random) {
				rt.Fatalf("%s is traced: %s", what, got)
			}
			if again := written(t, []trace.Secret{host}, json.RawMessage(strings.SplitN(got, "\n", 2)[0])); again != strings.SplitN(got, "\n", 2)[0] {
				rt.Fatalf("%s: masked twice it reads otherwise:\n%s\n%s", what, got, again)
			}
		}
		for _, name := range []string{"Authorization", "authorization", "x-api-key", "API_KEY", "sessionToken", "Set-Cookie", "seat-token"} {
			for _, value := range []any{"v" + random, []string{"a", "v" + random}, []any{[]string{"v" + random}}} {
				got := written(t, nil, map[string]any{"headers": map[string]any{name: value, "z": "stays"}})
				if strings.Contains(got, random) || !strings.Contains(got, "stays") {
					rt.Fatalf("%s: %s", name, got)
				}
			}
		}
	})
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// What only sounds like a secret stays: the trace is there to be read.
func TestStoriesAreTracedAsTheyAre(t *testing.T) {
	for _, text := range []string{
		"The bearer of bad news knows the password: swordfish.", "Token: 一枚铜币。", "She said: basic training, twenty days.", "a sk-8 board", "the secret: nobody was there",
		"https://example.org:8080/a@b", "keys: 3, tokens=17", `C:\new\table`, "authorization was never asked for", "cookie jar", "eyJ", "a ckey_ is short", "api key", "apikey",
	} {
		got := written(t, []trace.Secret{hostKey("sk-other-key")}, trace.Message{Content: text})
		want := `{"content":` + strings.TrimSpace(string(mustPlain(text))) + `,"len":0,"deltaCount":0}`
		if got != want {
			t.Errorf("%s\n%s", got, want)
		}
	}
	plain := map[string]any{"inputTokens": 5, "token": "蓝", "secret": "the butler", "key": "a", "invite": "Aya", "tokens": []int{1}, "authorization": nil, "cookie": map[string]any{"taste": "plain"}}
	if got := written(t, nil, plain); got != string(mustPlain(plain)) {
		t.Errorf("%s", got)
	}
}

func mustPlain(v any) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

// A secret at the place where a payload is cut is masked before.
func TestACutPayloadHoldsNoHalfSecret(t *testing.T) {
	key := "sk-" + strings.Repeat("k9", 20)
	text := strings.Repeat(key+" ", trace.MaxPayload/len(key)*5)
	if got := written(t, nil, trace.Message{Content: text}); strings.Contains(got, "k9") || !strings.Contains(got, `"truncated":true`) {
		t.Errorf("%.200s", got)
	}
}

func BenchmarkScrub(b *testing.B) {
	payload := trace.LLMCall{Messages: []map[string]string{{"role": "user", "content": strings.Repeat("雾港的灯 is lit, said the keeper's key-holder. ", 8000)}}}
	store := &memory.Store{}
	w, err := trace.NewWriter(b.Context(), store, slog.New(slog.DiscardHandler), hostKey("sk-a-key-of-the-host"))
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	for b.Loop() {
		w.Emit(trace.Scope{SessionID: "s"}, trace.LLMCalling, payload)
		if err := w.Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
