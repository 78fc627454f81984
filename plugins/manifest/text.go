package manifest

import (
	"maps"
	"slices"

	"golang.org/x/text/language"
)

// In gives the text in a language: exact, then one of the same language and script (zh for zh-CN, never for zh-TW), then
// English, then any.
func (t Text) In(locale string) string {
	if s, ok := pick(t, locale); ok {
		return s
	}
	if s, ok := t["en"]; ok {
		return s
	}
	for _, k := range slices.Sorted(maps.Keys(t)) {
		return t[k]
	}
	return ""
}

// MessagesIn gives the package's translations for a session's language, nil when it has none: then the English keys are
// what is shown.
func (p Plugin) MessagesIn(locale string) map[string]string {
	m, _ := pick(p.Locales, locale)
	return m
}

func pick[V any](byLocale map[string]V, locale string) (V, bool) {
	if v, ok := byLocale[locale]; ok {
		return v, true
	}
	want := writing(locale)
	if want != "" {
		for _, k := range slices.Sorted(maps.Keys(byLocale)) {
			if writing(k) == want {
				return byLocale[k], true
			}
		}
	}
	var none V
	return none, false
}

// writing is a locale's language and script, "" when it is no locale.
func writing(locale string) string {
	tag, err := language.Parse(locale)
	if err != nil {
		return ""
	}
	base, _ := tag.Base()
	script, _ := tag.Script()
	return base.String() + "-" + script.String()
}
