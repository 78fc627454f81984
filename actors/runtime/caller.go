package runtime

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pkg/errors"

	"github.com/covel/covel/kernel/allowance"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
)

// Call is ctx.tools of a function runtime: it runs a tool and gives its full content. Calls run one after another through the
// same executor as a model's, and one failure fails the runtime (seed: tools.txt, "A function runtime calls tools").
func (k *code) Call(ctx context.Context, name string, args any) (json.RawMessage, error) {
	k.order.Lock()
	defer k.order.Unlock()
	fail := func(err error) (json.RawMessage, error) {
		_ = k.do(func() error { k.failed = err; return nil })
		return nil, err
	}
	text, terr := tools.EncodeArguments(name, args)
	if terr != nil {
		return fail(terr)
	}
	if k.terminated {
		return fail(sdk.Fail(sdk.Cancelled, "An earlier call ended the run."))
	}
	var call tools.Call
	if err := k.do(func() error { call = k.run.call(name, text, k.authorised); return nil }); err != nil {
		return nil, err
	}
	k.tools++
	ctx, stop := k.r.within(ctx)
	defer stop()
	done := k.r.runTool(ctx, fmt.Sprintf("%s-%d", k.run.start.RunID, k.tools), call)
	k.terminated = done.Terminate
	if done.Err != nil {
		if errors.Is(done.Cause, allowance.ErrExceeded) { // it is the execution's end, not the tool's failure
			_, _ = fail(done.Cause)
			return nil, done.Err
		}
		return fail(done.Err)
	}
	if err := k.do(func() error { return k.run.accept(done) }); err != nil {
		return fail(err)
	}
	k.look()
	return done.Content, nil
}
