package llm_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/covel/covel/gateway/llm"
	"github.com/covel/covel/gateway/llm/scripted"
	"github.com/covel/covel/internal/safego"
	"github.com/covel/covel/kernel/model"
)

func TestPoolBoundsCallsAndServesInOrder(t *testing.T) {
	for n, places := range map[int]int{0: 4, 2: 2, -1: 10} {
		synctest.Test(t, func(t *testing.T) {
			m := scripted.New(scripted.Script{Replies: []scripted.Reply{{Steps: []scripted.Step{scripted.Hold("in"), scripted.Text("x")}}}})
			pool := llm.NewPool(n)
			p := []model.Provider{pool.Wrap(m), pool.Wrap(m)} // one pool over all providers
			done := make(chan error, 10)
			for i := range 10 {
				safego.Go("call", func() {
					_, err := p[i%2].Generate(context.Background(), model.Request{Subject: strconv.Itoa(i)}, nil)
					done <- err
				})
				synctest.Wait()
			}
			if got := len(m.Requests()); got != places {
				t.Errorf("pool of %d: %d calls at once, want %d", n, got, places)
			}
			for range 10 {
				m.Gate("in").Pass()
				if err := <-done; err != nil {
					t.Error(err)
				}
				synctest.Wait() // until the next one is in
			}
			var order []string
			for _, r := range m.Requests() {
				order = append(order, r.Subject)
			}
			if !slices.IsSorted(order) || len(order) != 10 {
				t.Errorf("pool of %d: served in order %v", n, order)
			}
		})
	}
}

func TestWaitingForAPlaceEndsWithTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := plays(scripted.Hold("in"), scripted.Text("x"))
		p := llm.NewPool(1).Wrap(m)
		done := make(chan error, 1)
		safego.Go("call", func() {
			_, err := p.Generate(context.Background(), whole, nil)
			done <- err
		})
		synctest.Wait()

		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := p.Generate(ctx, whole, nil)
		mustFail(t, err, model.Timeout)
		ctx, cancel = context.WithCancel(context.Background())
		cancel()
		_, err = p.Generate(ctx, whole, nil)
		mustFail(t, err, model.Cancelled)

		m.Gate("in").Open()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if _, err := p.Generate(context.Background(), whole, nil); err != nil {
			t.Errorf("the place was not given back: %v", err)
		}
		if got := len(m.Requests()); got != 2 {
			t.Errorf("the model was asked %d times", got)
		}
	})
}

// Rule REF plugins.md §9.4: a call that waits for its place tells it, so that the wait is not charged to its run.
func TestAWaitForAPlaceIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		pool := llm.NewPool(1)
		p := pool.Wrap(provider(func(context.Context, model.Request, func(model.Delta)) (model.Reply, error) {
			<-hold
			return model.Reply{FinishReason: model.FinishStop}, nil
		}))
		told := make(chan bool, 4)
		ask := func() {
			_, _ = p.Generate(model.WithQueue(context.Background(), func(waiting bool) { told <- waiting }), whole, nil)
		}
		var calls sync.WaitGroup
		calls.Go(ask)
		synctest.Wait()
		if len(told) != 0 {
			t.Fatal("a call with a place of its own tells of a wait")
		}
		calls.Go(ask)
		synctest.Wait()
		if len(told) != 1 || !<-told {
			t.Fatal("the second call does not tell that it waits")
		}
		hold <- struct{}{}
		synctest.Wait()
		if len(told) != 1 || <-told {
			t.Fatal("the second call does not tell that it got its place")
		}
		hold <- struct{}{}
		calls.Wait()
	})
}
