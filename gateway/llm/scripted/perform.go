package scripted

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/covel/covel/gateway/llm/border"
	"github.com/covel/covel/gateway/llm/failure"
	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/text"
)

// performance is one reply being played.
type performance struct {
	ctx   context.Context
	model *Model
	req   model.Request
	reply Reply
	emit  func(model.Delta)

	said     strings.Builder
	calls    []model.ToolCall
	deltas   int
	segments int
}

func (p *performance) play() (model.Reply, error) {
	for _, s := range p.reply.Steps {
		if err := p.do(s); err != nil {
			out := p.result()
			out.FinishReason, out.ToolCalls = model.FinishError, nil
			return out, err
		}
	}
	if p.segments > 0 {
		if err := p.write("]}"); err != nil {
			return p.result(), err
		}
	}
	if p.said.Len() == 0 && len(p.calls) == 0 && p.reply.Finish == "" {
		return p.result(), &model.Error{Kind: model.Empty, Message: "the script's reply has nothing in it"}
	}
	return p.result(), nil
}

func (p *performance) do(s Step) error {
	switch s := s.(type) {
	case Text:
		return p.write(text.Clean(string(s)))
	case Segment:
		return p.segment(s)
	case Reasoning:
		return p.pieces(text.Clean(string(s)), func(piece string) model.Delta { return model.Delta{Reasoning: piece} })
	case Tool:
		p.calls = append(p.calls, p.call(s))
	case Delay:
		return p.sleep(time.Duration(s))
	case Hold:
		return p.model.Gate(string(s)).wait(p.ctx)
	case Stall:
		<-p.ctx.Done()
		return failure.Ended(p.ctx)
	case Fault:
		failed := model.Error(s)
		return &failed
	}
	return nil
}

func (p *performance) segment(s Segment) error {
	lead := `{"segments":[`
	if p.segments > 0 {
		lead = ","
	}
	p.segments++
	member, err := plainjson.Marshal(Segment{Kind: text.Clean(s.Kind), Speaker: text.Clean(s.Speaker), Text: text.Clean(s.Text)})
	if err != nil {
		return &model.Error{Kind: model.Permanent, Message: err.Error(), Err: err}
	}
	return p.write(lead + string(member))
}

func (p *performance) call(t Tool) model.ToolCall {
	if t.ID == "" {
		n := len(p.calls) + 1
		for _, m := range p.req.Messages {
			n += len(m.ToolCalls)
		}
		t.ID = "call-" + strconv.Itoa(n)
	}
	t.Arguments = border.CleanJSON(t.Arguments)
	return model.ToolCall(t)
}

func (p *performance) write(clean string) error {
	return p.pieces(clean, func(piece string) model.Delta {
		p.said.WriteString(piece)
		return model.Delta{Text: piece}
	})
}

// pieces gives text out in deltas, minding pace and cut.
func (p *performance) pieces(clean string, delta func(string) model.Delta) error {
	for clean != "" {
		if p.reply.Cut > 0 && p.deltas >= p.reply.Cut {
			return &model.Error{Kind: model.Interrupted, Message: "the stream was cut after " + strconv.Itoa(p.deltas) + " deltas"}
		}
		if err := p.sleep(p.reply.Pace); err != nil {
			return err
		}
		size := pieceSize(clean, p.reply.Chunk)
		p.emit(delta(clean[:size]))
		p.deltas++
		clean = clean[size:]
	}
	return nil
}

func (p *performance) sleep(d time.Duration) error {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-p.ctx.Done():
		}
	}
	if p.ctx.Err() != nil {
		return failure.Ended(p.ctx)
	}
	return nil
}

// pieceSize is the length in bytes of the first n characters of s, and of what cannot be taken off them: accents,
// variation and skin marks, and whatever a joiner joins.
func pieceSize(s string, n int) int {
	if n <= 0 {
		return len(s)
	}
	const joiner = '\u200d'
	joined := false
	for i, r := range s {
		belongs := joined || r == joiner || unicode.Is(unicode.M, r) || 0x1F3FB <= r && r <= 0x1F3FF
		if n <= 0 && !belongs {
			return i
		}
		if !belongs {
			n--
		}
		joined = r == joiner
	}
	return len(s)
}

func (p *performance) result() model.Reply {
	out := model.Reply{Text: p.said.String(), ToolCalls: p.calls, FinishReason: p.reply.Finish, Model: Name}
	if out.FinishReason == "" {
		out.FinishReason = model.FinishStop
		if len(p.calls) > 0 {
			out.FinishReason = model.FinishToolCalls
		}
	}
	if p.reply.Usage != nil {
		out.Usage = *p.reply.Usage
		return out
	}
	for _, m := range p.req.Messages {
		out.Usage.InputTokens += len(m.Content) / 4
	}
	out.Usage.OutputTokens = len(out.Text) / 4
	for _, c := range p.calls {
		out.Usage.OutputTokens += len(c.Arguments) / 4
	}
	return out
}
