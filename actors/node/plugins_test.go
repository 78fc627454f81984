package node_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/covel/covel/actors/node"
	"github.com/covel/covel/actors/nodetest"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/plugins/registry"
)

// Rule TP:313: what takes part in a session comes of requested and excluded plugins, core ones, provides and requires.
// Rule TP:320: explicit choices are saved in the session; what a world recommends enables nothing by itself.
// Rule TP:319: a normal output contract can have several providers, all of which take part.
func TestPluginsOfANewSession(t *testing.T) {
	source := func(id, manifest string) registry.Source {
		return registry.Source{ID: id, FS: fstest.MapFS{"PLUGIN.md": {Data: []byte("---\ndescription: Is there.\n" + manifest + "---\nTell.\n")}, "s.json": {Data: []byte(`{"type":"object"}`)}}}
	}
	offers := func(contract string) string {
		return "provides: [" + contract + "]\ncontracts: { " + contract + ": { schema: s.json } }\nruntime: { type: agent, schedule: { stage: audit }, io: { output: { contract: " + contract + " } }, agent: {} }\n"
	}
	gen := registry.Build([]registry.Source{
		source("base", "kind: core\n"), source("codex", ""), source("music", offers("tune@1")), source("dance", offers("tune@1")), source("feast", "requires: [dish@1]\n"), source("cook", offers("dish@1")),
		source("foe", "conflicts: [tune@1]\n"),
	})
	for _, e := range gen.Errors {
		t.Fatal(e)
	}
	n := nodetest.Start(t, nodetest.Options{Plugins: gen})
	for name, c := range map[string]struct {
		choice                   node.Choice
		requires                 []string
		active, asked, excluded  string
		code, message, issuesFor string
	}{
		"what the world asks for, and nothing that it recommends": {active: "base music", asked: "music"},
		"the player's own list":                                   {choice: node.Choice{Requested: []string{"codex"}}, active: "base codex", asked: "codex"},
		"an empty list leaves the core":                           {choice: node.Choice{Requested: []string{}}, active: "base"},
		"a core plugin is excluded":                               {choice: node.Choice{Excluded: []string{"base"}}, active: "music", asked: "music", excluded: "base"},
		"what the world asks for is excluded":                     {choice: node.Choice{Excluded: []string{"music"}}, active: "base", asked: "music", excluded: "music"},
		"two providers of one contract":                           {choice: node.Choice{Requested: []string{"music", "dance"}}, active: "base dance music", asked: "music dance"},
		"who is required comes in and is no choice":               {choice: node.Choice{Requested: []string{"feast"}}, active: "base cook feast", asked: "feast"},
		"a clash rejects the combination":                         {choice: node.Choice{Requested: []string{"music", "foe"}}, code: "plugin_rejected", message: "foe conflicts with tune@1, which music provides", issuesFor: "plugins.foe"},
		"nobody is called so":                                     {choice: node.Choice{Requested: []string{"ghost", "codex"}}, code: "plugin_rejected", message: "there is no plugin ghost", issuesFor: "plugins.ghost"},
		"who is required is excluded":                             {choice: node.Choice{Requested: []string{"feast"}, Excluded: []string{"cook"}}, code: "plugin_rejected", message: "no available plugin provides dish@1", issuesFor: "plugins.feast"},
		"the world needs what nobody has":                         {requires: []string{"dice@1"}, code: "world_requirement_unmet", message: "the world needs dice@1"},
		"the world needs what two have":                           {choice: node.Choice{Requested: []string{}}, requires: []string{"tune@1"}, code: "world_requirement_unmet", message: "several plugins provide tune@1"},
		"the player does without what the world needs":            {choice: node.Choice{Excluded: []string{"cook"}}, requires: []string{"dish@1"}, active: "base music", asked: "music", excluded: "cook"},
	} {
		t.Run(name, func(t *testing.T) {
			world := nodetest.World(t, "zh-CN")
			world.PluginPolicy.Requested, world.PluginPolicy.Recommended, world.PluginPolicy.Requires = []string{"music"}, []string{"codex"}, c.requires
			id := n.NewID()
			state, err := n.Node.Create(context.Background(), id, world, c.choice)
			if c.code != "" {
				var refusal *kernel.Refusal
				if !errors.As(err, &refusal) || refusal.Code != c.code || !strings.Contains(refusal.Message, c.message) {
					t.Fatalf("%v", err)
				}
				for _, issue := range refusal.Issues {
					if issue.Field != c.issuesFor {
						t.Errorf("an issue of %s: %s", issue.Field, issue.Message)
					}
				}
				if _, err := n.View(context.Background(), id); !errors.Is(err, node.ErrNotFound) {
					t.Errorf("there is a session: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var active []string
			for _, p := range state.Session.Plugins {
				active = append(active, p.ID)
			}
			chosen := state.Session.Selection
			if got := strings.Join(active, " "); got != c.active || strings.Join(chosen.Requested, " ") != c.asked || strings.Join(chosen.Excluded, " ") != c.excluded {
				t.Errorf("active %s, chosen %+v", got, chosen)
			}
		})
	}
}
