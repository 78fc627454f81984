package storyteller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/covel/covel/kernel/model"
	"github.com/rivo/uniseg"
)

func TestStreamAddsUpAndSplitsNothing(t *testing.T) {
	for _, w := range allWorlds(t) {
		var got strings.Builder
		pieces := 0
		req := (&game{world: w}).request("")
		reply, err := New(Options{}).Generate(context.Background(), req, func(d model.Delta) {
			if !utf8.ValidString(d.Text) || d.Text == "" || runeCount(d.Text) > 30 {
				t.Errorf("piece %q", d.Text)
			}
			got.WriteString(d.Text)
			pieces++
		})
		if err != nil || got.String() != reply.Text {
			t.Errorf("%s: pieces do not add up to the reply: %v", w.id, err)
		}
		if pieces < 40 {
			t.Errorf("%s: only %d pieces", w.id, pieces)
		}
		if reply.FinishReason != model.FinishStop || reply.Model != Name || reply.Usage.InputTokens == 0 || reply.Usage.OutputTokens == 0 {
			t.Errorf("%s: %+v", w.id, reply)
		}
	}
}

func TestPiecesKeepGraphemesAndEscapesWhole(t *testing.T) {
	text := `{"text":"👩‍👩‍👧👩‍👩‍👧 e` + "\u0301" + `lodie \"said\" \n 陆青云来了，龙胆也来了。🏴‍☠️` + strings.Repeat("a", 100) + `\u00e9\\"}`
	state := -1
	bounds := map[int]bool{0: true}
	for at, rest := 0, text; rest != ""; {
		var c string
		c, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		at += len(c)
		bounds[at] = true
	}
	at := 0
	for rest := text; rest != ""; {
		n := pieceLength(rest)
		if n <= 0 {
			t.Fatal("an empty piece")
		}
		at += n
		if !bounds[at] {
			t.Errorf("cut inside a grapheme after %q", rest[:n])
		}
		if slashes := len(rest[:n]) - len(strings.TrimRight(rest[:n], `\`)); slashes%2 == 1 {
			t.Errorf("cut inside an escape after %q", rest[:n])
		}
		rest = rest[n:]
	}
}

func TestPaceWaitsBeforeEachPiece(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		req := (&game{world: wugang(t)}).request("")
		start := time.Now()
		pieces := 0
		if _, err := New(Options{Pace: 20 * time.Millisecond}).Generate(t.Context(), req, func(model.Delta) { pieces++ }); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != time.Duration(pieces)*20*time.Millisecond {
			t.Errorf("%d pieces in %v", pieces, took)
		}
		start = time.Now()
		req.Stream = false
		if _, err := New(Options{Pace: time.Hour}).Generate(t.Context(), req, func(model.Delta) {}); err != nil || time.Since(start) != 0 {
			t.Errorf("a reply that is not streamed took %v, %v", time.Since(start), err)
		}
	})
}

func TestCancellation(t *testing.T) {
	check := func(t *testing.T, reply model.Reply, err error, cause error) {
		t.Helper()
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.Cancelled || !errors.Is(err, cause) || reply.Text != "" {
			t.Errorf("reply %q, error %v", reply.Text, err)
		}
	}
	req := (&game{world: saltmere(t)}).request("")
	t.Run("before it begins", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		reply, err := New(Options{}).Generate(ctx, req, func(model.Delta) { t.Error("a piece after the end") })
		check(t, reply, err, context.Canceled)
	})
	t.Run("between two pieces, without a pace", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		reply, err := New(Options{}).Generate(ctx, req, func(model.Delta) {
			if n++; n == 3 {
				cancel()
			}
		})
		check(t, reply, err, context.Canceled)
		if n != 3 {
			t.Errorf("%d pieces", n)
		}
	})
	t.Run("while it waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
			defer cancel()
			start := time.Now()
			reply, err := New(Options{Pace: time.Minute}).Generate(ctx, req, func(model.Delta) {})
			check(t, reply, err, context.DeadlineExceeded)
			if time.Since(start) != 90*time.Second {
				t.Errorf("it took %v to notice", time.Since(start))
			}
		})
	})
	t.Run("without anybody listening", func(t *testing.T) {
		if reply, err := New(Options{Pace: time.Hour}).Generate(t.Context(), req, nil); err != nil || reply.Text == "" {
			t.Errorf("%v", err)
		}
	})
}

func TestTokenLimitDropsSegments(t *testing.T) {
	req := (&game{world: saltmere(t)}).request("")
	req.MaxOutputTokens = 120
	segs := generateSegments(t, req)
	full := generateSegments(t, (&game{world: saltmere(t)}).request(""))
	if len(segs) == 0 || len(segs) >= len(full) {
		t.Errorf("%d of %d segments", len(segs), len(full))
	}
}

// One storyteller serves many sessions at once.
func TestCallsMayOverlap(t *testing.T) {
	s := New(Options{})
	worlds := allWorlds(t)
	want := make([]string, len(worlds))
	for i, w := range worlds {
		want[i] = generate(t, (&game{world: w}).request("")).Text
	}
	done := make(chan string, 16)
	for i := range 16 {
		go func() {
			reply, err := s.Generate(context.Background(), (&game{world: worlds[i%len(worlds)]}).request(""), func(model.Delta) {})
			if err != nil {
				done <- err.Error()
				return
			}
			if reply.Text != want[i%len(worlds)] {
				done <- "another reply than alone"
				return
			}
			done <- ""
		}()
	}
	for range 16 {
		if msg := <-done; msg != "" {
			t.Error(msg)
		}
	}
}

func benchmarkGame(b *testing.B, w testWorld, line, again string) {
	g := &game{world: w}
	g.play(b, "")
	for i := range 50 {
		g.play(b, map[bool]string{true: line, false: again}[i%2 == 0])
	}
	req := g.request(line)
	s := New(Options{})
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		if _, err := s.Generate(context.Background(), req, func(model.Delta) {}); err != nil {
			b.Fatal(err)
		}
	}
}

// A world of the largest size a prompt carries, read for the first time.
func BenchmarkReadLargeWorld(b *testing.B) {
	var lore strings.Builder
	lore.WriteString("# Far\n\n## Places\n\n")
	for i := range 40 {
		fmt.Fprintf(&lore, "### Harbour %c%d\nThe harbour lies under a hill of grey stones, and ships pass it at night. Somebody keeps number %d in good order, though nobody has been seen there since the spring. A bell hangs over the water and is rung by the tide. On feast days the doors are painted white, and on the others they are left as they are. Those who live here say that the wind has a name, and they do not say which.\n\n", 'A'+i%26, i, i)
	}
	lore.WriteString("## People\n\n")
	for i := range 30 {
		fmt.Fprintf(&lore, "### Anna Reed%d\nAnna Reed%d counts the ships at Harbour %c%d. She has never left, and she has never said why. Her coat belonged to somebody taller.\n\n", i, i, 'A'+i%26, i)
	}
	req := (&game{world: testWorld{locale: "en", lore: lore.String()}}).request("")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(Options{}).Generate(context.Background(), req, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReplyAfterFiftyTurns(b *testing.B) {
	b.Run("en", func(b *testing.B) {
		benchmarkGame(b, saltmere(b), "I ask Maren Holt about the lantern", "I go to the Drowned Mill and look around")
	})
	b.Run("zh", func(b *testing.B) { benchmarkGame(b, wugang(b), "问阿岚灯的事", "去沉磨坊看看") })
}
