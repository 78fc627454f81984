package node

import (
	"context"
	"log/slog"
)

// quiet keeps the actor library to warnings and hides the whole messages it would print of dead letters: they may hold
// what a player wrote.
func quiet(l *slog.Logger) *slog.Logger { return slog.New(quietHandler{l.Handler()}) }

type quietHandler struct{ slog.Handler }

func (h quietHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

func (h quietHandler) WithAttrs(a []slog.Attr) slog.Handler {
	return quietHandler{h.Handler.WithAttrs(a)}
}

func (h quietHandler) WithGroup(g string) slog.Handler { return quietHandler{h.Handler.WithGroup(g)} }
