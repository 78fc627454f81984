package manifest

import (
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Load reads a package. folderName is the name of the package's folder: the id when PLUGIN.md names none, and what a
// written id must equal. The error is of type Problems: everything that is wrong, at once. Nothing is run.
func Load(fsys fs.FS, folderName string) (Plugin, error) {
	l := &loader{producers: map[string]string{}}
	l.files = &folder{fsys: fsys, problems: &l.problems}
	l.files.scan()
	if l.files.has(rootFile) {
		l.load(folderName)
	} else {
		l.files.add(rootFile, "A package is a folder with a PLUGIN.md", "is missing")
	}
	if len(l.problems) > 0 {
		sortProblems(l.problems)
		return Plugin{ID: l.plugin.ID}, Problems(l.problems)
	}
	sortProblems(l.warnings)
	l.plugin.Warnings = l.warnings
	return l.plugin, nil
}

func sortProblems(list []Problem) {
	slices.SortStableFunc(list, func(a, b Problem) int {
		if a.File != b.File {
			return strings.Compare(a.File, b.File)
		}
		return a.Line - b.Line
	})
}

const (
	rootFile    = "PLUGIN.md"
	rootVariant = "PLUGIN.zh.md"
	runtimesDir = "runtimes"
	runtimeFile = "RUNTIME.md"
	runtimeZH   = "RUNTIME.zh.md"
	localesDir  = "locales"
)

// loader is the state of one reading.
type loader struct {
	files     *folder
	problems  []Problem
	warnings  []Problem
	plugin    Plugin
	rids      []string          // the folders under runtimes/
	producers map[string]string // output contract → runtime
	inline    bool              // the package has an inline runtime, and so only one
}

func (l *loader) warn(p Problem) { l.warnings = append(l.warnings, p) }

var idPattern = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

func (l *loader) load(folderName string) {
	text, ok := l.files.text(rootFile)
	if !ok {
		return
	}
	yaml, body, found, ok := l.files.frontMatter(rootFile, text)
	switch {
	case !ok:
		return
	case !found:
		l.files.add(rootFile, "Begin the file with a line ---, the fields, and a line ---", "has no front matter")
		return
	}
	doc := &document{file: rootFile, offset: 1, problems: &l.problems}
	root := doc.parse(yaml)
	if root == nil {
		return
	}
	l.listRuntimes()
	l.root(root, folderName)
	l.inline = root.has("runtime")
	if l.inline && len(l.rids) > 0 {
		root.values["runtime"].problem("Keep the inline runtime or the files, not both", "the package also has runtimes/%s/%s", l.rids[0], runtimeFile)
	}
	if inline := root.object("runtime"); inline != nil {
		l.runtime(inline, l.plugin.ID, body)
	}
	root.done(rootHints)
	l.rootVariantFile()
	for _, rid := range l.rids {
		l.runtimeFolder(rid)
	}
	slices.SortFunc(l.plugin.Runtimes, func(a, b Runtime) int { return strings.Compare(a.ID, b.ID) })
	l.producersOfProvides(root)
	l.locales()
	l.packageJSON()
	l.plugin.Digest = l.files.digest()
}

var rootHints = map[string]string{
	"schedule": "Put it under runtime, or in runtimes/<id>/RUNTIME.md",
	"io":       "Put it under runtime, or in runtimes/<id>/RUNTIME.md",
	"agent":    "Put it under runtime, or in runtimes/<id>/RUNTIME.md",
	"function": "Put it under runtime, or in runtimes/<id>/RUNTIME.md",
	"type":     "Put it under runtime, or in runtimes/<id>/RUNTIME.md",
	"guard":    "Put it under runtime, or in runtimes/<id>/RUNTIME.md",
	"name":     "Use displayName for the name people see, id for the name in manifests",
	"tools":    "Declare a plugin's tools under contributes.tools and list them in agent.tools.plugin",
	"memory":   "Declare contributes.data with a search field instead",
	"prompt":   "Declare contributes.prompt instead",
}

// listRuntimes finds runtimes/<rid>/RUNTIME.md and files that look like a mistaken layout.
func (l *loader) listRuntimes() {
	for _, name := range l.files.paths {
		dir, base := path.Split(name)
		parts := strings.Split(strings.TrimSuffix(dir, "/"), "/")
		switch {
		case base == runtimeFile && len(parts) == 2 && parts[0] == runtimesDir:
			if !idPattern.MatchString(parts[1]) {
				l.files.add(name, "Rename the folder: a lower-case letter, then lower-case letters, digits and hyphens", "%q is not a runtime id", parts[1])
				continue
			}
			l.rids = append(l.rids, parts[1])
		case base == runtimeFile, base == rootFile && dir != "":
			l.files.add(name, "A package has one PLUGIN.md at its root and runtimes/<id>/RUNTIME.md", "is not read here")
		}
	}
}

// runtimeFolder reads one RUNTIME.md and its variant.
func (l *loader) runtimeFolder(rid string) {
	name := path.Join(runtimesDir, rid, runtimeFile)
	text, ok := l.files.text(name)
	if !ok {
		return
	}
	yaml, body, found, ok := l.files.frontMatter(name, text)
	switch {
	case !ok:
		return
	case !found:
		l.files.add(name, "Begin the file with a line ---, the fields, and a line ---", "has no front matter")
		return
	}
	doc := &document{file: name, offset: 1, problems: &l.problems}
	o := doc.parse(yaml)
	if o == nil {
		return
	}
	r := l.runtime(o, l.plugin.ID+"/"+rid, body)
	if zh := path.Join(runtimesDir, rid, runtimeZH); l.files.has(zh) && r != nil {
		if body, ok := l.variantBody(zh); ok && body != "" {
			r.Body["zh"] = body
		}
	}
}

// variantBody reads a Chinese variant that may hold a body and nothing else.
func (l *loader) variantBody(name string) (string, bool) {
	text, ok := l.files.text(name)
	if !ok {
		return "", false
	}
	yaml, body, _, ok := l.files.frontMatter(name, text)
	if !ok {
		return "", false
	}
	doc := &document{file: name, offset: 1, problems: &l.problems}
	if o := doc.parse(yaml); o != nil {
		for _, key := range o.keys {
			o.values[key].problem("Remove it", "a variant has only the translated body")
		}
	}
	return body, true
}

// rootVariantFile reads PLUGIN.zh.md: the body of an inline runtime and the texts of contributes.prompt.
func (l *loader) rootVariantFile() {
	if !l.files.has(rootVariant) {
		return
	}
	text, ok := l.files.text(rootVariant)
	if !ok {
		return
	}
	yaml, zh, _, ok := l.files.frontMatter(rootVariant, text)
	if !ok {
		return
	}
	if l.inline && zh != "" && len(l.plugin.Runtimes) > 0 {
		l.plugin.Runtimes[0].Body["zh"] = zh
	}
	doc := &document{file: rootVariant, offset: 1, problems: &l.problems}
	o := doc.parse(yaml)
	if o == nil {
		return
	}
	if c := o.object("contributes"); c != nil {
		for _, n := range c.list("prompt") {
			l.promptVariant(n)
		}
		c.done(nil)
	}
	o.done(nil)
}

func (l *loader) promptVariant(n node) {
	o := n.object()
	if o == nil {
		return
	}
	id, content := o.text("id"), o.text("content")
	o.done(nil)
	at := slices.IndexFunc(l.plugin.Contributes.Prompt, func(p PromptSegment) bool { return p.ID == id })
	if at < 0 {
		n.problem("", "PLUGIN.md has no prompt segment %q", id)
		return
	}
	if content != "" {
		l.plugin.Contributes.Prompt[at].Content["zh"] = content
	}
}

// packageJSON checks what the two manifests say about the version.
func (l *loader) packageJSON() {
	const name = "package.json"
	if !l.files.has(name) {
		return
	}
	text, ok := l.files.text(name)
	if !ok {
		return
	}
	var p struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		l.files.add(name, "", "is not valid JSON: %s", jsonPlace(text, err))
		return
	}
	if p.Version != "" && l.plugin.Version != noVersion && p.Version != l.plugin.Version {
		l.files.add(name, "Write the same version in both", "its version %s is not the version %s of PLUGIN.md", p.Version, l.plugin.Version)
	}
}
