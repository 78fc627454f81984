// Package disk makes files and folders durable.
package disk

import (
	"os"
	"runtime"
)

// Datasync makes the data of a file durable, with fdatasync where there is one.
func Datasync(f *os.File) error { return datasync(f) }

// SyncDir makes the entries of a folder durable: files that were created, renamed or removed in it. Windows has no such
// call and needs none.
func SyncDir(dir *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return dir.Sync()
}
