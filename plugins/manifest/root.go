package manifest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/covel/covel/plugins/points"
)

const noVersion = "0.0.0"

var (
	contractPattern = regexp.MustCompile(`^[a-z][a-z0-9.-]*@[1-9][0-9]*$`)
	versionPattern  = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	tagPattern      = regexp.MustCompile(`^[a-z][a-z0-9-]*(:[a-z0-9][a-z0-9-]*)?$`)
)

// defaultEntry is used when the file exists and the manifest names no other.
const defaultEntry = "server/index.js"

// isContract returns what is wrong with a contract id, "" when nothing is.
func isContract(id string) string {
	if contractPattern.MatchString(id) {
		return ""
	}
	return fmt.Sprintf("%q is not a contract id: lower-case letters, digits, dots and hyphens, then @ and a version, as in narrative-engine@2", shorten(id))
}

// root reads the package-level fields (reference: plugins.md §2).
func (l *loader) root(o *object, folderName string) {
	p := &l.plugin
	p.ID = l.id(o, folderName)
	p.Kind = o.choice("kind", "plugin", "core", "plugin")
	p.Version = noVersion
	if v := o.text("version"); v != "" {
		p.Version = v
		if !versionPattern.MatchString(v) {
			o.values["version"].problem("Write it as 1.2.3", "%q is not a version", shorten(v))
		}
	}
	p.Host = o.text("covel")
	p.DisplayName = Text{"en": p.ID}
	if name := o.text("displayName"); name != "" {
		p.DisplayName["en"] = name
	}
	o.required("description", "Say in one sentence what the plugin does")
	p.Description = Text{"en": o.text("description")}
	p.Tags = o.texts("tags", func(tag string) string {
		switch {
		case !tagPattern.MatchString(tag) || len(tag) > 64:
			return fmt.Sprintf("%q is not a tag: a word of lower-case letters, digits and hyphens, or group:word, at most 64 characters", shorten(tag))
		case strings.HasPrefix(tag, "role:"):
			return "the group role: is reserved"
		}
		return ""
	})
	p.Author = l.author(o)
	p.License = o.text("license")
	p.Homepage = httpsURL(o, "homepage")
	l.provides(o)
	p.Requires = o.texts("requires", isContract)
	p.Optional = o.texts("optional", isContract)
	p.Conflicts = o.texts("conflicts", conflictContract)
	for _, id := range p.Optional {
		if slices.Contains(p.Requires, id) {
			o.values["optional"].problem("Keep it in one of the two", "%s is also in requires", id)
		}
	}
	l.contracts(o)
	l.entry(o)
	l.contributes(o.object("contributes"))
}

// conflictContract: a kernel point or slot excludes nobody (seed: extension-points.txt, "conflicts cannot reference kernel
// extension points or specific slots").
func conflictContract(id string) string {
	if points.IsKernel(id) {
		return fmt.Sprintf("invalid-conflict: %s belongs to the kernel; its mode says whether providers exclude each other", id)
	}
	return isContract(id)
}

func (l *loader) id(o *object, folderName string) string {
	const rule = "a lower-case letter, then lower-case letters, digits and hyphens"
	id := o.text("id")
	switch {
	case id == "" && !idPattern.MatchString(folderName):
		o.problem("Rename the folder: "+rule, "the folder name %q is not a plugin id", folderName)
		return folderName
	case id == "":
		return folderName
	case !idPattern.MatchString(id):
		o.values["id"].problem("Use "+rule, "%q is not a plugin id", shorten(id))
	case folderName != "" && id != folderName:
		o.values["id"].problem("Rename one of the two, or leave id out", "%q differs from the folder's name %q", shorten(id), folderName)
	}
	return id
}

func (l *loader) author(o *object) Author {
	a := o.object("author")
	if a == nil {
		return Author{}
	}
	a.required("name", "Write the name, or leave author out")
	out := Author{Name: short(a, "name", 80), URL: httpsURL(a, "url"), About: short(a, "about", 500)}
	links := a.list("links")
	for i, n := range links {
		link := n.object()
		if link == nil {
			continue
		}
		if i == 6 {
			n.problem("Keep six", "there are more than 6 links")
		}
		link.required("label", "")
		link.required("url", "")
		out.Links = append(out.Links, Link{Label: short(link, "label", 40), URL: httpsURL(link, "url")})
		link.done(nil)
	}
	a.done(nil)
	return out
}

func short(o *object, key string, most int) string {
	s := o.text(key)
	if n := utf8.RuneCountInString(s); n > most {
		o.values[key].problem("", "has %d characters; at most %d are allowed", n, most)
	}
	return s
}

func httpsURL(o *object, key string) string {
	s := o.text(key)
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		o.values[key].problem("", "must be an https address without user name, got %q", shorten(s))
	}
	return s
}

func (l *loader) provides(o *object) {
	for _, n := range o.list("provides") {
		var p Provided
		if n.yaml.ShortTag() == "!!map" {
			entry := n.object()
			entry.required("contract", "Name the contract")
			p = Provided{Contract: entry.text("contract"), Default: entry.boolean("default", false)}
			entry.done(nil)
		} else {
			p.Contract, _ = n.text()
		}
		if p.Contract == "" {
			continue
		}
		if wrong := isContract(p.Contract); wrong != "" {
			n.problem("", "%s", wrong)
			continue
		}
		if l.isProvided(p.Contract) {
			n.problem("Keep one of them", "%s is listed twice", p.Contract)
			continue
		}
		l.plugin.Provides = append(l.plugin.Provides, p)
	}
}

func (l *loader) isProvided(contract string) bool {
	return slices.ContainsFunc(l.plugin.Provides, func(p Provided) bool { return p.Contract == contract })
}

// declared says whether a runtime may consume a contract.
func (l *loader) declared(contract string) bool {
	return slices.Contains(l.plugin.Requires, contract) || slices.Contains(l.plugin.Optional, contract)
}

func (l *loader) contracts(o *object) {
	c := o.object("contracts")
	if c == nil {
		return
	}
	l.plugin.Contracts = map[string]json.RawMessage{}
	for _, id := range c.keys {
		entry := c.object(id)
		if wrong := isContract(id); wrong != "" {
			c.values[id].problem("", "%s", wrong)
		}
		if entry == nil {
			continue
		}
		entry.required("schema", "Name a JSON Schema file")
		if n, ok := entry.get("schema"); ok {
			if raw := l.files.schema(n); raw != nil {
				l.plugin.Contracts[id] = raw
			}
		}
		entry.done(nil)
	}
}

// entry reads where the JavaScript entry is. Go packages have none.
func (l *loader) entry(o *object) {
	if n, ok := o.get("entry"); ok {
		l.plugin.Entry, _ = l.files.file(n, scriptEndings...)
		return
	}
	if l.files.has(defaultEntry) {
		l.plugin.Entry = defaultEntry
	}
}

// scriptEndings are the endings of modules: JavaScript, and TypeScript as our extension (decisions: "Identity and
// configuration").
var scriptEndings = []string{".js", ".mjs", ".cjs", ".ts"}

// producersOfProvides warns of contracts nobody in the package makes. Services have their own declarations, so it does not stop
// the load.
func (l *loader) producersOfProvides(o *object) {
	n, ok := o.values["provides"]
	if !ok {
		return
	}
	for _, p := range l.plugin.Provides {
		extends := slices.ContainsFunc(l.plugin.Contributes.Extensions, func(d ExtensionDecl) bool { return d.Point == p.Contract || d.Slot == p.Contract })
		if _, made := l.producers[p.Contract]; !made && !extends && !l.accepted(p.Contract) {
			l.warn(Problem{File: rootFile, Line: n.line(), Field: "provides",
				Message: "no runtime has " + p.Contract + " as io.output.contract",
				Fix:     "Remove it, unless code outside the runtimes provides it"})
		}
	}
}

// accepted says whether a data namespace takes world data of a contract.
func (l *loader) accepted(contract string) bool {
	for _, d := range l.plugin.Contributes.Data {
		if slices.Contains(d.Accepts, contract) {
			return true
		}
	}
	return false
}
