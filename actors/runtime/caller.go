package runtime

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/covel/covel/plugins/tools"
)

// caller is ctx.tools of a function runtime: calls run one after another through the same executor as a model's, and one
// failure fails the runtime (seed: tools.txt, "A function runtime calls tools").
type caller struct {
	mu         sync.Mutex
	run        *run
	exec       *tools.Executor
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
	done := c.exec.Run(ctx, c.run.call(name, text, c.authorised))
	if done.Err != nil {
		c.failed = done.Err
		return nil, done.Err
	}
	if err := c.run.accept(done); err != nil {
		c.failed = err
		return nil, err
	}
	return done.Content, nil
}
