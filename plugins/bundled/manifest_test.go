package bundled

import (
	"reflect"
	"slices"
	"testing"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/registry"
)

// Every manifest loads without a problem and without a warning, and is there in both languages.
func TestManifestsLoad(t *testing.T) {
	for _, p := range All() {
		t.Run(p.ID, func(t *testing.T) {
			m, err := manifest.Load(p.Package.FS, p.ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range m.Warnings {
				t.Errorf("warning: %v", w)
			}
			if m.Kind != "core" || m.Version == "0.0.0" || m.Description["zh"] == "" || m.DisplayName["zh"] == "" {
				t.Errorf("manifest = %+v", m)
			}
			for _, r := range m.Runtimes {
				if r.Body["en"] == "" || r.Body["zh"] == "" || r.Description["zh"] == "" {
					t.Errorf("%s: body or description is missing in one language", r.ID)
				}
			}
		})
	}
}

func generation(t *testing.T) *registry.Generation {
	t.Helper()
	var sources []registry.Source
	for _, p := range All() {
		sources = append(sources, registry.Bundled(p.ID, p.Package))
	}
	g := registry.Build(sources)
	for _, e := range g.Errors {
		t.Errorf("load: %v", e)
	}
	return g
}

// A session without any wish runs all of them, and when and how they run is what the documents say.
func TestRegistryRunsThem(t *testing.T) {
	g := generation(t)
	sel, err := g.Select(nil, nil, registry.Policy{})
	if err != nil || len(sel.Rejected) > 0 {
		t.Fatalf("selection = %+v, %v", sel, err)
	}
	type row struct {
		stage    manifest.Stage
		kind     string
		contract string
		guard    string
		after    []string // completing tools
	}
	want := map[string]row{
		"pregame":                  {manifest.Setup, "function", "session.opening@1", "", nil},
		"world-init/schema-gen":    {manifest.Setup, "agent", "world-data-provider@1", "schema-gen", []string{"initialize-world"}},
		"char-creator/player-init": {manifest.Setup, "agent", "character-creation@1", "player-init", []string{"create-character-form"}},
		"narrator":                 {manifest.Narrative, "agent", "narrative-engine@2", "", nil},
		"guide":                    {manifest.PostTurn, "agent", "", "", []string{"generate-guide"}},
	}
	got := map[string]row{}
	for _, r := range g.ActiveRuntimes(sel) {
		got[r.ID] = row{r.Schedule.Stage, r.Type, r.IO.OutputContract, r.Guard, r.Agent.AfterTools}
		if r.Schedule.Trigger != manifest.TriggerAuto {
			t.Errorf("%s has the trigger %s", r.ID, r.Schedule.Trigger)
		}
		if (r.IO.Visibility == manifest.VisibilityStory) != (r.ID == "narrator") {
			t.Errorf("%s has the visibility %s", r.ID, r.IO.Visibility)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("runtimes\n got %+v\nwant %+v", got, want)
	}

	player, _, _ := g.Runtime("char-creator/player-init")
	for _, n := range player.Schedule.Needs {
		// The execution that carries the answer runs it alone: what is saved has to satisfy it.
		if n.Scope != "session" || n.Contract == "" {
			t.Errorf("player-init needs %+v", n)
		}
	}
	if in := player.IO.Inputs["worldSchema"]; in.Required || in.Contract != "world-data-provider@1" || in.Select != "/worldSchema" {
		t.Errorf("worldSchema = %+v", in)
	}
	schema, _, _ := g.Runtime("world-init/schema-gen")
	if len(schema.Schedule.After) != 1 || schema.Schedule.After[0].Contract != "session.opening@1" {
		t.Errorf("schema-gen comes after %+v", schema.Schedule.After)
	}
	guide, _, _ := g.Runtime("guide")
	if in := guide.IO.Inputs["narrative"]; !in.Required || in.Contract != "narrative-engine@2" || in.Select != "/narrativeOutput" || guide.Agent.ToolChoice != "required" {
		t.Errorf("guide = %+v", guide)
	}
	narrator, _, _ := g.Runtime("narrator")
	if !slices.Equal(narrator.Agent.BuiltinTools, []string{"list-characters", "get-character"}) || len(narrator.IO.OutputSchema) == 0 {
		t.Errorf("narrator = %+v", narrator.Agent)
	}
}

// Taking one plugin out leaves every other that does not need what it gave.
func TestEachCanBeLeftOut(t *testing.T) {
	g := generation(t)
	lost := map[string][]string{
		"char-creator":       nil,
		"guide":              nil,
		"history-compaction": nil,
		"narrator":           {"guide"},
		"pregame":            {"char-creator"},
		"world-init":         {"char-creator"},
	}
	for _, p := range All() {
		sel, err := g.Select(nil, []string{p.ID}, registry.Policy{})
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range All() {
			gone := other.ID == p.ID || slices.Contains(lost[p.ID], other.ID)
			if slices.Contains(sel.Active, other.ID) == gone {
				t.Errorf("without %s: %s active = %v", p.ID, other.ID, !gone)
			}
		}
	}
}
