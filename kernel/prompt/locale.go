package prompt

import "strings"

// Instruction locales.
const (
	Chinese = "zh"
	English = "en"
)

// InstructionLocale is the language in which instructions are given to the model: zh for sessions whose content is
// Chinese (zh, zh-CN, zh-Hans, …), else en. override, when it is a Chinese or English tag, decides for all sessions
// (COVEL_INSTRUCTION_LOCALE).
func InstructionLocale(locale, override string) string {
	for _, l := range []string{override, locale} {
		switch base, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(l, "_", "-")), "-"); base {
		case Chinese:
			return Chinese
		case English:
			return English
		}
	}
	return English
}

// say picks a text in the instruction language.
type say string

func (s say) in(en, zh string) string {
	if s == Chinese {
		return zh
	}
	return en
}

// language names the content language for the [LANGUAGE] line.
func (s say) language(locale string) string {
	l := strings.ToLower(strings.ReplaceAll(locale, "_", "-"))
	switch base, _, _ := strings.Cut(l, "-"); {
	case base == English:
		return s.in("English", "英语")
	case base == Chinese && (strings.Contains(l, "hant") || strings.HasSuffix(l, "-tw") || strings.HasSuffix(l, "-hk")):
		return s.in("Traditional Chinese", "繁体中文")
	case base == Chinese:
		return s.in("Simplified Chinese", "简体中文")
	}
	return locale
}
