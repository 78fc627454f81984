package openai

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/covel/covel/gateway/llm/border"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/text"
)

// fragment is a piece of a tool call as it came over the wire. Any part may be missing.
type fragment struct {
	index     int64
	hasIndex  bool
	id        string
	name      string
	arguments string
}

// call is a tool call in the making.
type call struct {
	fragment                 // the first one; arguments unused
	args     strings.Builder // arguments so far
	in       text.Cleaner
}

func (c *call) add(f fragment) {
	if c.name == "" {
		c.name = f.name
	}
	if c.id == "" {
		c.id = f.id
	}
	if c.args.String() == "{}" && strings.HasPrefix(f.arguments, "{") {
		c.args.Reset() // a server that opens every call with empty arguments before it sends the real ones
	}
	c.args.WriteString(c.in.Write(f.arguments))
}

// complete reports whether the arguments are a whole JSON object by now.
func (c *call) complete() bool {
	args := strings.TrimSpace(c.args.String())
	return strings.HasPrefix(args, "{") && strings.HasSuffix(args, "}") && json.Valid([]byte(args))
}

// calls puts fragments together. Servers differ in what identifies a call: some repeat the id, some only the index, some
// give every call the index 0 or none, and some send a call twice (fault case BL-02). So the id rules, then the index,
// then the order of arrival, and a call whose arguments are whole is never added to.
type calls struct {
	list []*call // in order of arrival
}

func (cs *calls) add(f fragment) {
	c := cs.owner(f)
	if c == nil {
		c = &call{fragment: f}
		cs.list = append(cs.list, c)
	}
	c.add(f)
}

// owner finds the call that a fragment continues; nil means that it begins a new one.
func (cs *calls) owner(f fragment) *call {
	if f.id != "" {
		if c := cs.latest(func(c *call) bool { return c.id == f.id }); c != nil {
			if f.arguments != "" && c.complete() && c.args.String() != "{}" {
				return nil // the same call once more, or another one under the same id: finish decides
			}
			if f.name != "" && f.hasIndex && c.hasIndex && f.index != c.index {
				return nil // a server that gives all calls one id
			}
			return c
		}
		// An id that comes late belongs to the call at its index that has none yet.
		return cs.latest(func(c *call) bool {
			return c.id == "" && f.hasIndex && c.hasIndex && c.index == f.index && !c.complete() && f.name == ""
		})
	}
	c := cs.latest(func(c *call) bool { return !f.hasIndex || c.hasIndex && c.index == f.index })
	if c != nil && f.name != "" && c.args.Len() > 0 && (c.name != f.name || c.complete()) {
		return nil // a name opens a call; the one before it has its arguments
	}
	return c
}

func (cs *calls) latest(fits func(*call) bool) *call {
	for i := len(cs.list) - 1; i >= 0; i-- {
		if fits(cs.list[i]) {
			return cs.list[i]
		}
	}
	return nil
}

// finish gives the calls in order of arrival. A call sent twice under one id is one call; different calls under one id
// are kept apart. Every id is set, and unique among these calls and those already in the conversation.
func (cs *calls) finish(conversation []model.Message) []model.ToolCall {
	used := map[string]bool{}
	past := 0
	for _, m := range conversation {
		for _, c := range m.ToolCalls {
			used[c.ID] = true
			past++
		}
	}
	var out []model.ToolCall
	sentAs := map[string][]int{} // id on the wire → places in out
	for _, c := range cs.list {
		c.args.WriteString(c.in.Close())
		next := model.ToolCall{ID: text.Clean(c.id), Name: text.Clean(c.name), Arguments: border.CleanJSON(c.args.String())}
		if next.ID != "" && repeats(out, sentAs[next.ID], next) {
			continue
		}
		wire := next.ID
		for n := past + len(out) + 1; next.ID == "" || used[next.ID]; n++ {
			next.ID = "call-" + strconv.Itoa(n)
		}
		used[next.ID] = true
		sentAs[wire] = append(sentAs[wire], len(out))
		out = append(out, next)
	}
	return out
}

// repeats reports whether next only says again what stands at one of the places; whole arguments replace broken ones.
func repeats(out []model.ToolCall, places []int, next model.ToolCall) bool {
	for _, i := range places {
		before := &out[i]
		if before.Name != next.Name && next.Name != "" {
			continue
		}
		if sameArguments(before.Arguments, next.Arguments) {
			return true
		}
		if !json.Valid([]byte(before.Arguments)) && json.Valid([]byte(next.Arguments)) {
			before.Arguments = next.Arguments
			return true
		}
	}
	return false
}

func sameArguments(a, b string) bool {
	if a == b {
		return true
	}
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}
