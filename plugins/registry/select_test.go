package registry

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/covel/covel/plugins/manifest"
)

// plugin makes one from words: "core", "+a" provides a@1, "~a" provides it by default, "a" requires it, "!a" conflicts,
// "#x" declares the event x.
func plugin(id string, words ...string) *Loaded {
	m := manifest.Plugin{ID: id, Kind: "plugin"}
	for _, w := range words {
		contract := w[1:] + "@1"
		switch {
		case w == "core":
			m.Kind = "core"
		case w[0] == '+':
			m.Provides = append(m.Provides, manifest.Provided{Contract: contract})
		case w[0] == '~':
			m.Provides = append(m.Provides, manifest.Provided{Contract: contract, Default: true})
		case w[0] == '!':
			m.Conflicts = append(m.Conflicts, contract)
		case w[0] == '#':
			m.Contributes.Events = append(m.Contributes.Events, manifest.EventDecl{Topic: w[1:], Advertise: !strings.HasSuffix(w, "-internal")})
		default:
			m.Requires = append(m.Requires, w+"@1")
		}
	}
	for _, p := range m.Provides {
		name, _, _ := strings.Cut(p.Contract, "@")
		m.Runtimes = append(m.Runtimes, manifest.Runtime{ID: id + "/" + name, PluginID: id, IO: manifest.IO{OutputContract: p.Contract}})
	}
	return &Loaded{Manifest: m}
}

func generation(plugins ...*Loaded) *Generation {
	g := &Generation{Plugins: map[string]*Loaded{}, Errors: []LoadError{{PluginID: "broken", Err: errors.New("x")}}}
	for _, p := range plugins {
		g.Plugins[p.Manifest.ID] = p
	}
	return g
}

// Rule TP:313: what is active comes of requested and excluded plugins, core ones, and versioned provides and requires. The
// names of the cases say which step of the reference they are.
// Rule TP:315: an explicit exclusion also works for core plugins.
// Rule TP:316: a missing dependency is filled by the only regular provider, else by the only default one.
// Rule TP:317: a default provider that the player swaps is gone before conflicts are looked for.
// Rule TP:318: a clash of conflicts rejects that combination.
func TestSelect(t *testing.T) {
	narrator := plugin("narrator", "core", "~story", "!story")
	chat := plugin("chat", "+story", "!story")
	for name, c := range map[string]struct {
		plugins   []*Loaded
		requested []string
		excluded  []string
		world     []string
		want      Selection
		unmet     string
	}{
		"1 core and requested": {
			plugins: []*Loaded{plugin("a", "core"), plugin("b"), plugin("c")}, requested: []string{"c", "c"},
			want: Selection{Active: []string{"a", "c"}},
		},
		"1 unknown, excluded, not loaded": {
			plugins: []*Loaded{plugin("a", "core"), plugin("b")}, requested: []string{"none", "b", "broken"}, excluded: []string{"a", "b"},
			want: Selection{Rejected: []Rejection{
				{PluginID: "a", Code: Excluded, Reason: "a is excluded in this session"}, {PluginID: "b", Code: Excluded, Reason: "b is excluded in this session"},
				{PluginID: "broken", Code: UnknownPlugin, Reason: "there is no plugin broken that could be loaded"}, {PluginID: "none", Code: UnknownPlugin, Reason: "there is no plugin none"}}},
		},
		"1 a kernel contract in conflicts": {
			plugins: []*Loaded{{Manifest: manifest.Plugin{ID: "a", Kind: "core", Conflicts: []string{"prompt.segment@1"}}}},
			want:    Selection{Rejected: []Rejection{{PluginID: "a", Code: InvalidConflict, Contract: "prompt.segment@1", Reason: "a names prompt.segment@1 in conflicts, which belongs to the kernel"}}},
		},
		"2 the only regular provider": {
			plugins: []*Loaded{plugin("guide", "core", "story"), plugin("chat", "+story"), plugin("plain", "~story")},
			want:    Selection{Active: []string{"chat", "guide"}, AutoAdded: []string{"chat"}},
		},
		"2 else the only default": {
			plugins: []*Loaded{plugin("guide", "core", "story"), plugin("plain", "~story")},
			want:    Selection{Active: []string{"guide", "plain"}, AutoAdded: []string{"plain"}},
		},
		"2 a chain of requirements": {
			plugins: []*Loaded{plugin("a", "core", "b"), plugin("b", "+b", "c"), plugin("c", "+c")},
			want:    Selection{Active: []string{"a", "b", "c"}, AutoAdded: []string{"b", "c"}},
		},
		"2 several providers": {
			plugins: []*Loaded{plugin("guide", "core", "story"), plugin("one", "+story"), plugin("two", "+story")},
			want:    Selection{Rejected: []Rejection{{PluginID: "guide", Code: AmbiguousProvider, Contract: "story@1", Reason: "guide needs story@1: several plugins provide story@1 (one, two) and none was chosen"}}},
		},
		"2 several regular beside one default: the default": {
			plugins: []*Loaded{plugin("guide", "core", "story"), plugin("one", "+story"), plugin("two", "+story"), plugin("plain", "~story")},
			want:    Selection{Active: []string{"guide", "plain"}, AutoAdded: []string{"plain"}},
		},
		"2 no provider": {
			plugins: []*Loaded{plugin("guide", "core", "story")},
			want:    Selection{Rejected: []Rejection{{PluginID: "guide", Code: MissingProvider, Contract: "story@1", Reason: "guide needs story@1: no available plugin provides story@1"}}},
		},
		"2 the provider is excluded": {
			plugins: []*Loaded{plugin("guide", "core", "story"), plugin("plain", "~story")}, excluded: []string{"plain"},
			want: Selection{Rejected: []Rejection{{PluginID: "guide", Code: MissingProvider, Contract: "story@1", Reason: "guide needs story@1: no available plugin provides story@1"}}},
		},
		"3 a default steps aside": {
			plugins: []*Loaded{narrator, chat, plugin("guide", "core", "story")}, requested: []string{"chat"},
			want: Selection{Active: []string{"chat", "guide"}, Rejected: []Rejection{{PluginID: "narrator", Code: DefaultReplaced, Contract: "story@1", Reason: "narrator provides story@1 by default and steps aside for chat"}}},
		},
		"3 a default alone stays": {
			plugins: []*Loaded{narrator, chat, plugin("guide", "core", "story")},
			want:    Selection{Active: []string{"guide", "narrator"}},
		},
		"3 the player swaps the default before conflicts are looked for": {
			plugins: []*Loaded{plugin("narrator", "core", "~story", "!chat"), plugin("chat", "+story", "+chat")}, requested: []string{"chat"},
			want: Selection{Active: []string{"chat"}, Rejected: []Rejection{{PluginID: "narrator", Code: DefaultReplaced, Contract: "story@1", Reason: "narrator provides story@1 by default and steps aside for chat"}}},
		},
		"4 a conflict: the requested one wins": {
			plugins: []*Loaded{plugin("a", "core", "+x"), plugin("b", "!x")}, requested: []string{"b"},
			want: Selection{Active: []string{"b"}, Rejected: []Rejection{{PluginID: "a", Code: Conflict, Contract: "x@1", Reason: "a cannot run beside b: b conflicts with x@1, which a provides"}}},
		},
		"4 a conflict: the earlier request wins": {
			plugins: []*Loaded{plugin("a", "+x"), plugin("b", "!x")}, requested: []string{"a", "b"},
			want: Selection{Active: []string{"a"}, Rejected: []Rejection{{PluginID: "b", Code: Conflict, Contract: "x@1", Reason: "b cannot run beside a: b conflicts with x@1, which a provides"}}},
		},
		"4 one topic, two owners": {
			plugins: []*Loaded{plugin("a", "#scene.set"), plugin("b", "#scene.set")}, requested: []string{"b", "a"},
			want: Selection{Active: []string{"b"}, Rejected: []Rejection{{PluginID: "a", Code: Conflict, Reason: "a cannot run beside b: both declare the event scene.set, and a topic has one owner in a session"}}},
		},
		"5 who loses a provider goes, and nobody is added again": {
			plugins: []*Loaded{plugin("x", "!y"), plugin("a", "b"), plugin("b", "+b", "y"), plugin("y", "+y")}, requested: []string{"x", "a"},
			want: Selection{Active: []string{"x"}, Rejected: []Rejection{
				{PluginID: "a", Code: MissingProvider, Contract: "b@1", Reason: "a needs b@1, and its provider could not take part"}, {PluginID: "b", Code: MissingProvider, Contract: "y@1", Reason: "b needs y@1, and its provider could not take part"},
				{PluginID: "y", Code: Conflict, Contract: "y@1", Reason: "y cannot run beside x: x conflicts with y@1, which y provides"}}},
		},
		"6 what was added for somebody who went": {
			plugins: []*Loaded{plugin("x", "!a"), plugin("a", "+a", "b"), plugin("b", "+b")}, requested: []string{"x", "a"},
			want: Selection{Active: []string{"x"}, Rejected: []Rejection{{PluginID: "a", Code: Conflict, Contract: "a@1", Reason: "a cannot run beside x: x conflicts with a@1, which a provides"}}},
		},
		"the world's need": {
			plugins: []*Loaded{plugin("dice", "+check")}, world: []string{"check@1"},
			want: Selection{Active: []string{"dice"}},
		},
		"the world's need that nobody serves": {
			plugins: []*Loaded{plugin("a", "core")}, world: []string{"check@1"},
			want: Selection{Active: []string{"a"}}, unmet: "the world needs check@1: no available plugin provides check@1",
		},
		"the world's need that the player excluded": {
			plugins: []*Loaded{plugin("dice", "+check")}, world: []string{"check@1"}, excluded: []string{"dice"},
		},
		"the world's need, ambiguous": {
			plugins: []*Loaded{plugin("a", "+check"), plugin("b", "+check")}, world: []string{"check@1"},
			unmet: "the world needs check@1: several plugins provide check@1 (a, b) and none was chosen",
		},
		"the world's need, chosen by the player": {
			plugins: []*Loaded{plugin("a", "+check"), plugin("b", "+check")}, world: []string{"check@1"}, requested: []string{"b"},
			want: Selection{Active: []string{"b"}},
		},
		"the world's need, lost": {
			plugins: []*Loaded{plugin("x", "!check"), plugin("a", "+check")}, world: []string{"check@1"}, requested: []string{"x"},
			want:  Selection{Active: []string{"x"}, Rejected: []Rejection{{PluginID: "a", Code: Conflict, Contract: "check@1", Reason: "a cannot run beside x: x conflicts with check@1, which a provides"}}},
			unmet: "the world needs check@1, and its provider could not take part",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := generation(c.plugins...).Select(c.requested, c.excluded, Policy{Requires: c.world})
			if len(got.Active) == 0 {
				got.Active = nil
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			var unmet *SelectionError
			if c.unmet == "" && err != nil || c.unmet != "" && (!errors.As(err, &unmet) || err.Error() != c.unmet) {
				t.Errorf("got %v, want %q", err, c.unmet)
			}
		})
	}
}

// Rule TP:322: default runtimes that have been replaced are left out by the contract they give.
func TestActiveRuntimesAndProviders(t *testing.T) {
	g := generation(plugin("narrator", "core", "~story"), plugin("chat", "+story"), plugin("guide", "core", "+tips"))
	sel := Selection{Active: []string{"narrator", "chat", "guide", "gone"}}
	ids := func(list []manifest.Runtime) (out []string) {
		for _, r := range list {
			out = append(out, r.ID)
		}
		return out
	}
	all := g.ActiveRuntimes(sel)
	if diff := cmp.Diff([]string{"chat/story", "guide/tips", "narrator/story"}, ids(all)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"chat/story", "guide/tips"}, ids(g.ResolveRuntimeProviders(all))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"guide/tips", "narrator/story"}, ids(g.ResolveRuntimeProviders(all[1:]))); diff != "" {
		t.Errorf("a default that is alone stays: %s", diff)
	}
}

func TestTopics(t *testing.T) {
	g := generation(plugin("a", "#scene.set", "#note-internal"), plugin("b", "#music.cue"), plugin("c", "#dice.roll"))
	var got []string
	for _, topic := range g.Topics(Selection{Active: []string{"a", "b", "gone"}}) {
		got = append(got, topic.Topic)
	}
	if diff := cmp.Diff([]string{"music.cue", "scene.set"}, got); diff != "" {
		t.Error(diff)
	}
}

// Rule TP:322: the framework does not branch on plugin ids: under other names the choice is the same.
func TestSelectKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var plugins []*Loaded
		var ids []string
		for i := range rapid.IntRange(1, 7).Draw(t, "plugins") {
			words := rapid.SliceOfN(rapid.SampledFrom([]string{"core", "+a", "+b", "~a", "~b", "a", "b", "c", "!a", "!b", "+c", "#x.y"}), 0, 4).Draw(t, "words")
			slices.Sort(words)
			id := fmt.Sprint("p", i)
			plugins, ids = append(plugins, plugin(id, slices.Compact(words)...)), append(ids, id)
		}
		g := generation(plugins...)
		requested := rapid.SliceOfN(rapid.SampledFrom(append(ids, "none")), 0, 4).Draw(t, "requested")
		excluded := rapid.SliceOfN(rapid.SampledFrom(ids), 0, 2).Draw(t, "excluded")
		needs := rapid.SliceOfN(rapid.SampledFrom([]string{"a@1", "c@1"}), 0, 2).Draw(t, "needs")
		got, err := g.Select(requested, excluded, Policy{Requires: needs})
		again, errAgain := g.Select(requested, excluded, Policy{Requires: needs})
		if diff := cmp.Diff(got, again); diff != "" || fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Fatalf("the same input gives another answer:\n%s", diff)
		}
		other := func(ids []string) (out []string) {
			for _, id := range ids {
				out = append(out, "other-"+id)
			}
			return out
		}
		var renamed []*Loaded
		for _, p := range plugins {
			twin := *p
			twin.Manifest.ID = "other-" + p.Manifest.ID
			renamed = append(renamed, &twin)
		}
		twin, _ := generation(renamed...).Select(other(requested), other(excluded), Policy{Requires: needs})
		if !slices.Equal(twin.Active, other(got.Active)) || !slices.Equal(twin.AutoAdded, other(got.AutoAdded)) {
			t.Fatalf("under other names %v take part, not %v", twin.Active, got.Active)
		}
		serves := func(contract string) bool {
			return slices.ContainsFunc(got.Active, func(id string) bool { ok, _ := g.offers(id, contract); return ok })
		}
		for _, id := range got.Active {
			if slices.Contains(excluded, id) {
				t.Fatalf("%s is excluded and active", id)
			}
			for _, c := range g.Plugins[id].Manifest.Requires {
				if !serves(c) {
					t.Fatalf("%s is active without %s", id, c)
				}
			}
			for _, other := range got.Active {
				if reason, _ := g.clash(id, other); id != other && reason != "" {
					t.Fatalf("%s and %s are active: %s", id, other, reason)
				}
			}
		}
		for _, id := range ids {
			wanted := slices.Contains(requested, id) || g.Plugins[id].Manifest.Kind == "core"
			rejected := slices.ContainsFunc(got.Rejected, func(r Rejection) bool { return r.PluginID == id && r.Reason != "" })
			if active := slices.Contains(got.Active, id); wanted && active == rejected {
				t.Fatalf("%s was wanted: active %v, rejected %v", id, active, rejected)
			}
		}
		if err == nil {
			for _, c := range needs {
				without := slices.ContainsFunc(excluded, func(id string) bool { ok, _ := g.offers(id, c); return ok })
				if !serves(c) && !without {
					t.Fatalf("the world's %s is not served and nobody says so", c)
				}
			}
		}
	})
}
