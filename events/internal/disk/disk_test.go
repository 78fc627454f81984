package disk

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSync(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "龙胆"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	if err := Datasync(f); err != nil {
		t.Errorf("datasync: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Datasync(f); err == nil {
		t.Error("datasync of a closed file: no error")
	}
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := SyncDir(d); err != nil {
		t.Errorf("sync of a folder: %v", err)
	}
}
