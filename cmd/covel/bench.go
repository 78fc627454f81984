package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/covel/covel/events/bench"
)

func benchCommand() *cobra.Command {
	appends := &cobra.Command{
		Use:   "append",
		Short: "Appends per second against what the disk can do",
		Long: `Appends single events to a new log with 1 and with 64 writers, and writes the same bytes to the same disk without any store,
one durable write at a time. The figures and their targets are printed side by side.`,
		Example: "  covel bench append\n  covel bench append --dir /mnt/data --seconds 10 --json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return benchAppend(c) },
	}
	benchFlags(appends, 3)
	appends.Flags().Int("bytes", 1000, "size of an event")
	turns := &cobra.Command{
		Use:   "turn",
		Short: "What a turn costs beside its durable appends",
		Long: `Plays turns of the bundled game on a node with the embedded store and a model that answers at once, without HTTP, and splits
the time of each turn into its durable appends and everything else: the engine. Then it does the same with ten runtimes more,
twelve in all over the four stages. What the processor was busy with is told by part. The figures and their targets are
printed side by side.`,
		Example: "  covel bench turn\n  covel bench turn --turns 1000 --json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return benchTurn(c) },
	}
	benchFlags(turns, 0)
	turns.Flags().Int("turns", 200, "how many turns to play")
	turns.Flags().String("cpuprofile", "", "write a profile of the turns with twelve runtimes to this file, for go tool pprof")
	activate := &cobra.Command{
		Use:   "activate",
		Short: "What a long session costs: to open it, and to play on in it",
		Long: `Plays one session of the bundled game until it has the given number of events and is more than a thousand turns old, opens it
from its newest snapshot and by folding it whole, and holds a turn at the age of 1,000 against one at the age of 10.`,
		Example: "  covel bench activate\n  covel bench activate --events 20000 --json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return benchActivate(c) },
	}
	benchFlags(activate, 0)
	activate.Flags().Int("events", 10_000, "how many events the session has at least")
	return group("bench", "Measure this machine and this program", "Measurements with their targets, each in one run on one disk.", appends, turns, activate)
}

func benchFlags(c *cobra.Command, seconds float64) {
	c.Flags().String("dir", "", "a folder on the disk to measure (default: the one of the data folder); what is written there is removed")
	c.Flags().Float64("seconds", seconds, "how long each measurement takes at most; 0 is no limit")
	jsonFlag(c)
}

// benchDir is the folder to measure in.
func benchDir(c *cobra.Command) string {
	if dir, _ := c.Flags().GetString("dir"); dir != "" {
		return dir
	}
	return existing(dataDir(c))
}

// figure is one measured value, with its target if it has one.
type figure struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Target string  `json:"target,omitempty"`
	Met    *bool   `json:"met,omitempty"`
}

func plain(name, unit string, value float64) figure {
	return figure{Name: name, Value: value, Unit: unit}
}

func atLeast(name, unit string, value, target float64) figure {
	met := value >= target
	return figure{name, value, unit, fmt.Sprintf("≥ %.4g %s", target, unit), &met}
}

func atMost(name, unit string, value, target float64) figure {
	met := value <= target
	return figure{name, value, unit, fmt.Sprintf("≤ %.4g %s", target, unit), &met}
}

func printFigures(c *cobra.Command, figures []figure) error {
	if asJSON(c) {
		return printJSON(c, map[string]any{"figures": figures})
	}
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, f := range figures {
		verdict := ""
		if f.Met != nil {
			verdict = "met"
			if !*f.Met {
				verdict = "MISSED"
			}
		}
		fmt.Fprintf(w, "%s\t%s %s\t%s\t%s\n", f.Name, number(f.Value), f.Unit, f.Target, verdict)
	}
	return w.Flush()
}

// number gives three figures, or all before the point.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// benchRounds is how often the three measurements take turns, so that a disk that is busy for a moment harms them alike.
const benchRounds = 3

// middle is the round of the median rate.
func middle(rounds []bench.Result) bench.Result {
	slices.SortFunc(rounds, func(a, b bench.Result) int { return cmp.Compare(a.PerSecond(), b.PerSecond()) })
	return rounds[len(rounds)/2]
}

func benchAppend(c *cobra.Command) error {
	dir := benchDir(c)
	size, _ := c.Flags().GetInt("bytes")
	seconds, _ := c.Flags().GetFloat64("seconds")
	if seconds <= 0 || size < 1 {
		return errors.New("--seconds and --bytes must be more than 0")
	}
	limit := time.Duration(seconds / benchRounds * float64(time.Second))
	var raws, ones, manys []bench.Result
	for range benchRounds {
		raw, err := bench.RawDurable(dir, size, limit)
		if err != nil {
			return err
		}
		one, err := bench.Append(c.Context(), dir, 1, size, limit)
		if err != nil {
			return err
		}
		many, err := bench.Append(c.Context(), dir, 64, size, limit)
		if err != nil {
			return err
		}
		raws, ones, manys = append(raws, raw), append(ones, one), append(manys, many)
	}
	raw, one, many := middle(raws), middle(ones), middle(manys)
	return printFigures(c, []figure{
		plain("size of an event", "bytes", float64(size)),
		plain("raw durable writes, one at a time", "/s", raw.PerSecond()),
		plain("  p50", "ms", ms(raw.P50)),
		plain("  p99", "ms", ms(raw.P99)),
		plain("appends, 1 writer", "/s", one.PerSecond()),
		plain("  p50", "ms", ms(one.P50)),
		plain("  p99", "ms", ms(one.P99)),
		plain("appends, 64 writers", "/s", many.PerSecond()),
		plain("  p50", "ms", ms(many.P50)),
		plain("  p99", "ms", ms(many.P99)),
		atLeast("64 writers to 1 writer", "×", ratio(many.PerSecond(), one.PerSecond()), 5),
		atLeast("64 writers to raw writes", "×", ratio(many.PerSecond(), raw.PerSecond()), 4),
	})
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// scratchFolder makes a folder below dir; remove it afterwards.
func scratchFolder(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", errors.Wrap(err, "--dir")
	}
	path, err := os.MkdirTemp(dir, "covel-bench-")
	if err != nil {
		return "", errors.Wrap(err, "--dir")
	}
	return filepath.Clean(path), nil
}
