package budget

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/covel/covel/kernel/model"
)

// What stays of a tool's result that is cut, and of its parts in a digest, in characters.
const (
	elideOver   = 1200 // a shorter result is not worth a cut
	elideHead   = 500
	elideTail   = 300
	digestArgs  = 160
	digestReply = 240
)

// step is a tool step of the conversation: the message with the calls and their results. Complete: every call has its result.
type step struct {
	id       string // of its first call
	from, to int
	complete bool
}

func (w *work) steps() []step {
	var out []step
	for i := 0; i < len(w.req.Messages); i++ {
		m := w.req.Messages[i]
		if len(m.ToolCalls) == 0 {
			continue
		}
		s := step{id: m.ToolCalls[0].ID, from: i, to: i + 1}
		answered := map[string]bool{}
		for s.to < len(w.req.Messages) && w.req.Messages[s.to].Role == model.ToolRole {
			answered[w.req.Messages[s.to].ToolCallID] = true
			s.to++
		}
		s.complete = true
		for _, c := range m.ToolCalls {
			s.complete = s.complete && answered[c.ID]
		}
		out = append(out, s)
		i = s.to - 1
	}
	return out
}

// older are the steps that may be made shorter: all but the newest, unless that one may be too.
func (w *work) older() []step {
	all := w.steps()
	if n := len(all); n > 0 && !w.o.Newest {
		return all[:n-1]
	}
	return all
}

// elide cuts the long results of older steps, the oldest first.
func (w *work) elide() {
	for _, s := range w.older() {
		for i := s.from; i < s.to && !w.fits(); i++ {
			if m := w.req.Messages[i]; m.Role == model.ToolRole && !w.ledger.elided[m.ToolCallID] && w.elideAt(i) {
				w.ledger.elided = with(w.ledger.elided, m.ToolCallID)
			}
		}
	}
}

func (w *work) elideAt(i int) bool {
	m := w.req.Messages[i]
	if m.Role != model.ToolRole || utf8.RuneCountInString(m.Content) <= elideOver {
		return false
	}
	m.Content = w.headAndTail(m.Content, elideHead, elideTail)
	w.replace(i, i+1, m)
	w.report.Elided++
	return true
}

// headAndTail keeps the first and the last characters of a text and says in between how many are missing.
func (w *work) headAndTail(s string, head, tail int) string {
	r := []rune(s)
	if len(r) <= head+tail {
		return s
	}
	return string(r[:head]) + "\n" + w.mark("[… %d characters left out here …]", "[……此处省略 %d 个字符……]", len(r)-head-tail) + "\n" + string(r[len(r)-tail:])
}

// collapse turns older complete steps into digests, the oldest first. Calls and their results go together.
func (w *work) collapse() {
	for i := 0; !w.fits(); i++ {
		older := w.older()
		if i >= len(older) {
			return
		}
		if s := older[i]; s.complete {
			w.collapseStep(s)
			w.ledger.collapsed = with(w.ledger.collapsed, s.id)
			i-- // it is no step any more
		}
	}
}

func (w *work) collapseStep(s step) {
	w.replace(s.from, s.to, model.Message{Role: model.User, Content: w.digest(w.req.Messages[s.from:s.to])})
	w.report.Collapsed++
}

// digest tells a tool step in a few lines. It stands in the user's name: a result may hold foreign text and gets no authority.
func (w *work) digest(messages []model.Message) string {
	results := map[string]string{}
	for _, m := range messages[1:] {
		results[m.ToolCallID] = m.Content
	}
	calls := messages[0].ToolCalls
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", w.mark("[Earlier tool calls in this task, shortened: %d]", "[本任务中先前的工具调用（已缩略）：%d]", len(calls)))
	for _, c := range calls {
		fmt.Fprintf(&b, "- %s(%s) → %s\n", c.Name, shorten(c.Arguments, digestArgs), shorten(results[c.ID], digestReply))
	}
	return strings.TrimRight(b.String(), "\n")
}

func shorten(s string, limit int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}

func with(m map[string]bool, key string) map[string]bool {
	if m == nil {
		m = map[string]bool{}
	}
	m[key] = true
	return m
}
