package play

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"

	kernel "github.com/covel/covel/kernel/session"
)

// newToken makes a secret that is given out once, and the hash by which it is known again.
func newToken() (token, hash string) {
	b := make([]byte, 24)
	_, _ = rand.Read(b) // never fails
	token = base64.RawURLEncoding.EncodeToString(b)
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

// holder is the seat whose token is shown, "" without a token: on this machine that is the owner.
func (s *server) holder(ctx context.Context, session, token string) (string, error) {
	if token == "" {
		return "", nil
	}
	v, err := s.Node.View(ctx, session)
	if err != nil {
		return "", err
	}
	seat, ok := v.State.Session.SeatHeld(hashOf(token))
	if !ok {
		return "", problem("seat_token_invalid", "the seat token is none of this session, or its seat was given to somebody else")
	}
	return seat.ID, nil
}

// seated puts the seat that a command comes from into it.
func (s *server) seated(ctx context.Context, session, token string, cmd *kernel.Command) error {
	seat, err := s.holder(ctx, session, token)
	if err != nil {
		return err
	}
	if cmd.Holder = seat; seat != "" {
		cmd.SeatID = seat
	}
	return nil
}

// owner lets only the owner of a session through.
func (s *server) owner(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		seat, err := s.holder(r.Context(), r.PathValue("id"), tokenOf(r))
		if err == nil && seat != "" {
			err = problem("owner_required", "only the owner of the session may do that")
		}
		if err != nil {
			s.error(w, err)
			return
		}
		next(w, r)
	}
}
