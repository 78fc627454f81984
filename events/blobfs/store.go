// Package blobfs keeps blobs as files: blobs/<scope>/<first two digits of the digest>/<digest> below the data folder.
package blobfs

import (
	"bytes"
	"context"
	"crypto/rand"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"

	"github.com/pkg/errors"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/internal/disk"
)

// Names below the data folder. No scope begins with a dot, so what is being written cannot be taken for a scope.
const (
	folder    = "blobs"
	unwritten = ".unwritten"
)

// ErrReadOnly: the store was opened with OpenReadOnly.
var ErrReadOnly = errors.New("blobs: opened for reading only")

// Store keeps blobs as files. All access goes through one os.Root, so that no name and no link leads out of the folder.
type Store struct {
	root     *os.Root
	readOnly bool

	deleting sync.RWMutex // held by DeleteScope, and shared by Puts, which would lose their folder
	durable  sync.Map     // scopes whose folder is known to be on the disk
}

var _ events.BlobStore = (*Store)(nil)

// Open opens the blobs of the data folder dir for reading and writing, creates their folder when it is missing, and removes
// what a crash left half written. Only the process that holds the lock of the log may do so.
func Open(dir string) (*Store, error) {
	p := filepath.Join(dir, folder)
	if err := os.MkdirAll(p, 0o700); err != nil {
		return nil, errors.Wrap(err, "open blobs")
	}
	if err := syncDirs(os.Open, dir); err != nil {
		return nil, errors.Wrap(err, "open blobs")
	}
	root, err := os.OpenRoot(p)
	if err != nil {
		return nil, errors.Wrap(err, "open blobs")
	}
	s := &Store{root: root}
	if err = root.RemoveAll(unwritten); err == nil {
		err = root.Mkdir(unwritten, 0o700)
	}
	if err != nil {
		_ = root.Close()
		return nil, errors.Wrap(err, "open blobs")
	}
	return s, nil
}

// OpenReadOnly opens the blobs of the data folder dir for reading, beside a process that writes them. No folder is
// fs.ErrNotExist.
func OpenReadOnly(dir string) (*Store, error) {
	root, err := os.OpenRoot(filepath.Join(dir, folder))
	if err != nil {
		return nil, errors.Wrap(err, "open blobs")
	}
	return &Store{root: root, readOnly: true}, nil
}

// Close releases the folder. Later calls fail.
func (s *Store) Close() error { return s.root.Close() }

func place(ref events.BlobRef) (dir, file string) {
	dir = path.Join(ref.Scope, ref.Digest[:2])
	return dir, path.Join(dir, ref.Digest)
}

// Put implements events.BlobStore.
func (s *Store) Put(ctx context.Context, scope string, data []byte) (events.BlobRef, error) {
	if err := events.CheckScope(scope); err != nil {
		return events.BlobRef{}, err
	}
	if s.readOnly {
		return events.BlobRef{}, ErrReadOnly
	}
	if err := ctx.Err(); err != nil {
		return events.BlobRef{}, err
	}
	ref := events.BlobRef{Scope: scope, Digest: events.Digest(data)}
	if err := s.put(ref, data); err != nil {
		return events.BlobRef{}, errors.Wrapf(err, "put blob %s/%s", ref.Scope, ref.Digest)
	}
	return ref, nil
}

func (s *Store) put(ref events.BlobRef, data []byte) error {
	s.deleting.RLock()
	defer s.deleting.RUnlock()
	dir, file := place(ref)
	if err := s.root.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// One that is there was synced before it got its name; one that was damaged since is written anew.
	if there, err := s.root.ReadFile(file); err != nil || !bytes.Equal(there, data) {
		if err := s.write(file, data); err != nil {
			return err
		}
	}
	// Also when it was there: whoever renamed it may not have come to this yet.
	if err := syncDirs(s.root.Open, dir, ref.Scope); err != nil {
		return err
	}
	if _, known := s.durable.Load(ref.Scope); known {
		return nil
	}
	if err := syncDirs(s.root.Open, "."); err != nil {
		return err
	}
	s.durable.Store(ref.Scope, struct{}{})
	return nil
}

// write makes the file whole and durable before it gets its name.
func (s *Store) write(file string, data []byte) (err error) {
	temp := path.Join(unwritten, rand.Text())
	f, err := s.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = s.root.Rename(temp, file)
	}
	if err != nil {
		_ = s.root.Remove(temp)
	}
	return err
}

// Get implements events.BlobStore.
func (s *Store) Get(ctx context.Context, ref events.BlobRef) ([]byte, error) {
	if err := ref.Check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	_, file := place(ref)
	data, err := s.root.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Wrapf(events.ErrNoBlob, "%s/%s", ref.Scope, ref.Digest)
	}
	if err != nil {
		return nil, errors.Wrapf(err, "get blob %s/%s", ref.Scope, ref.Digest)
	}
	if is := events.Digest(data); is != ref.Digest {
		return nil, errors.Wrapf(events.ErrCorrupt, "blob %s/%s: its %d bytes have digest %s", ref.Scope, ref.Digest, len(data), is)
	}
	return data, nil
}

// DeleteScope implements events.BlobStore.
func (s *Store) DeleteScope(ctx context.Context, scope string) error {
	if err := events.CheckScope(scope); err != nil {
		return err
	}
	if s.readOnly {
		return ErrReadOnly
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.deleting.Lock()
	defer s.deleting.Unlock()
	s.durable.Delete(scope)
	err := s.root.RemoveAll(scope)
	if err == nil {
		err = syncDirs(s.root.Open, ".")
	}
	return errors.Wrapf(err, "delete blobs of %s", scope)
}

// syncDirs makes the entries of folders durable.
func syncDirs(open func(name string) (*os.File, error), dirs ...string) error {
	for _, dir := range dirs {
		d, err := open(dir)
		if err != nil {
			return err
		}
		err = disk.SyncDir(d)
		if e := d.Close(); err == nil {
			err = e
		}
		if err != nil {
			return err
		}
	}
	return nil
}
