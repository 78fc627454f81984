package turn

import (
	"math/rand/v2" // want no-chance
	"net/http"     // want pure-imports
	clock "time"

	"github.com/asynkron/protoactor-go/actor" // want pure-imports
	"github.com/google/uuid"
)

type Env struct{ time struct{ Now int } }

func step(e Env, time struct{ Now int }) (string, int) {
	_ = clock.Since(clock.Time{})  // want no-clock
	go func() { _ = rand.Int() }() // want goroutines
	_ = http.StatusOK
	_ = actor.PID{}
	return uuid.NewString(), e.time.Now + time.Now // want no-fresh-ids
}
