package world

import (
	"encoding/json"
	"testing"

	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

// Rule TP:651: a run that read an upstream write of its plugin's data depends on the run that wrote it, and on no other.
func TestDataReadsAreNoted(t *testing.T) {
	set := func(key, value string) []sdk.Proposal {
		return []sdk.Proposal{propose(t, sdk.PluginDataWrite{Namespace: "notes", Key: key, Value: json.RawMessage(value)})}
	}
	for _, c := range []struct {
		name string
		read func(*Data)
		want []string
	}{
		{"nothing", func(*Data) {}, nil},
		{"a committed record", func(d *Data) { d.Get("notes", "a") }, nil},
		{"a record of one run", func(d *Data) { d.Get("notes", "茶") }, []string{"run-1"}},
		{"a record that a later run wrote again", func(d *Data) { d.Get("notes", "twice") }, []string{"run-2"}},
		{"a record that a run removed", func(d *Data) { d.Get("notes", "gone") }, []string{"run-2"}},
		{"a namespace", func(d *Data) { d.List("notes") }, []string{"run-1", "run-2"}},
		{"another namespace", func(d *Data) { d.List("other") }, nil},
		{"another plugin's", func(d *Data) { d.Get("notes", "q") }, nil},
		{"what the run wrote over it itself", func(d *Data) { _ = d.Set("notes", "茶", 1); d.Get("notes", "茶") }, nil},
		{"what the run's own tool wrote over it", func(d *Data) { d.Overlay(set("茶", "1")); d.Get("notes", "茶") }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			reads := &Reads{}
			d := NewData("p", committed(t), []Write{
				{"run-1", "p", append(set("茶", "1"), set("twice", "1")...)}, {"run-2", "p", append(set("twice", "2"), set("gone", "null")...)}, {"run-3", "q", set("q", "1")},
			}, reads)
			c.read(d)
			expect(t, "read", reads.List(), c.want)
		})
	}
	var none *Reads
	none.Note("x")
	expect(t, "no recorder", len(none.List()), 0)
	NewData("p", projections.PluginData{}, []Write{{"run-1", "p", set("a", "1")}}, nil).Get("notes", "a") // nobody listens: no harm
}

// Rule TP:650: the view of the world merges committed records with the valid proposals of earlier runs, and knows the
// producers of each part; a refused proposal enters nothing and makes nobody a producer.
func TestVisible(t *testing.T) {
	w, by := Visible(lowWater(), []Write{
		{"run-1", "p", []sdk.Proposal{propose(t, sdk.CharacterUpsert{ID: "npc-x", Name: "白芷"})}},
		{"run-2", "q", []sdk.Proposal{propose(t, sdk.CharacterUpsert{ID: "npc-y", Name: "白芷"})}}, // the name is taken by now
		{"run-3", "q", []sdk.Proposal{propose(t, sdk.CharacterUpsert{ID: "npc-z", Name: "Ольга"}), propose(t, sdk.CharacterUpsert{ID: "npc-u", Name: "Ute"})}},
		{"run-4", "q", []sdk.Proposal{propose(t, sdk.CharacterSchemaSet{Types: []string{"npc", "spirit"}})}},
		{"run-5", "q", []sdk.Proposal{propose(t, sdk.MessageAppend{Content: "x"})}},
	})
	for id, want := range map[string]bool{"npc-x": true, "npc-y": false, "npc-z": true} {
		if _, ok := sdk.CharacterByID(w.Characters, id); ok != want {
			t.Errorf("%s is seen: %v", id, ok)
		}
	}
	expect(t, "characters by", by[sdk.PartCharacters], []string{"run-1", "run-3"})
	expect(t, "schema by", by[sdk.PartSchema], []string{"run-4"})
}
