package commit

import (
	"encoding/json"

	"github.com/covel/covel/kernel/world"
	"github.com/covel/covel/plugins/sdk"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// records are the plugin-data records that a commit has written so far.
type records map[recordKey]record

type recordKey struct{ plugin, namespace, key string }

// record is a value as the commit leaves it; nil is removed.
type record struct {
	value    json.RawMessage
	revision uint64
}

// record gives the live record: what the commit wrote, else what the session has.
func (w *writer) record(namespace, key string) record {
	if r, ok := w.stand.records[recordKey{w.run.PluginID, namespace, key}]; ok {
		return r
	}
	rec, _ := w.planner.in.State.PluginData.Get(w.run.PluginID, namespace, key)
	return record{json.RawMessage(rec.Value), rec.Revision}
}

// data writes plugin data of any kind. Operations are applied to the live value, so that what parallel runs did to the same
// record composes; the event holds the result.
func (w *writer) data(p sdk.Proposal) error {
	writes, err := world.DataWrites(p, func(namespace, key string) json.RawMessage { return w.record(namespace, key).value })
	if err != nil {
		return err
	}
	for _, wr := range writes { // what operations come to was in no payload
		if err := w.media("value of "+wr.Namespace+"/"+wr.Key, wr.Value); err != nil {
			return err
		}
	}
	ev := &eventsv1.PluginDataChanged{PluginId: w.run.PluginID}
	for _, wr := range writes {
		next := record{wr.Value, w.record(wr.Namespace, wr.Key).revision + 1}
		if string(wr.Value) == "null" {
			next.value = nil
		}
		w.stand.records[recordKey{w.run.PluginID, wr.Namespace, wr.Key}] = next
		ev.Changes = append(ev.Changes, &eventsv1.PluginDataChange{
			Namespace: wr.Namespace, Key: wr.Key, Removed: next.value == nil, Value: next.value, Revision: next.revision,
		})
	}
	w.add(ev)
	return nil
}
