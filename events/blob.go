package events

import (
	"context"

	"github.com/pkg/errors"
)

// BlobThreshold is the size in bytes above which a value goes to a blob and the event names its digest (design §4).
const BlobThreshold = 32 << 10

// ErrNoBlob: no blob has this digest in this scope.
var ErrNoBlob = errors.New("events: no such blob")

// BlobRef names a blob: its scope (a session id, or "worlds" for packs shared by digest) and lower-case hex SHA-256.
type BlobRef struct {
	Scope  string
	Digest string
}

// BlobStore keeps values by their digest. All methods may be called concurrently; slices handed in are not kept, slices
// handed out belong to the caller. A scope or digest that is no such thing fails with ErrInvalid.
type BlobStore interface {
	// Put keeps data and is durable when it returns. Repeating it changes nothing.
	Put(ctx context.Context, scope string, data []byte) (BlobRef, error)
	// Get fails with ErrNoBlob when there is none, and with ErrCorrupt when the bytes no longer match the digest.
	Get(ctx context.Context, ref BlobRef) ([]byte, error)
	// DeleteScope removes all blobs of a scope. A scope without blobs is no error.
	DeleteScope(ctx context.Context, scope string) error
}
