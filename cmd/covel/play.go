package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/covel/covel/cmd/covel/client"
	"github.com/covel/covel/cmd/covel/terminal"
	"github.com/covel/covel/events/sqlite"
)

// scriptPatience is how long a script waits for a server that went away.
const scriptPatience = 30 * time.Second

func playCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "play",
		Short: "Play in the terminal",
		Long: `Plays in the terminal: choose a world, say who you are, and write your lines. /help in the game tells what you can type.

The game is on the server that --server names, else on the one that runs on the data folder, else on one of its own, which
ends with the game. A dropped connection goes on where it was; nothing is lost and nothing is sent twice.

` + terminal.ScriptHelp,
		Example: `  covel play
  covel play --world low-water --locale zh-CN
  covel play --session low-water-4c3vx6qz
  covel play --server http://127.0.0.1:7420
  covel play --script docs/examples/first-session.txt --store memory --pace 0`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runPlay(c) },
	}
	c.Flags().String("server", "", "address of the server to play on, for example http://127.0.0.1:7420")
	c.Flags().String("world", "", "begin a new session in this world")
	c.Flags().String("session", "", "go on with this session")
	c.Flags().String("locale", "", "language, en or zh-CN (default: of the system)")
	c.Flags().String("script", "", "play this file of inputs; a turn that does not commit is an error")
	c.MarkFlagsMutuallyExclusive("world", "session")
	serverFlags(c)
	return c
}

func runPlay(c *cobra.Command) error {
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	g := player{screen: terminal.NewScreen(c.OutOrStdout())}
	g.world, _ = c.Flags().GetString("world")
	g.session, _ = c.Flags().GetString("session")
	g.locale, _ = c.Flags().GetString("locale")
	if path, _ := c.Flags().GetString("script"); path != "" {
		if err := g.readScript(path); err != nil {
			return err
		}
	}
	if g.locale == "" {
		g.locale = systemLocale()
	}
	if g.script == nil {
		in, live := c.InOrStdin(), false
		if f, ok := in.(*os.File); ok {
			live = isatty.IsTerminal(f.Fd()) && g.screen.Live()
		}
		g.lines = terminal.ReadLines(in, live)
	}
	api, end, err := findServer(ctx, c)
	if err != nil {
		return err
	}
	g.api = api
	err = g.play(ctx)
	api.Close()
	if e := end(); err == nil {
		err = e
	}
	return err
}

// findServer gives a server to play on; end stops it if it was started for this game.
func findServer(ctx context.Context, c *cobra.Command) (api *client.API, end func() error, err error) {
	nothing := func() error { return nil }
	if url, _ := c.Flags().GetString("server"); url != "" {
		api := client.New(url)
		_, err := api.Health(ctx)
		return api, nothing, err
	}
	if storeBackend(c) == "sqlite" {
		if api, _, ok := runningServer(ctx, dataDir(c)); ok {
			return api, nothing, nil
		}
	}
	cfg, err := readServerConfig(c, "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	s, err := openServer(ctx, cfg)
	if err != nil {
		cfg.done()
		if errors.Is(err, sqlite.ErrLocked) {
			return nil, nil, errors.WithMessage(err, "a server has the data folder, and it does not answer; name it with --server, or wait until it has stopped")
		}
		return nil, nil, err
	}
	return client.New(s.url), s.close, nil
}

// player is a game about to be played.
type player struct {
	api                    *client.API
	screen                 *terminal.Screen
	lines                  terminal.Lines
	script                 *terminal.Script
	scriptName             string
	world, session, locale string
}

func (g *player) readScript(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return errors.Wrap(err, "--script")
	}
	defer f.Close()
	g.scriptName = filepath.Base(path)
	s, err := terminal.ParseScript(f)
	if err != nil {
		return errors.WithMessage(err, g.scriptName)
	}
	g.script = &s
	if g.world == "" && g.session == "" {
		g.world = s.World
	}
	if g.locale == "" {
		g.locale = s.Locale
	}
	return nil
}

func (g *player) play(ctx context.Context) error {
	if ok, err := g.chooseSession(ctx); err != nil || !ok {
		return err
	}
	specs, err := g.api.MessageSpecs(ctx, g.session)
	if err != nil {
		return err
	}
	opts := client.Options{}
	if g.script != nil {
		opts.GiveUp = scriptPatience
	}
	link := g.api.Connect(ctx, g.session, opts)
	defer link.Close()
	game := terminal.NewGame(link, specs, g.screen, g.locale, g.script != nil || !g.lines.Live)
	if g.script != nil {
		return errors.WithMessage(game.Play(ctx, *g.script), g.scriptName)
	}
	return game.Console(ctx, g.lines)
}

// chooseSession makes or finds the session to play; ok is false when the player left instead.
func (g *player) chooseSession(ctx context.Context) (ok bool, err error) {
	if g.session != "" {
		_, err := g.api.Session(ctx, g.session)
		return err == nil, errors.WithMessagef(err, "session %s", g.session)
	}
	if g.world == "" {
		if ok, err := g.chooseWorld(ctx); err != nil || !ok || g.session != "" {
			return ok, err
		}
	}
	s, err := g.api.Create(ctx, g.world, g.locale)
	g.session = s.ID
	return err == nil, errors.WithMessagef(err, "world %s", g.world)
}

// offeredSessions is how many sessions are offered beside the worlds.
const offeredSessions = 5

// chooseWorld offers the worlds, and the newest sessions to go on with. The only world there is needs no question.
func (g *player) chooseWorld(ctx context.Context) (ok bool, err error) {
	worlds, err := g.api.Worlds(ctx, g.locale)
	if err != nil {
		return false, err
	}
	if len(worlds) == 0 {
		return false, errors.New("there is no world to play in")
	}
	sessions, err := g.api.Sessions(ctx)
	if err != nil {
		return false, err
	}
	if len(worlds) == 1 && (len(sessions) == 0 || g.script != nil || !g.lines.Live) {
		g.world = worlds[0].ID
		return true, nil
	}
	if g.script != nil {
		return false, errors.Errorf("%s names no world, and there are several; add a line: world %s", g.scriptName, worlds[0].ID)
	}
	sessions = sessions[:min(len(sessions), offeredSessions)]
	chosen, ok := terminal.ChooseStory(ctx, g.screen, g.lines, g.locale, worlds, sessions)
	switch {
	case !ok:
	case chosen < len(worlds):
		g.world = worlds[chosen].ID
	default:
		g.session = sessions[chosen-len(worlds)].ID
	}
	return ok, nil
}

// systemLocale is the language of the environment; anything but Chinese is English.
func systemLocale() string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := os.Getenv(name); v != "" {
			if terminal.Chinese(v) {
				return "zh-CN"
			}
			break
		}
	}
	return "en"
}
