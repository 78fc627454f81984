package turn

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

func of(plugin string, r manifest.Runtime) manifest.Runtime {
	r.PluginID = plugin
	return r
}

// book is a package of several runtimes beside another one.
func book() Recursion {
	five := 5
	active := []manifest.Runtime{
		of("book", auto("book/keep", manifest.PostTurn)),
		of("book", manual("book/摘要", func(r *manifest.Runtime) {
			r.IO.PayloadSchema = json.RawMessage(`{"type":"object","required":["章"],"properties":{"章":{"type":"integer"}}}`)
		})),
		of("book", manual("book/ghost", func(r *manifest.Runtime) { r.Schedule.SubagentOnly = true })),
		of("book", auto("book/teller", manifest.Narrative, func(r *manifest.Runtime) { r.IO.Visibility = manifest.VisibilityStory })),
		of("book", auto("book/deep", manifest.Audit, func(r *manifest.Runtime) { r.Agent.MaxRecursionDepth = &five })),
		of("other", auto("other", manifest.PostTurn)), of("other", auto("other/part", manifest.PostTurn)),
	}
	return Recursion{ExecutionID: "0192b3c4-0000-7000-8000-000000000001", Caller: Run{RunID: "run-1", Runtime: active[0]}, Active: active, N: 1}
}

// Rule REF:plugins.md §11: recursiveCall runs another runtime of the session inside the run that calls it, up to
// maxRecursionDepth deep.
// Rule TL:1631: recursiveCall stays within one package.
// Rule TP:699: recursiveCall selects no sub-agent.
func TestRecurseRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		call sdk.RecursiveCall
		code sdk.ToolErrorCode
		want string
	}{
		"no name":              {sdk.RecursiveCall{}, sdk.InvalidInput, `needs a runtimeId: one of the package "book"`},
		"a runtime elsewhere":  {sdk.RecursiveCall{RuntimeID: "other/part"}, sdk.Refused, "belongs to another package; ask other packages through services or events"},
		"a whole package":      {sdk.RecursiveCall{RuntimeID: "other"}, sdk.Refused, "belongs to another package"},
		"one that is not here": {sdk.RecursiveCall{RuntimeID: "elsewhere/x"}, sdk.Refused, "belongs to another package"},
		"one that nobody has":  {sdk.RecursiveCall{RuntimeID: "目录"}, sdk.NotFound, `the package "book" has no such runtime`},
		"a sub-agent":          {sdk.RecursiveCall{RuntimeID: "ghost"}, sdk.Refused, "it runs as a sub-agent only"},
		"the story":            {sdk.RecursiveCall{RuntimeID: "book/teller"}, sdk.Refused, "it tells the story"},
		"a wrong payload":      {sdk.RecursiveCall{RuntimeID: "摘要", Payload: map[string]any{"章": "三"}}, sdk.InvalidInput, "the payload of book/摘要 does not fit"},
		"no payload":           {sdk.RecursiveCall{RuntimeID: "摘要"}, sdk.InvalidInput, "the payload of book/摘要 does not fit"},
		"no JSON":              {sdk.RecursiveCall{RuntimeID: "deep", Payload: math.NaN()}, sdk.InvalidInput, "cannot be written as JSON"},
		"a number too large":   {sdk.RecursiveCall{RuntimeID: "deep", Payload: map[string]any{"n": uint64(1) << 60}}, sdk.InvalidInput, "payload.n: 1152921504606846976 is beyond ±2^53"},
		"itself, as it was":    {sdk.RecursiveCall{RuntimeID: "keep"}, sdk.Refused, "would go round in a circle (book/keep → book/keep)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Recurse(book(), c.call)
			var terr *sdk.ToolError
			if !errors.As(err, &terr) || terr.Code != c.code || !strings.Contains(terr.Message, c.want) {
				t.Errorf("got %v, want %s …%s…", err, c.code, c.want)
			}
		})
	}
}

// Rule REF:plugins.md §7.1: the origin of a nested call is recursive; it is started by its name and passes every gate.
// Rule TP:648: a called run sees what its caller saw and what earlier calls left, and nothing that the caller has staged,
// since it is committed before it.
func TestRecurse(t *testing.T) {
	at := book()
	at.Caller.Upstream = []Result{{RunID: "up", RuntimeID: "other"}}
	at.Caller.Event = &sdk.EmittedEvent{Topic: "page.done", Data: json.RawMessage(`{"n":1}`)}
	at.Earlier = []Result{{RunID: "first", RuntimeID: "book/摘要"}}
	at.N = 2
	r, err := Recurse(at, sdk.RecursiveCall{RuntimeID: "摘要", Payload: map[string]any{"章": 3}})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "run", []any{r.Runtime.ID, r.Manual, string(r.Payload), len(r.Inputs), len(r.Callers)}, []any{"book/摘要", true, `{"章":3}`, 0, 1})
	expect(t, "upstream", []string{r.Upstream[0].RunID, r.Upstream[1].RunID}, []string{"up", "first"})
	expect(t, "caller", r.Callers[0], CallerFrame{"run-1", "book/keep", json.RawMessage(`{"n":1}`)})
	again, _ := Recurse(at, sdk.RecursiveCall{RuntimeID: "book/摘要", Payload: map[string]any{"章": 3}})
	at.N = 3
	next, _ := Recurse(at, sdk.RecursiveCall{RuntimeID: "摘要", Payload: map[string]any{"章": 3}})
	if again.RunID != r.RunID || next.RunID == r.RunID {
		t.Errorf("the ids %s, %s, %s do not come from the caller and the number of the call", r.RunID, again.RunID, next.RunID)
	}
	// A runtime may call itself with another payload.
	at.Caller.Event = nil
	self, err := Recurse(at, sdk.RecursiveCall{RuntimeID: "keep", Payload: map[string]any{"rest": []int{2, 3}}})
	if err != nil {
		t.Fatal(err)
	}
	at.Caller = self
	if _, err = Recurse(at, sdk.RecursiveCall{RuntimeID: "keep", Payload: json.RawMessage(`{ "rest" : [2, 3] }`)}); err == nil {
		t.Error("the same payload written otherwise went round in a circle")
	}
	if _, err = Recurse(at, sdk.RecursiveCall{RuntimeID: "keep"}); err == nil {
		t.Error("the payload of the first caller was called again")
	}
}

// Rule REF:plugins.md §28: recursion is 10 deep by default; the runtime that calls may say otherwise, 0 forbids it.
func TestRecursionDepth(t *testing.T) {
	for _, c := range []struct {
		limit *int
		deep  int
	}{{nil, DefaultRecursionDepth}, {new(int), 0}, {func() *int { n := 3; return &n }(), 3}} {
		at := book()
		at.Active[0].Agent.MaxRecursionDepth = c.limit
		at.Caller.Runtime = at.Active[0]
		deep := 0
		for ; ; deep++ {
			r, err := Recurse(at, sdk.RecursiveCall{RuntimeID: "keep", Payload: deep})
			if err != nil {
				if !strings.Contains(err.Error(), "maxRecursionDepth of book/keep allows") {
					t.Error(err)
				}
				break
			}
			at.Caller = r
		}
		expect(t, "depth", deep, c.deep)
	}
}

// Rule REF:plugins.md §8: what a concealed runtime hands to another one is concealed as well.
func TestConcealmentGoesDown(t *testing.T) {
	at := book()
	at.Caller.Runtime.IO.Concealed = true
	r, err := Recurse(at, sdk.RecursiveCall{RuntimeID: "deep"})
	if err != nil || !r.Runtime.IO.Concealed || at.Active[4].IO.Concealed {
		t.Errorf("%v %+v", err, r.Runtime.IO)
	}
}

// Rule TL:676: a caller that suspends is saved with what its calls have left, in the order of the commit, and goes on with it: writes,
// events, operations with the name of who asked, and what they publish. A called run itself cannot wait.
func TestUnnested(t *testing.T) {
	p := func(s string) []sdk.Proposal { return []sdk.Proposal{{Type: s}} }
	e := func(s string) []sdk.EmittedEvent { return []sdk.EmittedEvent{{Topic: s}} }
	r := Unnested(Result{Status: Suspended, Proposals: p("own"), Events: e("own"), Nested: []Result{
		{RunID: "a", RuntimeID: "book/a", PluginID: "book", Status: Succeeded, RecordAs: "x", Output: json.RawMessage(`"雾"`), Operations: []Operation{{ID: "o2"}, {ID: "o3", InvokedBy: InvokedBy{RuntimeID: "cast/mara"}}}, Proposals: p("a"), Events: e("a"), Usage: Usage{ModelCalls: 1}, Nested: []Result{{RunID: "aa", RuntimeID: "book/aa", PluginID: "book", Status: Succeeded, RecordAs: "y", Output: json.RawMessage(`1`), Contract: "y@1", Proposals: p("aa")}}},
		{RunID: "b", Status: Failed, Proposals: p("b"), Nested: []Result{{RunID: "bb", Status: Succeeded, RecordAs: "z", Output: json.RawMessage(`2`), Operations: []Operation{{ID: "o4"}}, Proposals: p("bb")}}},
	}, Operations: []Operation{{ID: "o1"}}, Exports: []Export{{RuntimeID: "book/old", Name: "w", Value: json.RawMessage(`0`)}}, Suspension: &Suspension{}})
	expect(t, "proposals", r.Proposals, []sdk.Proposal{{Type: "aa"}, {Type: "a"}, {Type: "own"}})
	expect(t, "events", r.Events, append(e("a"), e("own")...))
	expect(t, "left", []any{len(r.Nested[0].Proposals), r.Nested[0].RecordAs, r.Nested[0].Usage.ModelCalls, len(r.Nested[0].Nested[0].Proposals)}, []any{0, "", 1, 0})
	expect(t, "operations", r.Operations, []Operation{{ID: "o2", InvokedBy: InvokedBy{RuntimeID: "book/a", PluginID: "book", RunID: "a"}}, {ID: "o3", InvokedBy: InvokedBy{RuntimeID: "cast/mara"}}, {ID: "o1"}})
	exports := []Export{{RuntimeID: "book/old", Name: "w", Value: json.RawMessage(`0`)}, {"book/aa", "book", "aa", "y", "y@1", json.RawMessage(`1`)}, {"book/a", "book", "a", "x", "", json.RawMessage(`"雾"`)}}
	expect(t, "exports", r.Exports, exports)
	saved, err := EncodeContinuation(r)
	if err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(saved)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := DecodeContinuation(b)
	expect(t, "what is read back", []any{err, kept.Exports, kept.Operations}, []any{nil, exports, r.Operations})
	waits := SettleRecursive(Result{RunID: "c", Status: Suspended, Suspension: &Suspension{Reason: "谁？"}, Proposals: p("c")})
	expect(t, "a called run that waits", []any{waits.Status, waits.Suspension == nil, len(waits.Proposals), strings.Contains(waits.Error, "let the caller suspend")}, []any{Failed, true, 0, true})
	expect(t, "what a caller is told", RecursiveOf(Result{RunID: "d", Status: Failed, Error: "雾太大", Output: json.RawMessage(`1`)}), sdk.RecursiveResult{RunID: "d", Status: sdk.Failed, Error: "雾太大"})
}

// Rule DESIGN:§2.5: chance comes from the execution, the run and the number of the draw.
// Rule REF:plugins.md §11: random.int gives min ≤ n < max.
func TestRandom(t *testing.T) {
	draws := func(r *Random) (out [20]int) {
		for i := range out {
			out[i] = r.Int(0, 1_000_000)
		}
		return out
	}
	if first, again := draws(NewRandom("e", "r")), draws(NewRandom("e", "r")); first != again {
		t.Error("a run that is run again draws otherwise")
	}
	if draws(NewRandom("e", "r")) == draws(NewRandom("e", "r2")) || draws(NewRandom("e", "r")) == draws(NewRandom("e2", "r")) {
		t.Error("two runs draw the same")
	}
	rapid.Check(t, func(t *rapid.T) {
		r := NewRandom("e", rapid.String().Draw(t, "run"))
		from, to := rapid.Int().Draw(t, "min"), rapid.Int().Draw(t, "max")
		if n := r.Int(from, to); from < to && (n < from || n >= to) || from >= to && n != from {
			t.Fatalf("Int(%d, %d) = %d", from, to, n)
		}
	})
	seen := [6]int{}
	r := NewRandom("e", "dice")
	for range 6000 {
		seen[r.Int(0, 6)]++
	}
	for face, n := range seen {
		if n < 800 || n > 1200 {
			t.Errorf("face %d came %d times of 6000", face, n)
		}
	}
}
