package latch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// input is what one input did to plugin 龙: f failed, c clean, - did not run; several letters are several executions.
func (l Latch) input(name, what string) (Latch, []Paused) {
	v := l.Begin(name)
	var all []Paused
	for _, w := range what {
		r := Report{Ran: map[string]bool{"other": true}, Digests: map[string]string{"龙": "d1"}}
		switch w {
		case 'f':
			r.Faults = map[string]string{"龙": "it threw in " + name}
		case 'c':
			r.Ran["龙"] = true
		}
		var paused []Paused
		l, v, paused = l.Report(v, r)
		all = append(all, paused...)
	}
	return l.Close(v), all
}

// Rule DEC Fault latch: three inputs in a row pause the plugin; each input counts once; a clean one resets; one in which the
// plugin did not run changes nothing.
// Rule TP:1186: foreground faults count immediately, clean verdicts wait until the request closes.
func TestThreeInARow(t *testing.T) {
	for _, c := range []struct{ inputs, paused string }{
		{"f f", ""},
		{"f f f", "3"},
		{"f f c f f", ""},
		{"f f c f f f", "6"},
		{"fff fff", ""}, // three rounds of one input are one
		{"f fc f", "3"}, // failed once and well once: failed
		{"f cf f", "3"},
		{"f - f - f", "5"},
		{"f f f f f", "3"}, // told once
		{"c c c", ""},
	} {
		t.Run(c.inputs, func(t *testing.T) {
			var l Latch
			told := ""
			for i, what := range strings.Fields(c.inputs) {
				var paused []Paused
				if l, paused = l.input(fmt.Sprint("输入", i+1), what); len(paused) > 0 {
					told += fmt.Sprint(i + 1)
					if want := fmt.Sprint("it threw in 输入", i+1); paused[0] != (Paused{"龙", want}) {
						t.Errorf("told %+v", paused)
					}
				}
			}
			if told != c.paused || l.Has("龙") != (c.paused != "") || l.Has("other") {
				t.Errorf("paused at input %q, want %q; now %v", told, c.paused, l.Paused())
			}
		})
	}
}

// Rule DEC Fault latch: the player, the operator or a new plugin digest resume it.
func TestResume(t *testing.T) {
	pause := func() (l Latch) {
		for i := range Limit {
			l, _ = l.input(fmt.Sprint(i), "f")
		}
		return l
	}
	if l, ok := pause().Resume("龙"); !ok || l.Has("龙") {
		t.Error("resumed, and still paused")
	} else if l, _ = l.input("x", "f"); l.Has("龙") {
		t.Error("one fault after it was resumed pauses it")
	}
	if _, ok := pause().Resume("other"); ok {
		t.Error("what was not paused was resumed")
	}
	if l, resumed := pause().Installed(map[string]string{"龙": "d2"}); !slices.Equal(resumed, []string{"龙"}) || !l.Clean() {
		t.Errorf("new code: %v, %v", resumed, l)
	}
	for _, same := range []map[string]string{{"龙": "d1"}, {"other": "d9"}, nil} {
		if l, resumed := pause().Installed(same); len(resumed) > 0 || !l.Has("龙") {
			t.Errorf("%v resumed it", same)
		}
	}
	var l Latch
	l, _ = l.input("1", "f")
	l, _ = l.input("2", "f")
	l, _, _ = l.Report(l.Begin("3"), Report{Faults: map[string]string{"龙": "x"}, Digests: map[string]string{"龙": "d2"}})
	if l.Has("龙") {
		t.Error("faults of older code count against newer code")
	}
}

// Rule TP:1186: identity and revision checks protect newer outcomes: a clean input that began before another one failed resets
// nothing.
func TestAnOlderCleanVerdict(t *testing.T) {
	var l Latch
	l, _ = l.input("1", "f")
	turn := l.Begin("2")
	l, _ = l.input("job", "f") // beside the turn
	l, turn, _ = l.Report(turn, Report{Ran: map[string]bool{"龙": true}})
	if l = l.Close(turn); l.Clean() {
		t.Fatal("the clean turn, which began before the job failed, has reset it")
	}
	if l, _ = l.input("3", "f"); !l.Has("龙") {
		t.Error("three inputs failed, and it is not paused")
	}
}

// Random inputs against the rule counted by hand.
func TestRandomFaults(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var l Latch
		row, paused := 0, false
		for i, what := range rapid.SliceOf(rapid.StringMatching(`[fc-]{1,3}`)).Draw(rt, "inputs") {
			var told []Paused
			before := l
			seen := fmt.Sprint(before.plugins)
			l, told = l.input(fmt.Sprint(i), what)
			if fmt.Sprint(before.plugins) != seen {
				rt.Fatal("an older value was changed")
			}
			switch {
			case paused:
			case strings.Contains(what, "f"):
				row++
			case strings.Contains(what, "c"):
				row = 0
			}
			now := row >= Limit
			if (len(told) == 1) != (now && !paused) || l.Has("龙") != now {
				rt.Fatalf("after %q in a row of %d: told %v, paused %v", what, row, told, l.Paused())
			}
			paused = now
		}
	})
}
