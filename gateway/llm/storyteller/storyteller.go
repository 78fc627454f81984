package storyteller

import (
	"context"
	"time"

	"github.com/covel/covel/kernel/model"
)

// Name is what the storyteller calls itself in replies.
const Name = "storyteller"

// Options change how a storyteller answers, never what it says.
type Options struct {
	// Pace is how long it waits before each piece of text that it streams. Zero does not wait at all. Requests that do
	// not ask for streaming are answered without waiting.
	Pace time.Duration
}

// Storyteller is the offline model. One value serves any number of calls at once; what it keeps between them is worlds
// that it has read, to be faster, and never what was said.
type Storyteller struct {
	pace  time.Duration
	shelf *shelf
}

var _ model.Provider = (*Storyteller)(nil)

// New makes a storyteller.
func New(o Options) *Storyteller { return &Storyteller{pace: max(0, o.Pace), shelf: newShelf()} }

// Generate answers a request: a tool call where one is demanded, a JSON value where a response format asks for one, a summary
// where one is asked for, a passage of story otherwise. The same request always gets the same reply. The only failure is a *model.Error of kind
// Cancelled when ctx ends first.
func (s *Storyteller) Generate(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	if err := ctx.Err(); err != nil {
		return model.Reply{}, cancelled(err)
	}
	reply := model.Reply{Model: Name, FinishReason: model.FinishStop}
	if task, ok := summaryOf(req); ok {
		reply.Text = summarise(task)
		return s.said(ctx, req, reply, onDelta)
	}
	b := read(req)
	seed := seedOf(req)
	if call, ok := callFor(b, req, seed); ok {
		reply.ToolCalls = []model.ToolCall{call}
		reply.FinishReason = model.FinishToolCalls
		reply.Usage = usage(req, call.Name+call.Arguments)
		if err := ctx.Err(); err != nil {
			return model.Reply{}, cancelled(err)
		}
		return reply, nil
	}
	reply.Text = s.answer(b, req, seed)
	return s.said(ctx, req, reply, onDelta)
}

// said gives a reply that is a text, piece by piece where it is streamed.
func (s *Storyteller) said(ctx context.Context, req model.Request, reply model.Reply, onDelta func(model.Delta)) (model.Reply, error) {
	reply.Usage = usage(req, reply.Text)
	pace := s.pace
	if !req.Stream {
		pace = 0
	}
	if err := stream(ctx, reply.Text, pace, onDelta); err != nil {
		return model.Reply{}, cancelled(err)
	}
	return reply, nil
}

func cancelled(err error) *model.Error {
	return &model.Error{Kind: model.Cancelled, Message: "the request was cancelled", Err: err}
}
