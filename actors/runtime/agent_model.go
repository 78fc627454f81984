package runtime

import (
	"context"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/pkg/errors"

	"github.com/covel/covel/internal/safego"
	"github.com/covel/covel/kernel/loop"
	"github.com/covel/covel/kernel/model"
	kernelsession "github.com/covel/covel/kernel/session"
)

// modelQueued: the call waits for a place among those that are open at once, or got one.
type modelQueued struct {
	call    uint64
	waiting bool
}

// modelDelta is a sign of output; the text of a tool call that is being written is empty.
type modelDelta struct {
	call uint64
	text string
}

type modelReplied struct {
	call  uint64
	reply model.Reply
	err   error
}

// callModel asks the model outside of Receive. Cancelling closes its connection. A wait before a further attempt is told,
// so that the player sees it run and can stop it.
func (a *agent) callModel(c actor.Context, e loop.CallModel) {
	request, refused := a.fit(e)
	if refused != nil {
		a.step(c, *refused)
		return
	}
	call, ctx := a.begins()
	self, root := c.Self(), c.ActorSystem().Root
	pause := wait(e.After, e.Attempt)
	if pause > 0 {
		a.r.progress(c, kernelsession.Progress{
			Kind: kernelsession.ModelWaiting, WaitMs: pause.Milliseconds(), Attempt: e.Attempt, Reason: e.Reason,
		})
	}
	ctx = model.WithQueue(ctx, func(waiting bool) { root.Send(self, modelQueued{call, waiting}) })
	safego.Go("model", func() {
		done := modelReplied{call: call, err: errors.New("the model adapter panicked")}
		defer func() { root.Send(self, done) }()
		if pause > 0 {
			timer := time.NewTimer(pause)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
				done.err = ctx.Err()
				return
			}
		}
		told := a.r.emitCall(e, strconv.FormatUint(call, 10), pause)
		defer func() { told.ended(done.reply, done.err) }()
		done.reply, done.err = a.r.Model.Generate(ctx, request, func(d model.Delta) {
			if first := told.heard(d); d.Text != "" || first {
				root.Send(self, modelDelta{call, d.Text})
			}
		})
	})
}

func asModelError(err error) *model.Error {
	var me *model.Error
	if errors.As(err, &me) {
		return me
	}
	kind := model.Transient
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		kind = model.Cancelled
	}
	return &model.Error{Kind: kind, Message: err.Error(), Err: err}
}
