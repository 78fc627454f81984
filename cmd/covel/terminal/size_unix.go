//go:build unix

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// windowSize gives columns and rows of a terminal, zeros when it does not say.
func windowSize(f *os.File) (columns, rows int) {
	w, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(w.Col), int(w.Row)
}
