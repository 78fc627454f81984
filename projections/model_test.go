package projections_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// book is the reference model: what a session is, written down as naively as possible from the whole log. It keeps
// everything, shares nothing and knows no snapshot.
type book struct {
	session  map[string]any
	seats    []*eventsv1.Seat
	keys     map[string]string // of seats: invite and token
	setup    map[string]*eventsv1.SetupRuntime
	ledger   map[string]*eventsv1.TriggerLedgerEntry
	requests []string
	gathered []string // seat, request and line of what waits
	open     string
	last     string
	input    *line
	draft    *line

	rows      []row
	begun     int // rows before the commit that is being read
	questions []question
	schema    string
	people    []person
	lore      []string // identity and content, in order
	loreAt    map[string]int
	data      map[string]string
	exports   map[string]string
	tides     map[string]string // dimensions: definition, then value, version and newest turn
	settled   []string          // receipts, oldest first
	files     map[string]string
	told      string // failed operations of the newest player's execution
	origin    map[string]string
	born      map[string]time.Time

	players, stories int
	summaries        string
	compacted        int
	jobs             map[string]*bookJob
	queue            []string // ids, as they were queued
}

type bookJob struct {
	Runtime, Status, Execution string
	Attempt                    uint32
	Ended                      int // version of the end
}

type line struct {
	*eventsv1.ActionsSubmitted
	execution, request, typ string
	version                 events.Version
	at                      time.Time
}

type row struct {
	ID, Turn, Role, Source, Text string
	Version                      events.Version
	Logical                      uint32
	Segments                     string
	Actions                      int
	Blocks                       []string
	At                           time.Time
}

type question struct {
	Turn, ID, Plugin, Status, Block, Values string
	Version                                 events.Version
}

type person struct{ ID, Rest string }

// canon is a JSON value with its keys in order; "" for none and for null.
func canon(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "not JSON: " + string(b)
	}
	if v == nil {
		return ""
	}
	out, _ := json.Marshal(v)
	return string(out)
}

// writeBook reads a log from the beginning.
func writeBook(log []events.Recorded) *book {
	b := &book{
		session: map[string]any{}, setup: map[string]*eventsv1.SetupRuntime{}, ledger: map[string]*eventsv1.TriggerLedgerEntry{},
		loreAt: map[string]int{}, data: map[string]string{}, keys: map[string]string{}, exports: map[string]string{}, tides: map[string]string{}, files: map[string]string{}, origin: map[string]string{}, born: map[string]time.Time{}, jobs: map[string]*bookJob{},
	}
	waiting := map[string][]events.Recorded{}
	for _, r := range log {
		msg, err := events.Decode(r.Event)
		if err != nil {
			panic(err)
		}
		entry, _ := events.Lookup(r.Type)
		execution := r.Metadata.GetCausationId()
		if entry.Effect == events.OnCommit && execution != "" {
			waiting[execution] = append(waiting[execution], r)
			continue
		}
		b.begun = len(b.rows)
		switch m := msg.(type) {
		case *eventsv1.ExecutionCommitted:
			if in := b.input; in != nil && in.execution == m.ExecutionId && len(in.Actions) > 0 && in.Rendered != "" {
				b.players++
				b.rows = append(b.rows, row{
					ID: in.InputMessageId, Turn: in.execution, Role: "user", Source: "player", Text: in.Rendered, Version: in.version,
					Logical: r.Metadata.GetLogicalTurn(), Actions: len(in.Actions), At: in.at,
				})
			}
			for _, w := range waiting[m.ExecutionId] {
				staged, _ := events.Decode(w.Event)
				b.write(w, staged)
			}
			delete(waiting, m.ExecutionId)
		case *eventsv1.ExecutionFailed:
			delete(waiting, m.ExecutionId)
		case *eventsv1.ExecutionAborted:
			delete(waiting, m.ExecutionId)
		}
		b.write(r, msg)
		b.session["updated"] = r.RecordedAt
	}
	return b
}

// leaves takes a submission out of those that wait.
func (b *book) leaves(seat, request string) {
	b.gathered = slices.DeleteFunc(b.gathered, func(x string) bool { return strings.HasPrefix(x, seat+" "+request+" ") })
}

// entry puts an entry into the lorebook.
func (b *book) entry(who string, e *eventsv1.LorebookEntry) {
	text := fmt.Sprint(who, e.Keys, e.Content, e.InsertionOrder, e.Enabled, canon(e.Extra))
	if i, known := b.loreAt[who]; known {
		b.lore[i] = text
		return
	}
	b.loreAt[who] = len(b.lore)
	b.lore = append(b.lore, text)
}

func (b *book) write(r events.Recorded, msg proto.Message) {
	here := row{Turn: r.Metadata.GetCausationId(), Version: r.Version, Logical: r.Metadata.GetLogicalTurn(), Role: "assistant", Source: "runtime", At: r.RecordedAt}
	switch m := msg.(type) {
	case *eventsv1.SessionCreated:
		b.session["id"], b.session["phase"], b.session["status"], b.session["world"] = m.SessionId, m.Phase, "active", m.WorldName
		b.seats = slices.Clone(m.Seats)
		for _, s := range m.SetupRuntimes {
			b.setup[s.RuntimeId] = s
		}
	case *eventsv1.SessionPaused:
		b.session["status"] = "paused"
	case *eventsv1.SessionResumed:
		b.session["status"] = "active"
	case *eventsv1.SessionEnded:
		b.session["status"] = "ended"
	case *eventsv1.SeatChanged:
		if i := slices.IndexFunc(b.seats, func(s *eventsv1.Seat) bool { return s.Id == m.Seat.Id }); i >= 0 {
			b.seats[i] = m.Seat
		} else {
			b.seats = append(b.seats, m.Seat)
		}
	case *eventsv1.SeatRemoved:
		b.seats = slices.DeleteFunc(b.seats, func(s *eventsv1.Seat) bool { return s.Id == m.SeatId })
		delete(b.keys, m.SeatId)
	case *eventsv1.SeatKeysChanged:
		b.keys[m.SeatId] = fmt.Sprintf("%x %x", m.InviteHash, m.TokenHash)
	case *eventsv1.InterjectionMerged:
		here.ID, here.Role, here.Source, here.Text, here.Actions = m.MessageId, "user", "player-interjection", m.Text, 1
		if m.Rendered != "" {
			here.Text = m.Rendered
		}
		b.rows = append(b.rows, here)
		if m.Request != nil {
			b.requests = append(b.requests, m.Request.SeatId+" "+m.Request.RequestId+" "+r.Metadata.GetCausationId())
		}
	case *eventsv1.SubmissionGathered:
		b.requests = append(b.requests, m.SeatId+" "+m.RequestId+" ")
		b.gathered = slices.DeleteFunc(b.gathered, func(x string) bool { return strings.HasPrefix(x, m.SeatId+" ") })
		b.gathered = append(b.gathered, m.SeatId+" "+m.RequestId+" "+m.Actions[0].Text)
	case *eventsv1.SubmissionWithdrawn:
		b.leaves(m.SeatId, m.RequestId)
	case *eventsv1.ActionsSubmitted:
		b.leaves(m.SeatId, m.RequestId)
		for _, g := range m.Gathered {
			b.leaves(g.SeatId, g.RequestId)
		}
		b.requests = append(b.requests, m.SeatId+" "+m.RequestId+" "+m.ExecutionId)
		for _, g := range m.Gathered {
			b.requests = append(b.requests, g.SeatId+" "+g.RequestId+" "+m.ExecutionId)
		}
		for _, a := range m.Actions {
			for i := range b.questions {
				q := &b.questions[i]
				if a.Interaction != nil && q.Turn == a.Interaction.TurnId && q.ID == a.Interaction.InteractionId && q.Status == "open" {
					q.Status, q.Values, q.Version = "answered", canon(a.Fields), r.Version
				}
			}
		}
		if m.Type == "run_runtimes" {
			break
		}
		in := &line{m, m.ExecutionId, m.RequestId, m.Type, r.Version, r.RecordedAt}
		if len(m.Actions) == 0 && b.draft != nil {
			in = &line{b.draft.ActionsSubmitted, m.ExecutionId, m.RequestId, m.Type, r.Version, b.draft.at}
		}
		b.input, b.draft = in, nil
	case *eventsv1.JobQueued:
		if m.RequestId != "" {
			b.requests = append(b.requests, m.SeatId+" "+m.RequestId+" "+m.JobId)
		}
		b.queue = append(b.queue, m.JobId)
		b.jobs[m.JobId] = &bookJob{Runtime: m.RuntimeId, Status: "queued"}
	case *eventsv1.JobStarted:
		if j := b.openJob(m.JobId); j != nil {
			j.Status, j.Execution, j.Attempt = "running", m.ExecutionId, m.Attempt
		}
	case *eventsv1.JobRequeued:
		if j := b.openJob(m.JobId); j != nil {
			j.Status = "queued"
		}
	case *eventsv1.JobSucceeded:
		b.endJob(m.JobId, "succeeded", r)
	case *eventsv1.JobFailed:
		b.endJob(m.JobId, "failed", r)
	case *eventsv1.JobTimedOut:
		b.endJob(m.JobId, "timed_out", r)
	case *eventsv1.JobCancelled:
		b.endJob(m.JobId, "cancelled", r)
	case *eventsv1.JobStale:
		b.endJob(m.JobId, "stale", r)
	case *eventsv1.JobOrphaned:
		b.endJob(m.JobId, "orphaned", r)
	case *eventsv1.ExecutionStarted:
		if m.JobId == "" {
			b.open = m.ExecutionId
		}
		if m.SourceTurnId == "" && len(m.Targets) == 0 { // a retry of single runtimes tells nobody
			b.origin[m.ExecutionId] = m.Origin
		}
	case *eventsv1.ExecutionCommitted:
		if b.runsJob(m.ExecutionId) {
			return
		}
		if o := b.origin[m.ExecutionId]; b.open == m.ExecutionId && (o == "player" || o == "continuation") {
			b.told = ""
			for _, op := range m.Operations {
				if op.Status == "failed" {
					b.told += op.Summary + " " + op.Reason + " " + op.InvokedBy.RuntimeId + "\n"
				}
			}
		}
		b.end(m.ExecutionId, "committed "+m.Next, nil, false)
	case *eventsv1.ExecutionFailed:
		b.end(m.ExecutionId, "failed "+m.Error, m.SetupAttempts, true)
	case *eventsv1.ExecutionAborted:
		b.end(m.ExecutionId, "aborted ", m.SetupAttempts, true)
	case *eventsv1.NarrativeAppended:
		here.ID, here.Source, here.Text, here.Segments = m.MessageId, "story", m.Text, fmt.Sprint(len(m.Segments), m.Presence)
		b.stories++
		b.rows = append(b.rows, here)
	case *eventsv1.MessageAppended:
		here.ID, here.Role, here.Text = m.MessageId, m.Role, m.Text
		b.rows = append(b.rows, here)
	case *eventsv1.HistoryCompacted:
		b.summaries = ""
		for _, s := range m.Summaries {
			b.summaries += fmt.Sprint(s.Id, s.Content, len(s.FocusSections), s.Truncated, "\n")
		}
		hot := max(0, len(b.rows)-projections.HotMessages)
		for i := len(b.rows); m.ThroughMessageId != "" && i >= hot; i-- {
			if i == hot || b.rows[i-1].ID == m.ThroughMessageId {
				b.compacted = max(b.compacted, i)
				break
			}
		}
	case *eventsv1.InteractionRequested:
		if b.row(m.MessageId) == nil {
			here.ID = m.MessageId
			b.rows = append(b.rows, here)
		}
		for i := range b.questions {
			if b.questions[i].ID == m.InteractionId && b.questions[i].Plugin == m.PluginId {
				b.questions[i].Status = "void"
			}
		}
		b.questions = append(b.questions, question{m.TurnId, m.InteractionId, m.PluginId, "open", canon(m.Block), "", r.Version})
	case *eventsv1.UIRendered:
		at := b.row(m.MessageId)
		if at == nil {
			here.ID = m.MessageId
			b.rows = append(b.rows, here)
			at = &b.rows[len(b.rows)-1]
		}
		at.Blocks = append(at.Blocks, canon(m.Render))
	case *eventsv1.CharacterSchemaSet:
		b.schema = fmt.Sprint(m.Version, m.Types, canon(m.Attributes))
	case *eventsv1.CharacterUpserted:
		c := m.Record
		p := person{c.Id, fmt.Sprint(c.Name, c.Aliases, c.Type, c.Description, canon(c.Fields), c.Version, r.RecordedAt)}
		if i := slices.IndexFunc(b.people, func(x person) bool { return x.ID == c.Id }); i >= 0 {
			b.people[i] = p
		} else {
			b.people = append(b.people, p)
			b.born["character "+c.Id] = r.RecordedAt
		}
	case *eventsv1.LorebookUpserted:
		for _, e := range m.Entries {
			b.entry(fmt.Sprintf("%s|%s|%s", m.GetOwner().GetKind(), m.GetOwner().GetPluginId(), e.Id), e)
		}
	case *eventsv1.LoreEdited:
		b.entry("player||"+m.Entry.Id, m.Entry)
		b.requests = append(b.requests, m.Request.SeatId+" "+m.Request.RequestId+" "+r.Metadata.GetCausationId())
	case *eventsv1.DimensionsInitialized:
		for _, d := range m.Dimensions {
			b.tides[d.Id] = fmt.Sprint(d.Definition.Name, canon(d.Definition.Schema), canon(d.Definition.InitialValue), d.Definition.UpdateRule) + "\x00" + fmt.Sprint(canon(d.Value), d.Version) + "\x00" + "0"
		}
	case *eventsv1.DimensionsUpdated:
		for _, v := range m.Values {
			parts := strings.Split(b.tides[v.Id], "\x00")
			if len(parts) < 3 {
				continue
			}
			turn, _ := strconv.Atoi(parts[2])
			turn = max(turn, int(m.GetReceipt().GetSource().GetTurnNumber()))
			b.tides[v.Id] = parts[0] + "\x00" + fmt.Sprint(canon(v.Value), v.Version) + "\x00" + strconv.Itoa(turn)
		}
		if x := m.Receipt; x != nil {
			id := x.Source.ResultId + " "
			b.settled = slices.DeleteFunc(b.settled, func(s string) bool { return strings.HasPrefix(s, id) })
			b.settled = append(b.settled, id+fmt.Sprint(x.Status, x.Source.TurnNumber, len(x.ReadVersions), len(x.Definitions), x.Version))
		}
	case *eventsv1.AssetGenerated:
		b.files[m.Ref.Id] = fmt.Sprint(m.Ref.Mime, m.Ref.Size, canon(m.Meta), m.RuntimeId, r.RecordedAt)
	case *eventsv1.PluginDataChanged:
		for _, c := range m.Changes {
			k := m.PluginId + "|" + c.Namespace + "|" + c.Key
			if c.Removed {
				delete(b.data, k)
				delete(b.born, k)
				continue
			}
			if _, there := b.data[k]; !there {
				b.born[k] = r.RecordedAt
			}
			b.data[k] = fmt.Sprint(canon(c.Value), c.Revision, r.RecordedAt, b.born[k])
		}
	case *eventsv1.OutputExported:
		b.exports[m.RuntimeId+"|"+m.Name] = fmt.Sprint(m.PluginId, m.Contract, canon(m.Value), m.Revision, m.RunId, r.Version)
	case *eventsv1.PhaseAdvanced:
		b.session["phase"] = m.Phase
	case *eventsv1.SetupRuntimeChanged:
		b.setup[m.Setup.RuntimeId] = m.Setup
	case *eventsv1.PlayerTurnCounted:
		b.session["turns"], b.session["counted"] = m.CompletedPlayerTurns, m.LogicalTurnId
	case *eventsv1.TriggerLedgerUpdated:
		for _, e := range m.Entries {
			b.ledger[e.RuntimeId] = e
		}
	}
}

// row finds a row of the same commit among the newest 500.
func (b *book) row(id string) *row {
	for i := len(b.rows) - 1; i >= b.begun && i >= len(b.rows)-500; i-- {
		if b.rows[i].ID == id {
			return &b.rows[i]
		}
	}
	return nil
}

func (b *book) openJob(id string) *bookJob {
	if j := b.jobs[id]; j != nil && (j.Status == "queued" || j.Status == "running") {
		return j
	}
	return nil
}

func (b *book) endJob(id, status string, r events.Recorded) {
	j := b.openJob(id)
	if j == nil {
		return
	}
	j.Status, j.Ended = status, int(r.Version)
	var ended []string
	for _, id := range b.queue {
		if x := b.jobs[id]; x.Runtime == j.Runtime && x.Ended > 0 {
			ended = append(ended, id)
		}
	}
	slices.SortFunc(ended, func(x, y string) int { return b.jobs[x].Ended - b.jobs[y].Ended })
	for _, id := range ended[:max(0, len(ended)-20)] {
		delete(b.jobs, id)
		b.queue = slices.DeleteFunc(b.queue, func(q string) bool { return q == id })
	}
}

func (b *book) runsJob(execution string) bool {
	for _, j := range b.jobs {
		if j.Execution == execution {
			return true
		}
	}
	return false
}

func (b *book) end(id, how string, attempts []*eventsv1.SetupAttempt, keeps bool) {
	b.last = id + " " + how
	if b.open == id {
		b.open = ""
	}
	if b.input != nil && b.input.execution == id {
		if keeps && len(b.input.Actions) > 0 {
			b.draft = b.input
		}
		b.input = nil
	}
	for _, a := range attempts {
		s, known := b.setup[a.RuntimeId]
		if !known {
			continue
		}
		s = proto.CloneOf(s)
		s.Attempts, s.LastError = a.Attempts, a.LastError
		if a.Blocked {
			s.Status, s.Reason = "blocked", a.Reason
		}
		b.setup[a.RuntimeId] = s
	}
}

// differs compares a state with the book, "" when they say the same.
func (b *book) differs(s projections.State) string {
	var out []string
	same := func(what string, got, want any) {
		if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
			out = append(out, fmt.Sprintf("%s:\n got %s\nwant %s", what, g, w))
		}
	}
	ss := s.Session
	same("id", ss.ID, b.session["id"])
	same("phase", ss.Phase, b.session["phase"])
	same("status", ss.Status, b.session["status"])
	same("world", ss.WorldName, b.session["world"])
	same("updated", ss.UpdatedAt, b.session["updated"])
	turns, counted := b.session["turns"], b.session["counted"]
	if turns == nil {
		turns, counted = uint32(0), ""
	}
	same("turns", ss.CompletedPlayerTurns, turns)
	same("last counted", ss.LastCounted, counted)
	for i, seat := range b.seats {
		g := ss.Seats[i]
		same("seat", []any{g.ID, g.Name, g.Role, g.Control, g.CharacterIDs, g.CurrentCharacterID, g.Primary},
			[]any{seat.Id, seat.Name, seat.Role, seat.Control, seat.CharacterIds, seat.CurrentCharacterId, seat.Primary})
	}
	same("seats", len(ss.Seats), len(b.seats))
	keys := map[string]string{}
	for _, k := range ss.SeatKeys {
		keys[k.SeatID] = k.Invite + " " + k.Token
	}
	same("seat keys", keys, b.keys)
	same("setups", len(ss.Setup), len(b.setup))
	for id, w := range b.setup {
		g, _ := ss.SetupOf(id)
		same("setup "+id, []any{g.Status, g.Generation, g.Attempts, g.MaxAttempts, g.LastError, g.Resolution, g.Reason, g.PluginVersion},
			[]any{w.Status, w.Generation, w.Attempts, w.MaxAttempts, w.LastError, w.Resolution, w.Reason, w.PluginVersion})
	}
	same("ledger size", len(ss.Ledger), len(b.ledger))
	for id, w := range b.ledger {
		g := ss.LedgerOf(id)
		same("ledger "+id, []any{g.Runs, g.LastCompletedTurns}, []any{w.Runs, w.LastCompletedTurns})
	}
	var waiting []string
	for _, x := range ss.Gathering.Submissions {
		waiting = append(waiting, x.SeatID+" "+x.RequestID+" "+x.Actions[0].Text)
	}
	slices.Sort(waiting) // the order of arrival is a rule of its own
	same("submissions that wait", waiting, slices.Sorted(slices.Values(b.gathered)))
	known := b.requests[max(0, len(b.requests)-projections.MaxRequests):]
	for i, r := range ss.Requests {
		same("request", r.SeatID+" "+r.ID+" "+r.ExecutionID, known[i])
	}
	same("requests", len(ss.Requests), len(known))
	open := ""
	if ss.Open != nil {
		open = ss.Open.ID
	}
	same("open", open, b.open)
	last := ""
	if e := ss.Last; e != nil {
		last = e.ID + " " + e.End + " " + map[string]string{"committed": e.Next, "failed": e.Error}[e.End]
	}
	same("last", last, b.last)
	same("input", inputText(ss.Input), b.input.text())
	same("draft", inputText(ss.Draft), b.draft.text())

	dropped := max(0, len(b.rows)-projections.HotMessages)
	same("counts", []any{s.History.Dropped, s.History.Len(), s.History.Players, s.History.Stories}, []any{dropped, len(b.rows) - dropped, b.players, b.stories})
	for i, m := range s.History.Tail(s.History.Len()) {
		if dropped+i >= len(b.rows) {
			break
		}
		g := rowOf(m)
		same(fmt.Sprintf("row %d", dropped+i), g, b.rows[dropped+i])
	}
	summaries := ""
	for _, x := range s.History.Summaries {
		summaries += fmt.Sprint(x.ID, x.Content, len(x.FocusSections), x.Truncated, "\n")
	}
	same("summaries", []any{summaries, s.History.Compacted}, []any{b.summaries, b.compacted})
	var jobs, wantJobs []string
	for _, j := range s.Jobs {
		jobs = append(jobs, fmt.Sprint(j.ID, j.RuntimeID, j.Status, j.ExecutionID, j.Attempt))
	}
	for _, id := range b.queue {
		j := b.jobs[id]
		wantJobs = append(wantJobs, fmt.Sprint(id, j.Runtime, j.Status, j.Execution, j.Attempt))
	}
	same("jobs", jobs, wantJobs)
	for i, q := range s.Interactions {
		if len(b.questions) != len(s.Interactions) {
			same("questions", len(s.Interactions), len(b.questions))
			break
		}
		same("question", question{q.TurnID, q.InteractionID, q.PluginID, q.Status, canon(q.Block), canon(q.Values), q.Version}, b.questions[i])
	}
	schema := ""
	if c := s.Characters; c.SchemaVersion > 0 || len(c.Types) > 0 || len(c.Attributes) > 0 || b.schema != "" {
		schema = fmt.Sprint(c.SchemaVersion, c.Types, canon(c.Attributes))
	}
	same("schema", schema, b.schema)
	same("people", len(s.Characters.List), len(b.people))
	for i, c := range s.Characters.List {
		if i < len(b.people) {
			same("person", person{c.ID, fmt.Sprint(c.Name, c.Aliases, c.Type, c.Description, canon(c.Fields), c.Version, c.UpdatedAt)}, b.people[i])
			same("born", c.CreatedAt, b.born["character "+c.ID])
		}
	}
	var lore []string
	for _, e := range s.Lorebook {
		lore = append(lore, fmt.Sprint(e.OwnerKind+"|"+e.OwnerPlugin+"|"+e.ID, e.Keys, e.Content, e.InsertionOrder, e.Enabled, canon(e.Extra)))
	}
	same("lore", lore, b.lore)
	records := s.PluginData.List("", "")
	same("exports", len(s.Exports), len(b.exports))
	for _, e := range s.Exports {
		same("export "+e.RuntimeID+" "+e.Name, fmt.Sprint(e.PluginID, e.Contract, canon(e.Value), e.Revision, e.RunID, e.Version), b.exports[e.RuntimeID+"|"+e.Name])
	}
	same("records", len(records), len(b.data))
	for _, rec := range records {
		k := rec.PluginID + "|" + rec.Namespace + "|" + rec.Key
		same("record "+k, fmt.Sprint(canon(rec.Value), rec.Revision, rec.UpdatedAt, rec.CreatedAt), b.data[k])
	}
	tides := map[string]string{}
	for _, d := range s.Dimensions.List {
		tides[d.ID] = fmt.Sprint(d.Name, canon(d.Schema), canon(d.InitialValue), d.UpdateRule) + "\x00" + fmt.Sprint(canon(d.Value), d.Version) + "\x00" + fmt.Sprint(d.Tracked)
	}
	same("dimensions", tides, b.tides)
	var receipts, kept []string
	for _, x := range s.Dimensions.Receipts {
		receipts = append(receipts, x.ResultID+" "+fmt.Sprint(x.Status, x.TurnNumber, len(x.ReadVersions), len(x.Definitions), x.Version))
	}
	settled := 0
	for _, x := range slices.Backward(b.settled) { // all that are open, the newest of the others
		if !strings.Contains(x, projections.SettlementPending) {
			if settled++; settled > projections.MaxReceipts {
				continue
			}
		}
		kept = append(kept, x)
	}
	slices.Reverse(kept)
	same("receipts", receipts, kept)
	files := map[string]string{}
	for _, a := range s.Assets {
		files[a.ID] = fmt.Sprint(a.Mime, a.Size, canon(a.Meta), a.RuntimeID, a.CreatedAt)
	}
	same("files", files, b.files)
	told := ""
	for _, o := range ss.NotApplied {
		told += o.Summary + " " + o.Reason + " " + o.RuntimeID + "\n"
	}
	same("told", told, b.told)
	return fmt.Sprint(joined(out))
}

func joined(lines []string) string {
	var b bytes.Buffer
	for _, l := range lines {
		b.WriteString(l + "\n")
	}
	return b.String()
}

func rowOf(m projections.Message) row {
	r := row{
		ID: m.ID, Turn: m.TurnID, Role: m.Role, Source: m.Source, Text: m.Text, Version: m.Version, Logical: m.LogicalTurn,
		Actions: len(m.Actions), At: m.At,
	}
	if m.Source == projections.SourceStory {
		r.Segments = fmt.Sprint(len(m.Segments), m.Presence)
	}
	for _, b := range m.Blocks {
		r.Blocks = append(r.Blocks, canon(b))
	}
	return r
}

func (l *line) text() string {
	if l == nil {
		return "none"
	}
	return fmt.Sprint(l.execution, l.request, l.typ, l.version, l.at, l.Rendered, len(l.Actions), l.InputMessageId)
}

func inputText(in *projections.Input) string {
	if in == nil {
		return "none"
	}
	return fmt.Sprint(in.ExecutionID, in.RequestID, in.Type, in.Version, in.At, in.Rendered, len(in.Actions), in.MessageID)
}
