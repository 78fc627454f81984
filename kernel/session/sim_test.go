package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/latch"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
	"github.com/covel/covel/worlds"
)

// sim is the world around one session: a log, one activation at a time, a client. It carries out effects the way the
// actor does, one by one, and can die between any two of them.
type sim struct {
	t     testing.TB
	log   []events.Recorded
	state State
	inbox []Input // outcomes on their way to the session
	turns []StartTurn
	heard map[uint64][]Answer
	reset int // how often followers were told to start over
	token uint64
	ids   int
	owner int

	points  int // effects and inputs so far
	crashAt int // die before this one; 0 never
	crashed bool

	appends int
	fault   func(n int, a Append) fault // what the store does to the nth append; nil: nothing
	result  func(StartTurn) TurnEnded   // what a turn gives

	kinds Kinds
	told  []TellTurn // lines that the live turn was told
	heeds []string   // ids of the lines that its run merges

	now       time.Time
	ready     func(slot string) bool
	digest    func(pluginID string) string
	granted   map[string]bool           // jobs that have a place
	full      bool                      // the node has no place for any job
	working   []StartJob                // jobs whose executions go on
	jobResult func(StartJob) *TurnEnded // what a job gives; nil: it goes on
	wakeAt    time.Time

	advanceLimit uint32                  // of the host
	onSave       func(projections.State) // told of every snapshot; nil: nobody looks
	latch        latch.Latch             // in the memory of the node
	paused       []PluginPaused
	settles      []SettleWait
	installed    *Installed // told with every settling; nil: nobody looks
}

type fault int

const (
	noFault fault = iota
	unknownWritten
	unknownNotWritten
	refusedByStore
	foreignBefore // another activation writes first
)

type died struct{}

// epoch is when the simulated clock starts; the log's own times go on from there.
var epoch = time.Unix(1_700_000_000, 0).UTC()

var packView = func() worlds.View {
	var v worlds.View
	v.Record.ID, v.Record.Name, v.Record.Locale = "w", "世界", "zh-CN"
	return v
}()

func newSim(t testing.TB) *sim {
	s := &sim{t: t, heard: map[uint64][]Answer{}, result: play, now: epoch, granted: map[string]bool{}}
	evs, err := Create(Creation{
		SessionID: "s1", Incarnation: "inc", Pack: packView, PackDigest: "d", Plugins: []projections.PluginRef{{ID: "memory", Version: "1.0.0", Digest: "d1"}, {ID: "seer"}},
		Runtimes: []manifest.Runtime{
			{ID: "opener", PluginID: "opener", Schedule: manifest.Schedule{Stage: manifest.Setup, Trigger: manifest.TriggerAuto}},
			{ID: "maker", PluginID: "maker", Schedule: manifest.Schedule{Stage: manifest.Setup, Trigger: manifest.TriggerAuto, MaxTriggerCount: 9}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.write(0, evs)
	return s
}

func (s *sim) write(expected events.Version, evs []events.Event) events.Recorded {
	for i, ev := range evs {
		s.log = append(s.log, events.Recorded{
			Event: ev, Stream: StreamOf("s1"), Version: expected + events.Version(i) + 1, Position: events.Position(len(s.log) + 1),
			RecordedAt: time.Unix(1_700_000_000+int64(len(s.log)), 0).UTC(),
		})
	}
	return s.log[len(s.log)-1]
}

func (s *sim) fold() projections.State {
	var st projections.State
	for _, r := range s.log {
		next, err := projections.Apply(st, r)
		if err != nil {
			s.t.Fatalf("fold: %v", err)
		}
		st = next
	}
	return st
}

// activate starts a new activation, as after a crash or a passivation.
func (s *sim) activate() {
	s.owner++
	s.inbox, s.turns, s.working, s.granted = nil, nil, nil, map[string]bool{}
	var effects []Effect
	s.state, effects = New(Owner{Node: "n", Activation: fmt.Sprint("a", s.owner)}, s.latch)
	s.do(effects)
}

// point is a place where the process can die.
func (s *sim) point() {
	s.points++
	if s.points == s.crashAt {
		s.crashed = true
		panic(died{})
	}
}

func (s *sim) feed(in Input) {
	s.point()
	s.ids++
	var effects []Effect
	s.state, effects = Step(s.state, Env{FreshID: fmt.Sprint("fresh-", s.ids), Now: s.now, ModelReady: s.ready, Digest: s.digest, Kinds: s.kinds, AdvanceLimit: s.advanceLimit}, in)
	s.do(effects)
}

func (s *sim) do(effects []Effect) {
	for _, e := range effects {
		s.point()
		switch e := e.(type) {
		case DoAppend:
			s.inbox = append(s.inbox, s.append(e.Append))
		case Settle:
			look := s.installed
			if e.Command.Type == RunRuntimes {
				look = installed(e.Command)
			}
			s.inbox = append(s.inbox, Settled{ExecutionID: e.Command.ExecutionID, Installed: look})
		case StartTurn:
			s.turns, s.told, s.heeds = append(s.turns, e), nil, nil
		case TellTurn:
			s.told = append(s.told, e)
		case CancelTurn:
			for i, tn := range s.turns {
				if tn.Execution.ID == e.ExecutionID {
					s.turns = append(s.turns[:i:i], s.turns[i+1:]...)
					s.inbox = append(s.inbox, TurnEnded{ExecutionID: e.ExecutionID, Pack: packView})
					break
				}
			}
		case WantJobs:
			for _, id := range e.IDs {
				if !s.full && !s.granted[id] {
					s.granted[id] = true
					s.inbox = append(s.inbox, JobGranted{id})
				}
			}
		case ReleaseJob:
			delete(s.granted, e.JobID)
		case StartJob:
			s.working = append(s.working, e)
		case CancelJob:
			for i, w := range s.working {
				if w.Job.ID == e.JobID {
					s.working = append(s.working[:i:i], s.working[i+1:]...)
					s.inbox = append(s.inbox, TurnEnded{ExecutionID: w.Execution.ID, Pack: packView})
					break
				}
			}
		case WakeAt:
			s.wakeAt = e.At
		case Reply:
			s.heard[e.Token] = append(s.heard[e.Token], e.Reply)
		case KeepLatch:
			s.latch = e.Latch
		case SettleWait:
			s.settles = append(s.settles, e)
		case PluginPaused:
			s.paused = append(s.paused, e)
		case Reset:
			s.reset++
		case Refold:
			s.inbox = append(s.inbox, Recovered{State: s.fold()})
		case SaveSnapshot:
			if s.onSave != nil {
				s.onSave(e.State)
			}
		case Publish, Passivate:
		}
	}
}

func (s *sim) append(a Append) Input {
	s.appends++
	f := noFault
	if s.fault != nil {
		f = s.fault(s.appends, a)
	}
	switch f {
	case unknownNotWritten:
		return AppendUnknown{}
	case refusedByStore:
		return AppendRefused{"disk full"}
	case foreignBefore:
		ev, err := events.Encode(events.NewID(StreamOf("s1"), "foreign", s.appends, 0),
			&eventsv1.Metadata{AppendEnd: uint64(len(s.log) + 1)}, &eventsv1.PluginDataChanged{
				PluginId: "elsewhere", Changes: []*eventsv1.PluginDataChange{{Namespace: "n", Key: fmt.Sprint(s.appends), Value: []byte("1"), Revision: 1}},
			})
		if err != nil {
			s.t.Fatal(err)
		}
		s.write(events.Version(len(s.log)), []events.Event{ev})
	}
	if int(a.Expected) != len(s.log) {
		// an exact repeat of what stands there is done
		if int(a.Expected)+len(a.Events) <= len(s.log) && s.log[a.Expected].ID == a.Events[0].ID {
			last := s.log[int(a.Expected)+len(a.Events)-1]
			return AppendDone{last.RecordedAt, uint64(last.Position)}
		}
		return AppendLost{}
	}
	at := time.Unix(1_700_000_000+int64(len(s.log)), 0).UTC()
	for i, ev := range a.Events {
		s.log = append(s.log, events.Recorded{
			Event: ev, Stream: StreamOf("s1"), Version: a.Expected + events.Version(i) + 1, Position: events.Position(len(s.log) + 1), RecordedAt: at,
		})
	}
	if f == unknownWritten {
		return AppendUnknown{}
	}
	return AppendDone{at, uint64(len(s.log))}
}

// run feeds outcomes until nothing is on its way; turns end with their result.
func (s *sim) run() {
	for steps := 0; len(s.inbox) > 0 || len(s.turns) > 0 || s.finishJob(); steps++ {
		if steps > 500 {
			s.t.Fatal("the session does not come to rest")
		}
		if len(s.inbox) > 0 {
			in := s.inbox[0]
			s.inbox = s.inbox[1:]
			s.feed(in)
			continue
		}
		if len(s.turns) == 0 {
			continue
		}
		tn := s.turns[0]
		s.turns = s.turns[1:]
		s.feed(s.heed(s.result(tn)))
	}
}

// installed is what a run by name may name; nobody looks for anything else.
func installed(cmd Command) *Installed {
	if cmd.Type != RunRuntimes {
		return nil
	}
	return &Installed{Versions: map[string]string{}, Runtimes: []manifest.Runtime{
		{ID: "seer", PluginID: "seer"}, {ID: "maker", PluginID: "maker"}, {ID: "teller", PluginID: "teller"},
		{ID: "helper", PluginID: "helper", Schedule: manifest.Schedule{SubagentOnly: true}},
		{ID: "strict", PluginID: "strict", IO: manifest.IO{PayloadSchema: []byte(`{"type":"object"}`)}},
	}}
}

// merges says which lines the run of the live turn takes up, by their requests.
func (s *sim) merges(requests ...string) {
	s.heeds = nil
	for _, x := range s.state.Said {
		for _, id := range requests {
			if x.RequestID == id {
				s.heeds = append(s.heeds, x.ID)
				break
			}
		}
	}
}

// heed puts the lines that were taken up into the results.
func (s *sim) heed(end TurnEnded) TurnEnded {
	for _, id := range s.heeds {
		for _, told := range s.told {
			if told.ID == id && len(end.Results) > 0 {
				end.Results[0].Interjections = append(end.Results[0].Interjections, told.Interjection)
			}
		}
	}
	return end
}

// deliver feeds outcomes until nothing is on its way; the live turn goes on.
func (s *sim) deliver() {
	for len(s.inbox) > 0 {
		in := s.inbox[0]
		s.inbox = s.inbox[1:]
		s.feed(in)
	}
}

// outside writes facts that count at once, as another activation would, and lets the session find them.
func (s *sim) outside(msgs ...proto.Message) {
	var evs []events.Event
	for i, m := range msgs {
		ev, err := events.Encode(events.NewID(StreamOf("s1"), "outside", len(s.log), i), &eventsv1.Metadata{AppendEnd: uint64(len(s.log) + len(msgs))}, m)
		if err != nil {
			s.t.Fatal(err)
		}
		evs = append(evs, ev)
	}
	s.write(events.Version(len(s.log)), evs)
	s.feed(Foreign{})
	s.run()
}

// send submits a command and gives its last answer.
func (s *sim) send(cmd Command) Answer {
	s.token++
	token := s.token
	cmd.Tokens = []uint64{token}
	if cmd.BodyHash == "" {
		cmd.BodyHash = "aa"
	}
	s.ids++
	cmd.ExecutionID = fmt.Sprint("exec-", s.ids)
	s.feed(Submit{cmd})
	s.run()
	answers := s.heard[token]
	if len(answers) == 0 {
		return Answer{}
	}
	return answers[len(answers)-1]
}

// post submits a command and delivers nothing.
func (s *sim) post(cmd Command) {
	s.token++
	s.ids++
	cmd.Tokens, cmd.ExecutionID, cmd.BodyHash = []uint64{s.token}, fmt.Sprint("exec-", s.ids), "aa"
	s.feed(Submit{cmd})
}

// set changes the settings of the session, as another writer does.
func (s *sim) set(settings projections.Settings) {
	s.outside(&eventsv1.SettingsChanged{Settings: &eventsv1.Settings{Gathering: settings.Gathering, GatherTimeoutMs: settings.GatherTimeoutMs, AdvanceLimit: settings.AdvanceLimit}})
}

// play gives the results of a turn: in set-up a form, then the player's character; in play one page of story.
func play(st StartTurn) TurnEnded {
	end := TurnEnded{ExecutionID: st.Execution.ID, Pack: packView}
	run := func(id string, stage manifest.Stage) turn.Result {
		return turn.Result{RuntimeID: id, PluginID: id, RunID: st.Execution.ID + "/" + id, Stage: stage, Status: turn.Succeeded}
	}
	propose := func(r *turn.Result, p sdk.Payload) {
		pr, err := sdk.Propose(p)
		if err != nil {
			panic(err)
		}
		r.Proposals = append(r.Proposals, pr)
	}
	if st.Execution.Phase == projections.PhaseSetup {
		if su, _ := st.View.Session.SetupOf("opener"); su.Status == projections.SetupPending {
			r := run("opener", manifest.Setup)
			r.Done = true
			propose(&r, sdk.MessageAppend{Content: "欢迎。"})
			end.Results = append(end.Results, r)
		}
		r := run("maker", manifest.Setup)
		if answer, ok := st.View.Interactions.LastAnswered("maker"); ok {
			var values struct {
				Name string `json:"characterName"`
			}
			_ = json.Unmarshal(answer.Values, &values)
			propose(&r, sdk.CharacterUpsert{ID: "pc", Name: values.Name, Type: "player"})
			r.Done = true
		} else if len(st.View.Interactions.Open("maker")) == 0 {
			propose(&r, sdk.InteractionRequest{InteractionID: "char-creation", Type: "form", Data: map[string]any{
				"type": "form", "interactionId": "char-creation", "title": "谁", "submitLabel": "好", "narrativeTemplate": "我叫{{characterName}}。",
				"fields": []map[string]any{{"type": "text", "name": "characterName", "label": "名字", "required": true}},
			}})
		}
		end.Results = append(end.Results, r)
		return end
	}
	r := run("teller", manifest.Narrative)
	r.Story = true
	r.Segments = []sdk.StorySegment{{Kind: "narration", Text: "雨停了。" + st.Execution.ID}}
	propose(&r, sdk.NarrativeAppend{Segments: r.Segments, Kind: "story"})
	end.Results = append(end.Results, r)
	return end
}

// script is a client that plays a session to its second turn and retries what did not commit, the way the page does.
func (s *sim) script() {
	s.request(Command{RequestID: "q1", Type: StartSession})
	s.settleDown()
	open := s.fold().Interactions.Open("maker")
	if len(open) == 1 {
		ref := open[0].InteractionRef
		s.request(Command{RequestID: "q2", Type: SubmitActions, Actions: []projections.Action{{Interaction: &ref, Fields: projections.RawJSON(`{"characterName":"陆青云"}`)}}})
	}
	s.settleDown()
	for i, line := range []string{"我去码头。", "我点亮灯。"} {
		s.request(Command{RequestID: fmt.Sprint("q", i+3), Type: SubmitActions, Actions: []projections.Action{{Kind: "say", Text: line}}})
		s.settleDown()
	}
}

// request sends a command; one that got no final answer, or was refused for a passing reason, is sent again with its id.
func (s *sim) request(cmd Command) {
	for attempt := 0; ; attempt++ {
		if attempt > 20 {
			s.t.Fatalf("request %s is never accepted", cmd.RequestID)
		}
		a := s.send(cmd)
		switch {
		case a.Status == Accepted:
			return
		case a.Refusal != nil && (a.Refusal.Code == "interaction_already_submitted"):
			return // an earlier try was accepted
		case a.Refusal != nil && a.Refusal.Code != "internal" && a.Refusal.Code != "busy":
			s.t.Fatalf("request %s: %v", cmd.RequestID, a.Refusal)
		}
	}
}

// settleDown retries until the newest input is committed and the opening has been told.
func (s *sim) settleDown() {
	for attempt := 0; attempt < 20; attempt++ {
		if s.state.Hot.Session.Open != nil { // left by a dead owner, or by a store that refused its end
			s.feed(Wake{})
			s.run()
			if s.state.Hot.Session.Open != nil {
				s.activate()
				s.run()
				s.feed(Wake{})
				s.run()
			}
			continue
		}
		ss := s.state.Hot.Session
		typ := ""
		switch {
		case ss.Last == nil:
			return
		case ss.Draft != nil && ss.Phase == projections.PhasePlaying:
			typ = RetryTurn
		case ss.Last.End != projections.EndCommitted && ss.Phase == projections.PhaseSetup, ss.Phase == projections.PhasePlaying && s.state.Hot.History.Stories == 0:
			typ = StartSession
		default:
			return
		}
		s.ids++
		s.send(Command{RequestID: fmt.Sprint("retry-", s.ids), Type: typ})
	}
	s.t.Fatal("the last input never commits")
}

// survive runs the script in activations that may die, until it is through.
func (s *sim) survive(script func()) {
	for tries := 0; tries < 50; tries++ {
		done := func() (done bool) {
			defer func() {
				if r := recover(); r != nil {
					if _, ok := r.(died); !ok {
						panic(r)
					}
				}
			}()
			s.activate()
			s.run()
			script()
			return true
		}()
		if done {
			return
		}
	}
	s.t.Fatal("the script is never through")
}

// check holds what must be true of every log, whatever happened.
func (s *sim) check() {
	s.t.Helper()
	st := s.fold()
	live, err := s.state.Hot.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	folded, err := st.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	if !bytes.Equal(live, folded) {
		s.t.Fatalf("folding the log does not give the live state\nlive   %s\nfolded %s", live, folded)
	}
	started, ended, requests := map[string]int{}, map[string]int{}, map[string]int{}
	for _, r := range s.log {
		msg, err := events.Decode(r.Event)
		if err != nil {
			s.t.Fatal(err)
		}
		switch m := msg.(type) {
		case *eventsv1.ActionsSubmitted:
			requests[m.RequestId]++
		case *eventsv1.ExecutionStarted:
			started[m.ExecutionId]++
		case *eventsv1.ExecutionCommitted:
			ended[m.ExecutionId]++
		case *eventsv1.ExecutionFailed:
			ended[m.ExecutionId]++
		case *eventsv1.ExecutionAborted:
			ended[m.ExecutionId]++
		}
	}
	for id, n := range requests {
		if n != 1 {
			s.t.Errorf("request %s stands in the log %d times", id, n)
		}
	}
	for id, n := range started {
		if n != 1 || ended[id] != 1 {
			s.t.Errorf("execution %s: started %d times, ended %d times", id, n, ended[id])
		}
	}
}

// checkPlayed holds what the script must have led to.
func (s *sim) checkPlayed() {
	s.t.Helper()
	s.check()
	st := s.fold()
	var lines []string
	for i := range st.History.Len() {
		if m := st.History.At(i); m.Role == projections.RoleUser {
			lines = append(lines, m.Text)
		}
	}
	if got, want := strings.Join(lines, "|"), "我叫陆青云。|我去码头。|我点亮灯。"; got != want {
		s.t.Errorf("player lines %q, want %q", got, want)
	}
	if st.Session.CompletedPlayerTurns != 2 || st.History.Stories != 3 || st.Session.Open != nil || st.Session.Phase != projections.PhasePlaying {
		s.t.Errorf("%d turns, %d stories, phase %s, open %v", st.Session.CompletedPlayerTurns, st.History.Stories, st.Session.Phase, st.Session.Open)
	}
	if len(st.Characters.List) != 1 || st.Characters.List[0].Name != "陆青云" {
		s.t.Errorf("characters: %+v", st.Characters.List)
	}
}
