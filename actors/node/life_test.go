package node_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/actors/node"
	"github.com/covel/covel/actors/nodetest"
	"github.com/covel/covel/events"
	"github.com/covel/covel/events/memory"
	"github.com/covel/covel/gateway/llm/scripted"
	"github.com/covel/covel/kernel/model"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
)

// gated plays the bundled game; the narrator waits at the gate "mid" in the middle of its page.
func gated() *scripted.Model {
	game := scripted.BundledGame()
	return scripted.New(scripted.Script{Otherwise: func(req model.Request) scripted.Reply {
		if req.Subject != "narrator" {
			return game(req)
		}
		return scripted.Reply{Steps: []scripted.Step{
			scripted.Segment{Kind: "narration", Text: "灯亮了。"}, scripted.Hold("mid"), scripted.Segment{Kind: "narration", Text: "雨停了。"},
		}}
	}})
}

func free() *scripted.Model { return scripted.New(scripted.Script{Otherwise: scripted.BundledGame()}) }

func wait(t *testing.T, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(nodetest.Patience):
		t.Fatal("the model was not asked")
	}
}

// While a turn runs the session answers reads, queues what it must, refuses what is too much, and stops at once.
func TestASessionAnswersDuringATurn(t *testing.T) {
	m := gated()
	n := nodetest.Start(t, nodetest.Options{Model: m})
	p := n.Create("s1", "zh-CN")
	p.Begin()
	p.Settled()
	p.Answer(`{"characterName":"陆青云"}`)
	wait(t, m.Gate("mid").Reached())
	m.Gate("mid").Pass()
	p.Until("the opening is committed", func() bool { return p.View.State.History.Stories == 1 })

	p.Say("我去码头。")
	wait(t, m.Gate("mid").Reached())
	p.Until("text has streamed", func() bool { return p.View.State.Session.Open != nil && p.Text != "" })
	v, err := n.View(context.Background(), "s1")
	if err != nil || v.Live == nil || v.Live.Text == "" || v.State.Session.Open == nil {
		t.Fatalf("a read during the turn: %+v, %v", v.Live, err)
	}
	var mu sync.Mutex
	answers := map[string][]kernel.Answer{}
	for i := range kernel.MaxQueue + 2 {
		id := fmt.Sprint("queued-", i)
		cmd := kernel.Command{RequestID: id, BodyHash: "aa", Type: kernel.SubmitActions, Actions: []projections.Action{{Kind: "say", Text: "等"}}}
		if err := n.Submit(context.Background(), "s1", cmd, func(a kernel.Answer) {
			mu.Lock()
			defer mu.Unlock()
			answers[id] = append(answers[id], a)
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := n.View(context.Background(), "s1"); err != nil { // the session has answered all before it answers this
		t.Fatal(err)
	}
	mu.Lock()
	for i := range kernel.MaxQueue + 2 {
		a := answers[fmt.Sprint("queued-", i)][0]
		if i < kernel.MaxQueue && (a.Status != kernel.Queued || a.Ahead != i) {
			t.Errorf("command %d: %+v", i, a)
		}
		if i >= kernel.MaxQueue && (a.Refusal == nil || a.Refusal.Code != "busy") {
			t.Errorf("command %d beyond the queue: %+v", i, a)
		}
	}
	mu.Unlock()

	before := p.View.State.History.Len()
	if a, err := n.Stop(context.Background(), "s1"); err != nil || a.Refusal != nil {
		t.Fatalf("stop: %v %v", a.Refusal, err)
	}
	p.Until("the turn is aborted", func() bool {
		l := p.View.State.Session.Last
		return l.End == projections.EndAborted && l.Reason == kernel.AbortPlayer
	})
	if p.View.State.History.Len() != before || p.View.State.Session.CompletedPlayerTurns != 0 {
		t.Error("something of a stopped turn was committed")
	}
	m.Gate("mid").Open()
}

// A drain stops the running turn, appends its end, and leaves; the line is kept as a draft.
func TestDrainInMidTurn(t *testing.T) {
	store := memory.New(memory.Options{})
	m := gated()
	n := nodetest.Start(t, nodetest.Options{Store: store, Model: m})
	p := n.Create("s1", "en")
	p.Begin()
	p.Settled()
	p.Answer(`{"characterName":"Mira"}`)
	wait(t, m.Gate("mid").Reached())
	m.Gate("mid").Pass()
	p.Until("the opening is committed", func() bool { return p.View.State.History.Stories == 1 })
	p.Say("I wait.")
	wait(t, m.Gate("mid").Reached())
	ctx, cancel := context.WithTimeout(context.Background(), nodetest.Patience)
	defer cancel()
	if err := n.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	st := checkLog(t, store, "session-s1")
	if st.Session.Open != nil || st.Session.Last.Reason != kernel.AbortShutdown || st.Session.Draft == nil {
		t.Errorf("after the drain: %+v, draft %v", st.Session.Last, st.Session.Draft)
	}
}

// Two nodes on one log: the one that only reads writes nothing and sees everything; when both write, one wins each append.
func TestTwoActivationsOfOneSession(t *testing.T) {
	store, blobs := memory.New(memory.Options{}), &memory.Blobs{}
	m := gated()
	alive := func(kernel.Owner) bool { return true }
	a := nodetest.Start(t, nodetest.Options{Store: store, Blobs: blobs, Model: m, OwnerAlive: alive, Name: "a"})
	b := nodetest.Start(t, nodetest.Options{Store: store, Blobs: blobs, Model: free(), OwnerAlive: alive, Name: "b"})
	p := a.Create("s1", "en")
	p.Begin()
	p.Settled()
	reader := b.Join("s1")
	p.Answer(`{"characterName":"Élodie"}`)
	wait(t, m.Gate("mid").Reached())

	head, _ := store.StreamVersion(context.Background(), "session-s1")
	reader.Until("the reader sees the open execution", func() bool { return reader.View.State.Session.Open != nil })
	if r := reader.Say("I am here too."); r.Refusal == nil || r.Refusal.Code != "busy" {
		t.Errorf("a command beside a living owner: %+v", r)
	}
	if now, _ := store.StreamVersion(context.Background(), "session-s1"); now != head {
		t.Error("the reading node appended")
	}
	m.Gate("mid").Open()
	p.Until("the opening is committed", func() bool { return p.View.State.History.Stories == 1 })
	reader.Until("the reader sees the opening", func() bool { return reader.View.State.History.Stories == 1 })

	// Now both write. Whoever loses an append starts over; nothing is there twice.
	for round := range 5 {
		var wg sync.WaitGroup
		for _, q := range []*nodetest.Player{p, reader} {
			wg.Add(1)
			go func() {
				defer wg.Done()
				done := make(chan kernel.Answer, 8)
				node := map[bool]*nodetest.Node{true: a, false: b}[q == p]
				_ = node.Submit(context.Background(), "s1", kernel.Command{
					RequestID: fmt.Sprintf("both-%d-%t", round, q == p), BodyHash: "aa", Type: kernel.SubmitActions,
					Actions: []projections.Action{{Kind: "say", Text: "now"}},
				}, func(a kernel.Answer) { done <- a })
				for ans := range done {
					if ans.Status != kernel.Queued {
						return
					}
				}
			}()
		}
		wg.Wait()
		p.Until("the session is at rest", func() bool {
			v, err := a.View(context.Background(), "s1")
			if err != nil {
				t.Fatal(err)
			}
			return v.State.Session.Open == nil
		})
	}
	checkLog(t, store, "session-s1")
}

// checkLog holds the log against what must be true of every session.
func checkLog(t *testing.T, store events.Store, stream string) projections.State {
	t.Helper()
	var st projections.State
	open := map[string]bool{}
	requests := map[string]bool{}
	for r, err := range store.ReadStream(context.Background(), stream, 1) {
		if err != nil {
			t.Fatal(err)
		}
		if st, err = projections.Apply(st, r); err != nil {
			t.Fatal(err)
		}
		switch r.Type {
		case "ActionsSubmitted":
			if id := r.Metadata.CorrelationId; requests[id] {
				t.Errorf("request %s was accepted twice", id)
			} else {
				requests[id] = true
			}
		case "ExecutionStarted":
			open[r.Metadata.CausationId] = true
		case "ExecutionCommitted", "ExecutionFailed", "ExecutionAborted":
			if !open[r.Metadata.CausationId] {
				t.Errorf("execution %s ended without being open", r.Metadata.CausationId)
			}
			delete(open, r.Metadata.CausationId)
		}
	}
	if len(open) > 1 {
		t.Errorf("%d executions are open", len(open))
	}
	return st
}

// An idle session leaves memory and comes back from the log as it was.
func TestPassivationAndReactivation(t *testing.T) {
	store := memory.New(memory.Options{})
	n := nodetest.Start(t, nodetest.Options{Store: store, Model: free(), IdleAfter: 30 * time.Millisecond})
	p := n.Create("s1", "en")
	before := p.Play("Mira")
	p.Leave()
	deadline := time.After(nodetest.Patience)
	for n.Active() > 0 {
		select {
		case <-deadline:
			t.Fatal("the session does not leave memory")
		default:
			time.Sleep(time.Millisecond) // polls a counter of the node; no event tells of it
		}
	}
	v, err := n.View(context.Background(), "s1")
	if err != nil {
		t.Fatal(err)
	}
	was, _ := before.Encode()
	is, _ := v.State.Encode()
	if string(was) != string(is) {
		t.Error("the session came back changed")
	}
}

// A session with a running turn does not leave memory.
func TestOpenWorkIsNotPassivated(t *testing.T) {
	m := gated()
	n := nodetest.Start(t, nodetest.Options{Model: m, IdleAfter: 20 * time.Millisecond})
	p := n.Create("s1", "en")
	p.Begin()
	p.Settled()
	p.Answer(`{"characterName":"Mira"}`)
	wait(t, m.Gate("mid").Reached())
	hold := time.NewTimer(200 * time.Millisecond) // several idle times
	<-hold.C
	if n.Active() != 1 {
		t.Error("the session left with its turn")
	}
	m.Gate("mid").Open()
	p.Until("the opening is committed", func() bool { return p.View.State.History.Stories == 1 })
}

// A fault of the store at every append of a session, of every kind: in the end everything is there once.
func TestStoreFaultAtEveryAppend(t *testing.T) {
	play := func(t *testing.T, f *memory.Fault) (*memory.Store, projections.State) {
		store := memory.New(memory.Options{})
		if f != nil {
			store.Inject(*f)
		}
		n := nodetest.Start(t, nodetest.Options{Store: store, Model: free()})
		var p *nodetest.Player
		for {
			if _, err := n.Node.Create(context.Background(), "s1", nodetest.World(t, "zh-CN"), node.Choice{}); err == nil || errors.Is(err, node.ErrExists) {
				p = n.Join("s1")
				break
			}
		}
		requests := 0
		send := func(cmd kernel.Command) {
			requests++
			cmd.RequestID = fmt.Sprint("q", requests)
			for { // a client sends again what was refused for a passing reason
				a := p.Send(cmd)
				if a.Refusal == nil || a.Refusal.Code == "interaction_already_submitted" || a.Refusal.Code == "already_started" {
					break
				}
				if a.Refusal.Code != "internal" && a.Refusal.Code != "server_shutting_down" {
					t.Fatal(a.Refusal)
				}
			}
			for { // and tries again what did not commit
				v, err := n.View(context.Background(), "s1")
				if err != nil {
					t.Fatal(err)
				}
				stand := kernel.Stand(v.State, v.Working)
				if stand.State == "running" {
					runtime.Gosched()
					continue
				}
				if stand.Retry == "" {
					return
				}
				if requests++; requests > 50 {
					t.Fatalf("it never commits: %+v", stand)
				}
				p.Send(kernel.Command{Type: stand.Retry})
			}
		}
		send(kernel.Command{Type: kernel.StartSession})
		v, err := n.View(context.Background(), "s1")
		if err != nil {
			t.Fatal(err)
		}
		ref := v.State.Interactions.Open("")[0].InteractionRef
		send(kernel.Command{Type: kernel.SubmitActions, Actions: []projections.Action{{Interaction: &ref, Fields: projections.RawJSON(`{"characterName":"陆青云"}`)}}})
		send(kernel.Command{Type: kernel.SubmitActions, Actions: []projections.Action{{Kind: "say", Text: "我去码头。"}}})
		return store, checkLog(t, store, "session-s1")
	}
	clean, _ := play(t, nil)
	for kind, name := range map[memory.Kind]string{memory.Fail: "fail", memory.LoseAck: "lost acknowledgement", memory.UnknownNotWritten: "unknown, not written"} {
		for at := 1; at <= clean.Appends(); at++ {
			t.Run(fmt.Sprintf("%s at append %d", name, at), func(t *testing.T) {
				_, st := play(t, &memory.Fault{Nth: at, Kind: kind})
				if st.Session.CompletedPlayerTurns != 1 || st.History.Stories != 2 || st.History.Players != 2 || st.Session.Open != nil {
					t.Errorf("%d turns, %d stories, %d lines, open %v", st.Session.CompletedPlayerTurns, st.History.Stories, st.History.Players, st.Session.Open)
				}
			})
		}
	}
}
