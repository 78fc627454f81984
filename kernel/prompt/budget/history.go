package budget

import (
	"slices"
	"unicode/utf8"

	"github.com/covel/covel/kernel/model"
)

// prune leaves out messages of the history, the oldest first and whole exchanges at once. The current turn and the summaries
// stay.
func (w *work) prune() {
	over, n := w.over(), 0
	if w.ledger.pruned == 0 {
		over += gapCost
	}
	for _, m := range w.req.Messages {
		if m.Part != model.HistoryPart {
			continue
		}
		if over <= 0 && m.Role == model.User { // what is left begins with what the player said
			break
		}
		over -= messageSize(m)
		n++
	}
	w.pruneFirst(n)
}

// gapCost is what the mark of a gap may take.
const gapCost = messageCost + 4*32

// pruneFirst leaves out the first n messages of the history that are still there.
func (w *work) pruneFirst(n int) {
	var kept []model.Message
	for i, m := range w.req.Messages {
		if m.Part != model.HistoryPart || n == 0 {
			kept = append(kept, m)
			continue
		}
		if w.ledger.pruned == 0 {
			w.gap = i
			w.size += gapCost
		}
		n--
		w.ledger.pruned++
		w.report.Pruned++
		w.size -= messageSize(m)
	}
	w.req.Messages = kept
}

// markGap says where messages are missing.
func (w *work) markGap() {
	if n := w.ledger.pruned; n > 0 {
		w.req.Messages = slices.Insert(w.req.Messages, w.gap, model.Message{
			Role: model.System, Content: w.mark("[%d earlier messages are left out here]", "[此处省略了 %d 条更早的消息]", n),
		})
	}
}

// Least characters of a summary, or of a result of the newest step, that are kept when it is cut.
const leastKept = 400

// truncate cuts, for this request only, what is too long by itself: the results of the newest tool step first, and the
// summaries as the last resort. Their heads and tails stay.
func (w *work) truncate() {
	for _, cuttable := range []func(model.Message) bool{
		func(m model.Message) bool { return m.Role == model.ToolRole },
		func(m model.Message) bool { return m.Part == model.SummaryPart },
	} {
		for i := 0; i < len(w.req.Messages) && !w.fits(); i++ {
			m := w.req.Messages[i]
			length := utf8.RuneCountInString(m.Content)
			if !cuttable(m) || length <= leastKept {
				continue
			}
			perRune := float64(messageSize(m)-messageCost) / float64(length)
			keep := max(length-int(float64(w.over()+gapCost)/perRune)-1, leastKept)
			if keep >= length {
				continue
			}
			m.Content = w.headAndTail(m.Content, keep*2/3, keep-keep*2/3)
			w.replace(i, i+1, m)
			w.report.Truncated++
		}
	}
}
