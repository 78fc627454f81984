package commit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/covel/covel/kernel/world"
	"github.com/covel/covel/plugins/sdk"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// media refuses a value with a reference to a file that the session does not have: neither made by it before nor stored by a
// run of this execution (seed: tools.txt, "Every MediaRef in the payload is checked against this session"). Files are known
// by their content everywhere on the node, so that a hash alone would open another session's pictures.
func (w *writer) media(name string, value json.RawMessage) error {
	if !bytes.Contains(value, []byte("\"mime\"")) && !bytes.Contains(value, []byte("\\u")) {
		return nil // no reference is without it
	}
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return nil // said by whoever reads it
	}
	path, id := foreign(name, v, w.knows)
	if path == "" {
		return nil
	}
	return &world.Rejection{Code: RefusedMedia, Message: fmt.Sprintf("%s: the session has no file %s", path, id)}
}

func (w *writer) knows(id string) bool {
	_, known := w.planner.in.State.Assets.Find(id)
	return known || w.stand.media[id]
}

// foreign finds the first media reference whose file is not known.
func foreign(at string, v any, known func(string) bool) (path, id string) {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			if path, id = foreign(fmt.Sprintf("%s[%d]", at, i), e, known); path != "" {
				return path, id
			}
		}
	case map[string]any:
		if id, ok := mediaRef(v); ok && !known(id) {
			return at, id
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if path, id = foreign(at+"."+k, v[k], known); path != "" {
				return path, id
			}
		}
	}
	return "", ""
}

// mediaRef says whether an object is a reference to a file: id (64 hex digits), mime and size.
func mediaRef(v map[string]any) (id string, ok bool) {
	id, isText := v["id"].(string)
	_, hasMime := v["mime"].(string)
	_, hasSize := v["size"].(float64)
	return id, isText && hasMime && hasSize && isDigest(strings.ToLower(id))
}

func isDigest(id string) bool {
	return len(id) == 64 && strings.Trim(id, "0123456789abcdef") == ""
}

// asset tells of a file that the run has made, or made again.
func (w *writer) asset(payload json.RawMessage) error {
	var a sdk.AssetGenerate
	if _, err := world.ReadPayload(payload, &a); err != nil {
		return err
	}
	switch {
	case !isDigest(a.Ref.ID) || a.Ref.Mime == "" || a.Ref.Size < 0:
		return fmt.Errorf("ref needs an id of 64 lower-case hex digits, a mime and a size")
	case !w.knows(a.Ref.ID):
		return &world.Rejection{Code: RefusedMedia, Message: "ref: the session has no file " + a.Ref.ID}
	case strings.TrimSpace(a.Modality) == "":
		return fmt.Errorf("modality is missing: image, speech, music")
	}
	ev := &eventsv1.AssetGenerated{Ref: mediaEvent(a.Ref), Modality: a.Modality, RuntimeId: w.run.RuntimeID, PluginId: w.run.PluginID}
	if len(a.Meta) > 0 {
		b, err := json.Marshal(a.Meta)
		if err != nil {
			return err
		}
		ev.Meta = b
	}
	w.add(ev)
	return nil
}

// stored remembers the files that the run has stored and not told of itself: only what is in the log is the session's.
func (w *writer) stored(files []sdk.MediaRef) {
	for _, f := range files {
		told := slices.ContainsFunc(w.facts, func(x Fact) bool {
			a, ok := x.Message.(*eventsv1.AssetGenerated)
			return ok && a.Ref.Id == f.ID
		})
		if _, known := w.planner.in.State.Assets.Find(f.ID); told || known {
			continue
		}
		modality, _, _ := strings.Cut(f.Mime, "/")
		w.add(&eventsv1.AssetGenerated{Ref: mediaEvent(f), Modality: modality, RuntimeId: w.run.RuntimeID, PluginId: w.run.PluginID})
	}
}

func mediaEvent(r sdk.MediaRef) *eventsv1.MediaRef {
	return &eventsv1.MediaRef{Id: r.ID, Mime: r.Mime, Size: r.Size}
}
