package world

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

// MaxRecordBytes is the largest plugin-data value, in bytes of JSON (seed: tools.txt, "Size limit for one record").
const MaxRecordBytes = 256 << 10

// Data is one plugin's view of its own records inside a run: committed values, below the writes of completed upstream
// runs of the same plugin, below the run's own buffer (seed: turn-pipeline.txt, "When the data a runtime reads was
// taken"). It implements sdk.PluginData. It belongs to one run and is not for concurrent use.
type Data struct {
	plugin    string
	committed projections.PluginData
	overlay   map[string]json.RawMessage // namespace NUL key; nil removes
	writes    []sdk.PluginDataWrite
}

// NewData makes the view; upstream are the plugin-data proposals of completed upstream runs in commit order.
func NewData(plugin string, committed projections.PluginData, upstream []sdk.Proposal) *Data {
	d := &Data{plugin: plugin, committed: committed, overlay: map[string]json.RawMessage{}}
	d.Overlay(upstream)
	return d
}

// Overlay shows the plugin-data proposals of a list on top of what is seen so far. What the commit would refuse does not
// enter the view.
func (d *Data) Overlay(proposals []sdk.Proposal) {
	for _, p := range proposals {
		ws, err := DataWrites(p)
		if err != nil {
			continue
		}
		for _, w := range ws {
			d.put(w)
		}
	}
}

func (d *Data) put(w sdk.PluginDataWrite) {
	v := w.Value
	if len(v) == 0 || string(v) == "null" {
		v = nil
	}
	d.overlay[w.Namespace+"\x00"+w.Key] = v
}

// Get gives the value a run sees, nil when there is none.
func (d *Data) Get(namespace, key string) json.RawMessage {
	if v, ok := d.overlay[namespace+"\x00"+key]; ok {
		return slices.Clone(v)
	}
	if rec, ok := d.committed.Get(d.plugin, namespace, key); ok {
		return slices.Clone(json.RawMessage(rec.Value))
	}
	return nil
}

// List gives the records of a namespace by key.
func (d *Data) List(namespace string) []sdk.Record {
	var out []sdk.Record
	for _, rec := range d.committed.List(d.plugin, namespace) {
		if _, over := d.overlay[namespace+"\x00"+rec.Key]; !over {
			out = append(out, sdk.Record{Key: rec.Key, Value: slices.Clone(json.RawMessage(rec.Value))})
		}
	}
	for k, v := range d.overlay {
		if ns, key, _ := strings.Cut(k, "\x00"); ns == namespace && v != nil {
			out = append(out, sdk.Record{Key: key, Value: slices.Clone(v)})
		}
	}
	slices.SortFunc(out, func(a, b sdk.Record) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// Set buffers a write. A nil value removes the record.
func (d *Data) Set(namespace, key string, value any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return sdk.Fail(sdk.InvalidInput, "plugin data %s/%s cannot be written as JSON: %v", namespace, key, err)
	}
	w := sdk.PluginDataWrite{Namespace: namespace, Key: key, Value: b}
	if err := CheckDataWrite(w); err != nil {
		return err
	}
	d.put(w)
	d.writes = append(d.writes, w)
	return nil
}

// Buffered gives the run's own writes in order.
func (d *Data) Buffered() []sdk.PluginDataWrite { return d.writes }

// DataWrites gives the record writes of a plugin.data proposal of any kind; none for other proposals.
func DataWrites(p sdk.Proposal) ([]sdk.PluginDataWrite, error) {
	switch p.Type {
	case sdk.PluginDataWrite{}.ProposalType():
		var w sdk.PluginDataWrite
		if err := decode(p.Payload, &w); err != nil {
			return nil, err
		}
		return []sdk.PluginDataWrite{w}, CheckDataWrite(w)
	case sdk.PluginDataBatch{}.ProposalType():
		var b sdk.PluginDataBatch
		if err := decode(p.Payload, &b); err != nil {
			return nil, err
		}
		if len(b.Items) == 0 {
			return nil, reject("items must not be empty")
		}
		for _, w := range b.Items {
			if err := CheckDataWrite(w); err != nil {
				return nil, err
			}
		}
		return b.Items, nil
	case sdk.PluginDataDelete{}.ProposalType():
		var del sdk.PluginDataDelete
		if err := decode(p.Payload, &del); err != nil {
			return nil, err
		}
		w := sdk.PluginDataWrite{Namespace: del.Namespace, Key: del.Key}
		return []sdk.PluginDataWrite{w}, CheckDataWrite(w)
	}
	return nil, nil
}

// CheckDataWrite holds a write against the rules for every writer (reference: plugins.md §13.2).
func CheckDataWrite(w sdk.PluginDataWrite) error {
	switch {
	case w.Namespace == "" || w.Key == "":
		return reject("plugin data needs a namespace and a key")
	case strings.ContainsRune(w.Namespace, 0) || strings.ContainsRune(w.Key, 0):
		return reject("plugin data namespace and key must not contain U+0000")
	case strings.HasPrefix(w.Namespace, "_") && !strings.HasPrefix(w.Namespace, "_hidden."):
		return reject("namespace %q is reserved", w.Namespace)
	case len(w.Value) > MaxRecordBytes:
		return reject("value of %s/%s has %d bytes, the limit is %d: split it or keep less", w.Namespace, w.Key, len(w.Value), MaxRecordBytes)
	case len(w.Value) > 0 && !json.Valid(w.Value):
		return reject("value of %s/%s is not JSON", w.Namespace, w.Key)
	}
	return nil
}
