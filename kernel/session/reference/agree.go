package reference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/covel/covel/projections"
)

// Agree holds a state, folded from the same log, against the book, and gives the differences.
func (b *Book) Agree(s projections.State) []string {
	var out []string
	differ := func(what string, got, want any) {
		if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
			out = append(out, fmt.Sprintf("version %d: %s: the fold says %s, the reference %s", b.version, what, g, w))
		}
	}
	differ("version", s.Version, b.version)
	differ("status", s.Session.Status, b.status)
	differ("phase", s.Session.Phase, b.phase)
	differ("turns", s.Session.CompletedPlayerTurns, b.path.turns)
	var rows []string
	for i := range s.History.Len() {
		m := s.History.At(i)
		rows = append(rows, m.ID+"="+m.Shown())
	}
	var want []string
	for _, r := range b.path.rows {
		want = append(want, r.id+"="+r.text)
	}
	differ("rows", strings.Join(rows, "|"), strings.Join(want, "|"))
	open := ""
	if s.Session.Open != nil {
		open = s.Session.Open.ID
	}
	wantOpen := ""
	if b.open != nil {
		wantOpen = b.open.id
	}
	differ("open", open, wantOpen)
	draft := ""
	if s.Session.Draft != nil {
		draft = s.Session.Draft.Rendered
	}
	wantDraft := ""
	if b.draft != nil {
		wantDraft = b.draft.text
	}
	differ("draft", draft, wantDraft)
	b.agreeOnWaiting(s, differ)
	var data, wantData []string
	for _, r := range s.PluginData.List("", "") {
		data = append(data, r.PluginID+"/"+r.Namespace+"/"+r.Key+"="+string(r.Value))
	}
	for _, r := range b.path.data {
		wantData = append(wantData, r.key+"="+r.value)
	}
	slices.Sort(data)
	slices.Sort(wantData)
	differ("plugin data", data, wantData)
	var setups, wantSetups, runs, wantRuns []string
	for _, su := range s.Session.Setup {
		setups = append(setups, fmt.Sprint(su.RuntimeID, su.Status, su.Generation, su.Attempts))
	}
	for _, su := range b.path.setup {
		wantSetups = append(wantSetups, fmt.Sprint(su.runtime, su.status, su.generation, su.attempts))
	}
	for _, e := range s.Session.Ledger {
		runs = append(runs, fmt.Sprint(e.RuntimeID, e.Runs))
	}
	for _, r := range b.path.runs {
		wantRuns = append(wantRuns, fmt.Sprint(r.runtime, r.runs))
	}
	for _, l := range [][]string{setups, wantSetups, runs, wantRuns} {
		slices.Sort(l)
	}
	differ("setup", setups, wantSetups)
	differ("ledger", runs, wantRuns)
	b.agreeOnTable(s, differ)
	differ("gathered", len(s.Session.Gathering.Submissions), b.gathered())
	known := map[string]bool{}
	for _, r := range s.Session.Requests { // one that was gathered is remembered again with its turn
		known[r.SeatID+"\x00"+r.ID] = true
	}
	differ("requests", len(known), len(b.requests))
	return out
}

func (b *Book) agreeOnWaiting(s projections.State, differ func(string, any, any)) {
	var jobs, wantJobs []string
	for _, j := range s.Jobs.Open() {
		jobs = append(jobs, j.ID+" "+j.Status)
	}
	for _, id := range b.openJobs() {
		wantJobs = append(wantJobs, id+" "+b.jobs[id].status)
	}
	slices.Sort(jobs)
	differ("jobs", jobs, wantJobs)
	var items, wantItems []string
	for _, x := range s.Suspensions.Waiting {
		claim := ""
		if x.Claim != nil {
			claim = x.Claim.ExecutionID
		}
		items = append(items, x.ID+" "+claim)
	}
	for _, id := range b.Waiting() {
		wantItems = append(wantItems, id+" "+b.items[id].claim)
	}
	slices.Sort(items)
	differ("suspensions", items, wantItems)
	differ("turns that wait", len(s.Suspensions.Held), len(b.waits))
}

func (b *Book) agreeOnTable(s projections.State, differ func(string, any, any)) {
	var seats []seat
	for _, x := range s.Session.Seats {
		keys := s.Session.KeysOf(x.ID)
		seats = append(seats, seat{id: x.ID, role: x.Role, control: x.Control, invite: keys.Invite, token: keys.Token, primary: x.Primary})
	}
	differ("seats", seats, b.seats)
	set := s.Session.Settings
	settings := ""
	if b.settings != "" {
		a := set.Allowances
		settings = fmt.Sprint(set.Gathering, set.GatherTimeoutMs, set.AdvanceLimit, a.ModelCalls, a.ToolCalls, a.Subagents, a.DurationMs, len(set.ModelOverrides))
	}
	differ("settings", settings, b.settings)
}
