package sdk_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/covel/covel/plugins/sdk"
)

// Rule EP:223: a package's prompt is read from <name>.md and, for Simplified Chinese, <name>.zh.md; no other file is.
func TestPrompts(t *testing.T) {
	p := sdk.PromptLoader(fstest.MapFS{
		"prompts/sum.md": {Data: []byte("Sum up.\n")}, "prompts/sum.zh.md": {Data: []byte("概括。")}, "prompts/sum.fr.md": {Data: []byte("Résume.")},
		"prompts/only.md": {Data: []byte("Only.")},
	}, "prompts")
	for _, c := range []struct{ name, locale, want string }{
		{"sum", "zh-CN", "概括。"}, {"sum", "zh", "概括。"}, {"sum", "zh_Hans_TW", "概括。"}, {"sum", "zh-TW", "Sum up."}, {"sum", "zh-Hant", "Sum up."}, {"sum", "zh-HK", "Sum up."}, {"sum", "不是", "Sum up."},
		{"sum", "fr", "Sum up."}, {"sum", "", "Sum up."}, {"sum", "zha", "Sum up."}, {"only", "zh-CN", "Only."},
	} {
		if got, err := p.In(c.name, c.locale); err != nil || got != c.want {
			t.Errorf("%s in %q: %q, %v", c.name, c.locale, got, err)
		}
	}
	if _, err := p.In("none", "zh-CN"); err == nil || !strings.Contains(err.Error(), "prompts/none.md") {
		t.Errorf("a missing prompt: %v", err)
	}
}
