package simulation

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
)

// seatOf picks a seat there is; mostly, or one that is not.
func (w *world) seatOf(k uint32) string {
	seats := w.log.top().Session.Seats
	if n := uint32(len(seats)) + 1; k%20 < 19 || n == 1 {
		return seats[k%(n-1)].ID
	}
	return "seat-9"
}

// secret gives the hash of something that is handed out, as the session knows it.
func (w *world) secret(what string) string {
	w.ids++
	sum := sha256.Sum256([]byte(fmt.Sprint(what, w.ids)))
	return hex.EncodeToString(sum[:])
}

func (w *world) seatChange(s step, c session.SeatChange) string {
	return w.changeStatus(s, session.Change{Kind: session.ChangeSeat, Seat: &c}) + " " + string(c.Op) + " " + c.SeatID
}

func of[T any](k uint32, list ...T) *T { return &list[int(k)%len(list)] }

// edit draws what is to change of a seat, one thing or two.
func edit(k uint32) session.SeatEdit {
	var e session.SeatEdit
	for _, x := range []uint32{k % 9, k / 9 % 9} {
		switch x {
		case 0:
			e.Name = of(k, "龍胆", " 守门人 ", "")
		case 1, 2:
			e.Role = of(k/3, "player", "player", "host", "spectator", "god")
		case 3, 4:
			e.Control = of(k/5, "human", "human", "open", "ai", "machine")
		case 5:
			e.Primary = true
		case 6:
			e.CharacterIDs = *of(k, []string{"pc"}, []string{}, []string{"pc", "pc"}, []string{"nobody"})
		case 7:
			e.CurrentCharacterID = of(k, "pc", "")
		}
	}
	return e
}

func init() {
	for name, verb := range map[string]func(w *world, s step) string{
		"seat-add": func(w *world, s step) string {
			invite := w.secret("invite")
			w.invites = append(w.invites, invite)
			return w.seatChange(s, session.SeatChange{Op: session.SeatAdd, SeatID: fmt.Sprint("seat-", len(w.invites)+2), Edit: edit(s.args[2]), Invite: invite})
		},
		"seat-edit": func(w *world, s step) string {
			return w.seatChange(s, session.SeatChange{Op: session.SeatEdited, SeatID: w.seatOf(s.args[1]), Edit: edit(s.args[2])})
		},
		"invite": func(w *world, s step) string {
			invite := w.secret("invite")
			w.invites = append(w.invites, invite)
			return w.seatChange(s, session.SeatChange{Op: session.SeatInvite, SeatID: w.seatOf(s.args[1]), Invite: invite})
		},
		"take": func(w *world, s step) string { // with an invite that is good, was used, or was withdrawn
			invite, ok := pick(w.invites, s.args[1])
			if !ok {
				return ""
			}
			return w.seatChange(s, session.SeatChange{Op: session.SeatTake, Invite: invite, Token: w.secret("token")})
		},
		"free": func(w *world, s step) string {
			return w.seatChange(s, session.SeatChange{Op: session.SeatFree, SeatID: w.seatOf(s.args[1])})
		},
		"seat-remove": func(w *world, s step) string {
			return w.seatChange(s, session.SeatChange{Op: session.SeatRemove, SeatID: w.seatOf(s.args[1])})
		},
		"say-as": func(w *world, s step) string { // whoever has a seat, or says so
			seat := w.seatOf(s.args[1])
			c := session.Command{Type: session.SubmitActions, SeatID: seat, Actions: []projections.Action{{Kind: "say", SeatID: seat, Text: "我是。" + fmt.Sprint(w.ids)}}}
			if s.args[2]%2 == 0 {
				c.Holder = w.seatOf(s.args[2] / 2)
			}
			return w.command(s, c)
		},
		"interject": func(w *world, s step) string {
			return w.command(s, session.Command{Type: session.Interject, SeatID: w.seatOf(s.args[1]), Actions: []projections.Action{{Kind: "say", Text: "等等！" + fmt.Sprint(w.ids)}}})
		},
		"settings": func(w *world, s step) string {
			var c session.SettingsChange
			switch k := s.args[2]; s.args[1] % 6 {
			case 0, 1:
				c.Gathering = of(k, "on", "on", "off", "perhaps")
				c.GatherTimeoutMs = of(k/4, uint64(0), 50_000, 1<<40)
			case 2, 3:
				c.AdvanceLimit = of(k, uint32(1), 2, 0, 100)
			case 4:
				c.ModelCalls, c.ToolCalls, c.Subagents, c.DurationMs = of(k, uint32(3), 0), of(k/2, uint32(0), 7), of(k/4, uint32(0), 2), of(k/8, uint64(0), 60_000)
			default:
				c.ModelOverrides = *of(k, map[string]string{"teller": "large", "memory/index": "small"}, map[string]string{}, map[string]string{"龍": "x"})
			}
			return w.changeStatus(s, session.Change{Kind: session.ChangeSettings, Settings: &c})
		},
	} {
		verbs[name] = verb
	}
}
