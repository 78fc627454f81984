package loop

import (
	"strings"
	"testing"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/manifest"
)

// Every cell of the table of the decisions, "Loop profiles".
func TestProfiles(t *testing.T) {
	type cells struct{ story, system, actor any }
	for field, c := range map[string]struct {
		of   func(Profile) any
		want cells
	}{
		// Rule DEC Loop profiles: text streams to the player under story only.
		"stream": {func(p Profile) any { return p.Stream }, cells{true, false, false}},
		// Rule DEC Loop profiles: interjections are merged under story only.
		"steering": {func(p Profile) any { return p.Steering }, cells{true, false, false}},
		// Rule DEC Loop profiles: cut-off text is kept under story only.
		"keepTruncated": {func(p Profile) any { return p.KeepTruncated }, cells{true, false, false}},
		// Rule DEC Loop profiles: after the perturbation a repeated call turns the tools off (story, actor) or fails the run (system).
		"fallback": {func(p Profile) any { return p.Fallback }, cells{FallbackToolsOff, FallbackFail, FallbackToolsOff}},
		// Rule DEC Loop profiles: twenty steps under each.
		"maxSteps": {func(p Profile) any { return p.MaxSteps }, cells{20, 20, 20}},
		// Rule DEC Loop profiles: corrections of tool use 1, review 2, perturbation 1, output 1 under each.
		"corrections.toolUse":      {func(p Profile) any { return p.Corrections.ToolUse }, cells{1, 1, 1}},
		"corrections.review":       {func(p Profile) any { return p.Corrections.Review }, cells{2, 2, 2}},
		"corrections.perturbation": {func(p Profile) any { return p.Corrections.Perturbation }, cells{1, 1, 1}},
		"corrections.output":       {func(p Profile) any { return p.Corrections.Output }, cells{1, 1, 1}},
		// Rule DEC Loop profiles: a finalizer at the step limit and no deadline reserve under each.
		"finalizer.maxSteps":          {func(p Profile) any { return p.Finalizer.MaxSteps }, cells{true, true, true}},
		"finalizer.deadlineReserveMs": {func(p Profile) any { return p.Finalizer.DeadlineReserveMs }, cells{0, 0, 0}},
	} {
		got := cells{c.of(ResolveProfile(StoryProfile)), c.of(ResolveProfile(SystemProfile)), c.of(ResolveProfile(ActorProfile))}
		if got != c.want {
			t.Errorf("%s: %v, want %v", field, got, c.want)
		}
	}
	// Rule DEC Loop profiles: an identical call counts as repeated when it came three times in a row.
	if DefaultLoopDetection != 3 {
		t.Errorf("a loop is %d identical calls", DefaultLoopDetection)
	}
	for _, name := range []ProfileName{StoryProfile, SystemProfile, ActorProfile} {
		if got := ResolveProfile(name).Name; got != name {
			t.Errorf("%s gives %s", name, got)
		}
	}
}

// Rule DEC Loop profiles: without a profile a runtime with story visibility has story, a sub-agent actor, any other system.
// Rule TP:559: the loop's behaviour comes from the profile, and what a manifest says replaces single values of it.
// Rule REF plugins.md §9.1: only a story reaches the narrative feed, whatever its profile.
func TestProfileOfARuntime(t *testing.T) {
	story := manifest.IO{Visibility: manifest.VisibilityStory}
	sub := manifest.Schedule{SubagentOnly: true}
	for _, c := range []struct {
		name string
		rt   manifest.Runtime
		want func(p *Profile)
		base ProfileName
	}{
		{"story by visibility", manifest.Runtime{IO: story}, nil, StoryProfile},
		{"system otherwise", manifest.Runtime{}, nil, SystemProfile},
		{"actor for a sub-agent", manifest.Runtime{Schedule: sub}, nil, ActorProfile},
		{"a sub-agent that writes story", manifest.Runtime{Schedule: sub, IO: story}, nil, ActorProfile},
		{"a sub-agent never streams nor hears", manifest.Runtime{Schedule: sub, IO: story, Agent: manifest.Agent{Profile: "story"}}, func(p *Profile) {
			p.Stream, p.Steering = false, false
		}, StoryProfile},
		{"named", manifest.Runtime{IO: story, Agent: manifest.Agent{Profile: "actor"}}, nil, ActorProfile},
		{"named story, but tells none", manifest.Runtime{Agent: manifest.Agent{Profile: "story"}}, func(p *Profile) { p.Stream = false }, StoryProfile},
		{"streams, but tells no story", manifest.Runtime{Agent: manifest.Agent{Stream: ptr(true)}}, nil, SystemProfile},
		{"single values", manifest.Runtime{IO: story, Agent: manifest.Agent{
			Stream: ptr(false), Steering: ptr(false), KeepTruncated: ptr(false), Fallback: "fail", MaxSteps: 5,
			Corrections: manifest.Corrections{ToolUse: ptr(4), Review: ptr(0), Perturbation: ptr(3), Output: ptr(2)},
			Finalizer:   manifest.Finalizer{MaxSteps: ptr(false), DeadlineReserveMs: ptr(5000)},
		}}, func(p *Profile) {
			*p = Profile{Name: StoryProfile, Fallback: FallbackFail, MaxSteps: 5, Corrections: Corrections{4, 0, 3, 2}, Finalizer: Finalizer{DeadlineReserveMs: 5000}}
		}, StoryProfile},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := ResolveProfile(c.base)
			if c.want != nil {
				c.want(&want)
			}
			if got := ProfileOf(c.rt); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// Rule DEC Loop profiles: the finalizer, the fallback of a repeated call and the prompt after work that only looked things up
// ask for a segments object where the story's schema has segments.
// Rule TP:575: they name the kinds narration, dialogue and action, and a speaker for dialogue.
func TestAskingForSegments(t *testing.T) {
	schema := []byte(`{"type":"object","properties":{"segments":{"type":"array"}}}`)
	again := repetition{Name: "look", Count: 4}
	for _, locale := range []string{"en", "zh"} {
		for name, c := range map[string]struct {
			rt       manifest.Runtime
			segments bool
		}{
			"a story with segments": {manifest.Runtime{IO: manifest.IO{Visibility: manifest.VisibilityStory, OutputSchema: schema}}, true},
			"a story in prose":      {manifest.Runtime{IO: manifest.IO{Visibility: manifest.VisibilityStory}}, false},
			"no story":              {manifest.Runtime{IO: manifest.IO{OutputSchema: schema}}, false},
		} {
			config := NewConfig(c.rt, []ToolOffer{{Tool: model.Tool{Name: "look"}}}, locale)
			for asks, text := range map[string]string{
				"finalizer": config.sayStepLimit(), "fallback": config.sayToolsOff(again), "after a look": config.sayStoryMissing(), "repair": config.sayRepair("?"),
			} {
				all := true
				for _, word := range []string{`{"segments":[`, "narration", "dialogue", "action", "speaker"} {
					all = all && strings.Contains(text, word)
				}
				if all != c.segments {
					t.Errorf("%s, %s, %s: %q", locale, name, asks, text)
				}
			}
		}
	}
}
