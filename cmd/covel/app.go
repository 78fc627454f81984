package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/actors/node"
	"github.com/covel/covel/events"
	"github.com/covel/covel/events/blobfs"
	"github.com/covel/covel/events/memory"
	"github.com/covel/covel/events/offload"
	"github.com/covel/covel/events/sqlite"
	"github.com/covel/covel/events/trace"
	tracememory "github.com/covel/covel/events/trace/memory"
	tracefiles "github.com/covel/covel/events/trace/sqlite"
	"github.com/covel/covel/kernel/allowance"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/bundled"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/projections/engine"
	readmodels "github.com/covel/covel/projections/sql"
	"github.com/covel/covel/worlds"
)

// readsFile holds the read models, in the data folder. It can be deleted: it is built again from the log.
const readsFile = "read.db"

// app is a composed node on a data folder.
type app struct {
	store   events.Store
	reads   *readmodels.ReadModels
	traces  trace.Store
	trace   *trace.Writer
	node    *node.Node
	worlds  *worlds.Library
	plugins *registry.Generation
	backend string
	stop    context.CancelFunc
	reading chan struct{} // closed when the projection has ended
	scratch string        // folder that goes with the app, "" for none
}

type appConfig struct {
	home, data        string
	backend           string // sqlite | memory
	model             model.Provider
	secrets           []trace.Secret // of the host: nothing of them is in the trace
	instructionLocale string
	suspensionTTL     time.Duration
	allowances        allowance.Limits
	advanceLimit      uint32
	traceDays         int // how many days before today the trace is kept; 0: for ever
	log               *slog.Logger
	plugins           []registry.Source // beside the bundled ones and those of the plugins folder
	// wrapStore, if any, stands between the node and its log, to measure it.
	wrapStore func(events.Store) events.Store
}

// wrapStore stands between every node and its log. Tests end the process in it, at an append of their choice.
var wrapStore = func(s events.Store) events.Store { return s }

// openApp opens the stores, brings the read models up to the log, and starts the node.
func openApp(ctx context.Context, c appConfig) (_ *app, err error) {
	a := &app{backend: c.backend, reading: make(chan struct{})}
	if err := os.MkdirAll(c.data, 0o700); err != nil {
		return nil, errors.Wrap(err, "create the data folder")
	}
	var blobs events.BlobStore
	var store events.Store
	readsPath := filepath.Join(c.data, readsFile)
	switch c.backend {
	case "sqlite":
		log, err := sqlite.Open(c.data, sqlite.Options{})
		if err != nil {
			return nil, err
		}
		files, err := blobfs.Open(c.data)
		if err != nil {
			_ = log.Close()
			return nil, err
		}
		store, blobs = log, files
	case "memory":
		store, blobs = memory.New(memory.Options{}), &memory.Blobs{}
		dir, err := os.MkdirTemp("", "covel-read-*")
		if err != nil {
			return nil, errors.Wrap(err, "create a folder for read models")
		}
		readsPath, a.scratch = filepath.Join(dir, readsFile), dir
	default:
		return nil, errors.Errorf("store %q: expected sqlite or memory", c.backend)
	}
	a.store = wrapStore(offload.New(store, blobs))
	if c.wrapStore != nil {
		a.store = c.wrapStore(a.store)
	}
	defer func() {
		if err != nil {
			_ = a.store.Close()
			_ = os.RemoveAll(a.scratch)
		}
	}()
	if a.reads, err = readmodels.Open(readsPath); err != nil {
		return nil, err
	}
	if _, err = engine.CatchUp(ctx, a.store, a.reads); err != nil {
		_ = a.reads.Close()
		return nil, err
	}
	if a.worlds, err = worlds.Open(filepath.Join(c.home, "worlds")); err != nil {
		_ = a.reads.Close()
		return nil, err
	}
	for _, e := range a.worlds.Errors() {
		c.log.Warn("a world could not be loaded", "error", e)
	}
	a.plugins = registry.Build(pluginSources(c))
	for _, e := range a.plugins.Errors {
		c.log.Warn("a plugin could not be loaded", "plugin", e.PluginID, "error", e.Err)
	}
	if err = a.openTrace(ctx, c); err != nil {
		_ = a.reads.Close()
		return nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.stop = stop
	go func() { // cmd goroutine: ended by close
		defer close(a.reading)
		engine.Run(running, a.store, a.reads, c.log)
	}()
	a.node = node.Start(node.Config{
		Store: a.store, Blobs: blobs, Snapshots: a.reads, Due: a.reads, Model: c.model,
		Plugins: func() *registry.Generation { return a.plugins }, InstructionLocale: c.instructionLocale, SuspensionTTL: c.suspensionTTL, Allowances: c.allowances, AdvanceLimit: c.advanceLimit,
		Trace: a.trace, Log: c.log,
	})
	return a, nil
}

// openTrace opens the trace beside the log. It is no part of the truth: a trace that cannot be opened is one in memory.
func (a *app) openTrace(ctx context.Context, c appConfig) (err error) {
	a.traces = &tracememory.Store{}
	if c.backend == "sqlite" {
		files, err := tracefiles.Open(filepath.Join(c.data, tracefiles.DirName), tracefiles.Options{KeepDays: c.traceDays, Log: c.log})
		if err == nil {
			a.traces = files
		} else {
			c.log.Warn("the trace cannot be kept on the disk; it goes with the process", "error", err)
		}
	}
	if a.trace, err = trace.NewWriter(ctx, a.traces, c.log, c.secrets...); err != nil {
		_ = a.traces.Close()
	}
	return err
}

func pluginSources(c appConfig) []registry.Source {
	var out []registry.Source
	for _, p := range bundled.All() {
		out = append(out, registry.Bundled(p.ID, p.Package))
	}
	out = append(out, c.plugins...)
	folders, err := registry.Folders(filepath.Join(c.home, "plugins"))
	if err != nil {
		c.log.Warn("the plugins folder could not be read", "error", err)
	}
	return append(out, folders...)
}

// close lets sessions end what they append, then closes everything in the order of dependence.
func (a *app) close(ctx context.Context) error {
	err := a.node.Drain(ctx)
	a.stop()
	<-a.reading
	a.trace.Close()
	for _, c := range []func() error{a.traces.Close, a.reads.Close, a.store.Close} {
		if cerr := c(); err == nil {
			err = cerr
		}
	}
	if a.scratch != "" {
		_ = os.RemoveAll(a.scratch)
	}
	return err
}
