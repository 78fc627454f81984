package main

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/blobfs"
	"github.com/covel/covel/events/memory"
	"github.com/covel/covel/events/offload"
	"github.com/covel/covel/events/sqlite"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
)

// errNoLog: the data folder has no log.
var errNoLog = errors.New("there is no log in the data folder: nothing was played there yet, its server keeps the log in memory, or --data names another folder")

// noLog says what a missing log means to whoever asked.
func noLog(data string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.WithMessage(errNoLog, data)
	}
	return err
}

// readLog opens the log of a data folder for reading, beside a server that writes it or without one. It creates and
// changes nothing. Close the store afterwards.
func readLog(data string) (events.Store, error) {
	log, err := sqlite.OpenReadOnly(data)
	if err != nil {
		return nil, noLog(data, err)
	}
	var blobs events.BlobStore = &memory.Blobs{} // none were ever written
	files, err := blobfs.OpenReadOnly(data)
	switch {
	case err == nil:
		return &readStore{offload.New(log, files), files}, nil
	case !errors.Is(err, fs.ErrNotExist):
		_ = log.Close()
		return nil, err
	}
	return offload.New(log, blobs), nil
}

// readStore closes its blobs with it.
type readStore struct {
	events.Store
	blobs io.Closer
}

func (s *readStore) Close() error {
	err := s.Store.Close()
	if e := s.blobs.Close(); err == nil {
		err = e
	}
	return err
}

// sessionFold is a session as the log tells it.
type sessionFold struct {
	projections.Rows
	id     string
	events int
	err    error // an event that cannot be folded; what stands is the state before it
}

// foldSessions reads the whole log and folds every session, newest activity first.
func foldSessions(ctx context.Context, store events.Store) ([]*sessionFold, error) {
	byID := map[string]*sessionFold{}
	for r, err := range store.ReadAll(ctx, 0) {
		if err != nil {
			return nil, err
		}
		id, ok := strings.CutPrefix(r.Stream, kernel.StreamOf(""))
		if !ok {
			continue
		}
		f := byID[id]
		if f == nil {
			f = &sessionFold{id: id}
			byID[id] = f
		}
		f.events++
		if f.err == nil {
			var next projections.Rows
			if next, _, f.err = f.Apply(r); f.err == nil {
				f.Rows = next
			}
		}
	}
	return slices.SortedFunc(maps.Values(byID), func(a, b *sessionFold) int {
		if c := b.Session().UpdatedAt.Compare(a.Session().UpdatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.id, b.id)
	}), nil
}

// group is a command that only holds others.
func group(use, short, long string, of ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Long: long, Args: func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return errors.Errorf("unknown command %q for %q; see %s --help", args[0], c.CommandPath(), c.CommandPath())
		}
		return nil
	}, RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(of...)
	return c
}

func jsonFlag(c *cobra.Command) { c.Flags().Bool("json", false, "print JSON for programs") }

func asJSON(c *cobra.Command) bool { j, _ := c.Flags().GetBool("json"); return j }

// printJSON prints a value for programs, indented.
func printJSON(c *cobra.Command, v any) error {
	e := json.NewEncoder(c.OutOrStdout())
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return errors.Wrap(e.Encode(v), "write JSON")
}

// printLine prints a value for programs, on one line.
func printLine(c *cobra.Command, v any) error {
	e := json.NewEncoder(c.OutOrStdout())
	e.SetEscapeHTML(false)
	return errors.Wrap(e.Encode(v), "write JSON")
}

// when gives a time for people, in their zone.
func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}
