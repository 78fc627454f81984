package reference

import (
	"encoding/hex"
	"fmt"
	"slices"

	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// maxSeats is how many seats a session has at most (decisions: "Seats, roles, gathering").
const maxSeats = 16

// seat is who plays at the table, with the hashes of what was handed out for it.
type seat struct {
	id, role, control, invite, token string
	primary                          bool
}

func (s seat) name() string { return s.id }

func (s seat) keys() string { return s.invite + s.token }

// plays says whether somebody at the seat may say a line.
func (s seat) plays() bool { return s.control == "human" && s.role != "spectator" }

func (b *Book) seatOf(id string) (seat, bool) {
	i := slices.IndexFunc(b.seats, func(s seat) bool { return s.id == id })
	if i < 0 {
		return seat{}, false
	}
	return b.seats[i], true
}

// sit follows the seats and the settings. They are the session's, not the story's: no move of the head changes them.
func (b *Book) sit(f fact) {
	switch m := f.msg.(type) {
	case *eventsv1.SessionCreated:
		for _, s := range m.Seats {
			b.seatsEver = append(b.seatsEver, s.Id)
			b.seats = append(b.seats, seat{id: s.Id, role: s.Role, control: s.Control, primary: s.Primary})
		}
	case *eventsv1.SeatChanged:
		was, _ := b.seatOf(m.Seat.Id)
		if !slices.Contains(b.seatsEver, m.Seat.Id) {
			b.seatsEver = append(b.seatsEver, m.Seat.Id)
		}
		b.seats = put(b.seats, seat{id: m.Seat.Id, role: m.Seat.Role, control: m.Seat.Control, primary: m.Seat.Primary, invite: was.invite, token: was.token})
	case *eventsv1.SeatRemoved:
		switch s, ok := b.seatOf(m.SeatId); {
		case !ok:
			b.Blame("version %d: the seat %s is removed and is not there", f.Version, m.SeatId)
		case s.primary:
			b.Blame("version %d: the seat %s is removed and the story follows it", f.Version, m.SeatId)
		}
		b.seats = slices.DeleteFunc(slices.Clone(b.seats), func(s seat) bool { return s.id == m.SeatId })
	case *eventsv1.SeatKeysChanged:
		s, ok := b.seatOf(m.SeatId)
		if !ok {
			b.Blame("version %d: the seat %s gets keys and is not there", f.Version, m.SeatId)
			return
		}
		invite, token := hex.EncodeToString(m.InviteHash), hex.EncodeToString(m.TokenHash)
		if token != "" && token != s.token && (s.invite == "" || invite != "") {
			b.Blame("version %d: the seat %s is taken without using up an invite", f.Version, m.SeatId)
		}
		s.invite, s.token = invite, token
		b.seats = put(b.seats, s)
	case *eventsv1.SettingsChanged:
		a := m.Settings.GetAllowances()
		b.settings = fmt.Sprint(m.Settings.GetGathering(), m.Settings.GetGatherTimeoutMs(), m.Settings.GetAdvanceLimit(),
			a.GetModelCalls(), a.GetToolCalls(), a.GetSubagents(), a.GetDurationMs(), len(m.Settings.GetModelOverrides()))
		b.advanceLimit = m.Settings.GetAdvanceLimit()
	case *eventsv1.ActionsSubmitted:
		if m.Type == "submit_actions" {
			b.seated(f, m.Actions)
		}
	case *eventsv1.SubmissionGathered:
		b.seated(f, m.Actions)
	}
}

// seated: whoever acts has a seat of their own.
func (b *Book) seated(f fact, actions []*eventsv1.Action) {
	for _, a := range actions {
		if s, ok := b.seatOf(a.SeatId); !ok || !s.plays() {
			b.Blame("version %d: %s acts, and nobody may play that seat", f.Version, a.SeatId)
		}
	}
}

// tableInOrder holds the table after an append against how it was before.
func (b *Book) tableInOrder(before []seat, facts []fact) {
	if !slices.ContainsFunc(facts, func(f fact) bool {
		return f.Type == "SeatChanged" || f.Type == "SeatRemoved" || f.Type == "SeatKeysChanged"
	}) {
		return
	}
	primary := 0
	for _, s := range b.seats {
		if s.primary {
			primary++
		}
		i := slices.IndexFunc(before, func(x seat) bool { return x.id == s.id })
		if i < 0 || before[i].control == s.control {
			continue
		}
		taken := s.control == "human" && s.token != before[i].token && s.token != ""
		if !taken && (s.keys() != "") == (b.flipped != RuleKeysVoid) && before[i].keys() != "" {
			b.Blame("version %d: the seat %s is %s now, and its keys are %q", b.version, s.id, s.control, s.keys())
		}
	}
	if primary != 1 || len(b.seats) > maxSeats {
		b.Blame("version %d: %d of %d seats are primary", b.version, primary, len(b.seats))
	}
}

// maxRounds is how many rounds of advancement one input has where nothing less is set.
const maxRounds = 12

// rounds: what follows within one input is counted, and the input has frozen how far it may go.
func (b *Book) rounds(m *eventsv1.ExecutionStarted) {
	if m.JobId != "" || m.LogicalTurnId == "" {
		return
	}
	limit := uint32(maxRounds)
	if b.advanceLimit > 0 {
		limit = min(limit, b.advanceLimit)
	}
	before, follows := b.lastRound[m.LogicalTurnId]
	switch {
	case m.Origin == "player" && m.AdvanceLimit > limit:
		b.Blame("version %d: the input may go on for %d rounds, %d are allowed", b.version, m.AdvanceLimit, limit)
	case m.Round == 0:
	case !follows || m.Round != before.round+1 || m.AdvanceLimit != before.limit:
		b.Blame("version %d: round %d of %d of %s follows round %d of %d", b.version, m.Round, m.AdvanceLimit, m.LogicalTurnId, before.round, before.limit)
	case m.Round > m.AdvanceLimit || b.flipped == RuleRounds:
		b.Blame("version %d: round %d of an input that may have %d", b.version, m.Round, m.AdvanceLimit)
	}
	b.lastRound[m.LogicalTurnId] = round{m.Round, m.AdvanceLimit}
}

type round struct{ round, limit uint32 }
