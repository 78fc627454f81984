package play

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/covel/covel/events/trace"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
)

// newToken makes a secret that is given out once, and the hash by which it is known again.
func newToken() (token, hash string) {
	b := make([]byte, 24)
	_, _ = rand.Read(b) // never fails
	token = trace.TokenPrefix + base64.RawURLEncoding.EncodeToString(b)
	return token, hashOf(token)
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// tokenOf is the seat token of a request, "" for none. It stands in a header, never in an address.
func tokenOf(r *http.Request) string {
	if t, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return strings.TrimSpace(t)
	}
	return r.Header.Get("X-Session-Token")
}

// holder is the seat whose token is shown, without an id when there is no token: on this machine that is the owner.
func (s *server) holder(ctx context.Context, session, token string) (projections.Seat, error) {
	if token == "" {
		return projections.Seat{}, nil
	}
	v, err := s.Node.View(ctx, session)
	if err != nil {
		return projections.Seat{}, err
	}
	seat, ok := v.State.Session.SeatHeld(hashOf(token))
	if !ok {
		return projections.Seat{}, problem("seat_token_invalid", "the seat token is none of this session, or its seat was given to somebody else")
	}
	return seat, nil
}

// seated puts the seat that a command comes from into it.
func (s *server) seated(ctx context.Context, session, token string, cmd *kernel.Command) error {
	seat, err := s.holder(ctx, session, token)
	if err != nil {
		return err
	}
	if cmd.Holder = seat.ID; seat.ID != "" {
		cmd.SeatID = seat.ID
	}
	return nil
}

// mayOwn refuses whoever is not the owner of a session.
func (s *server) mayOwn(ctx context.Context, session, token string) error {
	seat, err := s.holder(ctx, session, token)
	if err == nil && seat.ID != "" {
		err = problem("owner_required", "only the owner of the session may do that")
	}
	return err
}

// mayPlay refuses who only looks on. What is done then is done for the whole table, not for one seat.
func (s *server) mayPlay(ctx context.Context, session, token string) error {
	seat, err := s.holder(ctx, session, token)
	if err == nil && seat.Role == kernel.RoleSpectator {
		err = problem("seat_not_allowed", "a spectator looks on and does nothing else")
	}
	return err
}

// mayWithdraw refuses who would take back what another seat wants to do.
func (s *server) mayWithdraw(ctx context.Context, session, token, from string) error {
	seat, err := s.holder(ctx, session, token)
	if err == nil && seat.ID != "" && seat.ID != from {
		err = problem("owner_required", "only the owner of the session takes back what another seat wants to do")
	}
	return err
}

// owner lets only the owner of a session through.
func (s *server) owner(next http.HandlerFunc) http.HandlerFunc { return s.only(s.mayOwn, next) }

// player lets the owner of a session and the seats through that play.
func (s *server) player(next http.HandlerFunc) http.HandlerFunc { return s.only(s.mayPlay, next) }

func (s *server) only(may func(ctx context.Context, session, token string) error, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := may(r.Context(), r.PathValue("id"), tokenOf(r)); err != nil {
			s.error(w, err)
			return
		}
		next(w, r)
	}
}
