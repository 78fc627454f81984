package play

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	"github.com/covel/covel/events/trace"
)

// resetPublishFailed: a commit stands, and something of it could not be shown (seed: turn-pipeline.txt, "Event publishing
// after a commit runs one event at a time, and one failure does not roll back data that was already written").
const resetPublishFailed = "publish-failed"

// one shows one event of an append. One that cannot be shown is noted and takes nothing else with it.
func (b *framer) one(r events.Recorded, show func(events.Recorded, proto.Message)) {
	made, last := len(b.frame.Events), len(b.last)
	lose := func(why any) {
		b.frame.Events, b.last = b.frame.Events[:made], b.last[:last]
		b.frame.lost = append(b.frame.lost, fmt.Sprintf("%s: %v", r.Type, why))
	}
	defer func() {
		if p := recover(); p != nil {
			lose(p)
		}
	}()
	msg, err := events.Decode(r.Event)
	if err != nil {
		lose(err)
		return
	}
	show(r, msg)
	for _, list := range [][]Event{b.frame.Events[made:], b.last[last:]} {
		for i := range list {
			if list[i].body, err = json.Marshal(list[i].Payload); err != nil {
				lose(err)
				return
			}
		}
	}
}

// resync marks the end of a request whose frame is not whole: the client reads the stored state anew.
func (b *framer) resync() {
	for i, e := range b.last {
		if payload, ok := e.Payload.(map[string]any); ok && e.Type == "execution.completed" && payload["committed"] == true {
			payload["resync"] = true
			b.last[i].body = nil
		}
	}
}

// MarshalJSON writes the payload as it was proven to be writable.
func (e Event) MarshalJSON() ([]byte, error) {
	type plain Event
	if e.body != nil {
		e.Payload = e.body
	}
	return json.Marshal(plain(e))
}

// publishFailed records that a commit could not be shown whole.
func (s *server) publishFailed(session string, f Frame) {
	turn := ""
	for _, e := range f.Events {
		turn = orElse(e.TurnID, turn)
	}
	s.Log.Error("a commit could not be shown whole", "session", session, "seq", f.Seq, "errors", f.lost)
	s.Node.Trace.Emit(trace.Scope{SessionID: session, TurnID: turn}, trace.CommitFanoutFailed, trace.Fanout{Failed: len(f.lost), Total: f.total, Errors: f.lost})
}
