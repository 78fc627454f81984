package node_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/covel/covel/actors/nodetest"
	"github.com/covel/covel/events/memory"
	"github.com/covel/covel/gateway/llm/scripted"
	"github.com/covel/covel/kernel/model"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

// Crashes during the set-up, however many, leave a session that can be played (BL-12): they use up tries and block nothing.
func TestManyCrashesDuringTheSetUp(t *testing.T) {
	store, blobs := memory.New(memory.Options{}), &memory.Blobs{}
	game := scripted.BundledGame()
	stalling := true
	m := scripted.New(scripted.Script{Otherwise: func(req model.Request) scripted.Reply {
		if stalling {
			return scripted.Reply{Steps: []scripted.Step{scripted.Hold("setup"), scripted.Stall{}}}
		}
		return game(req)
	}})
	var p *nodetest.Player
	for life := range 5 {
		n := nodetest.Start(t, nodetest.Options{Store: store, Blobs: blobs, Model: m})
		if life == 0 {
			p = n.Create("s1", "zh-CN")
		} else {
			p = n.Join("s1")
		}
		p.Begin()
		wait(t, m.Gate("setup").Reached())
		m.Gate("setup").Pass()
	} // the next node closes what the former one left open, as after a kill
	stalling = false
	n := nodetest.Start(t, nodetest.Options{Store: store, Blobs: blobs, Model: m})
	p = n.Join("s1")
	s := p.Play("陆青云")
	if s.Session.Phase != projections.PhasePlaying || s.History.Stories != 1 {
		t.Errorf("phase %s, %d stories", s.Session.Phase, s.History.Stories)
	}
}

// Rule TP:142: a blocked step stays so until it is retried or waived, and only a blocked one can be waived. Rule TP:205: that is
// written at once, outside of any execution.
//
// A setup step that failed as often as it may is blocked, until the player tries it again or goes on without it.
func TestABlockedSetUp(t *testing.T) {
	failing := true
	flaky := registry.Bundled("flaky", sdk.Package{
		FS: fstest.MapFS{"PLUGIN.md": {Data: []byte("---\nid: flaky\nkind: core\nversion: 1.0.0\ndescription: Fails.\nruntime:\n  type: function\n  description: Fails.\n" +
			"  schedule: { stage: setup, trigger: { type: auto, maxTriggerCount: 2 } }\n  function: { handler: try }\n---\nIt tries.\n")}},
		Register: func(c *sdk.Covel) {
			c.RegisterHandler("try", func(context.Context, *sdk.Runtime) (sdk.Result, error) {
				if failing {
					return sdk.Result{Outcome: sdk.Failed, Error: "龙胆 is missing"}, nil
				}
				return sdk.Result{Outcome: sdk.Success, Done: true}, nil
			})
		},
	})
	n := nodetest.Start(t, nodetest.Options{Model: free(), Plugins: nodetest.Plugins(t, flaky)})
	decide := func(p *nodetest.Player, step string, kind kernel.ChangeKind) kernel.Answer {
		t.Helper()
		a, err := n.DecideSetup(context.Background(), p.ID, step, kind)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	blocked := func(id string) *nodetest.Player {
		t.Helper()
		failing = true
		p := n.Create(id, "en")
		if a := decide(p, "flaky", kernel.SetupRetry); a.Refusal != nil || !a.Repeat {
			t.Errorf("retry of a pending step: %+v", a)
		}
		if a := decide(p, "flaky", kernel.SetupWaive); a.Refusal == nil || a.Refusal.Code != "setup_not_blocked" {
			t.Errorf("waive of a pending step: %+v", a)
		}
		if a := decide(p, "nobody", kernel.SetupRetry); a.Refusal == nil || a.Refusal.Code != "setup_runtime_not_found" {
			t.Errorf("an unknown step: %+v", a)
		}
		for range 3 { // the third finds nothing to run of it
			p.Begin()
			p.Settled()
		}
		if su, _ := p.View.State.Session.SetupOf("flaky"); su.Status != projections.SetupBlocked || su.Attempts != 2 || su.LastError != "龙胆 is missing" {
			t.Fatalf("after two failures: %+v", su)
		}
		failing = false
		return p
	}

	p := blocked("s1")
	if a := decide(p, "flaky", kernel.SetupRetry); a.Refusal != nil {
		t.Fatal(a.Refusal)
	}
	s := p.Play("Mira")
	if su, _ := s.Session.SetupOf("flaky"); su.Status != projections.SetupDone || su.Resolution != "completed" || su.Generation != 2 {
		t.Errorf("after the retry: %+v", su)
	}

	p = blocked("s2")
	if a := decide(p, "flaky", kernel.SetupWaive); a.Refusal != nil {
		t.Fatal(a.Refusal)
	}
	s = p.Play("Mira")
	if su, _ := s.Session.SetupOf("flaky"); su.Status != projections.SetupDone || su.Resolution != "waived" {
		t.Errorf("after the waiver: %+v", su)
	}
}

// A draft beside a tool call is withdrawn: the player is told to drop what was shown, and the page that follows is not
// glued to it (seed: turn-pipeline.txt, "the loop sends a reset").
func TestARejectedDraftIsReset(t *testing.T) {
	draft := scripted.Reply{Chunk: 3, Steps: []scripted.Step{scripted.Text("Let me see who is here."), scripted.Tool{Name: "list-characters", Arguments: "{}"}}}
	n := nodetest.Start(t, nodetest.Options{Model: narrated(page("The lamp is lit."), draft, page("Old Tull looks up."))})
	p := n.Create("s1", "en")
	p.Play("Mira")
	p.Say("Who is here?")
	late := n.Join("s1")
	s := p.Settled()
	reset := false
	for _, tell := range p.Tells {
		reset = reset || tell.Reset
	}
	if !reset || p.Text != "Old Tull looks up." {
		t.Errorf("reset %v, shown %q", reset, p.Text)
	}
	if got := s.History.At(s.History.Len() - 1).Text; got != "Old Tull looks up." {
		t.Errorf("committed %q", got)
	}
	late.Until("the turn has ended", func() bool { return late.View.State.Session.CompletedPlayerTurns == 1 })
	if live := late.View.Live; live != nil && strings.Contains(live.Text+late.Text, "Let me see who is here.Old") {
		t.Errorf("a late reader was shown %q", live.Text+late.Text)
	}
}
