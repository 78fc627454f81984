package session

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/schema"
	"github.com/covel/covel/projections"
)

// Kinds finds a kind of action that an active plugin declares, by its whole name <pluginId>/<name>; nil: there are none.
type Kinds func(kind string) (manifest.ActionKindDecl, bool)

// Roles of a seat.
const (
	RoleHost      = "host"
	RolePlayer    = "player"
	RoleSpectator = "spectator"
)

// Who controls a seat.
const (
	ControlHuman = "human"
	ControlOpen  = "open"
	ControlAI    = "ai"
)

const commandKind = "command"

// spokenKind is the kind of an action that names none: a slash command is a command, any other sentence is said (seed:
// turn-pipeline.txt §3.1).
func spokenKind(text string) string {
	if strings.HasPrefix(strings.TrimSpace(text), "/") {
		return commandKind
	}
	return "say"
}

// baseKinds are the action kinds every session has; spectators have none (decisions: "Seats, roles, gathering"). A command
// begins with a slash.
var baseKinds = map[string]manifest.ActionKindDecl{
	"say":       {Roles: []string{RolePlayer, RoleHost}, Text: "required"},
	"act":       {Roles: []string{RolePlayer, RoleHost}, Text: "required"},
	commandKind: {Roles: []string{RolePlayer, RoleHost}, Text: "required"},
}

// compiledFields remembers schemas; it holds nothing but what follows from their bytes.
var compiledFields schema.Cache

func (k Kinds) find(kind string) (manifest.ActionKindDecl, bool) {
	if d, ok := baseKinds[kind]; ok {
		return d, true
	}
	if k == nil {
		return manifest.ActionKindDecl{}, false
	}
	return k(kind)
}

// allowed says why a seat may not use a kind, "" when it may.
func (k Kinds) allowed(kind, role string) string {
	d, ok := k.find(kind)
	switch {
	case !ok:
		return "the session has no action kind " + strconv.Quote(kind)
	case !slices.Contains(d.Roles, role):
		return "the seat's role " + strconv.Quote(role) + " may not use the kind " + strconv.Quote(kind)
	}
	return ""
}

// fits holds text and fields of an action against the rules of its kind; field names the one that breaks them.
func (k Kinds) fits(a projections.Action) (field, message string) {
	d, _ := k.find(a.Kind)
	given := strings.TrimSpace(a.Text) != ""
	switch {
	case d.Text == "required" && !given:
		return "text", "the text is empty"
	case d.Text == "none" && given:
		return "text", "the kind " + strconv.Quote(a.Kind) + " takes no text"
	case utf8.RuneCountInString(a.Text) > MaxText:
		return "text", "the text is longer than " + strconv.Itoa(MaxText) + " characters"
	case a.Kind == commandKind && !strings.HasPrefix(strings.TrimSpace(a.Text), "/"):
		return "text", "a command begins with a slash"
	case len(a.Fields) > 0 && len(d.Fields) == 0:
		return "fields", "the kind " + strconv.Quote(a.Kind) + " takes no fields"
	case len(d.Fields) == 0:
		return "", ""
	}
	value := json.RawMessage(a.Fields)
	if len(value) == 0 {
		value = json.RawMessage("{}")
	}
	compiled, err := compiledFields.Compile(d.Fields)
	if err != nil {
		return "fields", "the fields of this kind cannot be checked: " + err.Error()
	}
	if failure := compiled.CheckJSON(value); failure != nil && len(failure.Issues) > 0 {
		where := "fields"
		if path := failure.Issues[0].Path; path != "" {
			where += "." + path
		}
		return where, failure.Issues[0].Message
	}
	return "", ""
}
