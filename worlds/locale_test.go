package worlds

import "testing"

func TestPickLocale(t *testing.T) {
	tests := []struct {
		want string
		have []string
		pick string
	}{
		{"en", []string{"en", "zh-CN"}, "en"},
		{"zh-CN", []string{"en", "zh-CN"}, "zh-CN"},
		{"zh-cn", []string{"en", "zh-CN"}, "zh-CN"},
		{"en-GB", []string{"zh-CN", "en"}, "en"},
		{"zh", []string{"en", "zh-CN"}, "zh-CN"},
		{"zh-SG", []string{"en", "zh-CN"}, "zh-CN"},
		{"zh-Hans-CN", []string{"en", "zh-CN"}, "zh-CN"},
		{"zh-Hant", []string{"en", "zh-CN"}, ""},
		{"zh-Hant-TW", []string{"zh"}, ""},
		{"zh-TW", []string{"zh-Hans", "zh-CN"}, ""},
		{"zh-HK", []string{"zh-CN", "zh-Hant"}, "zh-Hant"},
		{"sr-Latn", []string{"sr"}, ""},
		{"pt-PT", []string{"pt-BR", "pt"}, "pt"},
		{"pt", []string{"pt-BR", "pt-PT"}, "pt-BR"},
		{"fr", []string{"en", "zh-CN"}, ""},
		{"", []string{"en"}, ""},
		{"backup", []string{"en"}, ""},
		{"../../etc", []string{"en"}, ""},
		{"en_US", []string{"en"}, ""},
	}
	for _, tt := range tests {
		if got := pickLocale(tt.want, tt.have); got != tt.pick {
			t.Errorf("%q of %v → %q, want %q", tt.want, tt.have, got, tt.pick)
		}
	}
}

func TestInFallsBackToTheDefault(t *testing.T) {
	p := mustLoad(t, map[string]string{"world.zh-CN.yaml": "name: 小湖\n"})
	for want, locale := range map[string]string{"zh-SG": "zh-CN", "zh-Hant": "en", "fr": "en", "": "en", "nonsense!": "en"} {
		if got := p.In(want).Locale; got != locale {
			t.Errorf("In(%q) is in %q, want %q", want, got, locale)
		}
	}
}

func TestLanguageFiles(t *testing.T) {
	p := mustLoad(t, map[string]string{
		"data/lorebook.yaml":        "- {id: a, content: One.}\n",
		"data/lorebook.backup.yaml": "!! no language, not read",
		"world.zh.yaml":             "name: 湖\n",
		"data/lorebook.zh-CN.yaml":  "- {id: a, content: 一。}\n",
	})
	if got := p.In("zh").Lorebook[0].Content; got != "一。" {
		t.Errorf("zh does not read the compatible zh-CN file: %q", got)
	}
	_, err := Load(world(map[string]string{"world.zh-CN.yaml": "name: 湖\n", "world.zh-cn.yaml": "name: 湖\n"}), "tarn")
	if err == nil {
		t.Error("two files for one language were accepted")
	}
}
