package turnscript

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/kernel/loop"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/projections"
)

// sights are the parts of the state that a script can write into its transcript.
var sights map[string]func(st *stage, rest string)

func init() {
	sights = map[string]func(*stage, string){
		"request":     func(st *stage, rest string) { showRequest(st, rest, false) },
		"prompt":      func(st *stage, rest string) { showRequest(st, rest, true) },
		"kept":        showKept,
		"requests":    func(st *stage, rest string) { st.story.note("%s asked %d times", rest, len(st.cast.asked(rest))) },
		"session":     showSession,
		"story":       showStory,
		"tree":        showTree,
		"data":        showData,
		"jobs":        showJobs,
		"suspensions": showSuspensions,
		"trace":       showTrace,
		"questions":   showQuestions,
		"paused":      showPaused,
		"plugins":     showPlugins,
	}
}

func show(st *stage, l line) {
	what, rest, _ := strings.Cut(l.rest, " ")
	sight, ok := sights[what]
	if !ok {
		st.fail("there is no %q to show; there is %s", what, strings.Join(sortedKeys(sights), ", "))
	}
	sight(st, rest)
}

// longest is how much of a text stands in a transcript; of more its two ends do.
const longest = 160

func oneLine(s string) string {
	s = strings.ReplaceAll(s, "\n", " / ")
	if r := []rune(s); len(r) > longest {
		s = fmt.Sprintf("%s …(%d)… %s", string(r[:longest/3]), len(r), string(r[len(r)-longest/8:]))
	}
	return s
}

func (c *cast) asked(runtime string) []model.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests[runtime]
}

// showRequest: the newest request of a runtime, with its system messages or without.
func showRequest(st *stage, rest string, whole bool) {
	all := st.cast.asked(rest)
	if len(all) == 0 {
		st.story.note("%s asked nothing", rest)
		return
	}
	st.noteMessages("", all[len(all)-1].Messages, whole)
}

// noteMessages writes messages down, those of the system whole or not at all.
func (st *stage) noteMessages(where string, messages []model.Message, whole bool) {
	for _, m := range messages {
		if m.Role == model.System && !whole {
			continue
		}
		text := oneLine(m.Content)
		if m.Role == model.System {
			text = strings.ReplaceAll(m.Content, "\n", " / ")
		}
		for _, call := range m.ToolCalls {
			text = strings.TrimSpace(text + " calls " + call.Name + " " + call.Arguments)
		}
		st.story.note("%s%s: %s", where, m.Role, text)
	}
}

// showKept: what stands elsewhere of what a runtime's newest request told: its entry in the trace, the entries of the tools
// it has called in the session, and the conversation of its suspended run.
func showKept(st *stage, rest string) {
	var request struct{ Messages []model.Message }
	var tools []trace.ToolEnd
	for _, e := range st.traceEntries() {
		switch {
		case e.RuntimeID != rest:
		case e.Type == trace.LLMCalling:
			request.Messages = nil
			st.must(json.Unmarshal(e.Payload, &request))
		case e.Type == trace.ToolCompleted:
			tools = append(tools, trace.ToolEnd{})
			st.must(json.Unmarshal(e.Payload, &tools[len(tools)-1]))
		}
	}
	st.noteMessages("traced request, ", request.Messages, false)
	for _, t := range tools {
		st.story.note("traced tool %s: %s", t.ToolName, oneLine(t.Result))
	}
	for _, x := range st.state().Suspensions.Waiting {
		if x.RuntimeID != rest {
			continue
		}
		kept, err := turn.DecodeContinuation(x.Continuation)
		st.must(err)
		saved, err := loop.Decode(kept.Loop)
		st.must(err)
		st.noteMessages("saved run, ", saved.Messages, false)
	}
}

func showSession(st *stage, _ string) {
	s := st.state().Session
	st.story.note("%s, %s, %d player turns counted", s.Status, s.Phase, s.CompletedPlayerTurns)
	for _, su := range s.Setup {
		st.story.note("setup %s: %s, attempt %d %s %s", su.RuntimeID, su.Status, su.Attempts, su.Reason, su.LastError)
	}
	if s.Draft != nil {
		st.story.note("draft: %s", s.Draft.Rendered)
	}
}

func showStory(st *stage, _ string) {
	for _, m := range st.state().History.Tail(1000) {
		from := ""
		if m.SourceTurnID != "" && m.SourceTurnID != m.TurnID {
			from = " (to the page of " + m.SourceTurnID + ")"
		}
		st.story.note("%s: %s%s", m.Role, oneLine(m.Shown()), from)
	}
}

func showTree(st *stage, _ string) {
	tree := st.state().Tree
	for _, x := range tree.Turns {
		mark := ""
		if slices.ContainsFunc(tree.OnPath(), func(y projections.Take) bool { return y.TurnID == x.TurnID }) {
			mark = " on the path"
		}
		st.story.note("turn %s, one of %d takes, after %s%s %s", x.TurnID, len(tree.Takes(x.TurnID)), orNothing(x.Before), mark, x.Name)
	}
}

// showData: "show data PLUGIN NAMESPACE".
func showData(st *stage, rest string) {
	plugin, ns, _ := strings.Cut(rest, " ")
	records := st.state().PluginData.List(plugin, ns)
	for _, r := range records {
		st.story.note("%s %s/%s = %s (revision %d)", plugin, r.Namespace, r.Key, r.Value, r.Revision)
	}
	if len(records) == 0 {
		st.story.note("%s has nothing in %s", plugin, ns)
	}
}

// showPaused: the plugins that do not run after repeated errors.
func showPaused(st *stage, _ string) {
	v, err := st.node().View(context.Background(), sessionID)
	st.must(err)
	st.story.note("paused: %s", orNothing(strings.Join(v.PausedPlugins, " ")))
}

// showPlugins: those that take part, and what was chosen.
func showPlugins(st *stage, _ string) {
	s := st.state().Session
	var in []string
	for _, p := range s.Plugins {
		in = append(in, p.ID)
	}
	st.story.note("plugins: %s; requested: %s; excluded: %s", orNothing(strings.Join(in, " ")), orNothing(strings.Join(s.Selection.Requested, " ")), orNothing(strings.Join(s.Selection.Excluded, " ")))
}

func showQuestions(st *stage, _ string) {
	open := st.state().Interactions.Open("")
	for _, q := range open {
		st.story.note("%s of %s is open", q.InteractionID, q.TurnID)
	}
	if len(open) == 0 {
		st.story.note("no question is open")
	}
}

// showJobs: all of them, or those of a runtime.
func showJobs(st *stage, rest string) {
	v, err := st.node().View(context.Background(), sessionID)
	st.must(err)
	none := true
	for _, j := range v.State.Jobs {
		if rest != "" && j.RuntimeID != rest {
			continue
		}
		none = false
		status := j.Status
		if phase := v.JobPhases[j.ID]; phase != "" && j.Open() {
			status = phase
		}
		text := fmt.Sprintf("job %s of %s: %s", j.ID, j.RuntimeID, status)
		if j.Reason != "" {
			text += " (" + j.Reason + ")"
		}
		st.story.note("%s, %s of turn %d, attempt %d", text, j.Activation, j.LogicalTurn, j.Attempt)
	}
	if none {
		st.story.note("there are no jobs")
	}
}

func showSuspensions(st *stage, _ string) {
	s := st.state().Suspensions
	for _, x := range s.Waiting {
		text := fmt.Sprintf("%s waits: %s, turn %d, saved version %s", x.RuntimeID, x.Reason, x.LogicalTurn, orNothing(x.PluginVersion))
		if !x.ExpiresAt.IsZero() {
			text += ", expires in " + time.Until(x.ExpiresAt).Round(time.Hour).String()
		}
		if x.Claim != nil {
			text += ", claimed with " + string(x.Claim.Answer)
		}
		for _, n := range x.Noted {
			text += fmt.Sprintf(", noted %s %s", n.Kind, oneLine(strings.ReplaceAll(n.Key, "\x00", " ")))
		}
		st.story.note("%s", text)
	}
	for _, h := range s.Held {
		text := fmt.Sprintf("turn %s is held", h.LogicalTurnID)
		if h.Counts {
			text += ", counts at its end"
		}
		for _, e := range h.Events {
			text += ", then " + e.Type
		}
		st.story.note("%s", text)
	}
	for _, x := range s.Closed {
		text := fmt.Sprintf("%s asked once: %s", x.RuntimeID, x.End)
		if x.Reason != "" {
			text += " (" + x.Reason + ")"
		}
		st.story.note("%s", text)
	}
	if len(s.Waiting)+len(s.Held)+len(s.Closed) == 0 {
		st.story.note("nothing was ever suspended")
	}
}

// told are the members of a trace payload that a transcript shows, in this order.
var told = []string{"step", "toolName", "hookName", "event", "topic", "hazardRuntimeId", "calledRuntimeId", "depth", "message", "jobs", "status", "success", "skipped", "stopReason", "finalizer", "skipReason", "committed", "reason", "attempt", "consecutiveFailures", "messagesCompacted", "summariesMerged", "handler", "outcome", "method", "level", "partId", "prunedMessageCount", "elidedResultCount", "collapsedStepCount", "truncatedMessageCount", "finishReason", "waitMs", "kind", "errorKind", "code", "error", "types", "tools"}

// traceEntries are all of the session, oldest first.
func (st *stage) traceEntries() []trace.Entry {
	for _, name := range sortedKeys(st.nodes) {
		st.must(st.nodes[name].trace.Flush(context.Background()))
	}
	all, err := st.traces.Read(context.Background(), trace.Query{SessionID: sessionID})
	st.must(err)
	return all
}

// showTrace: the entries since the last time, all or those whose type begins with one of the words.
func showTrace(st *stage, rest string) {
	for _, e := range st.traceEntries() {
		if e.Seq <= st.traced {
			continue
		}
		st.traced = e.Seq
		wanted := rest == "" || slices.ContainsFunc(strings.Fields(rest), func(w string) bool { return strings.HasPrefix(string(e.Type), w) })
		if !wanted {
			continue
		}
		text := strings.TrimSpace("trace " + string(e.Type) + " " + e.RuntimeID)
		if e.ParentCallID != "" {
			text += " for " + e.ParentCallID
		}
		if e.Concealed {
			text += " concealed"
		}
		var payload map[string]json.RawMessage
		_ = json.Unmarshal(e.Payload, &payload)
		for _, name := range told {
			if v, ok := payload[name]; ok {
				text += " " + name + "=" + strings.Trim(oneLine(string(v)), `"`)
			}
		}
		st.story.note("%s", text)
	}
}
