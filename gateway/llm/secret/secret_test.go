package secret_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/pkg/errors"

	"github.com/covel/covel/gateway/llm/secret"
)

const key = "sk-龙胆/+&0123456789"

type config struct {
	Name   string
	Public secret.Secret
	hidden secret.Secret
	list   []secret.Secret
	byName map[string]secret.Secret
	ptr    *secret.Secret
}

func newConfig() config {
	s := secret.New(key)
	return config{
		Name: "story", Public: s, hidden: s, list: []secret.Secret{s},
		byName: map[string]secret.Secret{"a": s}, ptr: &s,
	}
}

// hex of the key, which %x would print.
var hexKey = fmt.Sprintf("%x", key)

func mustHide(t *testing.T, how, text string) {
	t.Helper()
	for _, part := range []string{key, "0123456789", "龙胆", hexKey, strings.ToUpper(hexKey)} {
		if strings.Contains(text, part) {
			t.Errorf("%s shows the secret: %q", how, text)
		}
	}
}

func TestNoVerbPrintsASecret(t *testing.T) {
	c := newConfig()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%T", "%U", "%c", "%e", "%p", "%10.3v", "% x"} {
		for name, value := range map[string]any{"value": c.Public, "pointer": c.ptr, "struct": c, "struct pointer": &c, "slice": c.list, "map": c.byName} {
			mustHide(t, name+" with "+verb, fmt.Sprintf(verb, value))
		}
	}
	if got := fmt.Sprint(c.Public); got != secret.Mask {
		t.Errorf("Sprint gave %q", got)
	}
	if got := c.Public.String(); got != secret.Mask {
		t.Errorf("String gave %q", got)
	}
	if got := c.Public.GoString(); got != secret.Mask {
		t.Errorf("GoString gave %q", got)
	}
}

func TestNoEncoderPrintsASecret(t *testing.T) {
	c := newConfig()
	raw, err := json.Marshal(map[string]any{"config": c, "key": c.Public, "ptr": c.ptr})
	if err != nil {
		t.Fatal(err)
	}
	mustHide(t, "json", string(raw))
	if !strings.Contains(string(raw), `"key":"[secret]"`) {
		t.Errorf("json should show the mask: %s", raw)
	}
	raw, err = xml.Marshal(c.Public)
	if err != nil {
		t.Fatal(err)
	}
	mustHide(t, "xml", string(raw))
}

func TestNoLogPrintsASecret(t *testing.T) {
	c := newConfig()
	var out bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("opened", "key", c.Public, "config", c, "ptr", c.ptr, slog.Any("any", c.list))
	}
	mustHide(t, "slog", out.String())
	if strings.Count(out.String(), secret.Mask) < 2 {
		t.Errorf("slog should show the mask: %s", out.String())
	}
}

func TestNoErrorPrintsASecret(t *testing.T) {
	c := newConfig()
	err := errors.Wrapf(errors.Errorf("refused with %v and %+v", c.Public, c), "open %s", c.Public)
	mustHide(t, "error", fmt.Sprintf("%v %+v %s", err, err, err.Error()))
}

func TestScrub(t *testing.T) {
	s := secret.New(key)
	got := s.Scrub("bad key " + key + " in /v1?key=" + "sk-%E9%BE%99%E8%83%86%2F%2B%260123456789" + " end")
	mustHide(t, "scrubbed text", got)
	if want := "bad key [secret] in /v1?key=[secret] end"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := secret.New("x").Scrub("an x-ray"); got != "an x-ray" {
		t.Errorf("a trivial key must not garble text: %q", got)
	}
	if got := (secret.Secret{}).Scrub("text"); got != "text" {
		t.Errorf("the unset secret changed text: %q", got)
	}
}

func TestReveal(t *testing.T) {
	if got := secret.New(key).Reveal(); got != key {
		t.Errorf("got %q", got)
	}
	var unset secret.Secret
	if unset.IsSet() || unset.Reveal() != "" || secret.New("").IsSet() {
		t.Error("the zero Secret and New(\"\") are unset")
	}
}
