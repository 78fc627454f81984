package manifest

import (
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/language"
)

// locales reads locales/<locale>.yaml. What a translation names and the manifest does not have is a warning: translations
// may lag behind.
func (l *loader) locales() {
	for _, name := range l.files.paths {
		dir, base := path.Split(name)
		locale, ok := strings.CutSuffix(base, ".yaml")
		if dir != localesDir+"/" {
			continue
		}
		if !ok {
			l.files.add(name, "Name it <locale>.yaml, for example zh-CN.yaml", "is not a locale file")
			continue
		}
		if _, err := language.Parse(locale); err != nil {
			l.files.add(name, "Name it after a locale, for example zh-CN.yaml", "%q is not a locale", locale)
			continue
		}
		text, ok := l.files.text(name)
		if !ok {
			continue
		}
		doc := &document{file: name, problems: &l.problems}
		if o := doc.parse(text); o != nil {
			l.locale(locale, o)
		}
	}
}

func (l *loader) locale(locale string, o *object) {
	if p := o.object("plugin"); p != nil {
		translate(l.plugin.DisplayName, locale, p, "displayName")
		translate(l.plugin.Description, locale, p, "description")
		if r := p.object("runtime"); r != nil {
			l.runtimeLabels(locale, r, l.plugin.ID)
		}
		l.leftOver(p)
	}
	if runtimes := o.object("runtimes"); runtimes != nil {
		for _, rid := range runtimes.keys {
			if r := runtimes.object(rid); r != nil {
				l.runtimeLabels(locale, r, l.plugin.ID+"/"+rid)
			}
		}
	}
	if m := o.object("messages"); m != nil {
		if l.plugin.Locales == nil {
			l.plugin.Locales = map[string]map[string]string{}
		}
		texts := map[string]string{}
		for _, key := range m.keys {
			n, ok := m.get(key)
			if !ok {
				continue
			}
			if n.yaml.Kind != yaml.ScalarNode {
				n.problem("", "a message is a text, got %s", n.kind())
				continue
			}
			texts[key] = n.yaml.Value
		}
		l.plugin.Locales[locale] = texts
	}
	l.leftOver(o)
}

func (l *loader) runtimeLabels(locale string, o *object, id string) {
	at := slices.IndexFunc(l.plugin.Runtimes, func(r Runtime) bool { return r.ID == id })
	if at < 0 {
		l.warn(Problem{File: o.doc.file, Line: o.line(), Field: o.path, Message: "there is no runtime " + id, Fix: "Remove it"})
		return
	}
	translate(l.plugin.Runtimes[at].Description, locale, o, "description")
	l.leftOver(o)
}

func translate(t Text, locale string, o *object, key string) {
	if s := o.text(key); s != "" {
		t[locale] = s
	}
}

// leftOver warns of translations nothing reads.
func (l *loader) leftOver(o *object) {
	for _, key := range o.keys {
		if !o.asked[key] {
			n := o.values[key]
			l.warn(Problem{File: n.doc.file, Line: n.line(), Field: n.path, Message: "translates nothing of this package", Fix: "Remove it"})
		}
	}
}
