package llm

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/pkg/errors"

	"github.com/covel/covel/gateway/llm/failure"
	"github.com/covel/covel/kernel/model"
)

// Replay answers from a recording, without any model: the same request (RequestHash) gets the same deltas and the same
// reply or fault. A request that was recorded several times (a retry) is answered in that order, and the last answer
// stays. Calls that their caller ended are left out: there is no answer in them.
type Replay struct {
	mu     sync.Mutex
	byHash map[string][]Entry // what is still to be played; the last one is never taken out
}

// NotRecordedError says that a replay was asked something the recording does not hold. It comes inside a *model.Error of
// kind Permanent; find it with errors.As.
type NotRecordedError struct {
	Hash    string // RequestHash
	Subject string
}

func (e *NotRecordedError) Error() string {
	return fmt.Sprintf("the recording holds no answer to this request of %q (hash %s): "+
		"the prompt, the tools or the history differ from when it was made", e.Subject, e.Hash)
}

// NewReplay reads a recording to its end. Errors name the line. A last line without a newline was cut off by a crash and
// is left out.
func NewReplay(recording io.Reader) (*Replay, error) {
	r := &Replay{byHash: map[string][]Entry{}}
	lines := bufio.NewReader(recording)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return nil, errors.Wrapf(err, "recording, line %d", n)
		}
		entry, err := readEntry(line)
		if err != nil {
			return nil, errors.WithMessagef(err, "recording, line %d", n)
		}
		if entry.Fault == nil || entry.Fault.Kind != model.Cancelled {
			r.byHash[entry.Hash] = append(r.byHash[entry.Hash], entry)
		}
	}
}

func readEntry(line []byte) (Entry, error) {
	var entry Entry
	if err := json.Unmarshal(line, &entry); err != nil {
		return entry, errors.Wrap(err, "not an entry")
	}
	switch {
	case entry.Hash == "":
		return entry, errors.New("the entry has no hash")
	case entry.Reply == nil && entry.Fault == nil:
		return entry, errors.New("the entry has neither reply nor fault")
	}
	return entry, nil
}

// Generate implements model.Provider.
func (r *Replay) Generate(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	if ctx.Err() != nil {
		return model.Reply{}, failure.Ended(ctx)
	}
	hash, err := RequestHash(req)
	if err != nil {
		return model.Reply{}, &model.Error{Kind: model.Permanent, Message: err.Error(), Err: err}
	}
	entry, ok := r.take(hash)
	if !ok {
		missing := &NotRecordedError{Hash: hash, Subject: req.Subject}
		return model.Reply{}, &model.Error{Kind: model.Permanent, Message: missing.Error(), Err: missing}
	}
	for _, d := range entry.Deltas {
		if ctx.Err() != nil {
			return model.Reply{}, failure.Ended(ctx)
		}
		if onDelta != nil {
			onDelta(d)
		}
	}
	var reply model.Reply
	if entry.Reply != nil {
		reply = *entry.Reply
	}
	if entry.Fault != nil {
		return reply, entry.Fault.failure()
	}
	return reply, nil
}

func (r *Replay) take(hash string) (Entry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	entries := r.byHash[hash]
	if len(entries) == 0 {
		return Entry{}, false
	}
	if len(entries) > 1 {
		r.byHash[hash] = entries[1:]
	}
	return entries[0], true
}
