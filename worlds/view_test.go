package worlds

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"
)

// checkView says what must hold of every view that Load makes.
func checkView(t *testing.T, v View) {
	t.Helper()
	data, digest := v.Encode()
	if !utf8.Valid(data) || len(digest) != 64 {
		t.Fatalf("digest %q, valid text %v", digest, utf8.Valid(data))
	}
	again, err := DecodeView(data)
	if err != nil {
		t.Fatal(err)
	}
	data2, digest2 := again.Encode()
	if !bytes.Equal(data, data2) || digest != digest2 {
		t.Fatalf("encoded, read and encoded again:\n%s\n%s", data, data2)
	}
}

func TestViewRoundTrip(t *testing.T) {
	for _, s := range mustOpen(t).List("en") {
		p, _ := mustOpen(t).Get(s.ID)
		for _, locale := range p.Locales {
			v := p.In(locale)
			checkView(t, v)
			data, _ := v.Encode()
			again, err := DecodeView(data)
			if err != nil || !reflect.DeepEqual(again, v) {
				t.Errorf("%s in %s is another value after a round trip (%v)", s.ID, locale, err)
			}
		}
	}
}

func TestDecodeViewRefuses(t *testing.T) {
	for _, text := range []string{"", "null", "{}", "[]", `{"record":{"id":5}}`, `{"record":{"id":"a"}`, "\xff"} {
		if v, err := DecodeView([]byte(text)); err == nil {
			t.Errorf("%q was read as %+v", text, v)
		}
	}
	if _, err := DecodeView([]byte(`{"record":{"id":"a"},"fromTomorrow":1}`)); err != nil {
		t.Errorf("a newer view: %v", err)
	}
}

// The page and the stored blob read these names.
func TestViewFieldNames(t *testing.T) {
	data, _ := mustLoad(t, map[string]string{"world.yaml": goodManifest + "author: {name: A}\n"}).In("en").Encode()
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"locale", "defaultLocale", "supportedLocales", "record", "characters", "lorebook", "pluginPolicy", "accentColor", "author", "digest"} {
		if _, ok := m[key]; !ok {
			t.Errorf("no %q in %s", key, data)
		}
	}
}
