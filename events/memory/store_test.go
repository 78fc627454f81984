package memory_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/memory"
	"github.com/covel/covel/events/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	const limit = 16 << 20
	features := storetest.Features{Reopen: true, Faults: true, MaxAppend: limit}
	storetest.Run(t, features, func(t *testing.T) storetest.Factory {
		var s *memory.Store
		return storetest.Factory{
			Open: func() (events.Store, error) {
				if s == nil {
					s = memory.New(memory.Options{MaxAppend: limit})
				} else {
					s = s.Reopen()
				}
				return s, nil
			},
			Inject: func(f storetest.Fault) {
				kind := map[storetest.Fault]memory.Kind{storetest.LoseAck: memory.LoseAck, storetest.UnknownNotWritten: memory.UnknownNotWritten}
				s.Inject(memory.Fault{Kind: kind[f]})
			},
		}
	})
}

func TestBlobs(t *testing.T) {
	storetest.RunBlobs(t, func(t *testing.T) events.BlobStore { return &memory.Blobs{} })
}
