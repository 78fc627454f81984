package prompt

import (
	"strings"

	"github.com/covel/covel/plugins/sdk"
)

// Kinds of action every session has. Plugins add <pluginId>/<name>.
const (
	Say     = "say"
	Act     = "act"
	Command = "command"
)

const hostRole = "host"

// RenderActions writes a submission as the text the model reads, one action per line (seed: turn-pipeline.txt, line 473).
// A single player's ordinary input stays as written. When several characters act, or a host, or an action has a plugin's
// kind, the line names who acts and how: "[Aya · says] …". locale is the session's; it chooses the words of the base
// kinds. Actions without text and fields are left out.
func RenderActions(actions []sdk.Action, characters []sdk.Character, seats []sdk.Seat, locale string) string {
	several := false
	for _, a := range actions {
		several = several || actor(a) != actor(actions[0])
	}
	var lines []string
	for _, a := range actions {
		if line := renderAction(a, several, characters, seats, locale); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// RenderInterjection writes a line that is said into a turn; others are the actions the turn began with. Somebody else than
// who began it is named.
func RenderInterjection(a sdk.Action, others []sdk.Action, characters []sdk.Character, seats []sdk.Seat, locale string) string {
	several := false
	for _, o := range others {
		several = several || actor(o) != actor(a)
	}
	return renderAction(a, several, characters, seats, locale)
}

func renderAction(a sdk.Action, several bool, characters []sdk.Character, seats []sdk.Seat, locale string) string {
	content := strings.TrimSpace(a.Text)
	if content == "" && len(a.Fields) > 0 {
		content = string(ModelFacing(a.Fields))
	}
	if content != "" && (several || seatOf(a, seats).Role == hostRole || !isBaseKind(a.Kind)) {
		content = "[" + labelPart(actorName(a, characters, seats)) + " · " + labelPart(kindWord(a.Kind, locale)) + "] " + content
	}
	return content
}

// actor tells the actions of different characters apart; without a character the seat acts.
func actor(a sdk.Action) string {
	if a.CharacterID != "" {
		return "character:" + a.CharacterID
	}
	return "seat:" + a.SeatID
}

func seatOf(a sdk.Action, seats []sdk.Seat) sdk.Seat {
	for _, s := range seats {
		if s.ID == a.SeatID {
			return s
		}
	}
	return sdk.Seat{}
}

func actorName(a sdk.Action, characters []sdk.Character, seats []sdk.Seat) string {
	for _, c := range characters {
		if c.ID == a.CharacterID {
			return c.Name
		}
	}
	if s := seatOf(a, seats); s.Name != "" {
		return s.Name
	}
	return a.SeatID
}

func isBaseKind(kind string) bool { return kind == "" || kind == Say || kind == Act || kind == Command }

func kindWord(kind, locale string) string {
	s := say(InstructionLocale(locale, ""))
	switch kind {
	case "", Say:
		return s.in("says", "说")
	case Act:
		return s.in("does", "做")
	case Command:
		return s.in("command", "指令")
	}
	return kind
}

// labelPart keeps a name from ending the label or the line.
func labelPart(s string) string { return strings.NewReplacer("[", "(", "]", ")").Replace(oneLine(s)) }
