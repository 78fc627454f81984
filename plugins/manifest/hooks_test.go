package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Rule REF plugins.md §3: contributes.hooks is a list of {event, enforce?}.
func TestHooksAreDeclared(t *testing.T) {
	p, err := Load(files(root("contributes: {hooks: [{event: PreToolUse}, {event: PreToolUse, enforce: post}, {event: SessionEnd, enforce: pre}]}")), "test")
	if err != nil {
		t.Fatal(err)
	}
	want := []HookDecl{{"PreToolUse", "normal"}, {"PreToolUse", "post"}, {"SessionEnd", "pre"}}
	if diff := cmp.Diff(want, p.Contributes.Hooks); diff != "" {
		t.Error(diff)
	}
}

// Rule REF plugins.md §6: declarations are strict; what is wrong is named with its file, line and field.
func TestHookProblems(t *testing.T) {
	const events = "SessionStart, TurnStart, PreCompaction, PostCompaction, PreSchedule, PreRuntime, PostContextAssembly, PreStep, PreLLMCall, PostLLMResponse, PostRuntime, PreToolUse, PostToolUse, PreStateCommit, PostStateCommit, TurnStop, SessionEnd"
	for name, c := range map[string]struct {
		lines string
		want  []string
	}{
		"no event":       {"contributes: {hooks: [{enforce: pre}]}", []string{"PLUGIN.md:3: contributes.hooks[0].event: is required. Name the event, as in PreToolUse"}},
		"unknown event":  {"contributes: {hooks: [{event: 回合开始}]}", []string{`PLUGIN.md:3: contributes.hooks[0].event: "回合开始" is not allowed here. Use one of: ` + events}},
		"unknown group":  {"contributes: {hooks: [{event: TurnStart, enforce: first}]}", []string{`PLUGIN.md:3: contributes.hooks[0].enforce: "first" is not allowed here. Use one of: pre, normal, post`}},
		"unknown key":    {"contributes: {hooks: [{event: TurnStart, order: 1}]}", []string{"PLUGIN.md:3: contributes.hooks[0].order: is not a known key. Known keys here: enforce, event"}},
		"twice the same": {"contributes: {hooks: [{event: TurnStart}, {event: TurnStart, enforce: normal}]}", []string{"PLUGIN.md:3: contributes.hooks[1]: TurnStart (normal) is declared twice. Keep one of them"}},
		"a word":         {"contributes: {hooks: [TurnStart]}", []string{`PLUGIN.md:3: contributes.hooks[0]: must be a map of keys and values, got "TurnStart"`}},
		"no list":        {"contributes: {hooks: {event: TurnStart}}", []string{"PLUGIN.md:3: contributes.hooks: must be a list, got a map. Write a list: [a, b]"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, problemsOf(t, root(c.lines), "test")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
