package main

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/covel/covel/events"
	"github.com/covel/covel/gateway/llm"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/registry"
	readmodels "github.com/covel/covel/projections/sql"
	"github.com/covel/covel/worlds"
)

func doctorCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the data folder, worlds, plugins and model, and say what to do",
		Long: `Looks at everything the program needs and says what is wrong and what to do about it. It reads the whole log, checks every
checksum, and folds every session; beside a running server too. It changes nothing. The exit status is 1 when something is
wrong; a warning is not.

No model is called unless --call-model says so: that call may cost money.`,
		Example: `  covel doctor
  covel doctor --data ./data --json
  covel doctor --model openai:gpt-4.1 --call-model`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return doctor(c) },
	}
	c.Flags().String("addr", "127.0.0.1:7420", "address that the server would listen on")
	c.Flags().Bool("call-model", false, "ask each configured model for one word")
	jsonFlag(c)
	modelFlags(c)
	return c
}

// Levels of a finding.
const (
	fine    = "ok"
	warning = "warning"
	wrong   = "wrong"
)

// finding is what one check found.
type finding struct {
	Check  string `json:"check"`
	Level  string `json:"level"`
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"` // what to do
}

type checkup struct {
	c        *cobra.Command
	home     string
	data     string
	findings []finding
}

func (d *checkup) add(check, level, advice, format string, args ...any) {
	d.findings = append(d.findings, finding{check, level, fmt.Sprintf(format, args...), advice})
}

func doctor(c *cobra.Command) error {
	d := &checkup{c: c, home: homeDir(c), data: dataDir(c)}
	d.folder()
	d.disk()
	d.log(c.Context())
	d.worlds()
	d.plugins()
	d.server(c.Context())
	d.model(c.Context())
	bad := 0
	for _, f := range d.findings {
		if f.Level == wrong {
			bad++
		}
	}
	if asJSON(c) {
		if err := printJSON(c, map[string]any{"ok": bad == 0, "findings": d.findings}); err != nil {
			return err
		}
	} else {
		d.print()
	}
	if bad > 0 {
		return errors.Errorf("%d of %d checks found something wrong", bad, len(d.findings))
	}
	return nil
}

func (d *checkup) print() {
	marks := map[string]string{fine: "ok     ", warning: "warning", wrong: "WRONG  "}
	for _, f := range d.findings {
		fmt.Fprintf(d.c.OutOrStdout(), "%s  %-12s %s\n", marks[f.Level], f.Check, strings.ReplaceAll(f.Text, "\n", "\n                      "))
		if f.Advice != "" {
			fmt.Fprintf(d.c.OutOrStdout(), "%21s → %s\n", "", f.Advice)
		}
	}
}

// folder: the data folder, or the one it would be made in, can be written.
func (d *checkup) folder() {
	const check = "data folder"
	info, err := os.Stat(d.data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		above := existing(d.data)
		if err := tryWrite(above); err != nil {
			d.add(check, wrong, "name a folder you may write with --data", "%s does not exist and cannot be made: %v", d.data, err)
			return
		}
		d.add(check, fine, "", "%s does not exist yet; the first start makes it", d.data)
	case err != nil:
		d.add(check, wrong, "look at its permissions, or name another folder with --data", "%v", err)
	case !info.IsDir():
		d.add(check, wrong, "name a folder with --data", "%s is no folder", d.data)
	default:
		if err := tryWrite(d.data); err != nil {
			d.add(check, wrong, "look at its permissions, or name another folder with --data", "cannot be written: %v", err)
			return
		}
		d.add(check, fine, "", "%s can be written", d.data)
	}
}

// existing is the nearest folder above a path that exists.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil {
			return path
		}
		above := filepath.Dir(path)
		if above == path {
			return path
		}
		path = above
	}
}

func tryWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".covel-doctor-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString("covel")
	if e := f.Close(); err == nil {
		err = e
	}
	if e := os.Remove(f.Name()); err == nil {
		err = e
	}
	return err
}

// Free space in bytes below which a disk is wrong, or worth a warning.
const (
	tooFull = 100 << 20
	nearly  = 1 << 30
)

func (d *checkup) disk() {
	const check = "disk"
	free, err := freeBytes(existing(d.data))
	switch {
	case err != nil:
		d.add(check, warning, "", "how much is free is not known: %v", err)
	case free < tooFull:
		d.add(check, wrong, "make room, or move the data folder and name it with --data", "%d MB are free", free>>20)
	case free < nearly:
		d.add(check, warning, "make room soon", "%d MB are free", free>>20)
	default:
		d.add(check, fine, "", "%.1f GB are free", float64(free)/(1<<30))
	}
}

// log: every append is read with its checksum, every payload that is kept beside the log is there, every session folds.
func (d *checkup) log(ctx context.Context) {
	const check = "log"
	if _, err := os.Stat(d.data); errors.Is(err, fs.ErrNotExist) {
		d.add(check, fine, "", "there is none yet")
		return
	}
	store, err := readLog(d.data)
	if err != nil {
		if errors.Is(err, errNoLog) {
			d.add(check, fine, "", "there is none yet")
			return
		}
		d.add(check, wrong, "restore the folder from a backup; keep this one", "cannot be opened: %v", err)
		return
	}
	defer store.Close()
	folds, err := foldSessions(ctx, store)
	if err != nil {
		d.add(check, wrong, "restore the folder from a backup; keep this one", "%v", err)
		return
	}
	total, open, unreadable := 0, 0, 0
	for _, f := range folds {
		total += f.events
		if f.err != nil {
			unreadable++
			d.add("session", wrong, "the other sessions are not affected; a newer version may read it, or delete it: covel sessions delete "+f.id,
				"%s cannot be read beyond version %d: %v", f.id, f.Version(), f.err)
		} else if f.Session().Open != nil {
			open++
		}
	}
	text := fmt.Sprintf("%d events of %d sessions, every checksum holds", total, len(folds))
	if open > 0 {
		text += fmt.Sprintf("; %d turns are open and are closed by the server when nobody runs them", open)
	}
	if unreadable == 0 {
		d.add(check, fine, "", "%s", text)
	}
	d.readModels(ctx, store)
}

// maxLag is how many events the read models of a running server may be behind before it is worth a warning.
const maxLag = 1000

// readModels: how far they are behind the log. They are never wrong for good: they are built from the log again.
func (d *checkup) readModels(ctx context.Context, store events.Store) {
	const check, advice = "read models", "if it stays so, stop the server and delete " + readsFile + ": it is built again from the log"
	path := filepath.Join(d.data, readsFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		d.add(check, fine, "", "there are none yet; the next start builds them")
		return
	}
	reads, err := readmodels.Open(path)
	if err != nil {
		d.add(check, wrong, "stop the server and delete "+readsFile+": it is built again from the log", "%v", err)
		return
	}
	defer reads.Close()
	at, err := reads.Checkpoint(ctx)
	if err != nil {
		d.add(check, wrong, "stop the server and delete "+readsFile+": it is built again from the log", "%v", err)
		return
	}
	if at.LogID != store.LogID() {
		d.add(check, fine, "", "were made from another log or by another version; the next start builds them anew")
		return
	}
	lag := 0
	for _, err := range store.ReadAll(ctx, at.Position) {
		if err != nil {
			d.add(check, wrong, "", "%v", err)
			return
		}
		lag++
	}
	parked, err := reads.Parked(ctx)
	if err != nil {
		d.add(check, wrong, advice, "%v", err)
		return
	}
	for _, p := range parked {
		reason, _, _ := strings.Cut(p.Error, "\n") // the stack follows
		d.add(check, warning, advice, "the lists show %s as it was before position %d: %s", p.SessionID, p.Position, reason)
	}
	if lag > maxLag {
		d.add(check, warning, advice, "%d events behind the log", lag)
		return
	}
	d.add(check, fine, "", "%d events behind the log", lag)
}

// worlds and plugins: everything loads.
func (d *checkup) worlds() {
	const check = "worlds"
	lib, err := worlds.Open(filepath.Join(d.home, "worlds"))
	if err != nil {
		d.add(check, wrong, "look at the permissions of the folder", "%v", err)
		return
	}
	for _, e := range lib.Errors() {
		d.add(check, wrong, "correct the file, or take the folder out", "%s does not load:\n%v", e.Dir, e.Err)
	}
	d.add(check, fine, "", "%d can be played", len(lib.List("en")))
}

func (d *checkup) plugins() {
	const check = "plugins"
	gen := registry.Build(pluginSources(appConfig{home: d.home, log: newLog(d.c)}))
	for _, e := range gen.Errors {
		d.add(check, wrong, "correct the file, or take the folder out", "%s does not load:\n%v", e.PluginID, e.Err)
	}
	d.add(check, fine, "", "%d are loaded", len(gen.Plugins))
}

// server: one answers, or its port is free.
func (d *checkup) server(ctx context.Context) {
	const check = "server"
	if api, health, ok := runningServer(ctx, d.data); ok {
		api.Close()
		d.add(check, fine, "", "answers at %s (version %s, store %s)", api.Address(), health.Version, health.Storage.Data.Backend)
		return
	}
	addr, _ := d.c.Flags().GetString("addr")
	l, err := net.Listen("tcp", addr)
	if err != nil {
		d.add(check, wrong, "choose another address with --addr, or 127.0.0.1:0 for a free port", "none runs on this folder, and %s cannot be used: %v", addr, err)
		return
	}
	_ = l.Close()
	d.add(check, fine, "", "none runs on this folder; %s is free", addr)
}

// callTimeout bounds a call of --call-model.
const callTimeout = time.Minute

func (d *checkup) model(ctx context.Context) {
	const check = "model"
	cfg, err := modelConfig(d.c)
	if err != nil {
		d.add(check, wrong, "see covel serve --help", "%v", err)
		return
	}
	models, info, err := llm.Open(cfg)
	if err != nil {
		d.add(check, wrong, "see covel serve --help", "%v", err)
		return
	}
	defer models.Close()
	call, _ := d.c.Flags().GetBool("call-model")
	for name, slot := range cfg.Slots {
		text := strings.TrimSuffix(name+": "+info.Slots[name].Provider+" "+info.Slots[name].Model, " ")
		switch {
		case slot.Provider == llm.OpenAI && slot.BaseURL == "" && slot.Key.Reveal() == "":
			d.add(check, wrong, "set COVEL_MODEL_KEY, or name a server of your own with --model-url", "%s has no key", text)
		case call:
			d.callModel(ctx, models, name, text)
		default:
			d.add(check, fine, "", "%s", text)
		}
	}
}

func (d *checkup) callModel(ctx context.Context, p model.Provider, slot, text string) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	begun := time.Now()
	_, err := p.Generate(ctx, model.Request{
		Slot: slot, Messages: []model.Message{{Role: model.User, Content: "Answer with one word: ready."}}, MaxOutputTokens: 64,
	}, nil)
	if err != nil {
		d.add("model", wrong, "look at --model, --model-url and the key", "%s does not answer: %v", text, err)
		return
	}
	d.add("model", fine, "", "%s answered after %s", text, time.Since(begun).Round(time.Millisecond))
}
