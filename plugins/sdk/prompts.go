package sdk

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/text/language"
)

// Prompts are a package's own prompt texts: <name>.md in English and <name>.zh.md in Simplified Chinese in one folder. Texts
// of other languages are not read (seed: extension-points.txt, "Load the plugin's own prompt templates").
type Prompts struct {
	fsys fs.FS
	dir  string
}

// PromptLoader reads prompts from a folder of the package's files.
func PromptLoader(fsys fs.FS, dir string) Prompts { return Prompts{fsys, dir} }

// In gives a prompt in the language in which a model is instructed for a session: Chinese for content in Simplified Chinese,
// English for everything else and where there is no Chinese text. The error names the file that is missing.
func (p Prompts) In(name, locale string) (string, error) {
	if SimplifiedChinese(locale) {
		if b, err := fs.ReadFile(p.fsys, path.Join(p.dir, name+".zh.md")); err == nil {
			return strings.TrimSpace(string(b)), nil
		}
	}
	b, err := fs.ReadFile(p.fsys, path.Join(p.dir, name+".md"))
	if err != nil {
		return "", fmt.Errorf("prompt %s: %w", name, err)
	}
	return strings.TrimSpace(string(b)), nil
}

// SimplifiedChinese says whether a locale's content is written in Simplified Chinese: zh, zh-CN, zh-Hans, zh-SG, and not zh-TW
// or zh-HK. Where the tag names no script, the script is the one its region is likely to write. A session in another language,
// Traditional Chinese too, has its models instructed in English (reference: plugins.md §19).
func SimplifiedChinese(locale string) bool {
	tag, err := language.Parse(locale)
	if err != nil {
		return false
	}
	base, _ := tag.Base()
	script, _ := tag.Script()
	return base.String() == "zh" && script.String() == "Hans"
}
