package worlds

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/pkg/errors"

	"github.com/covel/covel/plugins/sdk"
)

// View is a world in one language, as a session is created from it. It is a plain value: a session stores it once, by
// the digest of its bytes, and never looks at the package again, so that a changed or deleted package changes no running
// story.
type View struct {
	// Locale is the language the texts are in. It may differ from the one asked for.
	Locale           string                                `json:"locale"`
	DefaultLocale    string                                `json:"defaultLocale"`
	SupportedLocales []string                              `json:"supportedLocales"`
	Version          string                                `json:"version,omitempty"`
	Record           sdk.WorldRecord                       `json:"record"`
	DeclaredSchema   *sdk.CharacterSchema                  `json:"declaredSchema,omitempty"` // nil when the world declares none
	Characters       []sdk.Character                       `json:"characters"`
	Lorebook         []sdk.LorebookEntry                   `json:"lorebook"`
	PluginPolicy     PluginPolicy                          `json:"pluginPolicy"`
	PluginSettings   map[string]map[string]json.RawMessage `json:"pluginSettings,omitempty"` // plugin id → setting → default of this world
	AccentColor      string                                `json:"accentColor"`              // #rrggbb or oklch(L C H)
	Author           *Author                               `json:"author,omitempty"`
	License          string                                `json:"license,omitempty"`
	Homepage         string                                `json:"homepage,omitempty"`
	Digest           string                                `json:"digest"` // of the package the view was read from
}

// Encode gives the bytes to store and their lower-case hex SHA-256. Equal views give equal bytes. A View that Load or
// DecodeView made can always be encoded; another one with values that are no JSON is a bug and panics.
func (v View) Encode() (data []byte, digest string) {
	data, err := json.Marshal(v)
	if err != nil {
		panic("worlds: a view with values that are no JSON: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return data, hex.EncodeToString(sum[:])
}

// DecodeView reads what Encode wrote. Fields it does not know are ignored, so that an older program reads a newer view.
func DecodeView(data []byte) (View, error) {
	var v View
	if err := json.Unmarshal(data, &v); err != nil {
		return View{}, errors.Wrap(err, "read a stored world view")
	}
	if v.Record.ID == "" || bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		return View{}, errors.New("read a stored world view: it names no world")
	}
	return v, nil
}
