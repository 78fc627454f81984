package registry

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/covel/covel/plugins/sdk"
)

func onTool(c *sdk.Covel, enforce sdk.Enforce) {
	sdk.On(c, sdk.OnPreToolUse, func(context.Context, *sdk.HookContext, sdk.ToolUse) (sdk.HookResult[sdk.ToolUseChange], error) {
		return sdk.HookResult[sdk.ToolUseChange]{}, nil
	}, sdk.HookOptions[sdk.ToolUse]{Enforce: enforce})
}

// Rule REF plugins.md §15: a registration must match a declared (event, enforce), in both directions; several handlers per declaration are allowed.
func TestHooksMustMatchTheirDeclarations(t *testing.T) {
	const head = "the entry and PLUGIN.md do not match: "
	for name, c := range map[string]struct {
		declared string
		register func(*sdk.Covel)
		want     string // "" loads
	}{
		"as declared":        {"{event: PreToolUse}", func(c *sdk.Covel) { onTool(c, "") }, ""},
		"several handlers":   {"{event: PreToolUse, enforce: pre}", func(c *sdk.Covel) { onTool(c, sdk.EnforcePre); onTool(c, sdk.EnforcePre) }, ""},
		"another group":      {"{event: PreToolUse}", func(c *sdk.Covel) { onTool(c, sdk.EnforcePost) }, head + `the hook "PreToolUse (normal)" is declared (contributes.hooks) but not registered; the hook "PreToolUse (post)" is registered but not declared (contributes.hooks)`},
		"nothing registered": {"{event: TurnStop}", func(*sdk.Covel) {}, head + `the hook "TurnStop (normal)" is declared (contributes.hooks) but not registered`},
		"nothing declared":   {"", func(c *sdk.Covel) { onTool(c, "") }, head + `the hook "PreToolUse (normal)" is registered but not declared (contributes.hooks)`},
		"no function":        {"", func(c *sdk.Covel) { c.Hooks = []sdk.Hook{{Event: "TurnStop", Enforce: "normal"}} }, head + "a hook of TurnStop: it has no function to call"},
		"no such event":      {"", func(c *sdk.Covel) { c.Hooks = []sdk.Hook{hook("Noon", "normal", 0)} }, head + `a hook of Noon: there is no event "Noon"`},
		"no such group":      {"", func(c *sdk.Covel) { c.Hooks = []sdk.Hook{hook("TurnStop", "first", 0)} }, head + `a hook of TurnStop: enforce "first": use pre, normal or post`},
		"too long":           {"", func(c *sdk.Covel) { c.Hooks = []sdk.Hook{hook("TurnStop", "normal", 600_001)} }, head + "a hook of TurnStop: timeoutMs must be 1 to 600000, got 600001"},
	} {
		t.Run(name, func(t *testing.T) {
			manifest := "---\ndescription: 灯塔。\ncontributes: {hooks: [" + c.declared + "]}\n---\n"
			g := Build([]Source{Bundled("lantern", sdk.Package{FS: files(map[string]string{"PLUGIN.md": manifest}), Register: c.register})})
			var got []string
			for _, e := range g.Errors {
				got = append(got, e.Err.Error())
			}
			if strings.Join(got, "\n") != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func hook(event, enforce string, timeout int) sdk.Hook {
	return sdk.Hook{Event: sdk.HookEvent(event), Enforce: sdk.Enforce(enforce), TimeoutMs: timeout, Handle: func(context.Context, *sdk.HookContext, json.RawMessage) (json.RawMessage, error) {
		return nil, nil
	}}
}
