package main

import (
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
	"github.com/covel/covel/events"
	"github.com/covel/covel/gateway/llm/scripted"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
)

// warmUp is how many turns are played before it counts.
const warmUp = 10

// turnPatience is how long one turn may take before the measurement gives up.
const turnPatience = time.Minute

// benchLine is what the player says in each turn.
const benchLine = "I look for the lamp in the window. 我去看看水边的灯。"

func benchTurn(c *cobra.Command) (err error) {
	turns, _ := c.Flags().GetInt("turns")
	seconds, _ := c.Flags().GetFloat64("seconds")
	if turns < 1 || seconds < 0 {
		return errors.New("--turns must be at least 1, --seconds at least 0")
	}
	dir, err := scratchFolder(benchDir(c))
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	clock := &appendClock{}
	a, err := openApp(c.Context(), appConfig{
		home: filepath.Join(dir, "home"), data: filepath.Join(dir, "data"), backend: "sqlite", log: slog.New(slog.DiscardHandler),
		model:     scripted.New(scripted.Script{Otherwise: scripted.BundledGame(), Forget: true}),
		wrapStore: func(s events.Store) events.Store { return timedStore{s, clock} },
	})
	if err != nil {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.Background(), drainTimeout)
		defer cancel()
		if e := a.close(end); err == nil {
			err = e
		}
	}()
	p := &benchPlayer{node: a.node, sub: node.NewSubscription(), id: "bench"}
	if err := p.begin(c.Context(), a); err != nil {
		return err
	}
	for range warmUp {
		if _, err := p.say(c.Context(), clock); err != nil {
			return err
		}
	}
	if path, _ := c.Flags().GetString("cpuprofile"); path != "" {
		f, err := os.Create(path)
		if err != nil {
			return errors.Wrap(err, "--cpuprofile")
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return errors.Wrap(err, "--cpuprofile")
		}
		defer pprof.StopCPUProfile()
	}
	begun := time.Now()
	var taken []turnTime
	for len(taken) < turns && (seconds == 0 || time.Since(begun).Seconds() < seconds || len(taken) == 0) {
		t, err := p.say(c.Context(), clock)
		if err != nil {
			return err
		}
		taken = append(taken, t)
	}
	return printFigures(c, turnFigures(taken, time.Since(begun)))
}

// turnTime is how long one turn took and what was appended in it.
type turnTime struct {
	wall, appends  time.Duration
	count, written int // appends, events
}

func (t turnTime) engine() time.Duration { return t.wall - t.appends }

func turnFigures(taken []turnTime, elapsed time.Duration) []figure {
	of := func(measure func(turnTime) time.Duration) (p50, p99 float64) {
		all := make([]time.Duration, len(taken))
		for i, t := range taken {
			all[i] = measure(t)
		}
		slices.Sort(all)
		return ms(all[len(all)/2]), ms(all[len(all)*99/100])
	}
	wall50, wall99 := of(func(t turnTime) time.Duration { return t.wall })
	append50, append99 := of(func(t turnTime) time.Duration { return t.appends })
	engine50, engine99 := of(turnTime.engine)
	count, written := 0, 0
	for _, t := range taken {
		count += t.count
		written += t.written
	}
	n := float64(len(taken))
	return []figure{
		plain("turns", "", n),
		plain("turns per second, one session", "/s", n/elapsed.Seconds()),
		plain("events per turn", "", float64(written)/n),
		plain("durable appends per turn", "", float64(count)/n),
		plain("a turn, p50", "ms", wall50),
		plain("a turn, p99", "ms", wall99),
		plain("in its durable appends, p50", "ms", append50),
		plain("in its durable appends, p99", "ms", append99),
		atMost("in the engine, p50", "ms", engine50, 5),
		plain("in the engine, p99", "ms", engine99),
		atMost("engine to appends, p50", "×", ratio(engine50, append50), 1),
	}
}

// benchPlayer plays one session on a node, without HTTP.
type benchPlayer struct {
	node  *node.Node
	sub   *node.Subscription
	id    string
	count int
	state projections.State
}

// begin brings a session to its first page.
func (p *benchPlayer) begin(ctx context.Context, a *app) error {
	list := a.worlds.List("en")
	if len(list) == 0 {
		return errors.New("no world is installed")
	}
	pack, _ := a.worlds.Get(list[0].ID)
	if _, err := p.node.Create(ctx, p.id, pack.In("en")); err != nil {
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
