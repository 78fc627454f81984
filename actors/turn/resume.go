package turn

import (
	"github.com/pkg/errors"

	kernel "github.com/covel/covel/kernel/turn"
)

// resumption gives the run that the execution goes on with, nil for an execution of its own.
func (t *turn) resumption() (*kernel.Run, error) {
	if t.frozen.Only != nil {
		return t.frozen.Only, nil
	}
	id := t.start.Execution.SuspensionID
	if id == "" {
		return nil, nil
	}
	x, ok := t.frozen.State.Suspensions.Find(id)
	if !ok {
		return nil, errors.Errorf("the suspension %s does not wait any more", id)
	}
	rt, _, ok := t.frozen.Generation.Runtime(x.RuntimeID)
	if !ok {
		return nil, errors.Errorf("the runtime %s of the suspension is not installed", x.RuntimeID)
	}
	run, err := kernel.Resumption(x, rt)
	return &run, err
}
