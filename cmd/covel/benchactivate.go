package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/covel/covel/actors/node"
	"github.com/covel/covel/actors/session"
	"github.com/covel/covel/gateway/llm/scripted"
	"github.com/covel/covel/projections"
)

// Ages of the two sessions whose turns are compared, and how many turns of each: they take turns, so that a machine that is
// busy for a moment harms them alike, and the median counts.
const (
	youngTurn = 10
	oldTurn   = 1000
	turnPairs = 101
)

// activations is how often a session is opened each way; the median counts.
const activations = 21

// benchActivate plays one long session, then opens it from its newest snapshot and by folding it whole.
func benchActivate(c *cobra.Command) (err error) {
	least, _ := c.Flags().GetInt("events")
	if least < 1 {
		return errors.New("--events must be at least 1")
	}
	dir, err := scratchFolder(benchDir(c))
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	a, err := openApp(c.Context(), appConfig{
		home: filepath.Join(dir, "home"), data: filepath.Join(dir, "data"), backend: "sqlite", log: slog.New(slog.DiscardHandler),
		model: scripted.New(scripted.Script{Otherwise: scripted.BundledGame(), Forget: true}),
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
	for int(p.state.Version) < least || p.state.Session.CompletedPlayerTurns < oldTurn {
		if _, err := p.say(c.Context(), &appendClock{}); err != nil {
			return err
		}
	}
	snapshot, err := openings(c.Context(), a, a.reads, p.state)
	if err != nil {
		return err
	}
	whole, err := openings(c.Context(), a, nil, p.state)
	if err != nil {
		return err
	}
	size, turns := int(p.state.Version), p.state.Session.CompletedPlayerTurns
	young, old, err := ages(c.Context(), a, p)
	if err != nil {
		return err
	}
	return printFigures(c, []figure{
		plain("events in the session", "", float64(size)),
		plain("turns in the session", "", float64(turns)),
		plain("opened by folding it whole", "ms", ms(whole)),
		plain("opened from its newest snapshot", "ms", ms(snapshot)),
		atMost("from a snapshot to whole", "×", ratio(ms(snapshot), ms(whole)), 0.1),
		plain("a turn at the age of 10, p50", "ms", ms(young)),
		plain("a turn at the age of 1,000, p50", "ms", ms(old)),
		atMost("turn 1,000 to turn 10", "×", ratio(ms(old), ms(young)), 1.3),
	})
}

// ages plays turns of the old session and of a new one alternately and gives the median of each.
func ages(ctx context.Context, a *app, old *benchPlayer) (young, aged time.Duration, err error) {
	p := &benchPlayer{node: a.node, sub: node.NewSubscription(), id: "young"}
	if err := p.begin(ctx, a); err != nil {
		return 0, 0, err
	}
	var youngs, olds []time.Duration
	for turn := range youngTurn + turnPairs {
		t, err := p.say(ctx, &appendClock{})
		if err != nil {
			return 0, 0, err
		}
		if turn < youngTurn {
			continue
		}
		youngs = append(youngs, t.wall)
		if t, err = old.say(ctx, &appendClock{}); err != nil {
			return 0, 0, err
		}
		olds = append(olds, t.wall)
	}
	return median(youngs), median(olds), nil
}

// openings opens the session several times and gives the median; every opening must come to the same state.
func openings(ctx context.Context, a *app, snapshots session.Snapshots, want projections.State) (time.Duration, error) {
	var took []time.Duration
	for range activations {
		begun := time.Now()
		got, err := session.Fold(ctx, a.store, snapshots, want.Session.ID)
		took = append(took, time.Since(begun))
		if err != nil {
			return 0, err
		}
		if got.Version != want.Version || got.LastID != want.LastID || got.History.Stories != want.History.Stories {
			return 0, errors.Errorf("opened at version %d with %d pages, want %d with %d", got.Version, got.History.Stories, want.Version, want.History.Stories)
		}
	}
	return median(took), nil
}

func median(all []time.Duration) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}
