package client

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
	"github.com/pkg/errors"
)

// Times of a connection. A server that says nothing for so long, not even a ping, is taken for gone.
const (
	silence      = 60 * time.Second
	writeTimeout = 10 * time.Second
	firstWait    = 100 * time.Millisecond // before dialling again; doubles up to lastWait
	lastWait     = 5 * time.Second
)

// Options of a Link.
type Options struct {
	// GiveUp is how long a lost connection is tried again; 0 is for ever.
	GiveUp time.Duration
}

// Link follows one session over the WebSocket. When the connection drops it dials again and resumes after the last frame
// it gave out; commands that were not acknowledged are sent again with their requestId, so that each runs once.
type Link struct {
	api     *API
	session string
	opts    Options
	updates chan Update
	cancel  context.CancelFunc
	done    chan struct{}

	mu      sync.Mutex
	ws      *websocket.Conn // nil while there is none
	greeted bool            // the welcome of this connection has come
	pending []Command       // sent, or to be sent, and without an answer that is final
	at      position
}

// position is what the newest frame said about the stream.
type position struct {
	known       bool
	seq         uint64
	lastID      string
	incarnation string
}

// Connect begins to follow a session. It ends with ctx or Close.
func (a *API) Connect(ctx context.Context, session string, o Options) *Link {
	ctx, cancel := context.WithCancel(ctx)
	l := &Link{api: a, session: session, opts: o, updates: make(chan Update), cancel: cancel, done: make(chan struct{})}
	go func() { // owned by Close
		defer close(l.done)
		l.run(ctx)
	}()
	return l
}

// Updates gives what happens, in order. It is closed at the end.
func (l *Link) Updates() <-chan Update { return l.updates }

// Close ends the link.
func (l *Link) Close() {
	l.cancel()
	for range l.updates { // the run may be waiting to hand one out
	}
	<-l.done
}

// Submit sends a command and gives its requestId. It may be called while there is no connection.
func (l *Link) Submit(typ string, payload any) string {
	c := Command{Type: typ, RequestID: uuid.NewString(), Payload: payload}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(l.pending, c)
	if l.greeted {
		l.write(c)
	}
	return c.RequestID
}

// Stop asks to cancel the running turn.
func (l *Link) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.greeted {
		l.write(map[string]string{"type": "stop"})
	}
}

// write sends a message; mu is held. A failure shows up in the reader.
func (l *Link) write(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		return // every message is made of texts and numbers
	}
	_ = l.ws.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err := l.ws.WriteMessage(websocket.TextMessage, b); err != nil {
		_ = l.ws.Close()
	}
}

func (l *Link) run(ctx context.Context) {
	defer close(l.updates)
	wait, lostAt := firstWait, time.Now()
	for {
		connected, err := l.converse(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case connected:
			wait, lostAt = firstWait, time.Now()
		case l.opts.GiveUp > 0 && time.Since(lostAt) > l.opts.GiveUp:
			l.give(ctx, Update{Gone: errors.Wrapf(err, "no connection for %s", l.opts.GiveUp)})
			return
		}
		var refused *Refusal
		if errors.As(err, &refused) && refused.Code != "server_shutting_down" && refused.Code != "session_busy" {
			l.give(ctx, Update{Gone: err})
			return
		}
		if !l.give(ctx, Update{Lost: err}) {
			return
		}
		jittered := wait/2 + rand.N(wait)
		wait = min(2*wait, lastWait)
		select {
		case <-time.After(jittered):
		case <-ctx.Done():
			return
		}
	}
}

func (l *Link) give(ctx context.Context, u Update) bool {
	select {
	case l.updates <- u:
		return true
	case <-ctx.Done():
		return false
	}
}

// converse holds one connection from dial to drop; connected says that its welcome came.
func (l *Link) converse(ctx context.Context) (connected bool, err error) {
	ws, err := l.dial(ctx)
	if err != nil {
		return false, err
	}
	stop := context.AfterFunc(ctx, func() { _ = ws.Close() })
	defer stop()
	defer func() {
		l.mu.Lock()
		l.ws, l.greeted = nil, false
		l.mu.Unlock()
		_ = ws.Close()
	}()
	ws.SetReadLimit(maxAnswer)
	ping := ws.PingHandler()
	ws.SetPingHandler(func(data string) error {
		_ = ws.SetReadDeadline(time.Now().Add(silence))
		return ping(data)
	})
	l.mu.Lock()
	l.ws = ws
	l.write(l.hello())
	l.mu.Unlock()
	for {
		_ = ws.SetReadDeadline(time.Now().Add(silence))
		_, b, err := ws.ReadMessage()
		if err != nil {
			return connected, errors.Wrap(err, "the connection dropped")
		}
		u, reset, err := readMessage(b)
		if err != nil {
			return connected, err
		}
		show := l.take(u, reset)
		connected = connected || u.Welcome != nil
		if show && !l.give(ctx, u) {
			return connected, ctx.Err()
		}
	}
}

func (l *Link) dial(ctx context.Context) (*websocket.Conn, error) {
	d := websocket.Dialer{HandshakeTimeout: 10 * time.Second}
	address := "ws" + strings.TrimPrefix(l.api.base, "http") + "/api/sessions/" + url.PathEscape(l.session) + "/ws"
	ws, res, err := d.DialContext(ctx, address, nil)
	if err == nil {
		return ws, nil
	}
	if res != nil && res.StatusCode != http.StatusSwitchingProtocols {
		b, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
		_ = res.Body.Close()
		return nil, refusalOf(res.StatusCode, b)
	}
	return nil, errors.Wrapf(err, "no server answers at %s", l.api.base)
}

// hello resumes after what was given out; mu is held.
func (l *Link) hello() map[string]any {
	h := map[string]any{"type": "hello"}
	if l.at.known {
		h["lastSeq"], h["lastId"], h["incarnation"] = l.at.seq, l.at.lastID, l.at.incarnation
	}
	return h
}

// take keeps the position and what is pending; false says that the update is nothing new.
func (l *Link) take(u Update, reset string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case reset != "":
		l.at = position{}
		return false
	case u.Welcome != nil:
		l.at = position{true, u.Welcome.Seq, u.Welcome.LastID, u.Welcome.Incarnation}
		l.greeted = true
		for _, c := range l.pending {
			l.write(c)
		}
	case u.Frame != nil:
		if u.Frame.Seq <= l.at.seq {
			return false
		}
		l.at.seq, l.at.lastID = u.Frame.Seq, u.Frame.LastID
	case u.Ack != nil && u.Ack.Status == Accepted:
		l.settled(u.Ack.RequestID)
	case u.Refusal != nil && u.Refusal.Code == "server_shutting_down" && u.Refusal.RequestID != "":
		return false // it was not stored and is sent again after the next welcome
	case u.Refusal != nil:
		l.settled(u.Refusal.RequestID)
	}
	return u != Update{}
}

func (l *Link) settled(requestID string) {
	l.pending = slices.DeleteFunc(l.pending, func(c Command) bool { return c.RequestID == requestID })
}
