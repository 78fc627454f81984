package openai_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/covel/covel/kernel/model"
)

// The answer of fault case BL-05.
const encoded = "龍が来た🐉👩‍👩‍👧 é E\u0301lodie 陆青云"

// sourceOf gives a stream with one chunk per piece.
func sourceOf(pieces ...string) string {
	var out strings.Builder
	for _, p := range pieces {
		out.WriteString(say(p))
	}
	return out.String() + frame(`{}`, "stop") + done
}

// inWrites sends the bytes in writes of n.
func inWrites(s string, n int) http.HandlerFunc {
	var writes []string
	for len(s) > n {
		writes, s = append(writes, s[:n]), s[n:]
	}
	return sse(append(writes, s)...)
}

func mustSay(t *testing.T, f *fake, want string) []model.Delta {
	t.Helper()
	reply, deltas, err := listen(context.Background(), f.provider(t), model.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if reply.Text != want || textOf(deltas) != want {
		t.Fatalf("reply %q, deltas %q, want %q", reply.Text, textOf(deltas), want)
	}
	for _, d := range deltas {
		if !utf8.ValidString(d.Text) {
			t.Errorf("delta %q is not whole UTF-8", d.Text)
		}
	}
	return deltas
}

func TestOneByteAtATime(t *testing.T) {
	deltas := mustSay(t, serve(t, inWrites(sourceOf(encoded), 1)), encoded)
	// What the server sent as one piece stays one: nothing of ours separates a joined emoji.
	if len(deltas) != 1 || deltas[0].Text != encoded {
		t.Errorf("the piece was cut up: %q", deltas)
	}
}

func TestCutAtEachOffset(t *testing.T) {
	source := sourceOf(encoded)
	start := strings.Index(source, "龍")
	for n := start; n <= start+len(encoded); n++ {
		mustSay(t, serve(t, sse(source[:n], source[n:])), encoded)
	}
}

func TestServerThatCutsCharactersBetweenChunks(t *testing.T) {
	// Byte-level tokenizers put half a character into each frame, which makes the JSON itself invalid UTF-8 …
	var pieces strings.Builder
	for i := range len(encoded) {
		pieces.WriteString(frame(`{"content":"`+encoded[i:i+1]+`"}`, ""))
	}
	mustSay(t, serve(t, sse(pieces.String(), frame(`{}`, "stop"), done)), encoded)

	// … and JavaScript gateways cut between the halves of a surrogate pair.
	mustSay(t, serve(t, sse(
		frame(`{"content":"来た\ud83d"}`, ""), frame(`{"content":"\udc09!"}`, ""), frame(`{}`, "stop"), done,
	)), "来た🐉!")
}

func TestWhatIsNoTextBecomesAReplacementMarkOnce(t *testing.T) {
	mustSay(t, serve(t, sse(
		frame(`{"content":"a\u0000b"}`, ""),
		frame(`{"content":"\ud83d"}`, ""), frame(`{"content":"c"}`, ""),
		frame("{\"content\":\"\xff\"}", ""),
		frame(`{"content":"\udc09"}`, "stop"), done,
	)), "a\uFFFDb\uFFFDc\uFFFD\uFFFD")
}

func TestStructuredTextIsCleanInsideToo(t *testing.T) {
	f := serve(t, sse(
		frame(`{"content":"{\"segments\":[{\"text\":\"x\\u00"}`, ""), frame(`{"content":"00y \\ud83d"}`, ""),
		frame(`{"content":"\\udc09 \\ud83d\"}]}"}`, "stop"), done))
	reply, deltas, err := listen(context.Background(), f.provider(t), model.Request{
		ResponseFormat: &model.ResponseFormat{Name: "story", Schema: []byte(`{"type":"object"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"segments":[{"text":"x\ufffdy \ud83d\udc09 \ufffd"}]}`
	if reply.Text != want || textOf(deltas) != want {
		t.Errorf("got %s, deltas %s", reply.Text, textOf(deltas))
	}
}

func TestFramingThatServersVary(t *testing.T) {
	for name, writes := range map[string][]string{
		"CRLF":                           {strings.ReplaceAll(sourceOf("雨", "停"), "\n", "\r\n")},
		"no space after colon":           {strings.ReplaceAll(sourceOf("雨", "停"), "data: ", "data:")},
		"comments and ids":               {": OPENROUTER PROCESSING\n\n", "id: 1\nevent: message\n" + say("雨"), ":\n\n", say("停"), frame(`{}`, "stop"), done},
		"finish, then a plain close":     {say("雨") + say("停") + frame(`{}`, "stop")},
		"end mark without finish":        {say("雨") + say("停") + done},
		"finish with the last text":      {say("雨") + frame(`{"content":"停"}`, "stop") + done},
		"error: null in each frame":      {strings.ReplaceAll(sourceOf("雨", "停"), `"choices"`, `"error":null,"choices"`)},
		"a list of parts":                {frame(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"嗯"}]},{"type":"text","text":"雨"}]}`, ""), say("停"), frame(`{}`, "stop"), done},
		"other choices are not mixed in": {say("雨") + strings.Replace(say("雪"), `"index":0`, `"index":1`, 1) + say("停") + frame(`{}`, "stop") + done},
	} {
		t.Run(name, func(t *testing.T) { mustSay(t, serve(t, sse(writes...)), "雨停") })
	}
}

func TestReasoningIsKeptApart(t *testing.T) {
	for _, field := range []string{"reasoning_content", "reasoning"} {
		f := serve(t, sse(frame(`{"`+field+`":"想一","content":""}`, ""), frame(`{"`+field+`":"想"}`, ""), say("好"), frame(`{}`, "stop"), done))
		reply, deltas, err := listen(context.Background(), f.provider(t), model.Request{})
		if err != nil {
			t.Fatal(err)
		}
		want := []model.Delta{{Reasoning: "想一"}, {Reasoning: "想"}, {Text: "好"}}
		if reply.Text != "好" || !slices.Equal(deltas, want) {
			t.Errorf("%s: reply %q, deltas %+v", field, reply.Text, deltas)
		}
	}
}
