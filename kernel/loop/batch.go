package loop

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/covel/covel/kernel/model"
)

// Batches cuts calls, which stay in model order, into pools of consecutive parallel calls and barriers of one (seed:
// tools.txt, "Execution within one batch").
func (c Config) Batches(calls []model.ToolCall) []Batch {
	var out []Batch
	pool := false // the last batch takes more calls
	for _, call := range calls {
		p := c.parallel(call.Name)
		if last := len(out) - 1; p && pool && len(out[last].Calls) < MaxParallel {
			out[last].Calls = append(out[last].Calls, call)
		} else {
			out = append(out, Batch{Calls: []model.ToolCall{call}})
		}
		pool = p
	}
	return out
}

// distinctCalls gives every call of a reply an id that the run has not seen; used are the ids of earlier replies. A call
// that repeats the id, name and arguments of another one in the same reply is the same call sent twice and runs once; one
// that only shares the id is another call.
func distinctCalls(calls []model.ToolCall, step int, used []ToolRecord) []model.ToolCall {
	taken := make(map[string]bool, len(used)+len(calls))
	for _, r := range used {
		taken[r.CallID] = true
	}
	var out []model.ToolCall
	sent := make(map[string]bool, len(calls))
	for i, c := range calls {
		if c.ID == "" {
			c.ID = fmt.Sprintf("call-%d-%d", step, i+1)
		}
		key := c.ID + "\n" + callKey(c)
		if sent[key] {
			continue
		}
		sent[key] = true
		c.ID = freeID(c.ID, taken)
		taken[c.ID] = true
		out = append(out, c)
	}
	return out
}

func freeID(id string, taken map[string]bool) string {
	free := id
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%s-%d", id, n)
	}
	return free
}

// callKey is equal for calls that ask for the same thing: the name, and the arguments without white space between them.
func callKey(c model.ToolCall) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(c.Arguments)) != nil {
		b.Reset()
		b.WriteString(c.Arguments)
	}
	return fmt.Sprintf("%s %x", c.Name, sha256.Sum256(b.Bytes()))
}

// repetition counts identical calls in a row.
type repetition struct {
	Key   string `json:"key,omitempty"`
	Name  string `json:"name,omitempty"`
	Count int    `json:"count,omitempty"`
}

func (r repetition) add(c model.ToolCall) repetition {
	if key := callKey(c); key != r.Key {
		return repetition{Key: key, Name: c.Name, Count: 1}
	}
	r.Count++
	return r
}
