package play

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"
	"github.com/pkg/errors"
	"golang.org/x/time/rate"

	"github.com/covel/covel/actors/node"
	"github.com/covel/covel/events"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
)

// Limits of one connection.
const (
	hardReadLimit = 64 << 20         // a frame beyond this ends the connection; up to here it is skipped and answered
	writeTimeout  = 10 * time.Second // for one message to a slow socket
	pingEvery     = 20 * time.Second
	pongTimeout   = 60 * time.Second
	outboxLimit   = 256 // messages that wait for the socket
	perSecond     = 20  // messages of a client
	burst         = 60
)

var upgrader = websocket.Upgrader{
	ReadBufferSize: 1024, WriteBufferSize: 1024, WriteBufferPool: &sync.Pool{},
	CheckOrigin: func(*http.Request) bool { return true }, // the guard has looked at it
}

// socket is GET /api/sessions/{id}/ws: docs/protocol.md §3.
func (s *server) socket(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if _, err := s.Node.View(r.Context(), id); err != nil { // an error is clearer before the upgrade
		s.error(w, err)
		return
	}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &conn{server: s, ws: ws, session: id, ctx: ctx, cancel: cancel, outbox: make(chan []byte, outboxLimit), limit: rate.NewLimiter(perSecond, burst)}
	c.run()
}

// conn is one player's connection. Three goroutines: the reader (the handler's own), the writer, and the follower of the
// session. The first that ends takes the others with it.
type conn struct {
	*server
	ws      *websocket.Conn
	session string
	ctx     context.Context
	cancel  context.CancelFunc
	outbox  chan []byte
	limit   *rate.Limiter
	greeted bool
	token   string // of the seat, "" for the owner
	mu      sync.Mutex
	ending  bool // no goroutine is started any more
	wg      sync.WaitGroup
}

// spawn starts a goroutine that run waits for; once the connection ends it starts nothing.
func (c *conn) spawn(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending {
		return
	}
	c.wg.Add(1)
	go func() { // gateway goroutine: owned by run
		defer c.wg.Done()
		f()
	}()
}

func (c *conn) run() {
	defer c.ws.Close()
	c.spawn(c.write)
	c.read()
	c.cancel()
	c.mu.Lock()
	c.ending = true
	c.mu.Unlock()
	c.wg.Wait()
}

// write is the only writer of the socket.
func (c *conn) write() {
	defer c.cancel()
	defer c.ws.Close() // unblocks the reader
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		select {
		case b := <-c.outbox:
			_ = c.ws.SetWriteDeadline(time.Now().Add(writeTimeout))
			if err := c.ws.WriteMessage(websocket.TextMessage, b); err != nil {
				return
			}
		case <-ping.C:
			if err := c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeTimeout)); err != nil {
				return
			}
		case <-c.Shutdown:
			c.goodbye(websocket.CloseGoingAway, "server_shutting_down")
			return
		case <-c.ctx.Done():
			c.goodbye(websocket.CloseNormalClosure, "")
			return
		}
	}
}

// goodbye writes what is waiting, then says why the connection closes. A socket that takes nothing is not waited for.
func (c *conn) goodbye(code int, reason string) {
	for {
		select {
		case b := <-c.outbox:
			_ = c.ws.SetWriteDeadline(time.Now().Add(time.Second))
			if c.ws.WriteMessage(websocket.TextMessage, b) != nil {
				return
			}
			continue
		default:
		}
		_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason), time.Now().Add(time.Second))
		return
	}
}

// send queues a message and waits for room: it is called by the follower, whose own queue is bounded by the session.
func (c *conn) send(v any) bool {
	b, err := json.Marshal(v)
	if err != nil {
		c.Log.Error("message is not JSON", "error", err)
		return false
	}
	select {
	case c.outbox <- b:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// answer queues a message without waiting: it is called by the session, which must not block. A client whose outbox is
// full reads nothing; its connection ends.
func (c *conn) answer(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		return
	}
	select {
	case c.outbox <- b:
	default:
		c.cancel()
	}
}

type errorMessage struct {
	Type      string  `json:"type"` // error
	RequestID string  `json:"requestId,omitempty"`
	Code      string  `json:"code"`
	Error     string  `json:"error"`
	Details   any     `json:"details,omitempty"`
	Frames    []Frame `json:"frames,omitempty"`
}

func (c *conn) refuse(requestID string, p *Problem, frames []Frame) {
	c.answer(errorMessage{"error", requestID, p.Code, p.Message, p.Details, frames})
}

type ackMessage struct {
	Type        string         `json:"type"` // ack
	RequestID   string         `json:"requestId"`
	Status      string         `json:"status"` // queued | accepted
	N           *int           `json:"n,omitempty"`
	Version     events.Version `json:"version,omitempty"`
	ExecutionID string         `json:"executionId,omitempty"`
	JobID       string         `json:"jobId,omitempty"`
	Repeat      bool           `json:"repeat,omitempty"`
}

// read takes the client's messages. A bad one is answered and the connection goes on.
func (c *conn) read() {
	c.ws.SetReadLimit(hardReadLimit)
	_ = c.ws.SetReadDeadline(time.Now().Add(pongTimeout))
	c.ws.SetPongHandler(func(string) error { return c.ws.SetReadDeadline(time.Now().Add(pongTimeout)) })
	for {
		_, r, err := c.ws.NextReader()
		if err != nil {
			return
		}
		b, err := io.ReadAll(io.LimitReader(r, MaxBody+1))
		if err != nil {
			return
		}
		if len(b) > MaxBody {
			if _, err := io.Copy(io.Discard, r); err != nil {
				return
			}
			c.refuse("", problem("frame_too_large", "a message has at most %d bytes", MaxBody), nil)
			continue
		}
		_ = c.ws.SetReadDeadline(time.Now().Add(pongTimeout))
		if err := c.limit.Wait(c.ctx); err != nil {
			return
		}
		c.message(b)
	}
}

type hello struct {
	Type        string          `json:"type"`
	LastSeq     *events.Version `json:"lastSeq"`
	LastID      string          `json:"lastId"`
	Incarnation string          `json:"incarnation"`
	Token       string          `json:"token"`
}

func (c *conn) message(b []byte) {
	var head struct {
		Type      string `json:"type"`
		RequestID string `json:"requestId"`
		SeatID    string `json:"seatId"`
		PluginID  string `json:"pluginId"`
	}
	switch {
	case !utf8.Valid(b):
		c.refuse("", problem("invalid_utf8", "the message is not UTF-8"), nil)
		return
	case !isObject(b):
		c.refuse("", problem("invalid_frame", "a message is a JSON object"), nil)
		return
	}
	if err := json.Unmarshal(b, &head); err != nil {
		c.refuse("", problem("invalid_frame", "type, requestId, seatId and pluginId are strings"), nil)
		return
	}
	switch head.Type {
	case "ping":
		c.answer(map[string]string{"type": "pong"})
	case "hello":
		var h hello
		if p := decodeStrict(b, &h, "hello"); p != nil {
			c.refuse("", p, nil)
			return
		}
		if c.greeted {
			c.refuse("", problem("invalid_frame", "hello comes once, first"), nil)
			return
		}
		if _, err := c.holder(c.ctx, c.session, h.Token); err != nil {
			c.refuse("", c.problem(err), nil)
			return
		}
		c.greeted, c.token = true, h.Token
		c.spawn(func() { c.follow(h) })
	case "stop":
		if !c.ready(head.RequestID) || !c.may(head.RequestID, c.mayPlay(c.ctx, c.session, c.token)) {
			return
		}
		a, err := c.Node.Stop(c.ctx, c.session)
		if err = refusal(a, err); err != nil {
			c.refuse(head.RequestID, c.problem(err), nil)
		}
	case "resume_plugin":
		if c.ready(head.RequestID) && c.may(head.RequestID, c.mayPlay(c.ctx, c.session, c.token)) {
			a, err := c.Node.ResumePlugin(c.ctx, c.session, head.PluginID)
			c.acknowledge(head.RequestID, a, err)
		}
	case "close_gathering":
		if c.ready(head.RequestID) && c.may(head.RequestID, c.mayOwn(c.ctx, c.session, c.token)) {
			c.gather(head.RequestID, kernel.CloseGathering, "")
		}
	case "withdraw_submission":
		if c.ready(head.RequestID) && c.may(head.RequestID, c.mayWithdraw(c.ctx, c.session, c.token, head.SeatID)) {
			c.gather(head.RequestID, kernel.WithdrawSubmission, head.SeatID)
		}
	default:
		if !c.ready(head.RequestID) {
			return
		}
		c.submit(b, head.RequestID)
	}
}

func (c *conn) ready(requestID string) bool {
	if !c.greeted {
		c.refuse(requestID, problem("hello_required", "say hello first"), nil)
	}
	return c.greeted
}

// may answers with what stands against a message, if anything does.
func (c *conn) may(requestID string, err error) bool {
	if err != nil {
		c.refuse(requestID, c.problem(err), nil)
	}
	return err == nil
}

func (c *conn) submit(b []byte, requestID string) {
	var in command
	if p := decodeStrict(b, &in, "message"); p != nil {
		c.refuse(requestID, p, nil)
		return
	}
	cmd, p := readCommand(in)
	if p != nil {
		c.refuse(requestID, p, nil)
		return
	}
	if err := c.seated(c.ctx, c.session, c.token, &cmd); err != nil {
		c.refuse(requestID, c.problem(err), nil)
		return
	}
	err := c.Node.Submit(c.ctx, c.session, cmd, func(a kernel.Answer) {
		switch {
		case a.Refusal != nil && a.Refusal.Code == "conflict" && cmd.Base != nil:
			base, refusal := *cmd.Base, a.Refusal
			c.spawn(func() { c.refuse(requestID, problemOf(refusal), c.framesAfter(base)) }) // reading the log must not hold up the session
		case a.Refusal != nil:
			c.refuse(requestID, problemOf(a.Refusal), nil)
		case a.Status == kernel.Queued:
			n := a.Ahead
			c.answer(ackMessage{Type: "ack", RequestID: requestID, Status: "queued", N: &n})
		default:
			c.answer(ackMessage{Type: "ack", RequestID: requestID, Status: "accepted", Version: a.Version, ExecutionID: a.ExecutionID, JobID: a.JobID, Repeat: a.Repeat})
		}
	})
	if err != nil {
		c.refuse(requestID, c.problem(err), nil)
	}
}

// framesAfter gives the frames a client has not seen, none when they cannot be read.
func (c *conn) framesAfter(seq events.Version) []Frame {
	v, err := c.Node.View(c.ctx, c.session)
	if err != nil || seq >= v.State.Version {
		return nil
	}
	base, missed, err := c.Node.ReadFrom(c.ctx, c.session, seq, v.State.Version)
	if err != nil {
		return nil
	}
	frames, err := framesOf(base, missed)
	if err != nil {
		return nil
	}
	return frames
}

type welcome struct {
	Type        string         `json:"type"` // welcome
	Seq         events.Version `json:"seq"`
	LastID      string         `json:"lastId"`
	Incarnation string         `json:"incarnation"`
	Resumed     bool           `json:"resumed"`
	View        *View          `json:"view,omitempty"`
	Running     *Running       `json:"running,omitempty"`
}

type resetMessage struct {
	Type   string `json:"type"` // system.reset
	Reason string `json:"reason"`
}

// follow shows the session: first what was missed or the whole view, then everything that happens.
func (c *conn) follow(h hello) {
	defer c.cancel()
	for first := true; c.ctx.Err() == nil; first = false {
		sub := node.NewSubscription()
		v, err := c.Node.Follow(c.ctx, c.session, sub)
		if err != nil {
			if c.ctx.Err() == nil {
				c.refuse("", c.problem(err), nil)
			}
			return
		}
		resume := h
		if !first {
			resume = hello{} // after a reset the client starts over
		}
		if !c.welcome(v, resume) || !c.updates(sub) {
			sub.Close()
			return
		}
		sub.Close()
	}
}

func (c *conn) welcome(v node.View, h hello) bool {
	st := v.State
	w := welcome{Type: "welcome", Seq: st.Version, LastID: st.LastID, Incarnation: st.Session.Incarnation, Running: runningOf(v.Live)}
	if h.LastSeq != nil {
		frames, reason := c.missed(st, h)
		if reason == "" {
			w.Resumed, w.Seq, w.LastID = true, *h.LastSeq, h.LastID
			if !c.send(w) {
				return false
			}
			for _, f := range frames {
				if !c.send(f) {
					return false
				}
			}
			return c.settling(v)
		}
		if !c.send(resetMessage{"system.reset", reason}) {
			return false
		}
	}
	view, err := c.viewOf(c.ctx, v)
	if err != nil {
		c.refuse("", c.problem(err), nil)
		return false
	}
	w.View = &view
	return c.send(w) && c.settling(v)
}

// settling tells who joins what the next turn waits for.
func (c *conn) settling(v node.View) bool {
	return v.Settling == nil || c.send(transientOf(*v.Settling, time.Now().UTC()))
}

// missed gives the frames between what a client has seen and now; reason says why that is not possible. A number counts
// only with the id of its event: one from another life of the session, or of the log, is no resume point.
func (c *conn) missed(now projections.State, h hello) (frames []Frame, reason string) {
	if h.Incarnation != now.Session.Incarnation {
		return nil, "epoch-change"
	}
	if *h.LastSeq > now.Version {
		return nil, "gap"
	}
	if *h.LastSeq == now.Version {
		if h.LastID != now.LastID {
			return nil, "gap"
		}
		return nil, ""
	}
	base, missed, err := c.Node.ReadFrom(c.ctx, c.session, *h.LastSeq, now.Version)
	if err != nil || base.Version != *h.LastSeq || base.LastID != h.LastID {
		return nil, "gap"
	}
	if slices.ContainsFunc(missed, func(r events.Recorded) bool { return r.Type == "HeadMoved" }) {
		return nil, "head-moved" // as for those who were there
	}
	if frames, err = framesOf(base, missed); err != nil {
		return nil, "gap"
	}
	return frames, ""
}

// updates shows what happens until the connection ends (false) or the client has to start over (true).
func (c *conn) updates(sub *node.Subscription) bool {
	for {
		u, err := sub.Next(c.ctx)
		if err != nil {
			return errors.Is(err, node.ErrSubscriptionClosed) && c.ctx.Err() == nil
		}
		ok := true
		switch {
		case u.Publish != nil:
			f := frameOf(u.Publish.Events, u.Publish.After)
			ok = c.send(f)
			if ok && len(f.lost) > 0 {
				c.publishFailed(c.session, f)
				return c.send(resetMessage{"system.reset", resetPublishFailed})
			}
		case u.Progress != nil:
			ok = c.send(transientOf(*u.Progress, time.Now().UTC()))
		case u.Reset == "moved":
			return true // the session left memory and comes back at once; nothing was lost
		case u.Reset != "":
			if !c.send(resetMessage{"system.reset", u.Reset}) {
				return false
			}
			return true
		}
		if !ok {
			return false
		}
	}
}
