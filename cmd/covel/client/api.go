// Package client speaks the protocol (docs/protocol.md) to a server: the HTTP API, and one session followed over a
// WebSocket that survives drops and restarts without a lost or a repeated event.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/gateway/play"
)

// maxAnswer bounds what is read of one answer, in bytes.
const maxAnswer = 64 << 20

// API is the HTTP side of a server. Its methods may be called concurrently.
type API struct {
	base string
	http *http.Client
}

// New gives the API of the server at an address such as http://127.0.0.1:7420.
func New(address string) *API {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	return &API{strings.TrimRight(address, "/"), &http.Client{
		Timeout:   time.Minute,
		Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext},
	}}
}

// Address is where the server is.
func (a *API) Address() string { return a.base }

// Close drops connections that are kept for later.
func (a *API) Close() { a.http.CloseIdleConnections() }

// Refusal is an error that the server answered: a code of docs/protocol.md §5 with what to read beside it.
type Refusal struct {
	RequestID string
	Code      string
	Message   string
	Issues    []Issue // of the fields of a submission
}

// Issue is one thing wrong with one field.
type Issue struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

func (r *Refusal) Error() string { return r.Message + " (" + r.Code + ")" }

// Health is what GET /api/health tells.
type Health struct {
	Status  string `json:"status"`
	Version string `json:"version"`
	BootID  string `json:"bootId"`
	Storage struct {
		Data struct {
			Backend string `json:"backend"`
			Durable bool   `json:"durable"`
		} `json:"data"`
	} `json:"storage"`
	Model struct {
		Offline bool                 `json:"offline"`
		Slots   map[string]play.Slot `json:"slots"`
	} `json:"model"`
}

// World is an entry of the list of worlds.
type World struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Summary string   `json:"summary"`
	Locale  string   `json:"locale"`
	Locales []string `json:"locales"`
}

// Spec is a panel that a plugin contributes.
type Spec struct {
	PluginID string          `json:"pluginId"`
	Spec     json.RawMessage `json:"spec"`
}

// Health asks whether a Covel server answers there.
func (a *API) Health(ctx context.Context) (Health, error) {
	var h Health
	err := a.call(ctx, http.MethodGet, "/api/health", nil, &h)
	if err == nil && h.BootID == "" {
		err = errors.Errorf("%s answers, but it is no Covel server", a.base)
	}
	return h, err
}

// Worlds lists the worlds in the nearest language they have.
func (a *API) Worlds(ctx context.Context, locale string) ([]World, error) {
	var list struct{ Items []World }
	err := a.call(ctx, http.MethodGet, "/api/worlds?locale="+url.QueryEscape(locale), nil, &list)
	return list.Items, err
}

// Sessions lists the sessions, newest activity first.
func (a *API) Sessions(ctx context.Context) ([]play.Session, error) {
	var list struct{ Items []play.Session }
	err := a.call(ctx, http.MethodGet, "/api/sessions", nil, &list)
	return list.Items, err
}

// Create makes a session of a world.
func (a *API) Create(ctx context.Context, world, locale string) (play.Session, error) {
	var s play.Session
	err := a.call(ctx, http.MethodPost, "/api/sessions", map[string]string{"worldId": world, "locale": locale}, &s)
	return s, err
}

// Session reads one session.
func (a *API) Session(ctx context.Context, id string) (play.Session, error) {
	var s play.Session
	err := a.call(ctx, http.MethodGet, "/api/sessions/"+url.PathEscape(id), nil, &s)
	return s, err
}

// Delete removes a session for good.
func (a *API) Delete(ctx context.Context, id string) error {
	return a.call(ctx, http.MethodDelete, "/api/sessions/"+url.PathEscape(id), nil, nil)
}

// ResumePlugin lets a plugin run again that was paused in a session after repeated errors.
func (a *API) ResumePlugin(ctx context.Context, session, plugin string) error {
	return a.call(ctx, http.MethodPost, "/api/sessions/"+url.PathEscape(session)+"/plugins/"+url.PathEscape(plugin)+"/resume", nil, nil)
}

// MessageSpecs gives the panels that belong under the newest message.
func (a *API) MessageSpecs(ctx context.Context, session string) ([]Spec, error) {
	var specs struct{ Message []Spec }
	err := a.call(ctx, http.MethodGet, "/api/ui-specs?sessionId="+url.QueryEscape(session), nil, &specs)
	return specs.Message, err
}

// call sends a request and reads its JSON answer; an answer that is an error becomes a *Refusal.
func (a *API) call(ctx context.Context, method, path string, body, into any) error {
	var send io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return errors.Wrap(err, "write the request")
		}
		send = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, send)
	if err != nil {
		return errors.Wrapf(err, "%s is no address of a server", a.base)
	}
	res, err := a.http.Do(req)
	if err != nil {
		return errors.Wrapf(err, "no server answers at %s", a.base)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return errors.Wrapf(err, "read the answer of %s", a.base)
	}
	if res.StatusCode >= 400 {
		return refusalOf(res.StatusCode, b)
	}
	if into == nil {
		return nil
	}
	return errors.Wrapf(json.Unmarshal(b, into), "%s %s: the answer is not what a Covel server says", method, path)
}

// refusalOf reads the body of an HTTP error.
func refusalOf(status int, body []byte) error {
	var e struct {
		Code    string
		Error   string
		Details struct{ Issues []Issue }
	}
	if json.Unmarshal(body, &e) != nil || e.Code == "" {
		return fmt.Errorf("the server answered %d %s", status, http.StatusText(status))
	}
	return &Refusal{Code: e.Code, Message: e.Error, Issues: e.Details.Issues}
}
