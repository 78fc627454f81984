package prompt

import (
	"golang.org/x/text/language"

	"github.com/covel/covel/plugins/sdk"
)

// Instruction locales.
const (
	Chinese = "zh"
	English = "en"
)

// InstructionLocale is the language in which instructions are given to the model: Chinese for sessions whose content is in
// Simplified Chinese, English for all others, Traditional Chinese among them: instructions exist in these two only, and the
// [LANGUAGE] line names the content's own. override, Chinese or English, decides for all sessions (COVEL_INSTRUCTION_LOCALE).
func InstructionLocale(locale, override string) string {
	switch {
	case override != "":
		return override
	case sdk.SimplifiedChinese(locale):
		return Chinese
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

// language names the content language for the [LANGUAGE] line; the tag itself where it is neither English nor Chinese.
func (s say) language(locale string) string {
	tag, err := language.Parse(locale)
	if err != nil {
		return locale
	}
	switch base, _ := tag.Base(); {
	case base.String() == English:
		return s.in("English", "英语")
	case sdk.SimplifiedChinese(locale):
		return s.in("Simplified Chinese", "简体中文")
	case base.String() == Chinese:
		return s.in("Traditional Chinese", "繁体中文")
	}
	return locale
}
