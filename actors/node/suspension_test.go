package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/covel/covel/actors/nodetest"
	"github.com/covel/covel/events/memory"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

// oracle is a plugin that asks the player something after the first page of a turn, and writes down what it hears.
type oracle struct {
	calls  atomic.Int32
	fails  atomic.Bool // the next resume fails
	again  atomic.Bool // the next resume asks once more
	locale atomic.Value
}

const question = `{"type":"object","properties":{"name":{"type":"string","minLength":2},"deep":{"type":"array","items":{"type":"integer","maximum":9}}},"required":["name"],"additionalProperties":false}`

func (o *oracle) source(version string) registry.Source {
	return registry.Bundled("oracle", sdk.Package{
		FS: fstest.MapFS{"PLUGIN.md": {Data: []byte("---\nid: oracle\nkind: core\nversion: " + version + "\ndescription: Asks.\nruntime:\n  type: function\n  description: Asks.\n" +
			"  schedule: { stage: post-turn, startTurn: 1, maxTriggerCount: 1 }\n  function: { handler: ask }\n---\nIt asks.\n")}},
		Register: func(c *sdk.Covel) {
			c.RegisterHandler("ask", func(_ context.Context, rt *sdk.Runtime) (sdk.Result, error) {
				o.calls.Add(1)
				if rt.PlayerMessage == "" { // the opening
					return sdk.Result{Outcome: sdk.Skipped, SkipReason: "nobody spoke"}, nil
				}
				if rt.ResumeData == nil {
					if err := rt.PluginData.Set("notes", "灯", json.RawMessage(`"first"`)); err != nil {
						return sdk.Result{}, err
					}
					return sdk.Result{Outcome: sdk.Suspended, Reason: "你叫什么？", ResumeSchema: json.RawMessage(question)}, nil
				}
				o.locale.Store(fmt.Sprintf("%s %d %d %s %s %t", rt.Locale, rt.LogicalTurn, rt.TurnNumber, rt.PlayerMessage, rt.PluginData.Get("notes", "灯"), rt.ResumedFromSuspensionID != ""))
				if o.fails.Swap(false) {
					return sdk.Result{Outcome: sdk.Failed, Error: "顔料がない"}, nil
				}
				if o.again.Swap(false) {
					return sdk.Result{Outcome: sdk.Suspended, Reason: "And then?"}, nil
				}
				if err := rt.PluginData.Set("notes", "answer", rt.ResumeData); err != nil {
					return sdk.Result{}, err
				}
				return sdk.Result{Outcome: sdk.Success, Value: map[string]any{"ok": true}}, nil
			})
		},
	})
}

func answer(id, data, request string) kernel.Command {
	return kernel.Command{Type: kernel.ResumeSuspension, RequestID: request, SuspensionID: id, Answer: projections.RawJSON(data)}
}

// asked plays to the turn in which the oracle asks and gives its item.
func asked(t *testing.T, o *oracle, opts nodetest.Options) (*nodetest.Node, *nodetest.Player, projections.Suspension) {
	t.Helper()
	opts.Model = free()
	if opts.Plugins == nil {
		opts.Plugins = nodetest.Plugins(t, o.source("1.0.0"))
	}
	n := nodetest.Start(t, opts)
	p := n.Create("s1", "en")
	p.Play("陆青云")
	if a := p.Say("I go on."); a.Refusal != nil {
		t.Fatal(a.Refusal)
	}
	s := p.Settled()
	if len(s.Suspensions.Waiting) != 1 {
		t.Fatalf("%+v, last %+v", s.Suspensions, s.Session.Last)
	}
	return n, p, s.Suspensions.Waiting[0]
}

func types(p *nodetest.Player, from int) string {
	var out []string
	for _, r := range p.Seen[from:] {
		out = append(out, r.Type)
	}
	return strings.Join(out, " ")
}

// Rule TP:193: the item is saved with the commit of its turn. Rule TP:359: a turn with a suspension is not counted before its
// end. Rule TL:675: language, logical turn and turn number are those of the suspension. Rule TL:676: the resumed run reads
// its own buffer. Rule REF api-and-protocol.md §4.13: the writes saved and new ones commit together, with the resolved mark.
func TestAFunctionSuspendsAndGoesOn(t *testing.T) {
	o := &oracle{}
	_, p, x := asked(t, o, nodetest.Options{})
	s := p.View.State
	if s.Session.CompletedPlayerTurns != 0 || x.Reason != "你叫什么？" || x.LogicalTurn != 1 || s.History.Stories != 2 {
		t.Fatalf("%d turns, %+v", s.Session.CompletedPlayerTurns, x)
	}
	if _, ok := s.PluginData.Get("oracle", "notes", "灯"); ok {
		t.Fatal("what a suspended run staged is committed")
	}
	from := len(p.Seen)
	a := p.Send(answer(x.ID, `{"name":"龙胆","deep":[1,9]}`, "r-answer"))
	if a.Refusal != nil {
		t.Fatal(a.Refusal)
	}
	s = p.Settled()
	if got, want := types(p, from), "SuspensionClaimed ExecutionStarted PluginDataChanged PluginDataChanged SuspensionResolved PlayerTurnCounted TriggerLedgerUpdated ExecutionResults ExecutionCommitted"; got != want {
		t.Errorf("events\n got %s\nwant %s", got, want)
	}
	if rec, _ := s.PluginData.Get("oracle", "notes", "answer"); string(rec.Value) != `{"name":"龙胆","deep":[1,9]}` {
		t.Errorf("answer: %s", rec.Value)
	}
	if rec, _ := s.PluginData.Get("oracle", "notes", "灯"); string(rec.Value) != `"first"` {
		t.Errorf("buffered write: %s", rec.Value)
	}
	if s.Session.CompletedPlayerTurns != 1 || len(s.Suspensions.Waiting)+len(s.Suspensions.Held) != 0 || s.Session.Last.Origin != "resume" {
		t.Errorf("%d turns, %+v, last %+v", s.Session.CompletedPlayerTurns, s.Suspensions, s.Session.Last)
	}
	if got := o.locale.Load(); got != `en 1 0 I go on. "first" true` {
		t.Errorf("the run saw %q", got)
	}
	if again := p.Send(answer(x.ID, `{"name":"龙胆","deep":[1,9]}`, "r-answer")); !again.Repeat || again.ExecutionID != a.ExecutionID {
		t.Errorf("the same request again: %+v", again)
	}
	if late := p.Send(answer(x.ID, `{"name":"龙胆"}`, "r-late")); late.Refusal == nil || late.Refusal.Code != "suspension_closed" {
		t.Errorf("a second answer: %+v", late)
	}
}

// Rule TL:664: the answer is held against the whole JSON Schema. Rule REF api-and-protocol.md §4.13: a resume that fails
// releases the claim and leaves the question. Rule TL:679: a resumed run may suspend again; the chain counts once, at its end.
func TestAResumeFailsAndSuspendsAgain(t *testing.T) {
	o := &oracle{}
	n, p, x := asked(t, o, nodetest.Options{})
	for _, wrong := range []string{`{"name":"x"}`, `{"name":"陆青云","deep":[10]}`, `[]`, `{"name":"陆青云","more":1}`} {
		if a := p.Send(answer(x.ID, wrong, "")); a.Refusal == nil || a.Refusal.Code != "form_rejected" || len(a.Refusal.Issues) == 0 {
			t.Errorf("%s: %+v", wrong, a)
		}
	}
	if a := p.Send(answer("nobody", `{}`, "")); a.Refusal == nil || a.Refusal.Code != "suspension_not_found" {
		t.Errorf("an unknown item: %+v", a)
	}
	o.fails.Store(true)
	p.Send(answer(x.ID, `{"name":"陆青云"}`, ""))
	s := p.Settled()
	if s.Session.Last.End != projections.EndFailed || len(s.Suspensions.Waiting) != 1 || s.Suspensions.Waiting[0].Claim != nil || s.Session.CompletedPlayerTurns != 0 {
		t.Fatalf("after a failed resume: %+v %+v", s.Session.Last, s.Suspensions)
	}
	o.again.Store(true)
	p.Send(answer(x.ID, `{"name":"陆青云"}`, ""))
	s = p.Settled()
	if len(s.Suspensions.Waiting) != 1 || s.Suspensions.Waiting[0].ID == x.ID || s.Suspensions.Waiting[0].RootID != x.RootID || s.Session.CompletedPlayerTurns != 0 {
		t.Fatalf("after suspending again: %+v", s.Suspensions)
	}
	if end, _ := s.Suspensions.Ended(x.ID); end.End != projections.SuspensionContinued {
		t.Errorf("the old item is %q", end.End)
	}
	next := s.Suspensions.Waiting[0]
	if a, err := n.AbandonSuspension(context.Background(), "s1", next.ID); err != nil || a.Refusal != nil {
		t.Fatal(err, a.Refusal)
	}
	p.Until("it is given up", func() bool { return len(p.View.State.Suspensions.Waiting) == 0 })
	s = p.View.State
	if _, written := s.PluginData.Get("oracle", "notes", "灯"); written || s.Session.CompletedPlayerTurns != 1 {
		t.Errorf("after the end of the chain: %d turns", s.Session.CompletedPlayerTurns)
	}
}

// Rule TL:671: an item is void on resume when the player played another turn, or the plugin changed its version.
func TestAnOutOfDateItemIsVoid(t *testing.T) {
	t.Run("another turn", func(t *testing.T) {
		_, p, x := asked(t, &oracle{}, nodetest.Options{})
		// The item waits, so the runtime is due again; what it asks now makes the older item void at once.
		p.Say("Nothing.")
		s := p.Settled()
		if end, _ := s.Suspensions.Ended(x.ID); end.End != projections.SuspensionVoided || end.Reason != "suspended-again" || s.Session.CompletedPlayerTurns != 1 {
			t.Fatalf("%+v, %d turns", end, s.Session.CompletedPlayerTurns)
		}
	})
	t.Run("another version of the plugin", func(t *testing.T) {
		o := &oracle{}
		store, blobs := memory.New(memory.Options{}), &memory.Blobs{}
		n, p, x := asked(t, o, nodetest.Options{Store: store, Blobs: blobs, Name: "first"})
		p.Leave()
		ctx, cancel := context.WithTimeout(context.Background(), nodetest.Patience)
		defer cancel()
		if err := n.Drain(ctx); err != nil {
			t.Fatal(err)
		}
		second := nodetest.Start(t, nodetest.Options{Store: store, Blobs: blobs, Name: "second", Model: free(), Plugins: nodetest.Plugins(t, o.source("1.0.1"))})
		p = second.Join("s1")
		if a := p.Send(answer(x.ID, `{"name":"陆青云"}`, "")); a.Refusal == nil || a.Refusal.Code != "suspension_out_of_date" {
			t.Fatalf("%+v", a)
		}
		p.Until("it is void", func() bool { return len(p.View.State.Suspensions.Waiting) == 0 })
		if end, _ := p.View.State.Suspensions.Ended(x.ID); end.Reason != "plugin-changed" || p.View.State.Session.CompletedPlayerTurns != 1 {
			t.Errorf("%+v", end)
		}
	})
}

// Rule REF api-and-protocol.md §4.13: an item outlives the process, and a resume goes on in the next one.
func TestAnItemOutlivesTheProcess(t *testing.T) {
	o := &oracle{}
	store, blobs := memory.New(memory.Options{}), &memory.Blobs{}
	n, p, x := asked(t, o, nodetest.Options{Store: store, Blobs: blobs, Name: "first"})
	p.Leave()
	ctx, cancel := context.WithTimeout(context.Background(), nodetest.Patience)
	defer cancel()
	if err := n.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	second := nodetest.Start(t, nodetest.Options{Store: store, Blobs: blobs, Name: "second", Model: free(), Plugins: nodetest.Plugins(t, o.source("1.0.0"))})
	p = second.Join("s1")
	if a := p.Send(answer(x.ID, `{"name":"陆青云"}`, "")); a.Refusal != nil {
		t.Fatal(a.Refusal)
	}
	if s := p.Settled(); s.Session.CompletedPlayerTurns != 1 || len(s.Suspensions.Waiting) != 0 {
		t.Errorf("%+v", s.Suspensions)
	}
}
