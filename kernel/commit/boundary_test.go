package commit

import (
	"strings"
	"testing"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

func failed(r turn.Result) turn.Result {
	r.Status, r.StopReason, r.Error = turn.Failed, "model-error", "坏了"
	return r
}

func skipped(r turn.Result, reason string) turn.Result {
	r.Status, r.SkipReason = turn.Skipped, reason
	return r
}

// The failure boundaries (reference: api-and-protocol.md §4.6; seed: turn-pipeline.txt §2.1, "Atomic boundary of a commit").
func TestBoundaries(t *testing.T) {
	setup := func(r turn.Result) turn.Result { r.Stage = manifest.Setup; return r }
	untold := func(r turn.Result) turn.Result { r.Segments, r.Proposals = nil, nil; return r }
	for _, c := range []struct {
		name     string
		results  []turn.Result
		outcomes []string
		written  []string // keys of plugin data, and story
		failure  string   // of the whole execution
	}{
		{name: "all is well", results: []turn.Result{ran("a", note("a", "1")), teller(), ran("b", note("b", "1"))}, outcomes: []string{"a success", "narrator success", "b success"}, written: []string{"a", "story", "b"}},
		{name: "an auxiliary run is refused", results: []turn.Result{teller(), ran("a", note("a", "1"), bad), ran("b", note("b", "1"))},
			outcomes: []string{"narrator success", "a failed dropped: plugin.data: The namespace", "b success"}, written: []string{"story", "b"}},
		{name: "one before the story, too", results: []turn.Result{ran("a", bad), teller()}, outcomes: []string{"a failed dropped: plugin.data: The namespace", "narrator success"}, written: []string{"story"}},
		{name: "an auxiliary run failed", results: []turn.Result{teller(), failed(ran("a", note("a", "1")))}, outcomes: []string{"narrator success", "a failed: 坏了"}, written: []string{"story"}},
		{name: "what needs it is dropped, and what needs that", results: []turn.Result{teller(), ran("a", bad), needing(ran("b", note("b", "1")), []string{"a"}), needing(ran("c", note("c", "1")), []string{"b"}), ran("d", note("d", "1"))},
			outcomes: []string{"narrator success", "a failed dropped: plugin.data", "b failed dropped: needs a, whose writes were refused", "c failed dropped: needs b, whose writes were refused", "d success"}, written: []string{"story", "d"}},
		{name: "also when it writes nothing itself", results: []turn.Result{teller(), ran("a", bad), needing(ran("b"), []string{"a"})}, outcomes: []string{"narrator success", "a failed dropped", "b failed dropped: needs a"}, written: []string{"story"}},
		{name: "one of two providers is enough", results: []turn.Result{teller(), ran("a", bad), ran("b", note("b", "1")), needing(ran("c", note("c", "1")), []string{"a", "b"})},
			outcomes: []string{"narrator success", "a failed dropped", "b success", "c success"}, written: []string{"story", "b", "c"}},
		{name: "both of two providers are dropped", results: []turn.Result{teller(), ran("a", bad), ran("b", bad), needing(ran("c", note("c", "1")), []string{"a", "b"})},
			outcomes: []string{"narrator success", "a failed dropped", "b failed dropped", "c failed dropped: needs a, b, whose"}, written: []string{"story"}},
		{name: "each of two needs", results: []turn.Result{teller(), ran("a", bad), ran("b", note("b", "1")), needing(ran("c", note("c", "1")), []string{"b"}, []string{"a"})},
			outcomes: []string{"narrator success", "a failed dropped", "b success", "c failed dropped: needs a, whose"}, written: []string{"story", "b"}},
		{name: "a story that needs it fails the whole", results: []turn.Result{ran("a", bad), needing(teller(), []string{"a"})}, failure: "failed e1 proposal-failed: narrator needs a, whose writes were refused"},
		{name: "a set-up run that needs it fails the whole", results: []turn.Result{teller(), ran("a", bad), needing(setup(ran("s")), []string{"a"})}, failure: "failed e1 proposal-failed: s needs a, whose"},
		{name: "a refused set-up run fails the whole", results: []turn.Result{teller(), setup(ran("s", bad))}, failure: "failed e1 proposal-failed: s: plugin.data: "},
		{name: "without a story one refusal fails the whole", results: []turn.Result{ran("a", note("a", "1")), ran("b", bad)}, failure: "failed e1 proposal-failed: b: plugin.data: "},
		{name: "a story that was skipped is no story", results: []turn.Result{skipped(teller(), turn.SkipDependency), ran("b", bad)}, failure: "failed e1 proposal-failed: b: plugin.data: "},
		{name: "a story that was skipped is no failure", results: []turn.Result{skipped(untold(teller()), turn.SkipDependency), ran("b", note("b", "1"))}, outcomes: []string{"narrator skipped", "b success"}, written: []string{"b"}},
		{name: "nor when its guard did", results: []turn.Result{skipped(untold(teller()), turn.SkipGuard), ran("b", note("b", "1"))}, outcomes: []string{"narrator skipped", "b success"}, written: []string{"b"}},
		{name: "a failed story fails the whole", results: []turn.Result{ran("a", note("a", "1")), failed(teller())}, failure: "failed e1 story-failed: 坏了"},
		{name: "a story without text", results: []turn.Result{ran("a", note("a", "1")), untold(teller())}, failure: "failed e1 story-failed: narrator ended without a story"},
		{name: "a story of spaces", results: []turn.Result{teller(sdk.StorySegment{Kind: "narration", Text: " \n　"})}, failure: "failed e1 story-failed: narrator ended without a story"},
		{name: "what a guard wrote before it skipped", results: []turn.Result{teller(), skipped(ran("a", note("a", "1")), turn.SkipGuard)}, outcomes: []string{"narrator success", "a skipped"}, written: []string{"story", "a"}},
		{name: "what a handler wrote before it skipped", results: []turn.Result{teller(), skipped(ran("a", note("a", "1")), "不需要")}, outcomes: []string{"narrator success", "a skipped"}, written: []string{"story", "a"}},
		{name: "a refused write of a guard", results: []turn.Result{teller(), skipped(ran("a", bad), turn.SkipGuard)}, outcomes: []string{"narrator success", "a failed dropped"}, written: []string{"story"}},
		{name: "nothing ran", results: nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := Plan(in(playing(t), c.results...))
			if c.failure != "" {
				if !out.Failed || len(out.Facts) != 1 || !strings.HasPrefix(told(out)[0], c.failure) {
					t.Fatalf("got %v, want %s", told(out), c.failure)
				}
				return
			}
			if out.Failed {
				t.Fatal(told(out))
			}
			got := outcomesOf(out)
			for i := range max(len(got), len(c.outcomes)) {
				if i >= len(got) || i >= len(c.outcomes) || !strings.HasPrefix(got[i], c.outcomes[i]) {
					t.Errorf("outcomes %q, want %q", got, c.outcomes)
					break
				}
			}
			var written []string
			for _, f := range out.Facts {
				switch m := f.Message.(type) {
				case *eventsv1.PluginDataChanged:
					written = append(written, m.Changes[0].Key)
				case *eventsv1.NarrativeAppended:
					written = append(written, "story")
				}
			}
			expect(t, "written", written, c.written)
		})
	}
}

// A dropped run leaves no trace in what comes after it: neither its people nor the revisions of its records.
func TestDroppedRunLeavesNoTrace(t *testing.T) {
	out := Plan(in(playing(t), teller(),
		ran("p", note("k", "1"), raw("character.upsert", `{"id":"npc-9","name":"Mara"}`), bad),
		ran("p/second", note("k", "2"), raw("character.upsert", `{"id":"npc-8","name":"Mara"}`))))
	got := told(out)[1:3]
	expect(t, "facts", lines(got), "data p n/k=2 r1\ncharacter npc-8 Mara [] npc \"\"  v1")
}

// "Parallel updates do not drop each other's fields" (seed: tools.txt, "character.schema.set" and before).
func TestParallelUpdatesCompose(t *testing.T) {
	patch := func(id, fields string) turn.Result {
		return ran(id, raw("character.upsert", `{"id":"npc-1","name":"x","fields":`+fields+`,"expectedVersion":2}`), note("shared", `1`))
	}
	out := Plan(in(playing(t), teller(), patch("p/a", `{"a":1,"both":"a"}`), patch("p/b", `{"b":2,"both":"b"}`)))
	var got []string
	for _, l := range told(out) {
		if strings.HasPrefix(l, "character") || strings.HasPrefix(l, "data") {
			got = append(got, l)
		}
	}
	want := []string{
		`character npc-1 龙胆 ["Élodie"] npc "" {"a":1,"both":"a","hp":60} v3`, `data p n/shared=1 r1`,
		`character npc-1 龙胆 ["Élodie"] npc "" {"a":1,"b":2,"both":"b","hp":60} v4`, `data p n/shared=1 r2`,
	}
	expect(t, "facts", lines(got), strings.ReplaceAll(lines(want), "Élodie", "E\u0301lodie"))
}

// Rule DESIGN §10: the log says what an execution used and cost, also one that failed or was stopped: its runs, and what extension
// providers asked; the cost is that of the calls whose price is known, the others are counted.
func TestOutcomesAndUsage(t *testing.T) {
	cost := func(r turn.Result, u turn.Usage) turn.Result { r.Usage = u; return r }
	results := []turn.Result{
		cost(teller(), turn.Usage{InputTokens: 100, OutputTokens: 20, CachedInputTokens: 5, ModelCalls: 2, ToolCalls: 1, CostMicros: micros(30), Unpriced: 1}),
		cost(with(failed(ran("a")), func(r *turn.Result) { r.Error, r.Finalizer = "bytes \xff and \x00", true }), turn.Usage{InputTokens: 7, ModelCalls: 1}),
		cost(skipped(ran("b"), turn.SkipInput), turn.Usage{ToolCalls: 2}),
	}
	given := in(playing(t), results...)
	given.Usage = turn.Usage{InputTokens: 1000, ModelCalls: 1, CostMicros: micros(4)}
	for name, out := range map[string]Out{"committed": Plan(given), "failed": Failure(given, ReasonInternal, "panic: \xff"), "stopped": Abort(given, "aborted-by-player")} {
		t.Run(name, func(t *testing.T) {
			var usage *eventsv1.Usage
			var list []*eventsv1.RuntimeOutcome
			switch m := out.Facts[len(out.Facts)-1].Message.(type) {
			case *eventsv1.ExecutionCommitted:
				usage, list = m.Usage, m.Outcomes
			case *eventsv1.ExecutionFailed:
				usage, list = m.Usage, m.Outcomes
				expect(t, "error", m.Error, "panic: \uFFFD")
			case *eventsv1.ExecutionAborted:
				usage = m.Usage
			}
			expect(t, "usage", []uint64{usage.InputTokens, usage.OutputTokens, usage.CachedInputTokens, uint64(usage.ModelCalls), uint64(usage.ToolCalls)}, []uint64{1107, 20, 5, 4, 3})
			expect(t, "cost", []int64{*usage.CostMicros, int64(usage.UnpricedCalls)}, []int64{34, 1})
			if name == "stopped" {
				return
			}
			expect(t, "cost of runs", []any{*list[0].Usage.CostMicros, list[1].Usage.CostMicros == nil}, []any{int64(30), true})
			if len(list) != 3 || list[0].StopReason != "completed" || list[1].Error != "bytes \uFFFD and \uFFFD" || !list[1].Finalizer || list[2].SkipReason != turn.SkipInput || list[0].RunId != "run-narrator" || list[1].Usage.InputTokens != 7 {
				t.Errorf("outcomes %v", list)
			}
			for _, f := range out.Facts {
				encodable(t, f)
			}
		})
	}
}

// "Partial prose of a failed turn is offered only as a marked draft" (decisions: "Text").
func TestDraft(t *testing.T) {
	cut := with(failed(teller()), func(r *turn.Result) { r.Segments, r.Draft = nil, "雨\x00停" })
	other := with(failed(ran("a")), func(r *turn.Result) { r.Draft = "thinking aloud" })
	for name, c := range map[string]struct {
		results []turn.Result
		want    string
	}{
		"none":                           {nil, ""},
		"partial":                        {[]turn.Result{cut}, `{"text":"雨` + "\uFFFD" + `停"}`},
		"whole":                          {[]turn.Result{teller()}, `{"text":"雨停了。"}`},
		"what others wrote is not prose": {[]turn.Result{other}, ""},
		"the story's, not theirs":        {[]turn.Result{other, cut}, `{"text":"雨` + "\uFFFD" + `停"}`},
		"a story that was skipped":       {[]turn.Result{with(skipped(teller(), turn.SkipDependency), func(r *turn.Result) { r.Segments = nil })}, ""},
	} {
		t.Run(name, func(t *testing.T) { expect(t, "draft", string(Draft(c.results)), c.want) })
	}
	expect(t, "abort", told(Abort(in(playing(t), cut), "aborted-by-player")), []string{"aborted e1 aborted-by-player {\"text\":\"雨\uFFFD停\"}"})
}

// A commit is planned on what the session is now: session-scope events came in between, and nothing else.
func TestSeatsAreBound(t *testing.T) {
	player := func(id, name string) sdk.Proposal {
		return raw("character.upsert", `{"id":"`+id+`","name":"`+name+`","type":"player"}`)
	}
	seatLine := func(out Out) string {
		for _, l := range told(out) {
			if strings.HasPrefix(l, "seat") {
				return l
			}
		}
		return "none"
	}
	s := playing(t)
	for _, c := range []struct {
		name string
		p    []sdk.Proposal
		want string
	}{
		{"the first", []sdk.Proposal{player("pc", "陆青云")}, "seat seat-1 甲 [pc] plays pc"},
		{"two at once", []sdk.Proposal{player("pc", "陆青云"), player("pc-3", "🐉")}, "seat seat-1 甲 [pc pc-3] plays pc"},
		{"created and changed", []sdk.Proposal{player("pc", "陆青云"), raw("character.upsert", `{"id":"pc","name":"x","description":"d","expectedVersion":1}`)}, "seat seat-1 甲 [pc] plays pc"},
		{"an npc is bound to nobody", []sdk.Proposal{raw("character.upsert", `{"id":"x","name":"x"}`)}, "none"},
		{"another seat's character stays there", []sdk.Proposal{raw("character.upsert", `{"id":"pc-2","name":"x","description":"d","expectedVersion":1}`)}, "none"},
		{"an npc that becomes a player", []sdk.Proposal{player("npc-2", "Maud")}, "seat seat-1 甲 [npc-2] plays npc-2"},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, "seat", seatLine(Plan(in(s, ran("p", c.p...), teller()))), c.want) })
	}
	taken := fold(t, s, "", &eventsv1.SeatChanged{Seat: &eventsv1.Seat{Id: "seat-1", Name: "甲", Role: "player", Control: "human", CharacterIds: []string{"pc"}, CurrentCharacterId: "pc", Primary: true}})
	expect(t, "a second player", seatLine(Plan(in(taken, ran("p", player("pc-3", "🐉")), teller()))), "seat seat-1 甲 [pc pc-3] plays pc")
	expect(t, "of a dropped run", seatLine(Plan(in(s, ran("p", player("pc", "陆青云"), bad), teller()))), "none")
	none := s
	none.Session.Seats = nil
	expect(t, "without a primary seat", seatLine(Plan(in(none, ran("p", player("pc", "陆青云")), teller()))), "none")
	if len(s.Session.Seats[0].CharacterIDs) != 0 {
		t.Error("the state was written to")
	}
}

func micros(n int64) *int64 { return &n }
