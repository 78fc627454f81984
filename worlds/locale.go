package worlds

import (
	"strings"

	"golang.org/x/text/language"
)

// canonicalLocale gives the usual spelling of a BCP 47 tag ("zh-cn" → "zh-CN"); ok is false for what is no language tag,
// such as the "backup" of items.backup.yaml.
func canonicalLocale(s string) (string, bool) {
	if s == "" || len(s) > 64 || strings.Contains(s, "_") {
		return "", false
	}
	tag, err := language.Raw.Parse(s)
	if err != nil || tag == language.Und {
		return "", false
	}
	return tag.String(), true
}

// pickLocale chooses from have what a reader of want can read: the same tag, else a tag of the same language written in
// the same script (zh-SG reads zh-CN, zh-Hant does not), where the bare language goes first and then the order of have.
// "" when there is none.
func pickLocale(want string, have []string) string {
	want, ok := canonicalLocale(want)
	if !ok {
		return ""
	}
	tag := language.Raw.Make(want)
	base, _ := tag.Base()
	script, _ := tag.Script()
	compatible := ""
	for _, h := range have {
		if h == want {
			return h
		}
		other := language.Raw.Make(h)
		otherBase, _ := other.Base()
		otherScript, _ := other.Script()
		if otherBase == base && otherScript == script && (compatible == "" || h == base.String()) {
			compatible = h
		}
	}
	return compatible
}
