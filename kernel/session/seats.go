package session

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// MaxSeats is how many seats a session has at most.
const MaxSeats = 16

// SeatChange is what is done at the table. Tokens come as the hex SHA-256 of what was given out; the session never sees one.
type SeatChange struct {
	Op     SeatOp
	SeatID string // add: the id of the new one; take: empty
	Edit   SeatEdit
	Invite string // add, invite: of a fresh invite; take: of the one that is shown
	Token  string // take: of a fresh seat token
}

// SeatOp says what is done with a seat. All but take are the owner's.
type SeatOp string

// What is done with seats (decisions: "Seats, roles, gathering").
const (
	SeatAdd    SeatOp = "add"
	SeatEdited SeatOp = "edit"
	SeatInvite SeatOp = "invite" // a fresh invite takes the place of an older one; whoever takes a held seat gets it
	SeatFree   SeatOp = "free"   // nobody plays it; its token and invite are void
	SeatRemove SeatOp = "remove"
	SeatTake   SeatOp = "take" // an invite is turned into a seat token, once
)

// SeatEdit holds what is to change; nil stays.
type SeatEdit struct {
	Name               *string
	Role               *string
	Control            *string
	CharacterIDs       []string
	CurrentCharacterID *string
	Primary            bool // makes it the seat whose character the story follows
}

// decideSeat gives the facts of a change, none when it is so already, and the seat it is about.
func decideSeat(hot projections.State, c SeatChange) (facts []proto.Message, seatID string, refusal *Refusal) {
	s := hot.Session
	if c.Op == SeatTake {
		seat, ok := s.SeatInvited(c.Invite)
		if !ok {
			return nil, "", &Refusal{Code: "invite_not_found", Message: "the invite was used, withdrawn, or is none of this session"}
		}
		seat.Control = ControlHuman
		return []proto.Message{seatEvent(seat), keysEvent(seat.ID, "", c.Token)}, seat.ID, nil
	}
	if c.Op == SeatAdd {
		if len(s.Seats) >= MaxSeats {
			return nil, "", &Refusal{Code: "too_many_seats", Message: "a session has at most " + strconv.Itoa(MaxSeats) + " seats"}
		}
		facts, refusal = editSeat(hot, projections.Seat{ID: c.SeatID, Role: RolePlayer, Control: ControlOpen}, c.Edit)
		if refusal == nil && (c.Edit.Control == nil || *c.Edit.Control == ControlOpen) {
			facts = append(facts, keysEvent(c.SeatID, c.Invite, ""))
		}
		return facts, c.SeatID, refusal
	}
	seat, ok := s.SeatByID(c.SeatID)
	if !ok {
		return nil, "", &Refusal{Code: "seat_not_found", Message: "the session has no seat " + strconv.Quote(c.SeatID)}
	}
	keys := s.KeysOf(seat.ID)
	switch c.Op {
	case SeatEdited:
		facts, refusal = editSeat(hot, seat, c.Edit)
		if c.Edit.Control != nil && *c.Edit.Control != seat.Control && keys.Token+keys.Invite != "" {
			facts = append(facts, keysEvent(seat.ID, "", "")) // who held it or was invited does not any more
		}
	case SeatInvite:
		if seat.Control == ControlAI {
			return nil, "", &Refusal{Code: "seat_not_open", Message: "the seat is played by the computer; open it first"}
		}
		facts = []proto.Message{keysEvent(seat.ID, c.Invite, keys.Token)}
	case SeatFree:
		if seat.Control == ControlOpen && keys.Token+keys.Invite == "" {
			break
		}
		seat.Control = ControlOpen
		facts = []proto.Message{seatEvent(seat), keysEvent(seat.ID, "", "")}
	case SeatRemove:
		if seat.Primary {
			return nil, "", &Refusal{Code: "seat_primary", Message: "the story follows this seat; make another one primary first"}
		}
		facts = []proto.Message{&eventsv1.SeatRemoved{SeatId: seat.ID}}
	}
	return facts, seat.ID, refusal
}

// editSeat gives the seat as it is after an edit; every problem is named at once.
func editSeat(hot projections.State, seat projections.Seat, e SeatEdit) ([]proto.Message, *Refusal) {
	var issues []Issue
	bad := func(field, message string) { issues = append(issues, Issue{field, message}) }
	before, added := hot.Session.SeatByID(seat.ID)
	if e.Name != nil {
		seat.Name = strings.TrimSpace(*e.Name)
		if utf8.RuneCountInString(seat.Name) > MaxName {
			bad("name", "a name has at most "+strconv.Itoa(MaxName)+" characters")
		}
	}
	if e.Role != nil {
		seat.Role = *e.Role
		if !slices.Contains([]string{RoleHost, RolePlayer, RoleSpectator}, seat.Role) {
			bad("role", "the role is host, player or spectator")
		}
	}
	if e.Control != nil {
		seat.Control = *e.Control
		if !slices.Contains([]string{ControlHuman, ControlOpen, ControlAI}, seat.Control) {
			bad("control", "the control is human, open or ai")
		}
	}
	if e.CharacterIDs != nil {
		seat.CharacterIDs = slices.Clone(e.CharacterIDs)
		for i, id := range seat.CharacterIDs {
			field := "characterIds[" + strconv.Itoa(i) + "]"
			if _, ok := hot.Characters.Find(id); !ok {
				bad(field, "the session has no character "+strconv.Quote(id))
			}
			if slices.Contains(seat.CharacterIDs[:i], id) {
				bad(field, "the character is named twice")
			}
			if other, ok := playedBy(hot.Session, id); ok && other != seat.ID {
				bad(field, "the seat "+strconv.Quote(other)+" plays the character")
			}
		}
		if !slices.Contains(seat.CharacterIDs, seat.CurrentCharacterID) {
			seat.CurrentCharacterID = ""
			if len(seat.CharacterIDs) > 0 {
				seat.CurrentCharacterID = seat.CharacterIDs[0]
			}
		}
	}
	if e.CurrentCharacterID != nil {
		seat.CurrentCharacterID = *e.CurrentCharacterID
		if seat.CurrentCharacterID != "" && !slices.Contains(seat.CharacterIDs, seat.CurrentCharacterID) {
			bad("currentCharacterId", "the seat does not play the character "+strconv.Quote(seat.CurrentCharacterID))
		}
	}
	seat.Primary = seat.Primary || e.Primary
	if seat.Primary && seat.Role == RoleSpectator {
		bad("role", "the story follows the primary seat; it cannot only look on")
	}
	if len(issues) > 0 {
		return nil, &Refusal{Code: "invalid_seat", Message: issues[0].Message, Issues: issues}
	}
	if added && sameSeat(before, seat) {
		return nil, nil
	}
	facts := []proto.Message{seatEvent(seat)}
	if old, ok := hot.Session.PrimarySeat(); ok && e.Primary && old.ID != seat.ID {
		old.Primary = false
		facts = append([]proto.Message{seatEvent(old)}, facts...)
	}
	return facts, nil
}

func sameSeat(a, b projections.Seat) bool {
	same := slices.Equal(a.CharacterIDs, b.CharacterIDs)
	a.CharacterIDs, b.CharacterIDs = nil, nil
	return same && a.ID == b.ID && a.Name == b.Name && a.Role == b.Role && a.Control == b.Control && a.CurrentCharacterID == b.CurrentCharacterID && a.Primary == b.Primary
}

// playedBy says which seat plays a character.
func playedBy(s projections.Session, characterID string) (string, bool) {
	i := slices.IndexFunc(s.Seats, func(x projections.Seat) bool { return slices.Contains(x.CharacterIDs, characterID) })
	if i < 0 {
		return "", false
	}
	return s.Seats[i].ID, true
}

func seatEvent(x projections.Seat) *eventsv1.SeatChanged {
	return &eventsv1.SeatChanged{Seat: &eventsv1.Seat{
		Id: x.ID, Name: x.Name, Role: x.Role, Control: x.Control, CharacterIds: x.CharacterIDs, CurrentCharacterId: x.CurrentCharacterID, Primary: x.Primary,
	}}
}

func keysEvent(seatID, invite, token string) *eventsv1.SeatKeysChanged {
	i, _ := hex.DecodeString(invite)
	t, _ := hex.DecodeString(token)
	return &eventsv1.SeatKeysChanged{SeatId: seatID, InviteHash: i, TokenHash: t}
}
