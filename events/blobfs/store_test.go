package blobfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestBlobs(t *testing.T) {
	storetest.RunBlobs(t, func(t *testing.T) events.BlobStore { return open(t, t.TempDir()) })
}

// blob puts 龙胆 into scope s1 of the folder and gives its reference and file.
func blob(t *testing.T, s *Store, dir string) (events.BlobRef, string) {
	t.Helper()
	ref, err := s.Put(t.Context(), "s1", []byte("龙胆"))
	if err != nil {
		t.Fatal(err)
	}
	return ref, filepath.Join(dir, "blobs", "s1", ref.Digest[:2], ref.Digest)
}

func TestFilesAndReopening(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	ref, file := blob(t, s, dir)
	if data, err := os.ReadFile(file); err != nil || string(data) != "龙胆" {
		t.Errorf("file holds %q (%v)", data, err)
	}
	left := filepath.Join(dir, "blobs", unwritten, "half")
	if err := os.WriteFile(left, []byte("hal"), 0o600); err != nil {
		t.Fatal(err)
	}

	reader, err := OpenReadOnly(dir) // beside the writer: removes nothing
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if data, err := reader.Get(t.Context(), ref); err != nil || string(data) != "龙胆" {
		t.Errorf("reader got %q (%v)", data, err)
	}
	if _, err := os.Stat(left); err != nil {
		t.Errorf("the reader touched what is being written: %v", err)
	}
	if _, err := reader.Put(t.Context(), "s1", nil); !errors.Is(err, ErrReadOnly) {
		t.Errorf("put: %v", err)
	}
	if err := reader.DeleteScope(t.Context(), "s1"); !errors.Is(err, ErrReadOnly) {
		t.Errorf("delete: %v", err)
	}

	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), ref); err == nil {
		t.Error("a closed store answers")
	}
	again := open(t, dir)
	if data, err := again.Get(t.Context(), ref); err != nil || string(data) != "龙胆" {
		t.Errorf("after reopening: %q (%v)", data, err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was half written is still there: %v", err)
	}
}

func TestDamage(t *testing.T) {
	for name, damage := range map[string]string{"changed": "龙袍", "cut off": "龙", "empty": "", "longer": "龙胆!"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			ref, file := blob(t, s, dir)
			if err := os.WriteFile(file, []byte(damage), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Get(t.Context(), ref); !errors.Is(err, events.ErrCorrupt) {
				t.Errorf("get: %v, want ErrCorrupt", err)
			}
			blob(t, s, dir) // whoever puts it again heals it
			if data, err := s.Get(t.Context(), ref); err != nil || string(data) != "龙胆" {
				t.Errorf("after putting it again: %q (%v)", data, err)
			}
		})
	}
}

// TestLinksLeadNowhere: a folder of a scope that was replaced by a link must not be followed out of the store.
func TestLinksLeadNowhere(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	s := open(t, dir)
	ref, file := blob(t, s, dir)
	secret := filepath.Join(outside, ref.Digest[:2])
	if err := os.Mkdir(secret, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file, filepath.Join(secret, ref.Digest)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "blobs", "s1")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "blobs", "s1")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), ref); err == nil {
		t.Error("get followed the link")
	}
	if _, err := s.Put(t.Context(), "s1", []byte("x")); err == nil {
		t.Error("put followed the link")
	}
	if err := s.DeleteScope(t.Context(), "s1"); err != nil {
		t.Errorf("delete: %v", err)
	}
	if _, err := os.Stat(filepath.Join(secret, ref.Digest)); err != nil {
		t.Errorf("delete followed the link: %v", err)
	}
}

func TestOpenReadOnlyWithoutBlobs(t *testing.T) {
	if _, err := OpenReadOnly(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
