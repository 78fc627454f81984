package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/covel/covel/events"
)

// sequences are all ways to read, as far as they end by themselves or with ctx.
func (h *harness) sequences(ctx context.Context) map[string]iter.Seq2[events.Recorded, error] {
	return map[string]iter.Seq2[events.Recorded, error]{
		"ReadStream":         h.store.ReadStream(ctx, stream1, 0),
		"ReadStreamBackward": h.store.ReadStreamBackward(ctx, stream1, 0),
		"ReadAll":            h.store.ReadAll(ctx, 0),
		"Subscribe":          h.store.Subscribe(ctx, 0),
		"SubscribeStream":    h.store.SubscribeStream(ctx, stream1, 0),
	}
}

func testReadStream(t *testing.T, h *harness) {
	// Appends of different sizes, so that a reading may begin inside one and end inside one.
	const n = 60
	var want []events.Recorded
	for v := 0; v < n; {
		size := min(1+v%5, n-v)
		h.append(stream1, events.Version(v), some(size, fmt.Sprint(v))...)
		h.append(stream2, h.version(stream2), event("between"))
		v += size
	}
	want = h.stream(stream1)
	if err := inOrder(want, nil); err != nil || len(want) != n {
		t.Fatalf("%d events: %v", len(want), err)
	}
	for from := range events.Version(n + 3) {
		forward := all(t, h.store.ReadStream(h.ctx, stream1, from))
		if err := sameRecorded(forward, want[min(n, max(int(from)-1, 0)):]); err != nil {
			t.Errorf("forward from %d: %v", from, err)
		}
		backward := all(t, h.store.ReadStreamBackward(h.ctx, stream1, from))
		slices.Reverse(backward)
		top := int(from)
		if from == 0 || from > n {
			top = n
		}
		if err := sameRecorded(backward, want[:top]); err != nil {
			t.Errorf("backward from %d: %v", from, err)
		}
	}
	if got := all(t, h.store.ReadStream(h.ctx, stream1, 1<<64-1)); len(got) != 0 {
		t.Errorf("from the end of numbers: %d events", len(got))
	}
	if got := all(t, h.store.ReadStreamBackward(h.ctx, stream1, 1<<64-1)); len(got) != n {
		t.Errorf("backward from the end of numbers: %d events", len(got))
	}
	for _, missing := range []string{stream3, "", "a\xff", "session-Élodie"} { // composed is another name
		if got := all(t, h.store.ReadStream(h.ctx, missing, 0)); len(got) != 0 {
			t.Errorf("missing stream %q has %d events", missing, len(got))
		}
		if got := all(t, h.store.ReadStreamBackward(h.ctx, missing, 0)); len(got) != 0 {
			t.Errorf("missing stream %q has %d events backward", missing, len(got))
		}
		if v := h.version(missing); v != 0 {
			t.Errorf("missing stream %q has version %d", missing, v)
		}
	}
}

func testReadAll(t *testing.T, h *harness) {
	for i := range 20 {
		for _, s := range []string{stream1, stream2, stream3} {
			h.append(s, h.version(s), some(1+i%4, s)...)
		}
	}
	want := all(t, h.store.ReadAll(h.ctx, 0))
	if err := inOrder(want, nil); err != nil || len(want) != 3*50 {
		t.Fatalf("%d events: %v", len(want), err)
	}
	if head := h.head(); head != want[len(want)-1].Position {
		t.Errorf("head %d, last event at %d", head, want[len(want)-1].Position)
	}
	for i := -1; i < len(want); i++ {
		var after events.Position
		if i >= 0 {
			after = want[i].Position
		}
		if err := sameRecorded(all(t, h.store.ReadAll(h.ctx, after)), want[i+1:]); err != nil {
			t.Errorf("after %d: %v", after, err)
		}
	}
	if got := all(t, h.store.ReadAll(h.ctx, 1<<64-1)); len(got) != 0 {
		t.Errorf("after the end of numbers: %d events", len(got))
	}
	for _, s := range []string{stream1, stream2, stream3} {
		only := slices.DeleteFunc(slices.Clone(want), func(r events.Recorded) bool { return r.Stream != s })
		if err := sameRecorded(h.stream(s), only); err != nil {
			t.Errorf("%s differs from its part of the log: %v", s, err)
		}
	}
}

func testStoppedReader(t *testing.T, h *harness) {
	h.append(stream1, 0, some(300, "a")...)
	for name, seq := range h.sequences(h.ctx) {
		for range 2 { // and a sequence begins anew
			got, err := until(seq, 3)
			if err != nil || len(got) != 3 {
				t.Errorf("%s: %d events, %v", name, len(got), err)
			}
		}
	}
	// Many readers that stopped hold nothing that others need.
	for range 50 {
		if _, err := until(h.store.ReadStream(h.ctx, stream1, 0), 1); err != nil {
			t.Fatal(err)
		}
	}
	h.append(stream1, 300, event("b"))
}

// testReaderThatAppends appends, and reads again, for each event it reads. ReadAll ends all the same.
func testReaderThatAppends(t *testing.T, h *harness) {
	h.append(stream1, 0, some(40, "a")...)
	n := events.Version(0)
	for r, err := range h.store.ReadAll(h.ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		h.append(stream2, n, event("answer"))
		n++
		if got := all(t, h.store.ReadStream(h.ctx, stream1, r.Version)); len(got) != 41-int(r.Version) {
			t.Errorf("inner reading from %d gave %d events", r.Version, len(got))
		}
	}
	if n != 40 {
		t.Errorf("read %d events, want the 40 that were there at the beginning", n)
	}
	// As deep as it goes: readers inside readers.
	var nest func(depth int)
	nest = func(depth int) {
		for _, err := range h.store.ReadStream(h.ctx, stream1, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if depth > 0 {
				nest(depth - 1)
			}
			return
		}
	}
	nest(40)
}

// testLargeEvent uses a name as sessions have it, since a store may keep large payloads as blobs under that name.
func testLargeEvent(t *testing.T, h *harness) {
	big := event("")
	big.Data = make([]byte, 1<<20)
	for i := range big.Data {
		big.Data[i] = byte(i * i >> 3)
	}
	evs := []events.Event{event("before"), big, event("after")}
	h.append(plain, 0, evs...)
	for v := range events.Version(4) {
		next := big
		next.ID = event("").ID
		evs = append(evs, next)
		h.append(plain, v+3, next)
	}
	if err := same(h.stream(plain), evs); err != nil {
		t.Error(err)
	}
	if err := same(all(t, h.store.ReadAll(h.ctx, 0)), evs); err != nil {
		t.Error(err)
	}
	backward := all(t, h.store.ReadStreamBackward(h.ctx, plain, 0))
	slices.Reverse(backward)
	if err := same(backward, evs); err != nil {
		t.Error(err)
	}
	if got, err := h.store.Append(h.ctx, plain, 0, evs); err != nil || got.Version != 7 {
		t.Errorf("repeat of all of them: %+v, %v", got, err)
	}
}

func testLongStream(t *testing.T, h *harness) {
	const n, size = 10_000, 100
	want := make([]events.Event, 0, n)
	for len(want) < n {
		evs := some(size, fmt.Sprint(len(want)))
		h.append(stream1, events.Version(len(want)), evs...)
		want = append(want, evs...)
	}
	got := h.stream(stream1)
	if err := same(got, want); err != nil {
		t.Fatal(err)
	}
	if err := inOrder(got, nil); err != nil {
		t.Error(err)
	}
	if err := same(all(t, h.store.ReadStream(h.ctx, stream1, 9_951)), want[9_950:]); err != nil {
		t.Error(err)
	}
	backward := all(t, h.store.ReadStreamBackward(h.ctx, stream1, 0))
	slices.Reverse(backward)
	if err := same(backward, want); err != nil {
		t.Error(err)
	}
	if v := h.version(stream1); v != n {
		t.Errorf("version %d", v)
	}
}

// testSubscribe follows the log from different places while it is being written: across the border between what is stored
// and what comes, nothing may be missing, doubled or out of order.
func testSubscribe(t *testing.T, h *harness) {
	const before, writers, appends = 150, 6, 25
	for i := range before {
		h.append(stream1, events.Version(i), event("stored"))
	}
	stored := all(t, h.store.ReadAll(h.ctx, 0))
	type follower struct {
		name  string
		after events.Position
		got   []events.Recorded
		err   error
	}
	followers := []*follower{
		{name: "from 0"}, {name: "from the middle", after: stored[before/2].Position}, {name: "from the head", after: h.head()},
	}
	reading := &h.background
	var writing sync.WaitGroup
	for _, f := range followers {
		reading.Go(func() {
			for r, err := range h.store.Subscribe(h.ctx, f.after) {
				if f.err = err; err != nil {
					return
				}
				if f.got = append(f.got, r); r.Type == "End" {
					return
				}
			}
			f.err = errors.New("ended by itself")
		})
	}
	for w := range writers {
		writing.Go(func() {
			stream, v := fmt.Sprintf("%s-%d", stream2, w), events.Version(0)
			for i := range appends {
				done, err := h.store.Append(h.ctx, stream, v, some(1+i%3, stream))
				if err != nil {
					t.Error(err)
					return
				}
				v = done.Version
			}
		})
	}
	writing.Wait()
	end := event("")
	end.Type = "End"
	h.append(stream3, 0, end)
	reading.Wait()
	for _, f := range followers {
		if f.err != nil {
			t.Errorf("%s: after %d events: %v", f.name, len(f.got), f.err)
			continue
		}
		if err := sameRecorded(f.got, all(t, h.store.ReadAll(h.ctx, f.after))); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}

// testSubscribeSlowly has a consumer that stands still until all is written: nobody waits for it, and it misses nothing.
func testSubscribeSlowly(t *testing.T, h *harness) {
	const n = 1200
	h.append(stream1, 0, event("first"))
	var got []events.Recorded
	begun, written := make(chan struct{}), make(chan struct{})
	wg := &h.background
	wg.Go(func() {
		for r, err := range h.store.Subscribe(h.ctx, 0) {
			if err != nil {
				t.Error(err)
				return
			}
			if got = append(got, r); len(got) == 1 {
				close(begun)
				wait(h.ctx, written)
			}
			if len(got) == n {
				return
			}
		}
	})
	h.await(begun)
	for v := events.Version(1); v < n; {
		v = h.append(stream1, v, some(min(11, n-int(v)), "more")...).Version
	}
	close(written)
	wg.Wait()
	if err := sameRecorded(got, all(t, h.store.ReadAll(h.ctx, 0))); err != nil {
		t.Error(err)
	}
}

func testSubscribeUntilCancelled(t *testing.T, h *harness) {
	h.append(stream1, 0, some(3, "a")...)
	for name, subscribe := range map[string]func(context.Context) iter.Seq2[events.Recorded, error]{
		"Subscribe": func(ctx context.Context) iter.Seq2[events.Recorded, error] { return h.store.Subscribe(ctx, 0) },
		"SubscribeStream": func(ctx context.Context) iter.Seq2[events.Recorded, error] {
			return h.store.SubscribeStream(ctx, stream1, 0)
		},
		"SubscribeStream, missing": func(ctx context.Context) iter.Seq2[events.Recorded, error] {
			return h.store.SubscribeStream(ctx, stream2, 0)
		},
	} {
		ctx, cancel := context.WithCancel(h.ctx)
		wg := &h.background
		seen := make(chan struct{}, 3)
		wg.Go(func() {
			var last error
			for _, err := range subscribe(ctx) {
				if last = err; err == nil {
					seen <- struct{}{}
				}
			}
			if !errors.Is(last, context.Canceled) {
				t.Errorf("%s ended with %v, want the error of the context", name, last)
			}
		})
		if name != "SubscribeStream, missing" {
			for range 3 {
				h.await(seen)
			}
		}
		cancel()
		wg.Wait()
	}
}

func testSubscribeStream(t *testing.T, h *harness) {
	const n = 120
	h.append(stream1, 0, some(5, "stored")...)
	after := []events.Version{0, 3, 5, 40} // 40 is not there yet
	got := make([][]events.Recorded, len(after))
	wg := &h.background
	for i, v := range after {
		wg.Go(func() {
			var err error
			if got[i], err = until(h.store.SubscribeStream(h.ctx, stream1, v), n-int(v)); err != nil {
				t.Errorf("after %d: %v", v, err)
			}
		})
	}
	var born []events.Recorded // a stream that comes into being under its subscription
	wg.Go(func() {
		var err error
		if born, err = until(h.store.SubscribeStream(h.ctx, stream2, 0), n-5); err != nil {
			t.Error(err)
		}
	})
	for v := events.Version(5); v < n; v++ {
		h.append(stream1, v, event("live"))
		h.append(stream2, v-5, event("beside"))
	}
	wg.Wait()
	want := h.stream(stream1)
	for i, v := range after {
		if err := sameRecorded(got[i], want[v:]); err != nil {
			t.Errorf("after %d: %v", v, err)
		}
	}
	if err := sameRecorded(born, h.stream(stream2)); err != nil {
		t.Error(err)
	}
}
