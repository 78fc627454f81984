package play

import (
	"context"
	"encoding/base32"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/pkg/errors"

	"github.com/covel/covel/actors/node"
	"github.com/covel/covel/events/trace"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/projections"
	"github.com/covel/covel/worlds"
)

// Sessions lists sessions and their older messages from the read models. A list may lag a moment behind.
type Sessions interface {
	Sessions(ctx context.Context) ([]projections.Session, error)
	// Messages gives at most limit rows before a stream version (0: the newest), oldest first.
	Messages(ctx context.Context, sessionID string, before uint64, limit int) ([]projections.Message, error)
	// Forget removes a deleted session.
	Forget(ctx context.Context, sessionID string) error
}

// Config is what the gateway shows and asks.
type Config struct {
	Node     *node.Node
	Worlds   *worlds.Library
	Sessions Sessions
	Plugins  func() *registry.Generation
	Trace    *trace.Writer // what happened in turns, for operators; nil keeps none
	Web      http.Handler  // the page; nil serves none

	Version  string
	Storage  string // backend name
	Durable  bool
	Offline  bool // the story is told by the offline storyteller
	Slots    map[string]Slot
	AnyHost  bool // tests only: no check of Host and Origin
	Log      *slog.Logger
	Shutdown <-chan struct{} // closed when the server goes down: sockets end
}

// Slot says which model serves a slot.
type Slot struct {
	Provider string `json:"provider"`
	Model    string `json:"model,omitempty"`
}

type server struct {
	Config
	bootID string
}

// Handler serves the API and the page.
func Handler(cfg Config) http.Handler {
	s := &server{Config: cfg, bootID: uuid.NewString()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/health", s.health)
	mux.HandleFunc("GET /api/worlds", s.worlds)
	mux.HandleFunc("GET /api/worlds/{id}", s.world)
	mux.HandleFunc("POST /api/sessions", s.create)
	mux.HandleFunc("GET /api/sessions", s.sessions)
	mux.HandleFunc("GET /api/sessions/{id}", s.session)
	mux.HandleFunc("PATCH /api/sessions/{id}", s.owner(s.patch))
	mux.HandleFunc("DELETE /api/sessions/{id}", s.owner(s.remove))
	mux.HandleFunc("GET /api/sessions/{id}/seats", s.owner(s.seats))
	mux.HandleFunc("POST /api/sessions/{id}/seats", s.owner(s.addSeat))
	mux.HandleFunc("PATCH /api/sessions/{id}/seats/{seat}", s.owner(s.editSeat))
	mux.HandleFunc("POST /api/sessions/{id}/seats/{seat}/invite", s.owner(s.inviteToSeat))
	mux.HandleFunc("POST /api/sessions/{id}/seats/{seat}/free", s.owner(s.freeSeat))
	mux.HandleFunc("DELETE /api/sessions/{id}/seats/{seat}", s.owner(s.removeSeat))
	mux.HandleFunc("POST /api/sessions/{id}/seats/take", s.takeSeat)
	mux.HandleFunc("POST /api/sessions/{id}/steer", s.steer)
	mux.HandleFunc("POST /api/sessions/{id}/plugin-rpc", s.rpc)
	mux.HandleFunc("POST /api/sessions/{id}/retry-runtimes", s.retryRuntimes)
	mux.HandleFunc("GET /api/sessions/{id}/view", s.view)
	mux.HandleFunc("GET /api/sessions/{id}/messages", s.messages)
	mux.HandleFunc("POST /api/sessions/{id}/abort", s.player(s.abort))
	mux.HandleFunc("POST /api/sessions/{id}/setup/{runtime}/retry", s.player(s.setupRetry))
	mux.HandleFunc("POST /api/sessions/{id}/setup/{runtime}/waive", s.player(s.setupWaive))
	mux.HandleFunc("GET /api/sessions/{id}/runtime-jobs", s.jobs)
	mux.HandleFunc("POST /api/sessions/{id}/runtime-jobs/{job}/cancel", s.player(s.cancelJob))
	mux.HandleFunc("POST /api/sessions/{id}/runtime-jobs/{job}/retry", s.player(s.retryJob))
	mux.HandleFunc("GET /api/sessions/{id}/suspensions", s.suspensions)
	mux.HandleFunc("POST /api/sessions/{id}/suspensions/{suspension}/resume", s.resume)
	mux.HandleFunc("DELETE /api/sessions/{id}/suspensions/{suspension}", s.player(s.abandon))
	mux.HandleFunc("POST /api/sessions/{id}/head", s.goElsewhere(kernel.MoveHead))
	mux.HandleFunc("POST /api/sessions/{id}/regenerate", s.goElsewhere(kernel.Regenerate))
	mux.HandleFunc("PATCH /api/sessions/{id}/messages/{message}", s.goElsewhere(kernel.ReviseMessage))
	mux.HandleFunc("PATCH /api/sessions/{id}/turns/{turn}", s.goElsewhere(kernel.NameTurn))
	mux.HandleFunc("GET /api/sessions/{id}/lorebook", s.lorebook)
	mux.HandleFunc("PUT /api/sessions/{id}/lorebook/{entry}", s.editLore)
	mux.HandleFunc("POST /api/sessions/{id}/gathering/close", s.owner(s.closeGathering))
	mux.HandleFunc("DELETE /api/sessions/{id}/gathering/{seat}", s.withdraw)
	mux.HandleFunc("GET /api/sessions/{id}/trace", s.trace)
	mux.HandleFunc("PUT /api/sessions/{id}/plugins/{plugin}", s.owner(s.enablePlugin))
	mux.HandleFunc("DELETE /api/sessions/{id}/plugins/{plugin}", s.owner(s.disablePlugin))
	mux.HandleFunc("POST /api/sessions/{id}/plugins/{plugin}/resume", s.player(s.resumePlugin))
	mux.HandleFunc("GET /api/sessions/{id}/ws", s.socket)
	mux.HandleFunc("GET /api/ui-specs", s.uiSpecs)
	mux.HandleFunc("POST /api/actions", s.actions)
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, http.StatusNotFound, problem("not_found", "there is no %s %s", r.Method, r.URL.Path))
	})
	if cfg.Web != nil {
		mux.Handle("/", cfg.Web)
	}
	return s.guard(mux)
}

func (s *server) health(w http.ResponseWriter, _ *http.Request) {
	s.reply(w, http.StatusOK, map[string]any{
		"status": "ok", "version": s.Version, "bootId": s.bootID, "timestamp": time.Now().UTC(),
		"storage": map[string]any{"data": map[string]any{"backend": s.Storage, "durable": s.Durable}},
		"model":   map[string]any{"offline": s.Offline, "slots": s.Slots},
	})
}

func (s *server) worlds(w http.ResponseWriter, r *http.Request) {
	items := []map[string]any{}
	for _, x := range s.Worlds.List(r.URL.Query().Get("locale")) {
		items = append(items, map[string]any{
			"id": x.ID, "name": x.Name, "summary": x.Summary, "tags": nonNil(x.Tags), "locales": nonNil(x.SupportedLocales),
			"defaultLocale": x.DefaultLocale, "locale": x.Locale, "accentColor": x.AccentColor, "version": x.Version,
		})
	}
	s.reply(w, http.StatusOK, map[string]any{"items": items})
}

func (s *server) world(w http.ResponseWriter, r *http.Request) {
	p, ok := s.Worlds.Get(r.PathValue("id"))
	if !ok {
		s.fail(w, http.StatusNotFound, problem("world_not_found", "World not found: %s", clip(r.PathValue("id"))))
		return
	}
	v := p.In(r.URL.Query().Get("locale"))
	s.reply(w, http.StatusOK, worldDetail(v))
}

func worldDetail(v worlds.View) map[string]any {
	return map[string]any{
		"id": v.Record.ID, "name": v.Record.Name, "summary": v.Record.Summary, "tags": nonNil(v.Record.Tags), "locales": nonNil(v.SupportedLocales),
		"defaultLocale": v.DefaultLocale, "locale": v.Locale, "accentColor": v.AccentColor, "version": v.Version,
		"lore": v.Record.Lore, "greeting": v.Record.Greeting,
	}
}

func (s *server) create(w http.ResponseWriter, r *http.Request) {
	var body struct {
		WorldID  string   `json:"worldId"`
		Locale   string   `json:"locale"`
		ID       string   `json:"id"`
		Plugins  []string `json:"plugins"`
		Excluded []string `json:"excludedPlugins"`
	}
	if !s.body(w, r, &body) {
		return
	}
	p, ok := s.Worlds.Get(body.WorldID)
	if !ok {
		s.fail(w, http.StatusNotFound, problem("world_not_found", "World not found: %s", clip(body.WorldID)))
		return
	}
	if body.ID == "" {
		u := uuid.New()
		body.ID = p.ID + "-" + strings.ToLower(base32.StdEncoding.EncodeToString(u[:5]))
	}
	if !node.ValidSessionID(body.ID) {
		s.fail(w, http.StatusBadRequest, invalid("id", "a session id is 1 to 64 of a-z 0-9 -, beginning with a letter or digit"))
		return
	}
	for field, list := range map[string][]string{"plugins": body.Plugins, "excludedPlugins": body.Excluded} {
		if p := pluginIDs(field, list); p != nil {
			s.fail(w, http.StatusBadRequest, p)
			return
		}
	}
	state, err := s.Node.Create(r.Context(), body.ID, p.In(body.Locale), node.Choice{Requested: body.Plugins, Excluded: body.Excluded})
	if err != nil {
		s.error(w, err)
		return
	}
	s.reply(w, http.StatusCreated, sessionOf(state.Session))
}

func (s *server) sessions(w http.ResponseWriter, r *http.Request) {
	list, err := s.Sessions.Sessions(r.Context())
	if err != nil {
		s.error(w, err)
		return
	}
	items := make([]Session, 0, len(list))
	for _, x := range list {
		items = append(items, sessionOf(x))
	}
	s.reply(w, http.StatusOK, map[string]any{"items": items})
}

func (s *server) session(w http.ResponseWriter, r *http.Request) {
	v, err := s.Node.View(r.Context(), r.PathValue("id"))
	if err != nil {
		s.error(w, err)
		return
	}
	s.reply(w, http.StatusOK, sessionOf(v.State.Session))
}

func (s *server) remove(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	err := s.Node.Delete(r.Context(), id)
	if err == nil {
		err = s.Sessions.Forget(r.Context(), id)
	}
	if err == nil {
		if left := s.Trace.Forget(r.Context(), id); left != nil { // the session is gone all the same
			s.Log.Warn("the trace of a deleted session is still there", "session", id, "error", left)
		}
	}
	if err != nil {
		s.error(w, err)
		return
	}
	s.reply(w, http.StatusOK, map[string]any{"ok": true})
}

func (s *server) view(w http.ResponseWriter, r *http.Request) {
	v, err := s.Node.View(r.Context(), r.PathValue("id"))
	if err != nil {
		s.error(w, err)
		return
	}
	out, err := s.viewOf(r.Context(), v)
	if err != nil {
		s.error(w, err)
		return
	}
	s.reply(w, http.StatusOK, out)
}

func (s *server) messages(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit := 80
	if l, err := strconv.Atoi(q.Get("limit")); err == nil && l > 0 {
		limit = min(l, 500)
	}
	before := uint64(0)
	if c := q.Get("before"); c != "" {
		n, err := strconv.ParseUint(c, 10, 63)
		if err != nil {
			s.fail(w, http.StatusBadRequest, problem("invalid_cursor", "the cursor is not one of this server"))
			return
		}
		before = n
	}
	v, err := s.Node.View(r.Context(), r.PathValue("id"))
	if err != nil {
		s.error(w, err)
		return
	}
	rows, err := s.Sessions.Messages(r.Context(), r.PathValue("id"), before, limit)
	if err != nil {
		s.error(w, err)
		return
	}
	items := make([]Message, 0, len(rows))
	for _, m := range rows {
		items = append(items, messageOf(m, v.State))
	}
	var next any
	if len(rows) == limit {
		next = strconv.FormatUint(uint64(rows[0].Version), 10)
	}
	s.reply(w, http.StatusOK, map[string]any{"items": items, "nextCursor": next})
}

func (s *server) abort(w http.ResponseWriter, r *http.Request) {
	a, err := s.Node.Stop(r.Context(), r.PathValue("id"))
	if err = refusal(a, err); err != nil {
		s.error(w, err)
		return
	}
	s.reply(w, http.StatusOK, map[string]any{"ok": true})
}

func (s *server) setupRetry(w http.ResponseWriter, r *http.Request) {
	s.decideSetup(w, r, kernel.SetupRetry)
}

func (s *server) setupWaive(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Confirm bool `json:"confirm"`
	}
	if !s.body(w, r, &body) {
		return
	}
	if !body.Confirm {
		s.fail(w, http.StatusBadRequest, problem("confirm_required", "send {\"confirm\": true} to go on without this step"))
		return
	}
	s.decideSetup(w, r, kernel.SetupWaive)
}

func (s *server) decideSetup(w http.ResponseWriter, r *http.Request, kind kernel.ChangeKind) {
	id, runtimeID := r.PathValue("id"), r.PathValue("runtime")
	a, err := s.Node.DecideSetup(r.Context(), id, runtimeID, kind)
	if err = refusal(a, err); err != nil {
		s.error(w, err)
		return
	}
	v, err := s.Node.View(r.Context(), id)
	if err != nil {
		s.error(w, err)
		return
	}
	s.reply(w, http.StatusOK, map[string]any{"ok": true, "runtimeId": runtimeID, "state": sessionOf(v.State.Session).SetupRuntimes[runtimeID]})
}

// body reads a JSON object of at most MaxBody bytes; it has answered when it gives false.
func (s *server) body(w http.ResponseWriter, r *http.Request, into any) bool {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			s.fail(w, http.StatusRequestEntityTooLarge, problem("frame_too_large", "Payload Too Large: at most %d bytes", MaxBody))
			return false
		}
		s.fail(w, http.StatusBadRequest, problem("invalid_frame", "the body could not be read"))
		return false
	}
	if !utf8.Valid(b) {
		s.fail(w, http.StatusBadRequest, problem("invalid_utf8", "the body is not UTF-8"))
		return false
	}
	if !json.Valid(b) {
		s.fail(w, http.StatusBadRequest, problem("invalid_frame", "the body is not JSON"))
		return false
	}
	if p := decodeStrict(b, into, "body"); p != nil {
		s.fail(w, http.StatusBadRequest, p)
		return false
	}
	return true
}

func (s *server) reply(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		s.Log.Error("answer is not JSON", "error", err)
		status, b = http.StatusInternalServerError, []byte(`{"error":"Internal server error","code":"internal"}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}

func (s *server) fail(w http.ResponseWriter, status int, p *Problem) {
	body := map[string]any{"error": p.Message, "code": p.Code}
	if p.Details != nil {
		body["details"] = p.Details
	}
	s.reply(w, status, body)
}

// refusal is what went wrong with something that was asked of a session: on the way, or that the session refuses it.
func refusal(a kernel.Answer, err error) error {
	if err == nil && a.Refusal != nil {
		return a.Refusal
	}
	return err
}

// error answers what went wrong inside; the details of an unexpected failure stay in the log.
func (s *server) error(w http.ResponseWriter, err error) {
	p := s.problem(err)
	s.fail(w, statusOf(p.Code), p)
}

func (s *server) problem(err error) *Problem {
	var p *Problem
	var refusal *kernel.Refusal
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &refusal):
		return problemOf(refusal)
	case errors.Is(err, node.ErrNotFound):
		return problem("session_not_found", "Session not found")
	case errors.Is(err, node.ErrExists):
		return problem("session_already_exists", "a session with this id exists already, or did")
	case errors.Is(err, node.ErrDraining):
		return problem("server_shutting_down", "the server is shutting down")
	case errors.Is(err, node.ErrBusy):
		return problem("session_busy", "Session is busy, please retry")
	}
	s.Log.Error("request failed", "error", err)
	return problem("internal", "Internal server error")
}

func statusOf(code string) int {
	switch code {
	case "session_not_found", "world_not_found", "not_found", "setup_runtime_not_found", "suspension_not_found", "runtime_job_not_found", "plugin_not_active", "plugin_not_found",
		"turn_not_found", "message_not_found", "submission_not_found", "seat_not_found", "invite_not_found", "runtime_not_active", "retry_turn_not_found":
		return http.StatusNotFound
	case "session_already_exists", "session_not_active", "session_ended", "already_started", "nothing_to_retry", "conflict",
		"request_id_conflict", "runtime_job_not_cancellable", "runtime_job_not_retryable", "no_running_turn", "interaction_already_submitted", "setup_not_blocked", "interaction_required",
		"suspension_closed", "suspension_claimed", "suspension_out_of_date", "nothing_gathered", "plugin_paused", "plugin_not_paused", "plugin_rejected",
		"too_many_seats", "seat_not_open", "seat_primary", "retry_source_superseded", "retry_source_not_committed", "runtime_not_failed",
		kernel.CodeTooLate, kernel.CodeUnheard,
		"nothing_to_undo", "already_there", "too_far_back", "session_in_setup", "message_not_revisable", "lorebook_full":
		return http.StatusConflict
	case "busy", "session_busy", "server_shutting_down":
		return http.StatusServiceUnavailable
	case "background_queue_full":
		return http.StatusTooManyRequests
	case "frame_too_large":
		return http.StatusRequestEntityTooLarge
	case "internal", "session_unreadable", "resume_failed", "turn_commit_failed", "runtime_execution_failed":
		return http.StatusInternalServerError
	case "seat_token_invalid":
		return http.StatusUnauthorized
	case "origin_not_allowed", "host_not_allowed", "owner_required", "seat_not_allowed":
		return http.StatusForbidden
	}
	return http.StatusBadRequest
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
