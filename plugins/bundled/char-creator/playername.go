package charcreator

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/covel/covel/plugins/sdk"
)

const validatorName = "player-name"

// validation points a form at its validator. Data goes to the player's client with the form, so it holds digests of the
// names that are taken, never the names: a name of the world may be a secret of the story.
type validation struct {
	Name string    `json:"name"`
	Data nameGuard `json:"data"`
}

// nameGuard is what the validator compares a name with. The salt differs from form to form, so that the digests of two
// sessions cannot be laid side by side.
type nameGuard struct {
	Salt  string   `json:"salt"`
	Taken []string `json:"taken"`
}

// takenNames digests the names and aliases of all characters, in an order that says nothing about them. The salt comes
// from the session and the execution, so that a recorded execution runs again to the same bytes.
func takenNames(rt *sdk.Runtime) nameGuard {
	sum := sha256.Sum256([]byte(rt.SessionID + "\x00" + rt.TurnID + "\x00" + validatorName))
	g := nameGuard{Salt: hex.EncodeToString(sum[:16]), Taken: []string{}}
	for _, c := range rt.Characters() {
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			if d := g.digest(name); d != "" && !slices.Contains(g.Taken, d) {
				g.Taken = append(g.Taken, d)
			}
		}
	}
	slices.Sort(g.Taken)
	return g
}

// digest is the salted digest of a name as names are compared, "" for a name that is no name.
func (g nameGuard) digest(name string) string {
	key := sdk.NameKey(name)
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(g.Salt + "\x00" + key))
	return hex.EncodeToString(sum[:])
}

// checkPlayerName refuses a name that somebody in the world already has, and a name without a letter. It sees only what
// was true when the form was made; the guard looks again. Data that cannot be read takes no name away.
func checkPlayerName(values map[string]any, data json.RawMessage, _ string, messages sdk.Messages) []sdk.FormIssue {
	name, _ := values[nameField].(string)
	if sdk.NameKey(name) == "" {
		return []sdk.FormIssue{{Field: nameField, Message: sdk.Translate(messages, "Please give the character a name.", nil)}}
	}
	var g nameGuard
	if json.Unmarshal(data, &g) == nil && slices.Contains(g.Taken, g.digest(name)) {
		return []sdk.FormIssue{{Field: nameField, Message: nameTaken(messages, strings.TrimSpace(name))}}
	}
	return nil
}

// nameTaken says it to the player.
func nameTaken(messages sdk.Messages, name string) string {
	return sdk.Translate(messages, "Someone in this world is already called “{name}”. Please choose another name.", map[string]any{"name": name})
}
