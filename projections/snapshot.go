package projections

import (
	"encoding/binary"
	"hash/crc32"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/benbjohnson/immutable"
	"github.com/pkg/errors"
	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	"github.com/covel/covel/internal/plainjson"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// ErrStaleSnapshot: the snapshot was made by folds of another meaning, or is damaged.
var ErrStaleSnapshot = errors.New("projections: snapshot does not fit these folds")

// snapshot is State written out. Its bytes are canonical: equal states have equal bytes.
type snapshot struct {
	Fingerprint  string         `json:"fingerprint"`
	Version      events.Version `json:"version"`
	LastID       string         `json:"lastId"`
	Session      Session        `json:"session"`
	Latest       Latest         `json:"latest"`
	Messages     []Message      `json:"messages"`
	Dropped      int            `json:"dropped"`
	Stories      int            `json:"stories"`
	Players      int            `json:"players"`
	Summaries    []Summary      `json:"summaries"`
	Compacted    int            `json:"compacted"`
	Interactions Interactions   `json:"interactions"`
	Characters   Characters     `json:"characters"`
	Lorebook     Lorebook       `json:"lorebook"`
	PluginData   []PluginRecord `json:"pluginData"`
	Suspensions  Suspensions    `json:"suspensions,omitzero"`
	Exports      Exports        `json:"exports,omitempty"`
	Jobs         Jobs           `json:"jobs,omitempty"`
	Dimensions   Dimensions     `json:"dimensions"`
	Assets       Assets         `json:"assets"`
	Tree         Tree           `json:"tree,omitzero"`
	Staged       [][]byte       `json:"staged"` // envelopes, protobuf
}

// Encode writes a state out, with a checksum: a damaged snapshot must not become a session. The bytes are canonical: two
// states are the same iff their bytes are.
func (s State) Encode() ([]byte, error) {
	sn := snapshot{
		Fingerprint: Fingerprint, Version: s.Version, LastID: s.LastID, Session: s.Session, Latest: s.Latest, Messages: s.History.Tail(s.History.Len()),
		Dropped: s.History.Dropped, Stories: s.History.Stories, Players: s.History.Players,
		Summaries: s.History.Summaries, Compacted: s.History.Compacted, Interactions: s.Interactions,
		Characters: s.Characters, Lorebook: s.Lorebook, PluginData: s.PluginData.List("", ""), Suspensions: s.Suspensions, Tree: s.Tree,
		Exports: s.Exports, Jobs: s.Jobs,
		Dimensions: s.Dimensions, Assets: s.Assets,
	}
	for _, st := range s.staged.inOrder() {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(events.ToEnvelope(st.recorded))
		if err != nil {
			return nil, errors.Wrap(err, "encode staged event")
		}
		sn.Staged = append(sn.Staged, b)
	}
	b, err := plainjson.Marshal(sn)
	if err != nil {
		return nil, errors.Wrap(err, "encode snapshot")
	}
	return seal(b), nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal puts the checksum of a body behind it.
func seal(body []byte) []byte {
	return binary.BigEndian.AppendUint32(body, crc32.Checksum(body, castagnoli))
}

func unseal(b []byte) ([]byte, error) {
	n := len(b) - crc32.Size
	if n < 0 || binary.BigEndian.Uint32(b[n:]) != crc32.Checksum(b[:n], castagnoli) {
		return nil, errors.Wrapf(ErrStaleSnapshot, "the checksum of %d bytes does not hold", len(b))
	}
	return b[:n], nil
}

// DecodeState reads a state back. ErrStaleSnapshot means: fold from the beginning instead.
func DecodeState(b []byte) (State, error) {
	body, err := unseal(b)
	if err != nil {
		return State{}, err
	}
	var sn snapshot
	// Reads in half of the time of encoding/json, and opening a session waits for it.
	if err := jsonv2.Unmarshal(body, &sn, jsonv1.DefaultOptionsV1()); err != nil {
		return State{}, errors.Wrap(ErrStaleSnapshot, err.Error())
	}
	if sn.Fingerprint != Fingerprint {
		return State{}, errors.Wrapf(ErrStaleSnapshot, "made by %q, these are %q", sn.Fingerprint, Fingerprint)
	}
	s := State{Version: sn.Version, LastID: sn.LastID, Session: sn.Session, Suspensions: sn.Suspensions, Tree: sn.Tree, Path: Path{
		Latest:       sn.Latest,
		Interactions: sn.Interactions, Characters: sn.Characters, Lorebook: sn.Lorebook, Exports: sn.Exports, Dimensions: sn.Dimensions, Assets: sn.Assets,
		History: History{Dropped: sn.Dropped, Stories: sn.Stories, Players: sn.Players, Summaries: sn.Summaries, Compacted: sn.Compacted},
	}}
	s.Session.Requests = slices.DeleteFunc(s.Session.Requests, func(r *Request) bool { return r == nil })
	s.Jobs = slices.DeleteFunc(sn.Jobs, func(j *Job) bool { return j == nil })
	if len(sn.Messages) > 0 {
		rows := make([]*Message, len(sn.Messages))
		for i := range rows {
			rows[i] = &sn.Messages[i]
		}
		s.History.messages = immutable.NewList(rows...)
	}
	if len(sn.PluginData) > 0 {
		build := immutable.NewSortedMapBuilder[string, PluginRecord](nil)
		for _, rec := range sn.PluginData {
			build.Set(dataKey(rec.PluginID, rec.Namespace, rec.Key), rec)
		}
		s.PluginData = PluginData{build.Map()}
	}
	for _, b := range sn.Staged {
		var env eventsv1.Envelope
		if err := proto.Unmarshal(b, &env); err != nil {
			return State{}, errors.Wrap(ErrStaleSnapshot, err.Error())
		}
		r, err := events.FromEnvelope(&env)
		if err != nil {
			return State{}, errors.Wrap(ErrStaleSnapshot, err.Error())
		}
		msg, err := events.Decode(r.Event)
		if err == nil {
			err = understand(msg)
		}
		if err != nil {
			return State{}, errors.Wrap(ErrStaleSnapshot, err.Error())
		}
		s.staged = &stagedEvent{s.staged, r, msg}
	}
	return s, nil
}
