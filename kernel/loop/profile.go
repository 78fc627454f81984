package loop

import "github.com/covel/covel/plugins/manifest"

// ProfileName names a set of loop behaviours (decisions: "Loop profiles").
type ProfileName string

// The three profiles.
const (
	StoryProfile  ProfileName = "story"
	SystemProfile ProfileName = "system"
	ActorProfile  ProfileName = "actor"
)

// Fallback is what happens when a tool call is repeated again after the perturbation.
type Fallback string

// Fallbacks.
const (
	FallbackToolsOff Fallback = "tools-off" // turn the tools off and ask for the answer
	FallbackFail     Fallback = "fail"      // fail with tool-loop
)

// Corrections are the budgets of the correction policy, per run.
type Corrections struct {
	ToolUse      int `json:"toolUse"`
	Review       int `json:"review"`
	Perturbation int `json:"perturbation"`
	Output       int `json:"output"`
}

// Finalizer says when a last request with tools off is sent in place of a failure.
type Finalizer struct {
	MaxSteps          bool `json:"maxSteps"`
	DeadlineReserveMs int  `json:"deadlineReserveMs"` // 0: no reserve
}

// Profile is the behaviour of a loop. Nothing else decides these things, in particular not the kind of output.
type Profile struct {
	Name          ProfileName `json:"name"`
	Stream        bool        `json:"stream"`        // text streams to the player
	Steering      bool        `json:"steering"`      // interjections are merged
	KeepTruncated bool        `json:"keepTruncated"` // cut-off text is kept
	Fallback      Fallback    `json:"fallback"`
	MaxSteps      int         `json:"maxSteps"`
	Corrections   Corrections `json:"corrections"`
	Finalizer     Finalizer   `json:"finalizer"`
}

// ResolveProfile gives the profile of a name; any other name gives the system profile.
func ResolveProfile(name ProfileName) Profile {
	p := Profile{
		Name:        SystemProfile,
		Fallback:    FallbackFail,
		MaxSteps:    20,
		Corrections: Corrections{ToolUse: 1, Review: 2, Perturbation: 1, Output: 1},
		Finalizer:   Finalizer{MaxSteps: true},
	}
	switch name {
	case StoryProfile:
		p.Name, p.Stream, p.Steering, p.KeepTruncated, p.Fallback = StoryProfile, true, true, true, FallbackToolsOff
	case ActorProfile:
		p.Name, p.Fallback = ActorProfile, FallbackToolsOff
	}
	return p
}

// ProfileOf is the profile of a runtime: the one it names, else actor for a sub-agent, story for a runtime with story
// visibility, and system for any other; single values that its manifest gives replace the profile's. Only a story reaches the
// narrative feed, whatever the profile (reference: plugins.md §9.1, "Streaming"); a sub-agent writes for the run that asked
// and never to the player.
func ProfileOf(rt manifest.Runtime) Profile {
	a := rt.Agent
	name := ProfileName(a.Profile)
	switch {
	case name != "":
	case rt.Schedule.SubagentOnly:
		name = ActorProfile
	case rt.IO.Visibility == manifest.VisibilityStory:
		name = StoryProfile
	}
	p := ResolveProfile(name)
	override(&p.Stream, a.Stream)
	override(&p.Steering, a.Steering)
	override(&p.KeepTruncated, a.KeepTruncated)
	override(&p.Corrections.ToolUse, a.Corrections.ToolUse)
	override(&p.Corrections.Review, a.Corrections.Review)
	override(&p.Corrections.Perturbation, a.Corrections.Perturbation)
	override(&p.Corrections.Output, a.Corrections.Output)
	override(&p.Finalizer.MaxSteps, a.Finalizer.MaxSteps)
	override(&p.Finalizer.DeadlineReserveMs, a.Finalizer.DeadlineReserveMs)
	if a.Fallback != "" {
		p.Fallback = Fallback(a.Fallback)
	}
	if a.MaxSteps > 0 {
		p.MaxSteps = a.MaxSteps
	}
	p.Stream = p.Stream && rt.IO.Visibility == manifest.VisibilityStory && !rt.Schedule.SubagentOnly
	p.Steering = p.Steering && !rt.Schedule.SubagentOnly
	return p
}

func override[T any](v *T, with *T) {
	if with != nil {
		*v = *with
	}
}
