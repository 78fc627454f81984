package node

import (
	"time"

	"example.com/house/internal/safego"
	_ "example.com/house/projections/engine"
	_ "github.com/asynkron/protoactor-go/actor"
)

func wait(f func()) {
	time.AfterFunc(time.Second, func() {})
	safego.Go("wait", f)
}
