package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/covel/covel/cmd/covel/client"
	"github.com/covel/covel/gateway/llm"
	"github.com/covel/covel/gateway/play"
	"github.com/covel/covel/gateway/web"
	"github.com/covel/covel/kernel/commit"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/prompt"
	"github.com/covel/covel/plugins/registry"
)

// drainTimeout is how long a shutdown waits for sessions to end what they append.
const drainTimeout = 10 * time.Second

// serverFlags are the flags of whatever runs a server.
func serverFlags(c *cobra.Command) {
	c.Flags().String("store", "", "where the log is kept: sqlite or memory (STORE_BACKEND; default sqlite)")
	c.Flags().String("instruction-locale", "", "language of instructions to the model, zh or en (default: the session's)")
	c.Flags().Int64("suspension-ttl-ms", commit.DefaultSuspensionTTL.Milliseconds(), "how long a question of a suspended run waits for the player, in milliseconds; 0 or less: for ever")
	allowanceFlags(c)
	c.Flags().Int("trace-retention-days", 30, "files of the trace older than so many days are dropped; 0 keeps all")
	c.Flags().Bool("verbose", false, "log what happens, not only what goes wrong")
	modelFlags(c)
}

// serverConfig is what a server is made of.
type serverConfig struct {
	appConfig
	addr string // HOST:PORT; port 0 takes a free one
	info llm.Info
	done func() // releases the model
}

// readServerConfig reads the flags of serverFlags.
func readServerConfig(c *cobra.Command, addr string) (serverConfig, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return serverConfig{}, errors.Errorf("--addr %q: expected HOST:PORT", addr)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return serverConfig{}, errors.Errorf("--addr %q: this version answers on loopback only; use 127.0.0.1", addr)
	}
	cfg, err := modelConfig(c)
	if err != nil {
		return serverConfig{}, err
	}
	allowed, err := allowances(c)
	if err != nil {
		return serverConfig{}, err
	}
	rounds, err := advanceLimit(c)
	if err != nil {
		return serverConfig{}, err
	}
	models, info, err := llm.Open(cfg)
	if err != nil {
		return serverConfig{}, err
	}
	locale, _ := c.Flags().GetString("instruction-locale")
	if !slices.Contains([]string{"", prompt.English, prompt.Chinese}, locale) {
		return serverConfig{}, errors.Errorf("--instruction-locale %q: instructions exist in en and zh; leave it out to follow each session", locale)
	}
	ttl, _ := c.Flags().GetInt64("suspension-ttl-ms")
	days, _ := c.Flags().GetInt("trace-retention-days")
	return serverConfig{
		addr: addr, info: info, done: models.Close,
		appConfig: appConfig{
			home: homeDir(c), data: dataDir(c), backend: storeBackend(c), model: model.Provider(models), instructionLocale: locale, suspensionTTL: suspensionTTL(ttl), allowances: allowed, advanceLimit: rounds,
			traceDays: max(days, 0), secrets: keysOf(cfg), log: newLog(c),
		},
	}, nil
}

// suspensionTTL reads the flag: 0 or less is for ever, and more than a time.Duration holds too.
func suspensionTTL(ms int64) time.Duration {
	if ms <= 0 || ms > math.MaxInt64/int64(time.Millisecond) {
		return -1
	}
	return time.Duration(ms) * time.Millisecond
}

func storeBackend(c *cobra.Command) string {
	if b, _ := c.Flags().GetString("store"); b != "" {
		return b
	}
	if b := os.Getenv("STORE_BACKEND"); b != "" {
		return b
	}
	return "sqlite"
}

// server is a node that answers HTTP on one address.
type server struct {
	serverConfig
	*app
	url    string
	http   *http.Server
	down   chan struct{} // closed at the end: sockets say goodbye
	failed chan error    // the listener ended by itself
}

// openServer opens the app, listens, and writes the address into the data folder, where the other commands look for it.
func openServer(ctx context.Context, cfg serverConfig) (*server, error) {
	a, err := openApp(ctx, cfg.appConfig)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", cfg.addr)
	if err != nil {
		_ = a.close(context.Background())
		return nil, errors.Wrap(err, "listen (choose another --addr, or 127.0.0.1:0 for a free port)")
	}
	s := &server{serverConfig: cfg, app: a, url: "http://" + listener.Addr().String(), down: make(chan struct{}), failed: make(chan error, 1)}
	slots := map[string]play.Slot{}
	for name, slot := range cfg.info.Slots {
		slots[name] = play.Slot{Provider: slot.Provider, Model: slot.Model}
	}
	s.http = &http.Server{
		Handler: play.Handler(play.Config{
			Node: a.node, Worlds: a.worlds, Sessions: a.reads, Trace: a.trace, Plugins: func() *registry.Generation { return a.plugins }, Web: web.Handler(),
			Version: version, Storage: cfg.backend, Durable: cfg.backend != "memory", Offline: cfg.info.Offline, Slots: slots, Log: cfg.log, Shutdown: s.down,
		}),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(cfg.log.Handler(), slog.LevelDebug),
	}
	if err := writeAddress(cfg.data, s.url); err != nil {
		cfg.log.Warn("the address is not written to the data folder", "error", err)
	}
	go func() { s.failed <- s.http.Serve(listener) }() // cmd goroutine: ended by Shutdown
	return s, nil
}

// close ends what runs, so that players still hear how it ended, then the connections, then the stores.
func (s *server) close() error {
	end, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	err := s.app.node.Drain(end)
	close(s.down)
	_ = s.http.Shutdown(end)
	if closeErr := s.app.close(end); err == nil {
		err = closeErr
	}
	_ = os.Remove(filepath.Join(s.data, addressFile))
	if s.done != nil {
		s.done()
	}
	return err
}

// addressFile tells the other commands where the server of a data folder answers.
const addressFile = "server.json"

type address struct {
	URL string `json:"url"`
	PID int    `json:"pid"`
}

func writeAddress(data, url string) error {
	b, err := json.Marshal(address{url, os.Getpid()})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(data, addressFile), b, 0o600)
}

// runningServer gives the server of a data folder, ok false when none answers. A file that a crash left behind is seen
// through: its process is gone, even if another server has taken the port since.
func runningServer(ctx context.Context, data string) (api *client.API, health client.Health, ok bool) {
	b, err := os.ReadFile(filepath.Join(data, addressFile))
	if err != nil {
		return nil, health, false
	}
	var at address
	if json.Unmarshal(b, &at) != nil || at.URL == "" || !alive(at.PID) {
		return nil, health, false
	}
	api = client.New(at.URL)
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	health, err = api.Health(ctx)
	return api, health, err == nil
}

func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH)
}

func newLog(c *cobra.Command) *slog.Logger {
	level := slog.LevelWarn
	if v, _ := c.Flags().GetBool("verbose"); v {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(c.ErrOrStderr(), &slog.HandlerOptions{Level: level, ReplaceAttr: withoutStack}))
}

// withoutStack logs what an error says, without the stack it may carry.
func withoutStack(_ []string, a slog.Attr) slog.Attr {
	if err, ok := a.Value.Any().(error); ok {
		a.Value = slog.StringValue(err.Error())
	}
	return a
}
