package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/pkg/errors"

	"github.com/covel/covel/kernel/allowance"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
)

// caller is ctx.tools of a function runtime: calls run one after another through the same executor as a model's, and one
// failure fails the runtime (seed: tools.txt, "A function runtime calls tools").
type caller struct {
	mu         sync.Mutex
	run        *run
	runtime    *runtime
	calls      int
	over       bool // a hook ended the run after an earlier call
	authorised []string
	failed     error
}

// Call runs a tool and gives its full content.
func (c *caller) Call(ctx context.Context, name string, args any) (json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, terr := tools.EncodeArguments(name, args)
	if terr != nil {
		c.failed = terr
		return nil, terr
	}
	if c.over {
		c.failed = sdk.Fail(sdk.Cancelled, "An earlier call ended the run.")
		return nil, c.failed
	}
	c.calls++
	done := c.runtime.runTool(ctx, fmt.Sprintf("%s-%d", c.run.start.RunID, c.calls), c.run.call(name, text, c.authorised))
	c.over = done.Terminate
	if done.Err != nil {
		c.failed = done.Err
		if errors.Is(done.Cause, allowance.ErrExceeded) {
			c.failed = done.Cause
		}
		return nil, done.Err
	}
	if err := c.run.accept(done); err != nil {
		c.failed = err
		return nil, err
	}
	return done.Content, nil
}
