package trace_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/pkg/errors"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/events/trace/memory"
)

// held is a store that waits until it is let go, or fails.
type held struct {
	memory.Store
	gate   chan struct{}
	mu     sync.Mutex
	fail   error
	sizes  []int
	synced int
}

func (h *held) Append(ctx context.Context, entries []trace.Entry, durable bool) error {
	if h.gate != nil {
		<-h.gate
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sizes = append(h.sizes, len(entries))
	if durable {
		h.synced++
	}
	if h.fail != nil {
		return h.fail
	}
	return h.Store.Append(ctx, entries, durable)
}

func open(t *testing.T, s trace.Store) *trace.Writer {
	t.Helper()
	w, err := trace.NewWriter(t.Context(), s, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func read(t *testing.T, s trace.Store, session string) []trace.Entry {
	t.Helper()
	out, err := s.Read(t.Context(), trace.Query{SessionID: session})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEntriesStandInOrder(t *testing.T) {
	store := &memory.Store{}
	w := open(t, store)
	for n := range 1000 {
		w.Emit(trace.Scope{SessionID: "s", TurnID: "t", RuntimeID: "编剧/旁白"}, trace.StepStarted, trace.Step{Step: n})
	}
	w.Close()
	got := read(t, store, "s")
	if len(got) != 1000 {
		t.Fatalf("%d entries, want 1000", len(got))
	}
	for n, e := range got {
		var p trace.Step
		if err := json.Unmarshal(e.Payload, &p); err != nil || p.Step != n {
			t.Fatalf("entry %d is step %d (%v)", n, p.Step, err)
		}
		if n > 0 && e.Seq <= got[n-1].Seq {
			t.Fatalf("seq %d does not rise after %d", e.Seq, got[n-1].Seq)
		}
	}
	if got[0].RuntimeID != "编剧/旁白" {
		t.Errorf("runtime is %q", got[0].RuntimeID)
	}
}

// Rule DESIGN §4: the trace has its own writer; a turn does not wait for it, and what is not kept is counted and said.
func TestAFullQueueDropsAndSaysSo(t *testing.T) {
	store := &held{gate: make(chan struct{})}
	w := open(t, store)
	const sent = trace.QueueLen + 500
	for range sent { // would block for ever if a full queue blocked
		w.Emit(trace.Scope{SessionID: "s"}, trace.StepStarted, trace.Step{})
	}
	lost := w.Dropped()
	if lost == 0 {
		t.Fatal("nothing was dropped")
	}
	close(store.gate)
	w.Close()
	kept, said := 0, uint64(0)
	for _, e := range read(t, &store.Store, "s") {
		if e.Type != trace.Dropped {
			kept++
			continue
		}
		var p trace.Lost
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			t.Fatal(err)
		}
		said += p.Count
	}
	if said != lost || uint64(kept)+lost != sent {
		t.Errorf("kept %d, dropped %d, said %d of %d", kept, lost, said, sent)
	}
}

func TestAStoreThatFailsIsCounted(t *testing.T) {
	store := &held{fail: errors.New("disk full")}
	w := open(t, store)
	w.Emit(trace.Scope{SessionID: "s"}, trace.StepStarted, trace.Step{})
	if err := w.EmitSync(t.Context(), trace.Scope{SessionID: "s"}, trace.ToolCalling, trace.ToolCall{}); err == nil {
		t.Error("an intent that is not kept must be an error")
	}
	if w.Dropped() != 2 {
		t.Errorf("dropped %d, want 2", w.Dropped())
	}
	w.Close()
	if err := w.EmitSync(t.Context(), trace.Scope{}, trace.ToolCalling, nil); !errors.Is(err, trace.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// Rule DESIGN §5: the intent of a non-idempotent outside call is flushed to the trace before it.
func TestAnIntentIsDurableWhenItReturns(t *testing.T) {
	store := &held{}
	w := open(t, store)
	defer w.Close()
	if err := w.EmitSync(t.Context(), trace.Scope{SessionID: "s"}, trace.ToolCalling, trace.ToolCall{ToolCallID: "c"}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, &store.Store, "s"); len(got) != 1 || store.synced != 1 {
		t.Errorf("%d entries, %d durable appends", len(got), store.synced)
	}
}

// Rule REF api-and-protocol.md §3.3: trace events of concealed runtimes keep only ids, names, status, durations and usage.
func TestConcealedPayloadsAreBlanked(t *testing.T) {
	const secret = "the-hidden-truth"
	store := &memory.Store{}
	w := open(t, store)
	at := trace.Scope{SessionID: "s", RuntimeID: "p/r", Concealed: true}
	w.Emit(at, trace.RuntimeStarted, trace.Runtime{Label: "label", Kind: "agent"})
	w.Emit(at, trace.LLMCalling, trace.LLMCall{CallID: "1", Slot: "story", Messages: []string{secret}, Tools: []string{secret}, ResponseFormat: secret, ToolChoice: secret})
	w.Emit(at, trace.LLMResponded, trace.LLMReply{CallID: "1", Text: secret, ToolCalls: secret, Error: secret, Usage: trace.Usage{InputTokens: 7}})
	w.Emit(at, trace.MessageCompleted, trace.Message{Content: secret, Len: 5})
	w.Emit(at, trace.BlockEmitted, trace.Block{ID: "b", Block: secret})
	w.Emit(at, trace.ToolCalling, trace.ToolCall{ToolName: "tool", Arguments: secret})
	w.Emit(at, trace.ToolCompleted, trace.ToolEnd{ToolName: "tool", Arguments: secret, Result: secret, Content: json.RawMessage(`"` + secret + `"`), Success: true, DurationMs: 3})
	w.Emit(at, trace.ToolFailed, trace.ToolEnd{ToolName: "tool", Error: secret, Hint: secret, Details: secret, Code: "internal"})
	w.Emit(at, trace.HookRewrote, trace.Hook{Event: "PreLLMCall", Diff: secret, Reason: secret, Error: secret})
	w.Emit(at, trace.RuntimeCompleted, trace.RuntimeEnd{Status: "success", Output: json.RawMessage(`"` + secret + `"`), Error: secret})
	w.Emit(at, trace.SubagentCompleted, trace.SubagentEnd{Status: "success", Output: json.RawMessage(`"` + secret + `"`), Error: secret})
	w.Emit(at, trace.ContextCompacted, map[string]string{"any": secret}) // a payload that knows no concealment is left out whole
	w.Close()
	entries := read(t, store, "s")
	if len(entries) != 12 {
		t.Fatalf("%d entries", len(entries))
	}
	all, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(all), secret) {
		t.Errorf("a concealed content is in the trace: %s", all)
	}
	for _, kept := range []string{`"durationMs":3`, `"inputTokens":7`, `"toolName":"tool"`, `"status":"success"`, `"code":"internal"`, `"concealed":true`} {
		if !strings.Contains(string(all), kept) {
			t.Errorf("%s is missing: %s", kept, all)
		}
	}
}

func TestAPayloadThatIsNoJSONOrTooLarge(t *testing.T) {
	store := &memory.Store{}
	w := open(t, store)
	w.Emit(trace.Scope{SessionID: "s"}, trace.MessageCompleted, make(chan int))
	w.Emit(trace.Scope{SessionID: "s"}, trace.MessageCompleted, trace.Message{Content: strings.Repeat("雾港", trace.MaxPayload)})
	w.Close()
	got := read(t, store, "s")
	if len(got) != 2 {
		t.Fatalf("%d entries", len(got))
	}
	for _, e := range got {
		if !json.Valid(e.Payload) || len(e.Payload) > trace.MaxPayload {
			t.Errorf("payload of %d bytes, valid %v", len(e.Payload), json.Valid(e.Payload))
		}
	}
	if !strings.Contains(string(got[0].Payload), "unreadable") || !strings.Contains(string(got[1].Payload), `"truncated":true`) {
		t.Errorf("%.80s / %.80s", got[0].Payload, got[1].Payload)
	}
}

func TestANilWriterKeepsNothing(t *testing.T) {
	var w *trace.Writer
	w.Emit(trace.Scope{}, trace.StepStarted, nil)
	if err := w.EmitSync(t.Context(), trace.Scope{}, trace.StepStarted, nil); err != nil || w.Dropped() != 0 || w.Flush(t.Context()) != nil {
		t.Error("a nil writer is no trace")
	}
	w.Close()
}

// Each session's trace tells what is missing in it, once the store takes entries again.
func TestEverySessionIsToldOfItsOwnLosses(t *testing.T) {
	store := &held{fail: errors.New("disk full")}
	w := open(t, store)
	w.Emit(trace.Scope{SessionID: "s"}, trace.StepStarted, trace.Step{})
	w.Emit(trace.Scope{SessionID: "另一个"}, trace.StepStarted, trace.Step{})
	w.Emit(trace.Scope{SessionID: "s"}, trace.StepStarted, trace.Step{})
	if err := w.Flush(t.Context()); err == nil {
		t.Error("what was emitted before is not kept, and Flush says nothing")
	}
	store.mu.Lock()
	store.fail = nil
	store.mu.Unlock()
	w.Emit(trace.Scope{SessionID: "s"}, trace.StepStarted, trace.Step{})
	w.Close()
	for session, want := range map[string][]string{"s": {`trace.dropped {"count":2`, `step.started {"step":0}`}, "另一个": {`trace.dropped {"count":1`}} {
		got := read(t, &store.Store, session)
		if len(got) != len(want) {
			t.Fatalf("%s: %d entries", session, len(got))
		}
		for i, e := range got {
			if line := string(e.Type) + " " + string(e.Payload); !strings.HasPrefix(line, want[i]) {
				t.Errorf("%s: %s", session, line)
			}
		}
	}
	if w.Dropped() != 3 {
		t.Errorf("dropped %d", w.Dropped())
	}
}

// A session that is forgotten takes along what still waits to be written.
func TestForgetting(t *testing.T) {
	store := &held{gate: make(chan struct{})}
	w := open(t, store)
	for _, session := range []string{"s", "other", "s"} {
		w.Emit(trace.Scope{SessionID: session}, trace.StepStarted, trace.Step{})
	}
	done := make(chan error)
	go func() { done <- w.Forget(t.Context(), "s") }()
	close(store.gate)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	w.Emit(trace.Scope{SessionID: "other"}, trace.StepStarted, trace.Step{})
	got, err := w.Read(t.Context(), trace.Query{SessionID: "other"})
	if err != nil || len(got) != 2 {
		t.Errorf("%d entries (%v)", len(got), err)
	}
	if got := read(t, &store.Store, "s"); len(got) != 0 {
		t.Errorf("%d entries of a session that was forgotten", len(got))
	}
	w.Close()
	if _, err := w.Read(t.Context(), trace.Query{SessionID: "other"}); err != nil {
		t.Errorf("a closed writer can be read: %v", err)
	}
	if err := w.Forget(t.Context(), "other"); !errors.Is(err, trace.ErrClosed) {
		t.Errorf("forget after Close: %v", err)
	}
}
