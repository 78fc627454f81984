package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/covel/covel/events"
)

// RunBlobs is the conformance suite of events.BlobStore. newStore makes an empty one; each test gets its own.
func RunBlobs(t *testing.T, newStore func(t *testing.T) events.BlobStore) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, ctx context.Context, s events.BlobStore)
	}{
		{"PutAndGet", testPutAndGet},
		{"References", testReferences},
		{"DeleteScope", testDeleteScope},
		{"SlicesAreNotShared", testBlobSlices},
		{"AtOnce", testBlobsAtOnce},
		{"EndedContext", testBlobsEndedContext},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, t.Context(), newStore(t)) })
	}
}

func put(t *testing.T, ctx context.Context, s events.BlobStore, scope string, data []byte) events.BlobRef {
	t.Helper()
	ref, err := s.Put(ctx, scope, data)
	if err != nil {
		t.Fatalf("put %d bytes: %v", len(data), err)
	}
	return ref
}

func wantBlob(t *testing.T, ctx context.Context, s events.BlobStore, ref events.BlobRef, want []byte) {
	t.Helper()
	if got, err := s.Get(ctx, ref); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v: got %d bytes (%v), want %d", ref, len(got), err, len(want))
	}
}

func testPutAndGet(t *testing.T, ctx context.Context, s events.BlobStore) {
	for name, data := range map[string][]byte{
		"empty":  nil,
		"text":   []byte("陆青云与龙胆，E\u0301lodie 🐉"),
		"binary": {0, 255, 0},
		"large":  bytes.Repeat([]byte("龙胆"), 500_000),
	} {
		t.Run(name, func(t *testing.T) {
			ref := put(t, ctx, s, "session-1", data)
			if want := (events.BlobRef{Scope: "session-1", Digest: events.Digest(data)}); ref != want {
				t.Errorf("reference %v, want %v", ref, want)
			}
			wantBlob(t, ctx, s, ref, data)
			if again := put(t, ctx, s, "session-1", data); again != ref {
				t.Errorf("the second time it is %v", again)
			}
			wantBlob(t, ctx, s, ref, data)
			if _, err := s.Get(ctx, events.BlobRef{Scope: "session-2", Digest: ref.Digest}); !errors.Is(err, events.ErrNoBlob) {
				t.Errorf("in another scope: %v", err)
			}
		})
	}
}

func testReferences(t *testing.T, ctx context.Context, s events.BlobStore) {
	digest := put(t, ctx, s, "a", []byte("x")).Digest
	for _, scope := range []string{"", ".", "..", "../a", "a/b", `a\b`, "a/../a", "/a", "A", "a.b", "-a", "陆青云", "a\x00", "con:", strings.Repeat("a", 129)} {
		if _, err := s.Put(ctx, scope, []byte("x")); !errors.Is(err, events.ErrInvalid) {
			t.Errorf("put into scope %q: %v", scope, err)
		}
		if _, err := s.Get(ctx, events.BlobRef{Scope: scope, Digest: digest}); !errors.Is(err, events.ErrInvalid) {
			t.Errorf("get from scope %q: %v", scope, err)
		}
		if err := s.DeleteScope(ctx, scope); !errors.Is(err, events.ErrInvalid) {
			t.Errorf("delete scope %q: %v", scope, err)
		}
	}
	for _, d := range []string{"", "..", digest[1:], digest + "0", strings.ToUpper(digest), "../" + digest[3:], strings.Repeat("g", 64)} {
		if _, err := s.Get(ctx, events.BlobRef{Scope: "a", Digest: d}); !errors.Is(err, events.ErrInvalid) {
			t.Errorf("digest %q: %v", d, err)
		}
	}
	if _, err := s.Get(ctx, events.BlobRef{Scope: "a", Digest: events.Digest([]byte("never put"))}); !errors.Is(err, events.ErrNoBlob) {
		t.Errorf("missing: %v", err)
	}
}

func testDeleteScope(t *testing.T, ctx context.Context, s events.BlobStore) {
	gone := put(t, ctx, s, "gone", []byte("x"))
	kept := put(t, ctx, s, "gone-not", []byte("x"))
	for range 2 {
		if err := s.DeleteScope(ctx, "gone"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(ctx, gone); !errors.Is(err, events.ErrNoBlob) {
			t.Errorf("deleted: %v", err)
		}
	}
	wantBlob(t, ctx, s, kept, []byte("x"))
	wantBlob(t, ctx, s, put(t, ctx, s, "gone", []byte("x")), []byte("x")) // and the scope can be used again
}

func testBlobSlices(t *testing.T, ctx context.Context, s events.BlobStore) {
	data := []byte("龙胆")
	ref := put(t, ctx, s, "a", data)
	clear(data)
	got, err := s.Get(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	clear(got)
	wantBlob(t, ctx, s, ref, []byte("龙胆"))
}

func testBlobsAtOnce(t *testing.T, ctx context.Context, s events.BlobStore) {
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() { // the same blob from many, and others beside it
			for _, data := range []string{"the same", fmt.Sprint("another ", i)} {
				ref, err := s.Put(ctx, "a", []byte(data))
				if err != nil {
					t.Error(err)
					return
				}
				wantBlob(t, ctx, s, ref, []byte(data))
			}
		})
	}
	wg.Wait()
}

func testBlobsEndedContext(t *testing.T, ctx context.Context, s events.BlobStore) {
	ref := put(t, ctx, s, "a", []byte("x"))
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Put(ended, "a", []byte("y")); !errors.Is(err, context.Canceled) {
		t.Errorf("put: %v", err)
	}
	if _, err := s.Get(ended, ref); !errors.Is(err, context.Canceled) {
		t.Errorf("get: %v", err)
	}
	if err := s.DeleteScope(ended, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("delete: %v", err)
	}
	wantBlob(t, ctx, s, ref, []byte("x"))
}
