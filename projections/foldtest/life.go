// Package foldtest draws random lives of a session, plausible and implausible, for the tests of the folds and of the read
// models: executions that end twice or never, answers to questions nobody asked, path events of executions that were
// dropped, names in every script.
package foldtest

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Epoch is when the first event of a recorded life was written; every append comes a second after the one before.
var Epoch = time.Date(2026, 3, 4, 5, 6, 7, 89_000, time.UTC)

// Append is what one append writes.
type Append []events.Event

// Life draws the appends of one session, at most most of them. The first creates the session.
func Life(t *rapid.T, sessionID string, most int) []Append {
	l := &life{t: t, stream: "session-" + sessionID}
	l.append(l.creation(sessionID)...)
	for range rapid.IntRange(0, most-1).Draw(t, "appends") {
		l.append(l.some()...)
	}
	return l.out
}

// Record gives the events as a store would hold them if nothing else was in it.
func Record(sessionID string, appends []Append) []events.Recorded {
	var out []events.Recorded
	for i, a := range appends {
		for _, ev := range a {
			out = append(out, events.Recorded{
				Event: ev, Stream: "session-" + sessionID, Version: events.Version(len(out) + 1), Position: events.Position(len(out) + 1),
				RecordedAt: Epoch.Add(time.Duration(i) * time.Second),
			})
		}
	}
	return out
}

// life is a session that is being drawn. It knows just enough to be plausible most of the time.
type life struct {
	t        *rapid.T
	stream   string
	version  uint64
	out      []Append
	execs    int
	open     string // execution that was started last
	jobs     int
	asked    []*eventsv1.InteractionRef
	rows     []string // message ids
	gathered []*eventsv1.SubmissionGathered
}

type fact struct {
	causation string
	msg       proto.Message
}

func (l *life) append(facts ...fact) {
	end := l.version + uint64(len(facts))
	var a Append
	for i, f := range facts {
		meta := &eventsv1.Metadata{CausationId: f.causation, LogicalTurn: uint32(l.execs), AppendEnd: end, CorrelationId: "请求"}
		ev, err := events.Encode(events.NewID(l.stream, "foldtest", len(l.out), i), meta, f.msg)
		if err != nil {
			l.t.Fatalf("encode %T: %v", f.msg, err)
		}
		a = append(a, ev)
	}
	l.version = end
	l.out = append(l.out, a)
}

func (l *life) pick(label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(l.t, label)
}

func (l *life) number(label string, most uint32) uint32 {
	return rapid.Uint32Range(0, most).Draw(l.t, label)
}

func (l *life) yes(label string) bool { return rapid.Bool().Draw(l.t, label) }

// Texts as players, authors and models write them.
var texts = []string{
	"", "我去码头。", "龙胆点亮了灯 <b>&amp;</b>", "E\u0301lodie wacht.", "Ольга пришла", "🐉👩‍👩‍👧", "line one\n\nline two \u2028 ' \" \\", "AI ＡＩ",
}

// Values of free JSON, compact and not.
var values = []string{
	``, `null`, `true`, `{"a":1,"名":"陆青云"}`, ` { "b" : [ 1.50, -0, 1e3 ], "html": "<i>&</i>" } `, `"龙胆"`, `[]`, `{"__proto__":{"x":null}}`, `9007199254740993`,
}

func (l *life) text(label string) string { return rapid.SampledFrom(texts).Draw(l.t, label) }
func (l *life) json(label string) []byte { return []byte(rapid.SampledFrom(values).Draw(l.t, label)) }
func (l *life) plugin() string           { return l.pick("plugin", "narrator", "guide", "char-creator") }
func (l *life) runtime() string {
	return l.pick("runtime", "narrator", "guide", "a/b", "a/c", "龙/胆")
}
func (l *life) seatID() string { return l.pick("seat", "seat-1", "seat-2", "座") }
func (l *life) names(label string) []string {
	return rapid.SliceOfN(rapid.SampledFrom(texts), 0, 2).Draw(l.t, label)
}

func (l *life) creation(sessionID string) []fact {
	c := &eventsv1.SessionCreated{
		SessionId: sessionID, Incarnation: "inc-1", WorldId: "low-water", WorldDigest: "d", WorldName: l.text("world"), Locale: "zh-CN",
		Phase:   l.pick("phase", "setup", "playing"),
		Plugins: []*eventsv1.PluginRef{{Id: "narrator", Version: "1.0.0", Digest: "x"}},
		Seats:   []*eventsv1.Seat{{Id: "seat-1", Role: "player", Control: "human", Primary: true}},
	}
	for range l.number("setups", 3) {
		c.SetupRuntimes = append(c.SetupRuntimes, l.setup())
	}
	facts := []fact{{"", c}}
	for range l.number("people", 2) {
		facts = append(facts, fact{"", &eventsv1.CharacterUpserted{Record: l.character()}})
	}
	return append(facts, fact{"", l.lore()})
}

// some draws the facts of one append.
func (l *life) some() []fact {
	switch l.pick("append", "accept", "accept", "end", "end", "end", "open", "staged", "status", "table", "noise", "job", "job") {
	case "accept":
		sub := l.submission()
		return []fact{{sub.ExecutionId, sub}, {sub.ExecutionId, l.start(sub.ExecutionId)}}
	case "end":
		id := l.execution()
		var facts []fact
		if l.yes("with writes") {
			facts = l.writes(id)
		}
		return append(facts, fact{id, l.end(id)})
	case "open":
		id := l.fresh()
		return []fact{{id, l.start(id)}}
	case "staged":
		return l.writes(l.execution())
	case "job":
		return l.job()
	case "status":
		return []fact{{"", []proto.Message{&eventsv1.SessionPaused{}, &eventsv1.SessionResumed{}, &eventsv1.SessionEnded{Reason: "owner"}}[l.number("status", 2)]}}
	case "table":
		return []fact{{"", l.table()}}
	}
	// Path events that count at once, as the world's own do. Rows of the conversation only ever come from executions.
	return []fact{{"", l.worldEvent()}}
}

func (l *life) fresh() string {
	l.execs++
	l.open = fmt.Sprintf("exec-%d", l.execs)
	return l.open
}

// execution is the open one most of the time, else any, also one that never was.
func (l *life) execution() string {
	if l.open != "" && !rapid.SampledFrom([]bool{false, false, false, true}).Draw(l.t, "another execution") {
		return l.open
	}
	return fmt.Sprintf("exec-%d", l.number("execution", uint32(l.execs+1)))
}

func (l *life) submission() *eventsv1.ActionsSubmitted {
	m := &eventsv1.ActionsSubmitted{
		RequestId: fmt.Sprintf("请求-%d", l.number("request", 20)), BodyHash: []byte{1, 2, byte(l.execs)},
		Type: "submit_actions", SeatId: l.seatID(), Rendered: l.text("rendered"), ExecutionId: l.fresh(),
	}
	m.InputMessageId = "m-" + m.ExecutionId
	if n := len(l.gathered); n > 0 && l.yes("begins with what waits") {
		m.RequestId, m.SeatId = l.gathered[n-1].RequestId, l.gathered[n-1].SeatId
	}
	for range l.number("gathered", 1) {
		m.Gathered = append(m.Gathered, &eventsv1.GatheredRequest{RequestId: "同席", BodyHash: []byte{3}, SeatId: "座"})
	}
	if l.number("by name", 5) == 0 {
		m.Type, m.Rendered = "run_runtimes", ""
		return m
	}
	if l.yes("retry") {
		m.Type, m.Rendered = l.pick("type", "retry_turn", "start_session"), ""
		return m
	}
	for range 1 + l.number("actions", 1) {
		a := &eventsv1.Action{Kind: "say", SeatId: m.SeatId, CharacterId: "pc", Source: "player", Text: l.text("line")}
		if l.yes("answers") {
			a.Fields = l.json("fields")
			if n := len(l.asked); n > 0 && l.yes("known question") {
				a.Interaction = l.asked[rapid.IntRange(0, n-1).Draw(l.t, "question")]
			} else {
				a.Interaction = &eventsv1.InteractionRef{TurnId: "exec-1", InteractionId: "nobody-asked", Type: "form"}
			}
		}
		m.Actions = append(m.Actions, a)
	}
	return m
}

func (l *life) start(id string) *eventsv1.ExecutionStarted {
	return &eventsv1.ExecutionStarted{
		ExecutionId: id, Origin: l.pick("origin", "player", "continuation"), LogicalTurn: uint32(l.execs), LogicalTurnId: id,
		RequestId: "请求", Node: "n", Activation: "a", Phase: l.pick("phase", "setup", "playing"),
		SourceTurnId: l.pick("source", "", "", fmt.Sprintf("exec-%d", max(l.execs-1, 1))),
	}
}

func (l *life) end(id string) proto.Message {
	if id == l.open {
		l.open = ""
	}
	var attempts []*eventsv1.SetupAttempt
	for range l.number("attempts", 2) {
		attempts = append(attempts, &eventsv1.SetupAttempt{
			RuntimeId: l.runtime(), Attempts: l.number("attempt", 3), LastError: l.text("error"), Blocked: l.yes("blocked"), Reason: "attempts-used-up",
		})
	}
	switch l.pick("end", "commit", "commit", "commit", "fail", "abort") {
	case "commit":
		m := &eventsv1.ExecutionCommitted{ExecutionId: id, Next: l.pick("next", "", "opening")}
		for range l.number("operations", 2) {
			m.Operations = append(m.Operations, &eventsv1.OperationOutcome{
				Id: "op", Service: "inventory.change@1", Summary: l.text("summary"), Status: l.pick("status", "applied", "failed"), Reason: "out-of-bounds",
				InvokedBy: &eventsv1.InvokedBy{RuntimeId: l.runtime()},
			})
		}
		return m
	case "fail":
		return &eventsv1.ExecutionFailed{ExecutionId: id, Reason: "story-failed", Error: l.text("error"), SetupAttempts: attempts, Draft: l.draft()}
	}
	return &eventsv1.ExecutionAborted{ExecutionId: id, Reason: "aborted-by-player", SetupAttempts: attempts, Draft: l.draft()}
}

func (l *life) draft() []byte {
	return []byte(l.pick("draft", "", `{"text":"雨停了 <b>"}`, `{"text":`, `[]`))
}

// writes draws the path events of an execution.
func (l *life) writes(id string) []fact {
	var facts []fact
	for range 1 + l.number("writes", 4) {
		facts = append(facts, fact{id, l.write(id)})
	}
	return facts
}

func (l *life) write(id string) proto.Message {
	kind := l.pick("write", "story", "message", "question", "block", "event", "results", "interjection", "summaries", "clock", "world", "world")
	row := "m-" + id + "/" + l.runtime()
	if n := len(l.rows); n > 0 && l.yes("row of this run") {
		row = l.rows[n-1]
	}
	switch kind {
	case "story":
		l.rows = append(l.rows, row)
		m := &eventsv1.NarrativeAppended{MessageId: row, RuntimeId: "narrator", PluginId: "narrator", Kind: "story", Text: l.text("story"), Truncated: l.yes("truncated")}
		for range l.number("segments", 2) {
			m.Segments = append(m.Segments, &eventsv1.Segment{Kind: "dialogue", Text: l.text("segment"), Speaker: l.text("speaker"), CharacterId: "pc"})
		}
		m.Presence = l.names("presence")
		return m
	case "message":
		l.rows = append(l.rows, row)
		return &eventsv1.MessageAppended{MessageId: row, RuntimeId: l.runtime(), PluginId: l.plugin(), Role: "assistant", Text: l.text("message")}
	case "question":
		m := &eventsv1.InteractionRequested{
			TurnId: id, InteractionId: l.pick("interaction", "char-creation", "选择", "confirm"), Type: l.pick("type", "form", "choice"), MessageId: row,
			RuntimeId: l.runtime(), PluginId: l.plugin(), Block: l.json("block"),
		}
		l.asked = append(l.asked, &eventsv1.InteractionRef{TurnId: m.TurnId, InteractionId: m.InteractionId, Type: m.Type})
		return m
	case "block":
		return &eventsv1.UIRendered{MessageId: row, RuntimeId: l.runtime(), PluginId: l.plugin(), Render: l.json("render")}
	case "summaries":
		m := &eventsv1.HistoryCompacted{PluginId: l.plugin(), ThroughMessageId: l.pick("through", append([]string{"", "m-gone"}, l.rows...)...)}
		for range l.number("summaries", 2) {
			m.Summaries = append(m.Summaries, &eventsv1.HistorySummary{Id: l.pick("summary", "s1", "s2"), Content: l.text("summary text"), FocusSections: l.names("focus"), Truncated: l.yes("cut")})
		}
		return m
	case "event":
		return &eventsv1.DomainEventEmitted{Topic: "scene.set", Data: l.json("data"), RuntimeId: l.runtime(), PluginId: l.plugin()}
	case "results":
		m := &eventsv1.ExecutionResults{ExecutionId: id}
		for range l.number("results", 2) {
			m.Results = append(m.Results, &eventsv1.RunResult{
				RuntimeId: l.runtime(), PluginId: l.plugin(), Status: l.pick("status", "success", "failed", "skipped"), Output: l.json("output"),
			})
		}
		return m
	case "interjection":
		m := &eventsv1.InterjectionMerged{MessageId: row, Text: l.text("interjection"), SeatId: l.seatID()}
		if l.yes("from another seat") {
			m.Rendered = "[龙胆 · 说] " + m.Text
			m.Request = &eventsv1.Request{RequestId: row, SeatId: m.SeatId, BodyHash: []byte{1}}
		}
		return m
	case "clock":
		return l.clock(id)
	}
	return l.worldEvent()
}

// table draws what the owner does at the table.
func (l *life) table() proto.Message {
	switch l.number("at the table", 5) {
	case 4:
		return &eventsv1.PluginSelectionChanged{
			Selection: &eventsv1.PluginSelection{Requested: l.names("requested"), Excluded: l.names("excluded")},
			Plugins:   []*eventsv1.PluginRef{{Id: "memory", Version: "1.0.0"}},
		}
	case 0:
		return &eventsv1.SeatRemoved{SeatId: l.seatID()}
	case 1:
		m := &eventsv1.SubmissionGathered{
			RequestId: fmt.Sprintf("等-%d", l.number("request", 5)), BodyHash: []byte{4}, SeatId: l.seatID(),
			Actions: []*eventsv1.Action{{Kind: "say", Text: l.text("waiting line")}},
		}
		l.gathered = append(l.gathered, m)
		return m
	case 2:
		return &eventsv1.SubmissionWithdrawn{SeatId: l.seatID(), RequestId: fmt.Sprintf("等-%d", l.number("request", 5)), Reason: "withdrawn"}
	case 3:
		return &eventsv1.GatheringClosed{}
	}
	if l.yes("seat keys") {
		return &eventsv1.SeatKeysChanged{SeatId: l.seatID(), InviteHash: []byte(l.pick("invite", "", "\x01")), TokenHash: []byte(l.pick("token", "", "\x02"))}
	}
	return &eventsv1.SettingsChanged{Settings: &eventsv1.Settings{Gathering: l.pick("gathering", "", "off", "on"), AdvanceLimit: l.number("rounds", 12)}}
}

func (l *life) clock(id string) proto.Message {
	switch l.pick("clock", "phase", "setup", "turn", "ledger", "seat") {
	case "phase":
		return &eventsv1.PhaseAdvanced{Phase: "playing"}
	case "setup":
		return &eventsv1.SetupRuntimeChanged{Setup: l.setup()}
	case "turn":
		return &eventsv1.PlayerTurnCounted{LogicalTurnId: id, CompletedPlayerTurns: l.number("turns", 9)}
	case "seat":
		return &eventsv1.SeatChanged{Seat: &eventsv1.Seat{
			Id: l.seatID(), Name: l.text("seat name"), Role: "player", Control: l.pick("control", "human", "open"),
			CharacterIds: l.names("characters"), CurrentCharacterId: "pc", Primary: l.yes("primary"),
		}}
	}
	m := &eventsv1.TriggerLedgerUpdated{}
	for range l.number("entries", 3) {
		m.Entries = append(m.Entries, &eventsv1.TriggerLedgerEntry{RuntimeId: l.runtime(), Runs: l.number("runs", 9), LastCompletedTurns: l.number("last", 9)})
	}
	return m
}

func (l *life) worldEvent() proto.Message {
	switch l.pick("world", "schema", "character", "character", "lore", "written", "export", "data", "data", "dimensions", "values", "asset") {
	case "schema":
		return &eventsv1.CharacterSchemaSet{Version: l.number("schema", 4), Types: l.names("types"), Attributes: l.json("attributes")}
	case "character":
		return &eventsv1.CharacterUpserted{Record: l.character()}
	case "lore":
		return l.lore()
	case "written":
		return &eventsv1.LoreEdited{Entry: l.loreEntry(), Request: &eventsv1.Request{RequestId: l.text("request"), SeatId: l.seatID()}}
	case "export":
		return &eventsv1.OutputExported{
			PluginId: l.plugin(), RuntimeId: l.runtime(), Name: l.pick("export", "facts", "事实"), Value: l.json("value"), Revision: uint64(l.number("revision", 5)), RunId: "run", Contract: "k@1",
		}
	case "dimensions":
		m := &eventsv1.DimensionsInitialized{PluginId: l.plugin()}
		for range l.number("dimensions", 2) {
			m.Dimensions = append(m.Dimensions, l.dimension())
		}
		return m
	case "values":
		return l.values()
	case "asset":
		return &eventsv1.AssetGenerated{
			Ref: &eventsv1.MediaRef{Id: l.pick("asset", "a1", "b2", "00"), Mime: "image/png", Size: int64(l.number("size", 99))}, Modality: "image",
			Meta: l.json("meta"), RuntimeId: l.runtime(), PluginId: l.plugin(),
		}
	}
	m := &eventsv1.PluginDataChanged{PluginId: l.plugin()}
	for range l.number("changes", 3) {
		m.Changes = append(m.Changes, &eventsv1.PluginDataChange{
			Namespace: l.pick("namespace", "notes", "_hidden.plan", "笔记"), Key: l.pick("key", "a", "ab", "龙胆", "🐉"), Removed: l.yes("removed"),
			Value: l.json("value"), Revision: uint64(l.number("revision", 5)),
		})
	}
	return m
}

func (l *life) dimension() *eventsv1.Dimension {
	return &eventsv1.Dimension{
		Id: l.pick("dimension", "tide", "mood", "派系"), Value: l.json("value"), Version: l.number("version", 5),
		Definition: &eventsv1.DimensionDefinition{Name: l.text("name"), Schema: l.json("schema"), InitialValue: l.json("initial"), UpdateRule: l.text("rule")},
	}
}

func (l *life) values() *eventsv1.DimensionsUpdated {
	m := &eventsv1.DimensionsUpdated{PluginId: l.plugin()}
	for range l.number("values", 2) {
		m.Values = append(m.Values, &eventsv1.DimensionValue{Id: l.pick("dimension", "tide", "mood", "派系"), Value: l.json("value"), Version: l.number("version", 9)})
	}
	if l.yes("receipt") {
		m.Receipt = &eventsv1.DimensionReceipt{
			Source: &eventsv1.DimensionSource{ResultId: fmt.Sprint("run-", l.number("result", 40)), TurnNumber: l.number("turn", 40)},
			Status: l.pick("status", "pending-settlement", "settled", "manual"), SourceTurnId: "e1", Version: l.number("version", 3),
			Definitions: []*eventsv1.Dimension{l.dimension()},
		}
		if l.yes("read") {
			m.Receipt.ReadVersions = []*eventsv1.DimensionVersion{{Id: "tide", Version: 1}, {Id: "mood", Version: 2}}
		}
	}
	return m
}

func (l *life) setup() *eventsv1.SetupRuntime {
	return &eventsv1.SetupRuntime{
		RuntimeId: l.runtime(), Status: l.pick("status", "pending", "done", "blocked"), Generation: 1, Attempts: l.number("attempts", 2),
		MaxAttempts: 3, LastError: l.text("error"), Resolution: "completed", Reason: "", PluginVersion: "1.0.0",
	}
}

func (l *life) character() *eventsv1.Character {
	return &eventsv1.Character{
		Id: l.pick("character", "pc", "npc-龙胆", "npc-2"), Name: l.text("name"), Aliases: l.names("aliases"), Type: l.pick("type", "player", "npc"),
		Description: l.text("description"), Fields: l.json("fields"), Version: l.number("version", 5),
	}
}

func (l *life) lore() *eventsv1.LorebookUpserted {
	m := &eventsv1.LorebookUpserted{}
	if kind, plugin, owned := strings.Cut(l.pick("owner", "plugin guide", "world ", "plugin narrator", "player ", ""), " "); owned {
		m.Owner = &eventsv1.LorebookOwner{Kind: kind, PluginId: plugin}
	}
	for range l.number("entries", 3) {
		m.Entries = append(m.Entries, l.loreEntry())
	}
	return m
}

func (l *life) loreEntry() *eventsv1.LorebookEntry {
	return &eventsv1.LorebookEntry{
		Id: l.pick("entry", "tide", "潮", "lamp"), Keys: l.names("keys"), Content: l.text("content"), Strategy: "selective",
		InsertionOrder: int32(l.number("order", 100)), Enabled: l.yes("enabled"), Extra: l.json("extra"),
	}
}
