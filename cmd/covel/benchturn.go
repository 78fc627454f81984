package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/covel/covel/actors/node"
	"github.com/covel/covel/cmd/covel/benchgame"
	"github.com/covel/covel/events"
	"github.com/covel/covel/gateway/llm/scripted"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// warmUp is how many turns are played before it counts.
const warmUp = 10

// turnPatience is how long one turn may take before the measurement gives up.
const turnPatience = time.Minute

// benchLine is what the player says in each turn.
const benchLine = "I look for the lamp in the window. 我去看看水边的灯。"

// game is one of the games whose turns are measured.
type game struct {
	name    string
	plugins []registry.Source // beside the bundled ones
}

// games are the bundled game, and the same with ten runtimes more.
var games = []game{
	{name: "the bundled game"},
	{name: "twelve runtimes over four stages", plugins: []registry.Source{registry.Bundled(benchgame.ID, benchgame.Package)}},
}

func benchTurn(c *cobra.Command) error {
	turns, _ := c.Flags().GetInt("turns")
	seconds, _ := c.Flags().GetFloat64("seconds")
	if turns < 1 || seconds < 0 {
		return errors.New("--turns must be at least 1, --seconds at least 0")
	}
	path, _ := c.Flags().GetString("cpuprofile")
	limit := time.Duration(seconds / float64(len(games)) * float64(time.Second))
	var figures []figure
	var perRuntime []float64
	for _, g := range games {
		m, err := g.play(c, turns, limit)
		if err != nil {
			return errors.Wrap(err, g.name)
		}
		if path != "" { // of the last game
			if err := os.WriteFile(path, m.cpu, 0o600); err != nil {
				return errors.Wrap(err, "--cpuprofile")
			}
		}
		of, err := m.figures(g)
		if err != nil {
			return err
		}
		figures = append(figures, of...)
		perRuntime = append(perRuntime, m.perRuntime())
	}
	return printFigures(c, append(figures, atMost("engine per runtime, twelve to the bundled game", "×", ratio(perRuntime[1], perRuntime[0]), 1)))
}

// played is what was measured of one game.
type played struct {
	turns    []turnTime
	runtimes int // that ran in a turn
	elapsed  time.Duration
	cpu      []byte // profile
}

// play plays turns of a game and measures them. No limit is 0.
func (g game) play(c *cobra.Command, turns int, limit time.Duration) (m played, err error) {
	dir, err := scratchFolder(benchDir(c))
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(dir)
	clock := &appendClock{}
	a, err := openApp(c.Context(), appConfig{
		home: filepath.Join(dir, "home"), data: filepath.Join(dir, "data"), backend: "sqlite", log: slog.New(slog.DiscardHandler),
		model:     scripted.New(scripted.Script{Otherwise: scripted.BundledGame(), Forget: true}),
		wrapStore: func(s events.Store) events.Store { return timedStore{s, clock} }, plugins: g.plugins,
	})
	if err != nil {
		return m, err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.Background(), drainTimeout)
		defer cancel()
		if e := a.close(end); err == nil {
			err = e
		}
	}()
	for _, e := range a.plugins.Errors {
		return m, errors.Wrapf(e.Err, "load the plugin %s", e.PluginID)
	}
	p := &benchPlayer{node: a.node, sub: node.NewSubscription(), id: "bench"}
	if err := p.begin(c.Context(), a); err != nil {
		return m, err
	}
	for range warmUp {
		if _, err := p.say(c.Context(), clock); err != nil {
			return m, err
		}
	}
	m.runtimes = p.runtimes
	var cpu bytes.Buffer
	if err := pprof.StartCPUProfile(&cpu); err != nil {
		return m, errors.Wrap(err, "profile the turns")
	}
	begun := time.Now()
	for len(m.turns) < turns && (limit == 0 || time.Since(begun) < limit || len(m.turns) == 0) {
		t, err := p.say(c.Context(), clock)
		if err != nil {
			pprof.StopCPUProfile()
			return m, err
		}
		m.turns = append(m.turns, t)
	}
	m.elapsed = time.Since(begun)
	pprof.StopCPUProfile()
	m.cpu = cpu.Bytes()
	return m, nil
}

// turnTime is how long one turn took and what was appended in it.
type turnTime struct {
	wall, appends  time.Duration
	count, written int // appends, events
}

func (t turnTime) engine() time.Duration { return t.wall - t.appends }

// percentile of one measure of all turns.
func (m played) percentile(percent int, measure func(turnTime) time.Duration) float64 {
	all := make([]time.Duration, len(m.turns))
	for i, t := range m.turns {
		all[i] = measure(t)
	}
	slices.Sort(all)
	return ms(all[len(all)*percent/100])
}

// perRuntime is the engine's time for each runtime of a turn, in milliseconds.
func (m played) perRuntime() float64 {
	return ratio(m.percentile(50, turnTime.engine), float64(m.runtimes))
}

func (m played) figures(g game) ([]figure, error) {
	wall := func(t turnTime) time.Duration { return t.wall }
	appends := func(t turnTime) time.Duration { return t.appends }
	count, written := 0, 0
	for _, t := range m.turns {
		count += t.count
		written += t.written
	}
	n := float64(len(m.turns))
	append50, engine50 := m.percentile(50, appends), m.percentile(50, turnTime.engine)
	engine, beside := plain("in the engine, p50", "ms", engine50), plain("engine to appends, p50", "×", ratio(engine50, append50))
	if len(g.plugins) == 0 { // the targets are those of the bundled game
		engine, beside = atMost(engine.Name, engine.Unit, engine.Value, 5), atMost(beside.Name, beside.Unit, beside.Value, 1)
	}
	out := []figure{
		plain(g.name+": turns", "", n),
		plain("turns per second, one session", "/s", n/m.elapsed.Seconds()),
		plain("runtimes per turn", "", float64(m.runtimes)),
		plain("events per turn", "", float64(written)/n),
		plain("durable appends per turn", "", float64(count)/n),
		plain("a turn, p50", "ms", m.percentile(50, wall)),
		plain("a turn, p99", "ms", m.percentile(99, wall)),
		plain("in its durable appends, p50", "ms", append50),
		plain("in its durable appends, p99", "ms", m.percentile(99, appends)),
		engine,
		plain("in the engine, p99", "ms", m.percentile(99, turnTime.engine)),
		beside,
		plain("engine per runtime, p50", "ms", m.perRuntime()),
	}
	spent, err := shares(m.cpu)
	for _, s := range spent {
		out = append(out, plain("  processor time of a turn: "+s.part, "ms", ms(s.took)/n))
	}
	return out, err
}

// benchPlayer plays one session on a node, without HTTP.
type benchPlayer struct {
	node  *node.Node
	sub   *node.Subscription
	id    string
	count int
	state projections.State
	// runtimes is how many ran in the last turn.
	runtimes int
}

// begin brings a session to its first page.
func (p *benchPlayer) begin(ctx context.Context, a *app) error {
	list := a.worlds.List("en")
	if len(list) == 0 {
		return errors.New("no world is installed")
	}
	pack, _ := a.worlds.Get(list[0].ID)
	if _, err := p.node.Create(ctx, p.id, pack.In("en"), node.Choice{}); err != nil {
		return err
	}
	v, err := p.node.Follow(ctx, p.id, p.sub)
	if err != nil {
		return err
	}
	p.state = v.State
	if err := p.send(ctx, kernel.Command{Type: kernel.StartSession}); err != nil {
		return err
	}
	for p.state.History.Stories == 0 {
		open := p.state.Interactions.Open("")
		if len(open) == 0 {
			return errors.New("the session asks nothing and tells nothing")
		}
		q := open[len(open)-1]
		fields, err := answerAll(q.Block)
		if err != nil {
			return err
		}
		ref := q.InteractionRef
		if err := p.send(ctx, kernel.Command{Type: kernel.SubmitActions, Actions: []projections.Action{{Interaction: &ref, Fields: fields}}}); err != nil {
			return err
		}
	}
	return nil
}

// answerAll writes a word into each text field of a form that has no default.
func answerAll(block []byte) (projections.RawJSON, error) {
	var form struct {
		Fields []struct {
			Type, Name   string
			DefaultValue any
		}
	}
	if err := json.Unmarshal(block, &form); err != nil {
		return nil, errors.Wrap(err, "read the form")
	}
	values := map[string]any{}
	for _, f := range form.Fields {
		if f.DefaultValue == nil && (f.Type == "text" || f.Type == "textarea") {
			values[f.Name] = "Mara Lind"
		}
	}
	b, err := json.Marshal(values)
	return b, errors.Wrap(err, "answer the form")
}

// say plays one turn and measures it.
func (p *benchPlayer) say(ctx context.Context, clock *appendClock) (turnTime, error) {
	clock.take()
	begun := time.Now()
	err := p.send(ctx, kernel.Command{Type: kernel.SubmitActions, Actions: []projections.Action{{Kind: "say", Text: benchLine}}})
	t := clock.take()
	t.wall = time.Since(begun)
	return t, err
}

// send submits a command and waits until its request has committed.
func (p *benchPlayer) send(ctx context.Context, cmd kernel.Command) error {
	ctx, cancel := context.WithTimeout(ctx, turnPatience)
	defer cancel()
	p.count++
	cmd.RequestID, cmd.BodyHash = fmt.Sprintf("bench-%d", p.count), "00"
	refused := make(chan error, 2)
	err := p.node.Submit(ctx, p.id, cmd, func(a kernel.Answer) {
		if a.Refusal != nil {
			refused <- a.Refusal
			cancel()
		}
	})
	if err != nil {
		return err
	}
	for {
		u, err := p.sub.Next(ctx)
		if err != nil {
			select {
			case err = <-refused:
			default:
			}
			return errors.Wrap(err, "play a turn")
		}
		if u.Publish == nil {
			continue
		}
		p.state = u.Publish.After
		for _, r := range u.Publish.Events {
			if m, err := events.Decode(r.Event); err == nil {
				if done, ok := m.(*eventsv1.ExecutionCommitted); ok {
					p.runtimes = successes(done.Outcomes)
				}
			}
		}
		last := p.state.Session.Last
		if p.state.Session.Open != nil || last == nil || last.RequestID != cmd.RequestID || last.Next != "" {
			continue
		}
		if last.End != projections.EndCommitted {
			return errors.Errorf("a turn did not commit: %s %s", last.Reason, last.Error)
		}
		return nil
	}
}

func successes(outcomes []*eventsv1.RuntimeOutcome) (n int) {
	for _, o := range outcomes {
		if o.Status == string(turn.Succeeded) {
			n++
		}
	}
	return n
}

// appendClock adds up the time in durable appends.
type appendClock struct {
	mu  sync.Mutex
	sum turnTime
}

// take gives what was added up since the last take.
func (c *appendClock) take() turnTime {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := c.sum
	c.sum = turnTime{}
	return sum
}

type timedStore struct {
	events.Store
	clock *appendClock
}

// Append implements events.Store.
func (s timedStore) Append(ctx context.Context, stream string, expected events.Version, evs []events.Event) (events.Appended, error) {
	begun := time.Now()
	done, err := s.Store.Append(ctx, stream, expected, evs)
	took := time.Since(begun)
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	s.clock.sum.appends += took
	s.clock.sum.count++
	s.clock.sum.written += len(evs)
	return done, err
}
