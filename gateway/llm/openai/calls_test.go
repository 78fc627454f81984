package openai_test

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/covel/covel/kernel/model"
)

// part is a fragment of a tool call as a delta; an index below zero is left out.
func part(index int, id, name, arguments string) string {
	call := map[string]any{"function": map[string]any{}}
	if index >= 0 {
		call["index"] = index
	}
	if id != "" {
		call["id"] = id
	}
	if name != "" {
		call["function"].(map[string]any)["name"] = name
	}
	if arguments != "" {
		call["function"].(map[string]any)["arguments"] = arguments
	}
	raw, _ := json.Marshal(map[string]any{"tool_calls": []any{call}})
	return frame(string(raw), "")
}

const rope, lamp = `{"item":"rope"}`, `{"item":"lamp"}`

func TestToolCallsAreNeitherMergedNorDoubled(t *testing.T) {
	two := []model.ToolCall{{ID: "a", Name: "take", Arguments: rope}, {ID: "b", Name: "take", Arguments: lamp}}
	noID := []model.ToolCall{{ID: "call-1", Name: "take", Arguments: rope}, {ID: "call-2", Name: "take", Arguments: lamp}}
	for _, c := range []struct {
		name   string
		frames []string
		want   []model.ToolCall
	}{
		{"as documented, in fragments", []string{
			part(0, "a", "take", ""), part(0, "", "", rope[:5]), part(0, "", "", rope[5:]),
			part(1, "b", "take", ""), part(1, "", "", lamp[:9]), part(1, "", "", lamp[9:]),
		}, two},
		{"BL-02.1: one index, two ids", []string{part(0, "a", "take", rope), part(0, "b", "take", lamp)}, two},
		{"BL-02.1 in fragments", []string{
			part(0, "a", "take", rope[:5]), part(0, "", "", rope[5:]), part(0, "b", "take", lamp[:5]), part(0, "", "", lamp[5:]),
		}, two},
		{"BL-02.2: no index", []string{part(-1, "a", "take", rope), part(-1, "b", "take", lamp)}, two},
		{"BL-02.2 in fragments", []string{
			part(-1, "a", "take", rope[:5]), part(-1, "", "", rope[5:]), part(-1, "b", "take", lamp[:5]), part(-1, "", "", lamp[5:]),
		}, two},
		{"BL-02.3: interleaved by index", []string{
			part(0, "a", "take", rope[:5]), part(1, "b", "take", lamp[:5]), part(0, "", "", rope[5:]), part(1, "", "", lamp[5:]),
		}, two},
		{"BL-02.3: interleaved by id under one index", []string{
			part(0, "a", "take", rope[:5]), part(0, "b", "take", lamp[:5]), part(0, "a", "", rope[5:]), part(0, "b", "", lamp[5:]),
		}, two},
		{"BL-02.3: interleaved by id without index", []string{
			part(-1, "a", "take", rope[:5]), part(-1, "b", "take", lamp[:5]), part(-1, "a", "take", rope[5:]), part(-1, "b", "take", lamp[5:]),
		}, two},
		{"BL-02.4: one id twice in full", []string{part(0, "a", "take", rope), part(0, "a", "take", rope)}, two[:1]},
		{"BL-02.4 under two indexes", []string{part(0, "a", "take", rope), part(1, "a", "take", rope)}, two[:1]},
		{"BL-02.4 without index, spaced otherwise", []string{part(-1, "a", "take", rope), part(-1, "a", "take", `{ "item": "rope" }`)}, two[:1]},
		{"BL-02.4: fragments, then the whole", []string{
			part(0, "a", "take", rope[:5]), part(0, "", "", rope[5:]), part(0, "a", "take", rope), part(1, "b", "take", lamp),
		}, two},
		{"BL-02.4: the first time broken", []string{
			part(0, "a", "take", rope[:5]), part(1, "a", "take", rope), part(2, "b", "take", lamp),
		}, two},
		{"one id for different calls", []string{part(0, "x", "take", rope), part(1, "x", "take", lamp)},
			[]model.ToolCall{{ID: "x", Name: "take", Arguments: rope}, {ID: "call-2", Name: "take", Arguments: lamp}}},
		{"one id for different calls, interleaved", []string{
			part(0, "x", "take", rope[:5]), part(1, "x", "take", lamp[:5]), part(0, "", "", rope[5:]), part(1, "", "", lamp[5:]),
		}, []model.ToolCall{{ID: "x", Name: "take", Arguments: rope}, {ID: "call-2", Name: "take", Arguments: lamp}}},
		{"the id in every fragment", []string{
			part(0, "a", "take", rope[:5]), part(0, "a", "take", rope[5:]), part(1, "b", "take", lamp[:5]), part(1, "b", "", lamp[5:]),
		}, two},
		{"the id after the name", []string{part(0, "", "take", ""), part(0, "a", "", rope), part(1, "", "take", lamp[:3]), part(1, "b", "", lamp[3:])}, two},
		{"no ids", []string{part(0, "", "take", rope), part(1, "", "take", lamp)}, noID},
		{"no ids, one index", []string{part(0, "", "take", rope), part(0, "", "take", lamp)}, noID},
		{"no ids, no index", []string{part(-1, "", "take", rope[:5]), part(-1, "", "", rope[5:]), part(-1, "", "take", lamp)}, noID},
		{"empty arguments before the real ones", []string{part(0, "a", "take", "{}"), part(0, "", "", rope[:5]), part(0, "", "", rope[5:]), part(1, "b", "take", lamp)}, two},
		{"arguments that are an object and no text", []string{
			frame(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"take","arguments":`+rope+`}}]}`, ""), part(1, "b", "take", lamp),
		}, two},
		{"both in one frame", []string{frame(`{"tool_calls":[{"id":"a","function":{"name":"take","arguments":"{\"item\":\"rope\"}"}},`+
			`{"id":"b","function":{"name":"take","arguments":"{\"item\":\"lamp\"}"}}]}`, "")}, two},
		{"malformed arguments stay as they are (BL-01)", []string{
			part(0, "a", "quest", `{"quest":"Amulet","state":`), part(1, "b", "quest", `["done"]`), part(2, "c", "quest", `null`), part(3, "d", "quest", ""),
		}, []model.ToolCall{
			{ID: "a", Name: "quest", Arguments: `{"quest":"Amulet","state":`}, {ID: "b", Name: "quest", Arguments: `["done"]`},
			{ID: "c", Name: "quest", Arguments: `null`}, {ID: "d", Name: "quest"},
		}},
		{"characters cut between fragments", []string{
			frame(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"看","arguments":"{\"人\":\"陆青`+"\xe4\xba"+`"}}]}`, ""),
			frame(`{"tool_calls":[{"index":0,"function":{"arguments":"`+"\x91"+`\\u0000\"}"}}]}`, ""),
		}, []model.ToolCall{{ID: "a", Name: "看", Arguments: `{"人":"陆青云\ufffd"}`}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, finish := range []string{"tool_calls", "stop"} {
				f := serve(t, sse(append(append([]string{}, c.frames...), frame(`{}`, finish), done)...))
				reply, deltas, err := listen(context.Background(), f.provider(t), model.Request{})
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(reply.ToolCalls, c.want) {
					t.Errorf("got  %+v\nwant %+v", reply.ToolCalls, c.want)
				}
				if reply.FinishReason != model.FinishToolCalls {
					t.Errorf("finish %q reads as %q", finish, reply.FinishReason)
				}
				for _, d := range deltas {
					if d != (model.Delta{}) {
						t.Errorf("a tool call shows as text: %+v", d)
					}
				}
				if len(deltas) == 0 {
					t.Error("no sign of life while the call was written")
				}
			}
		})
	}
}

func TestIDsAreUniqueInTheConversation(t *testing.T) {
	f := serve(t, sse(part(0, "call_0", "take", lamp), part(1, "", "take", rope), frame(`{}`, "tool_calls"), done))
	reply, _, err := listen(context.Background(), f.provider(t), model.Request{Messages: []model.Message{
		{Role: model.User, Content: "拿绳子"},
		{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "call_0", Name: "take", Arguments: rope}}},
		{Role: model.ToolRole, ToolCallID: "call_0", Content: `{"ok":true}`},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []model.ToolCall{{ID: "call-2", Name: "take", Arguments: lamp}, {ID: "call-3", Name: "take", Arguments: rope}}
	if !slices.Equal(reply.ToolCalls, want) {
		t.Errorf("got %+v", reply.ToolCalls)
	}
}

func TestDeepNestingIsOnlyText(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 1<<18)
	f := serve(t, sse(part(0, "a", "quest", deep[:1<<19]), part(0, "a", "", deep[1<<19:]), frame(`{}`, "tool_calls"), done))
	reply, _, err := listen(context.Background(), f.provider(t), model.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if len(reply.ToolCalls) != 1 || reply.ToolCalls[0].Arguments != deep {
		t.Errorf("got %d calls of %d bytes", len(reply.ToolCalls), len(reply.ToolCalls[0].Arguments))
	}
}

func TestManyCalls(t *testing.T) {
	var frames []string
	for i := range 200 {
		frames = append(frames, part(i, "id"+strconv.Itoa(i), "take", rope[:7]), part(i, "", "", rope[7:]))
	}
	f := serve(t, sse(append(frames, frame(`{}`, "tool_calls"), done)...))
	reply, _, err := listen(context.Background(), f.provider(t), model.Request{})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range reply.ToolCalls {
		if c != (model.ToolCall{ID: "id" + strconv.Itoa(i), Name: "take", Arguments: rope}) {
			t.Fatalf("call %d: %+v", i, c)
		}
	}
	if len(reply.ToolCalls) != 200 {
		t.Errorf("got %d calls", len(reply.ToolCalls))
	}
}
