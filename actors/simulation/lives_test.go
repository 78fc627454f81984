package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/covel/covel/actors/node"
	"github.com/covel/covel/events"
	"github.com/covel/covel/events/memory"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/kernel/session/reference"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
	"github.com/covel/covel/worlds"
)

// step is one thing that happens, with what it picks from what is there.
type step struct {
	verb string
	pick int
}

func (s step) String() string { return s.verb + " " + strconv.Itoa(s.pick) }

// ask is a command of a client and what became of it.
type ask struct {
	cmd     kernel.Command
	sent    int
	answers map[int][]kernel.Answer // by sending
	lost    map[int]bool            // sendings whose node is gone
	node    map[int]string
}

var drawn = []struct {
	verb   string
	weight int
}{
	{"say", 16}, {"wait", 24}, {"moment", 10}, {"retry", 3}, {"resume", 6}, {"abandon", 2}, {"undo", 3}, {"regenerate", 3}, {"revise", 2}, {"repeat", 4},
	{"paint", 4}, {"cancel", 2}, {"retry-job", 2}, {"stop", 3}, {"pause", 1}, {"unpause", 2}, {"interject", 5}, {"again", 3}, {"settings", 2}, {"seat", 2}, {"fault", 8}, {"crash", 2}, {"shutdown", 1}, {"both", 3}, {"wake", 2}, {"start", 1},
}

func draw(seed uint64) []step {
	rng := rand.New(rand.NewPCG(seed, 0xac70e5))
	total := 0
	for _, d := range drawn {
		total += d.weight
	}
	out := []step{{"start", 0}, {"wait", 3}}
	for range 10 + rng.IntN(50) {
		at := rng.IntN(total)
		for _, d := range drawn {
			if at -= d.weight; at < 0 {
				out = append(out, step{d.verb, rng.IntN(100)})
				break
			}
		}
	}
	return out
}

// send hands a command to a node, as a client does that does not wait.
func (st *stage) send(a *ask, at int) string {
	n := st.open(at)
	st.mu.Lock()
	a.sent++
	sending := a.sent
	a.node[sending] = n.name
	st.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	err := n.Submit(ctx, sessionID, a.cmd, func(answer kernel.Answer) {
		st.mu.Lock()
		defer st.mu.Unlock()
		a.answers[sending] = append(a.answers[sending], answer)
	})
	if err != nil {
		st.mu.Lock()
		a.lost[sending] = true
		st.mu.Unlock()
		return fmt.Sprintf("%s %s at %s: %v", a.cmd.Type, a.cmd.RequestID, n.name, err)
	}
	return fmt.Sprintf("%s %s at %s", a.cmd.Type, a.cmd.RequestID, n.name)
}

func (st *stage) command(s step, cmd kernel.Command) string {
	cmd.RequestID, cmd.BodyHash = fmt.Sprintf("q%d", len(st.asks)+1), "aa"
	a := &ask{cmd: cmd, answers: map[int][]kernel.Answer{}, lost: map[int]bool{}, node: map[int]string{}}
	st.mu.Lock()
	st.asks = append(st.asks, a)
	st.mu.Unlock()
	return st.send(a, st.at(s))
}

// at is the node a step is about: mostly the first.
func (st *stage) at(s step) int {
	if s.pick%10 == 9 && st.nodes[1] != nil {
		return 1
	}
	return 0
}

func (st *stage) truth() projections.State {
	var state projections.State
	for r, err := range st.disk.Store.ReadStream(context.Background(), kernel.StreamOf(sessionID), 1) {
		if err == nil {
			state, err = projections.Apply(state, r)
		}
		if err != nil {
			st.blame("the log does not fold: %v", err)
			break
		}
	}
	return state
}

func (st *stage) change(at int, f func(ctx context.Context) (kernel.Answer, error)) string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	st.open(at)
	a, err := f(ctx)
	if err != nil {
		return err.Error()
	}
	if a.Refusal != nil {
		return a.Refusal.Code
	}
	return string(a.Status)
}

func (st *stage) play(s step) string {
	at := st.at(s)
	status := func(kind kernel.ChangeKind) string {
		return st.change(at, func(ctx context.Context) (kernel.Answer, error) {
			return st.nodes[at].ChangeStatus(ctx, sessionID, kind)
		})
	}
	switch s.verb {
	case "start":
		return st.command(s, kernel.Command{Type: kernel.StartSession})
	case "say":
		return st.command(s, kernel.Command{Type: kernel.SubmitActions, Actions: []projections.Action{{Kind: "say", Text: "我去码头。" + strconv.Itoa(len(st.asks))}}})
	case "retry":
		return st.command(s, kernel.Command{Type: kernel.RetryTurn})
	case "undo":
		return st.command(s, kernel.Command{Type: kernel.MoveHead})
	case "regenerate":
		return st.command(s, kernel.Command{Type: kernel.Regenerate})
	case "paint":
		return st.command(s, kernel.Command{Type: kernel.RunRuntimes, Targets: []projections.Target{{RuntimeID: "painter"}}})
	case "interject":
		return st.command(s, kernel.Command{Type: kernel.Interject, Actions: []projections.Action{{Kind: "say", Text: "等等！" + strconv.Itoa(len(st.asks))}}})
	case "again": // what failed, by name
		if failed := kernel.FailedRuns(st.truth()); len(failed) > 0 {
			return st.command(s, kernel.Command{
				Type: kernel.RunRuntimes, Targets: []projections.Target{{RuntimeID: failed[s.pick%len(failed)]}}, SourceTurnID: st.truth().Latest.TurnID,
			})
		}
	case "settings":
		limit := uint32(s.pick % 3)
		return st.change(at, func(ctx context.Context) (kernel.Answer, error) {
			return st.nodes[at].ChangeSettings(ctx, sessionID, kernel.SettingsChange{AdvanceLimit: &limit})
		})
	case "seat": // one more, taken away, or given a name
		control := []string{"human", "open", "ai"}[s.pick%3]
		change := kernel.SeatChange{Op: kernel.SeatAdd, SeatID: "seat-" + strconv.Itoa(2+s.pick%3), Edit: kernel.SeatEdit{Control: &control}, Invite: strings.Repeat("ab", 32)}
		if _, there := st.truth().Session.SeatByID(change.SeatID); there {
			change.Op = []kernel.SeatOp{kernel.SeatRemove, kernel.SeatEdited, kernel.SeatFree}[s.pick/3%3]
		}
		return st.change(at, func(ctx context.Context) (kernel.Answer, error) {
			return st.nodes[at].ChangeSeat(ctx, sessionID, change)
		})
	case "revise":
		if h := st.truth().History; h.Len() > 0 {
			return st.command(s, kernel.Command{Type: kernel.ReviseMessage, MessageID: h.At(s.pick % h.Len()).ID, Text: "改过的一页。"})
		}
	case "resume":
		if w := st.truth().Suspensions.Waiting; len(w) > 0 {
			return st.command(s, kernel.Command{Type: kernel.ResumeSuspension, SuspensionID: w[s.pick%len(w)].ID, Answer: projections.RawJSON(`"好"`)})
		}
	case "abandon":
		if w := st.truth().Suspensions.Waiting; len(w) > 0 {
			return st.change(at, func(ctx context.Context) (kernel.Answer, error) {
				return st.nodes[at].AbandonSuspension(ctx, sessionID, w[s.pick%len(w)].ID)
			})
		}
	case "cancel", "retry-job":
		if jobs := st.truth().Jobs; len(jobs) > 0 {
			kind := map[string]kernel.ChangeKind{"cancel": kernel.CancelJobChange, "retry-job": kernel.RetryJobChange}[s.verb]
			return st.change(at, func(ctx context.Context) (kernel.Answer, error) {
				return st.nodes[at].ChangeJob(ctx, sessionID, jobs[s.pick%len(jobs)].ID, kind)
			})
		}
	case "stop":
		return st.change(at, func(ctx context.Context) (kernel.Answer, error) { return st.nodes[at].Stop(ctx, sessionID) })
	case "pause":
		return status(kernel.Pause)
	case "unpause":
		return status(kernel.Resume)
	case "repeat":
		if len(st.asks) > 0 {
			return "again: " + st.send(st.asks[s.pick%len(st.asks)], at)
		}
	case "wait":
		time.Sleep(time.Duration(1+s.pick%8) * time.Second)
		synctest.Wait()
	case "moment":
		time.Sleep(time.Duration(s.pick) * time.Millisecond)
	case "fault":
		f := []string{"refuse", "lose", "unseen", "slow"}[s.pick%4]
		st.disk.breaks(f)
		return f
	case "lie":
		st.disk.breaks("lie")
	case "crash":
		st.close(at, true)
	case "shutdown":
		st.close(at, false)
	case "both":
		if st.nodes[1] == nil {
			st.watch(st.open(1))
		}
	case "wake":
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := st.open(at).Wake(ctx, sessionID); err != nil {
			return err.Error()
		}
	}
	return ""
}

// rest lets the life end: no faults, one node, everybody who got no answer asks again.
func (st *stage) rest() {
	st.disk.breaks("")
	st.close(1, false)
	ctx := context.Background()
	for range 4 {
		n := st.open(0)
		time.Sleep(90 * time.Second)
		synctest.Wait()
		if err := n.Wake(ctx, sessionID); err != nil {
			st.blame("wake: %v", err)
		}
		for _, a := range st.asks {
			if _, ok := a.final(); !ok {
				st.send(a, 0)
				time.Sleep(time.Second)
			}
		}
	}
	time.Sleep(5 * time.Minute)
	synctest.Wait()
	v, err := st.open(0).View(ctx, sessionID)
	if err != nil {
		st.blame("the session does not answer: %v", err)
	}
	if v.State.Session.Open != nil || len(v.State.Jobs.Open()) > 0 {
		st.blame("open in the end: %+v, %d jobs", v.State.Session.Open, len(v.State.Jobs.Open()))
	}
	st.close(0, false)
}

// final is the answer to a request, of whichever sending; accepted counts most.
func (a *ask) final() (kernel.Answer, bool) {
	var out kernel.Answer
	found := false
	for _, list := range a.answers {
		for _, x := range list {
			if x.Status != kernel.Queued && (!found || x.Status == kernel.Accepted) {
				out, found = x, true
			}
		}
	}
	return out, found
}

// judge holds the log against the reference, and what clients heard against the log.
func (st *stage) judge() {
	book := reference.New()
	var one []events.Recorded
	var state projections.State
	for r, err := range st.disk.Store.ReadStream(context.Background(), kernel.StreamOf(sessionID), 1) {
		if err == nil {
			state, err = projections.Apply(state, r)
		}
		if err != nil {
			st.blame("%v", err)
			return
		}
		one = append(one, r)
		if r.Metadata.GetAppendEnd() == uint64(r.Version) {
			book.Append(one)
			one = nil
		}
	}
	for _, b := range append(book.Breaches(), book.Agree(state)...) {
		st.blame("%s", b)
	}
	for _, a := range st.asks {
		final, ok := a.final()
		_, _, known := book.Request("seat-1", a.cmd.RequestID)
		switch {
		case !ok:
			st.blame("%s %s has no answer", a.cmd.Type, a.cmd.RequestID)
		case final.Status == kernel.Accepted && !known:
			st.blame("%s %s is accepted and not in the log", a.cmd.Type, a.cmd.RequestID)
		case final.Refusal != nil && known && !strings.Contains("busy server_shutting_down internal", final.Refusal.Code):
			st.blame("%s %s is refused (%s) and in the log", a.cmd.Type, a.cmd.RequestID, final.Refusal.Code)
		}
		for sending, list := range a.answers {
			finals := 0
			for _, x := range list {
				if x.Status != kernel.Queued {
					finals++
				}
			}
			if finals > 1 {
				st.blame("sending %d of %s is answered %d times", sending, a.cmd.RequestID, finals)
			}
		}
	}
}

// live plays the life of a seed, and gives what does not hold and the script.
func live(t *testing.T, seed uint64, steps []step) (breaches []string, script string) {
	in(t, func(t *testing.T) {
		st := &stage{chance: &chance{seed: seed, asked: map[string]uint64{}}, t: t, disk: &disk{Store: memory.New(memory.Options{})}}
		st.gen = st.plugins(t)
		st.world = worlds.View{Locale: "zh-CN", DefaultLocale: "zh-CN", Record: sdk.WorldRecord{ID: "swamp", Name: "云梦泽", Summary: "A swamp.", Locale: "zh-CN", Lore: "雾里有灯。"}}
		st.world.PluginPolicy.Requested = []string{"teller", "seer", "memory", "painter"}
		n := st.open(0)
		if _, err := n.Create(context.Background(), sessionID, st.world, node.Choice{}); err != nil {
			t.Fatal(err)
		}
		st.watch(n)
		begun := time.Now()
		for _, s := range steps {
			remark := st.play(s)
			if n := st.nodes[0]; n != nil && n.cancel == nil {
				st.watch(n)
			}
			script += fmt.Sprintf("%-14s # %7.2fs %s\n", s, time.Since(begun).Seconds(), remark)
		}
		st.rest()
		st.judge()
		breaches = st.breaches
		_ = st.disk.Close()
	})
	return breaches, script
}

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // plugins that panic are part of the play
	os.Exit(m.Run())
}

// A store that says it has written and has not is found, or the lives below show nothing.
func TestALyingStoreIsFound(t *testing.T) {
	steps := []step{{"start", 0}, {"wait", 3}, {"lie", 0}, {"say", 0}, {"wait", 7}, {"say", 0}, {"wait", 7}}
	breaches, script := live(t, 1, steps)
	if len(breaches) == 0 {
		t.Fatalf("nothing is found in\n%s", script)
	}
	if small, why, script := shrunk(t, 1, steps, breaches[0], 20); len(small) > 4 || kindOf(why) != kindOf(breaches[0]) {
		t.Errorf("%q is shrunk to %q:\n%s", breaches[0], why, script)
	}
}

var particulars = regexp.MustCompile(`[0-9]+|"[^"]*"|\[[^\]]*\]`)

// kindOf leaves out of a breach what differs from life to life.
func kindOf(breach string) string {
	first, _, _ := strings.Cut(breach, "\n")
	first = particulars.ReplaceAllString(first, "…")
	return strings.ToValidUTF8(first[:min(len(first), 60)], "")
}

// shrunk leaves out steps as long as the life fails in the same way, within so many lives: first long stretches, then short ones.
func shrunk(t *testing.T, seed uint64, steps []step, breach string, lives int) (_ []step, why, script string) {
	why = breach
	for size := len(steps) / 2; size >= 1; size /= 2 {
		for from := 0; from < len(steps) && lives > 0; lives-- {
			shorter := slices.Concat(steps[:from], steps[min(from+size, len(steps)):])
			breaches, now := live(t, seed, shorter)
			if i := slices.IndexFunc(breaches, func(b string) bool { return kindOf(b) == kindOf(breach) }); i >= 0 {
				steps, why, script = shorter, breaches[i], now
			} else {
				from += size
			}
		}
	}
	return steps, why, script
}

// readScript reads a script that was printed.
func readScript(t *testing.T, file string) (steps []step) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) != 2 {
			continue
		}
		pick, err := strconv.Atoi(words[1])
		if err != nil {
			t.Fatalf("%q is no step", line)
		}
		steps = append(steps, step{words[0], pick})
	}
	return steps
}

// mostLives bounds the shrinking of one script.
const mostLives = 120

// Rule DESIGN:§16: random lives through the real actors in fake time; a failing seed prints its script.
// SEED=n plays one life and prints it, with SCRIPT=file that script; SEEDS=n so many, from FROM on.
func TestLives(t *testing.T) {
	number := func(name string, without uint64) uint64 {
		n, err := strconv.ParseUint(os.Getenv(name), 10, 64)
		if err != nil {
			return without
		}
		return n
	}
	from, seeds := number("FROM", 0), number("SEEDS", 24)
	if os.Getenv("SEED") != "" {
		from, seeds = number("SEED", 0), 1
	}
	for seed := from; seed < from+seeds; seed++ {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			steps := draw(seed)
			if file := os.Getenv("SCRIPT"); file != "" {
				steps = readScript(t, file)
			}
			breaches, script := live(t, seed, steps)
			if os.Getenv("SEED") != "" {
				t.Log(script)
			}
			if len(breaches) > 0 {
				small, why, shorter := shrunk(t, seed, steps, breaches[0], mostLives)
				if len(small) < len(steps) {
					script = shorter
				}
				t.Errorf("seed %d: %s\nand, of its %d steps shrunk to %d: %s\n%s\nTo play it again, put the script into a file: SEED=%d SCRIPT=file go test ./actors/simulation",
					seed, strings.Join(breaches, "\n"), len(steps), len(small), why, script, seed)
			}
		})
	}
}
