package llm

import (
	"context"
	"io"
	"log/slog"
	"reflect"
	"sync"

	"github.com/pkg/errors"

	"github.com/covel/covel/gateway/llm/failure"
	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/kernel/model"
)

// Recorder is a provider that writes every call of another one to a file as a line of JSON (Entry): the request, the
// deltas, the reply, the fault. Lines are whole: concurrent calls do not mix. A call is written when it ends, so the
// order of lines is the order of endings.
//
// A recording holds what players and models wrote. Secrets are not part of requests; those named to NewRecorder are
// masked anyway, wherever they turn up.
type Recorder struct {
	inner   model.Provider
	secrets []Secret

	mu  sync.Mutex
	out io.Writer
	err error
}

// NewRecorder wraps inner. out gets one Write per call, never two at a time; the caller closes it.
func NewRecorder(inner model.Provider, out io.Writer, secrets ...Secret) *Recorder {
	return &Recorder{inner: inner, out: out, secrets: secrets}
}

// Err is the first error of writing. A call does not fail because its record could not be written; who needs a complete
// recording asks here.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Generate implements model.Provider.
func (r *Recorder) Generate(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	hash, err := RequestHash(req)
	if err != nil {
		return model.Reply{}, &model.Error{Kind: model.Permanent, Message: err.Error(), Err: err}
	}
	entry := Entry{Hash: hash, Request: req}
	reply, err := r.inner.Generate(ctx, req, func(d model.Delta) {
		if d != (model.Delta{}) {
			entry.Deltas = append(entry.Deltas, d)
		}
		if onDelta != nil {
			onDelta(d)
		}
	})
	if err != nil {
		failed := failure.Of(err)
		entry.Fault = faultOf(failed)
		if !reflect.ValueOf(reply).IsZero() {
			entry.Reply = &reply
		}
		r.write(entry)
		return reply, failed
	}
	entry.Reply = &reply
	r.write(entry)
	return reply, nil
}

func (r *Recorder) write(entry Entry) {
	line, err := plainjson.Marshal(entry)

	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		_, err = r.out.Write(r.mask(append(line, '\n')))
	}
	if err != nil && r.err == nil {
		r.err = errors.Wrap(err, "the recording is not complete")
		slog.Error("model call not recorded", "subject", entry.Request.Subject, "error", err.Error())
	}
}

// mask works on the line, where a secret may stand as it is or with JSON escapes.
func (r *Recorder) mask(line []byte) []byte {
	for _, s := range r.secrets {
		text := s.Scrub(string(line))
		if quoted, err := plainjson.Marshal(s.Reveal()); err == nil {
			text = NewSecret(string(quoted[1 : len(quoted)-1])).Scrub(text)
		}
		line = []byte(text)
	}
	return line
}
