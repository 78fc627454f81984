package memory

import (
	"context"
	"slices"
	"sync"

	"github.com/pkg/errors"

	"github.com/covel/covel/events"
)

// Blobs is a BlobStore in memory. The zero value is empty and ready.
type Blobs struct {
	mu     sync.Mutex
	scopes map[string]map[string][]byte
}

var _ events.BlobStore = (*Blobs)(nil)

// Put implements events.BlobStore.
func (b *Blobs) Put(ctx context.Context, scope string, data []byte) (events.BlobRef, error) {
	if err := events.CheckScope(scope); err != nil {
		return events.BlobRef{}, err
	}
	if err := ctx.Err(); err != nil {
		return events.BlobRef{}, err
	}
	ref := events.BlobRef{Scope: scope, Digest: events.Digest(data)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.scopes == nil {
		b.scopes = map[string]map[string][]byte{}
	}
	if b.scopes[scope] == nil {
		b.scopes[scope] = map[string][]byte{}
	}
	b.scopes[scope][ref.Digest] = slices.Clone(data)
	return ref, nil
}

// Get implements events.BlobStore.
func (b *Blobs) Get(ctx context.Context, ref events.BlobRef) ([]byte, error) {
	if err := ref.Check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	data, ok := b.scopes[ref.Scope][ref.Digest]
	if !ok {
		return nil, errors.Wrapf(events.ErrNoBlob, "%s/%s", ref.Scope, ref.Digest)
	}
	return slices.Clone(data), nil
}

// DeleteScope implements events.BlobStore.
func (b *Blobs) DeleteScope(ctx context.Context, scope string) error {
	if err := events.CheckScope(scope); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.scopes, scope)
	return nil
}
