//go:build unix

package main

import "golang.org/x/sys/unix"

// freeBytes is how much a user may still write to the disk of a folder.
func freeBytes(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil
}
