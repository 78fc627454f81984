package play

import (
	"net/http"
	"slices"

	"github.com/google/uuid"

	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
)

// seatState is a seat as its owner sees it: also whether somebody is invited and whether somebody holds it.
type seatState struct {
	projections.Seat
	Invited bool `json:"invited"`
	Held    bool `json:"held"`
}

func seatStateOf(s projections.Session, seat projections.Seat) seatState {
	keys := s.KeysOf(seat.ID)
	return seatState{seat, keys.Invite != "", keys.Token != ""}
}

type seatBody struct {
	Name               *string   `json:"name"`
	Role               *string   `json:"role"`
	Control            *string   `json:"control"`
	CharacterIDs       *[]string `json:"characterIds"`
	CurrentCharacterID *string   `json:"currentCharacterId"`
	Primary            *bool     `json:"primary"`
}

func (b seatBody) edit() (kernel.SeatEdit, *Problem) {
	e := kernel.SeatEdit{Role: b.Role, Control: b.Control, CurrentCharacterID: b.CurrentCharacterID}
	if b.Name != nil {
		name := clean(*b.Name)
		e.Name = &name
	}
	if b.CharacterIDs != nil {
		e.CharacterIDs = append([]string{}, *b.CharacterIDs...)
	}
	if b.Primary != nil {
		if !*b.Primary {
			return e, invalid("primary", "make another seat primary instead")
		}
		e.Primary = true
	}
	return e, nil
}

func (s *server) seats(w http.ResponseWriter, r *http.Request) {
	v, err := s.Node.View(r.Context(), r.PathValue("id"))
	if err != nil {
		s.error(w, err)
		return
	}
	items := []seatState{}
	for _, seat := range v.State.Session.Seats {
		items = append(items, seatStateOf(v.State.Session, seat))
	}
	s.reply(w, http.StatusOK, map[string]any{"items": items})
}

// addSeat gives the new seat and, when it is open, the invite that takes it. The invite is shown this once.
func (s *server) addSeat(w http.ResponseWriter, r *http.Request) {
	var body seatBody
	if !s.body(w, r, &body) {
		return
	}
	edit, p := body.edit()
	if p != nil {
		s.fail(w, statusOf(p.Code), p)
		return
	}
	invite, hash := newToken()
	reply := map[string]any{}
	if edit.Control == nil || *edit.Control == kernel.ControlOpen {
		reply["invite"] = invite
	}
	s.changeSeat(w, r, http.StatusCreated, kernel.SeatChange{Op: kernel.SeatAdd, SeatID: "seat-" + uuid.NewString()[:8], Edit: edit, Invite: hash}, reply)
}

func (s *server) editSeat(w http.ResponseWriter, r *http.Request) {
	var body seatBody
	if !s.body(w, r, &body) {
		return
	}
	edit, p := body.edit()
	if p != nil {
		s.fail(w, statusOf(p.Code), p)
		return
	}
	s.changeSeat(w, r, http.StatusOK, kernel.SeatChange{Op: kernel.SeatEdited, SeatID: r.PathValue("seat"), Edit: edit}, nil)
}

// inviteToSeat hands a seat over: whoever takes it with the invite has it from then on.
func (s *server) inviteToSeat(w http.ResponseWriter, r *http.Request) {
	invite, hash := newToken()
	s.changeSeat(w, r, http.StatusOK, kernel.SeatChange{Op: kernel.SeatInvite, SeatID: r.PathValue("seat"), Invite: hash}, map[string]any{"invite": invite})
}

func (s *server) freeSeat(w http.ResponseWriter, r *http.Request) {
	s.changeSeat(w, r, http.StatusOK, kernel.SeatChange{Op: kernel.SeatFree, SeatID: r.PathValue("seat")}, nil)
}

func (s *server) removeSeat(w http.ResponseWriter, r *http.Request) {
	a, err := s.Node.ChangeSeat(r.Context(), r.PathValue("id"), kernel.SeatChange{Op: kernel.SeatRemove, SeatID: r.PathValue("seat")})
	if err = refusal(a, err); err != nil {
		s.error(w, err)
		return
	}
	s.reply(w, http.StatusOK, map[string]any{"ok": true, "seatId": a.SeatID})
}

// takeSeat turns an invite into a seat token. Both are shown once.
func (s *server) takeSeat(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Invite string `json:"invite"`
	}
	if !s.body(w, r, &body) {
		return
	}
	if body.Invite == "" {
		s.fail(w, http.StatusBadRequest, invalid("invite", "invite is missing"))
		return
	}
	token, hash := newToken()
	s.changeSeat(w, r, http.StatusOK, kernel.SeatChange{Op: kernel.SeatTake, Invite: hashOf(body.Invite), Token: hash}, map[string]any{"seatToken": token})
}

// changeSeat makes a change and answers with the seat as it is then.
func (s *server) changeSeat(w http.ResponseWriter, r *http.Request, status int, change kernel.SeatChange, reply map[string]any) {
	a, err := s.Node.ChangeSeat(r.Context(), r.PathValue("id"), change)
	if err = refusal(a, err); err != nil {
		s.error(w, err)
		return
	}
	v, err := s.Node.View(r.Context(), r.PathValue("id"))
	if err != nil {
		s.error(w, err)
		return
	}
	if reply == nil {
		reply = map[string]any{}
	}
	if seat, ok := v.State.Session.SeatByID(a.SeatID); ok {
		seat.CharacterIDs = nonNil(slices.Clone(seat.CharacterIDs))
		reply["seat"] = seatStateOf(v.State.Session, seat)
	}
	s.reply(w, status, reply)
}
