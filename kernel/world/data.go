package world

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools"
	"github.com/covel/covel/projections"
)

// Data is one plugin's view of its own records inside a run: committed values, below the writes of completed upstream
// runs of the same plugin, below the run's own buffer (seed: turn-pipeline.txt, "When the data a runtime reads was
// taken"). It implements sdk.PluginData. It belongs to one run and is not for concurrent use.
type Data struct {
	plugin    string
	committed projections.PluginData
	overlay   map[string]stagedValue // namespace NUL key
	writes    []sdk.PluginDataWrite
	reads     *Reads
}

// stagedValue is a record as this execution would leave it: nil removes it. runID is the upstream run that wrote it, "" for
// the run's own writes, which nobody else can take back.
type stagedValue struct {
	value json.RawMessage
	runID string
}

// NewData makes the view. upstream are the staged writes of completed upstream runs in commit order; those of other plugins
// are not shown. reads, which may be nil, is told whose writes are read.
func NewData(plugin string, committed projections.PluginData, upstream []Write, reads *Reads) *Data {
	d := &Data{plugin: plugin, committed: committed, overlay: map[string]stagedValue{}, reads: reads}
	for _, w := range upstream {
		if w.PluginID == plugin {
			d.show(w.Proposals, w.RunID)
		}
	}
	return d
}

// Overlay shows the run's own plugin-data proposals on top of what is seen so far.
func (d *Data) Overlay(proposals []sdk.Proposal) { d.show(proposals, "") }

// show puts proposals on top of the view. What the commit would refuse does not enter it.
func (d *Data) show(proposals []sdk.Proposal, runID string) {
	for _, p := range proposals {
		ws, err := DataWrites(p)
		if err != nil {
			continue
		}
		for _, w := range ws {
			d.put(w, runID)
		}
	}
}

func (d *Data) put(w sdk.PluginDataWrite, runID string) {
	v := w.Value
	if isNull(v) {
		v = nil
	}
	d.overlay[w.Namespace+"\x00"+w.Key] = stagedValue{v, runID}
}

func (d *Data) note(v stagedValue) {
	if v.runID != "" {
		d.reads.Note(v.runID)
	}
}

// Get gives the value a run sees, nil when there is none. A record that an upstream run removed was read as well.
func (d *Data) Get(namespace, key string) json.RawMessage {
	if v, ok := d.overlay[namespace+"\x00"+key]; ok {
		d.note(v)
		return slices.Clone(v.value)
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
		ns, key, _ := strings.Cut(k, "\x00")
		if ns != namespace {
			continue
		}
		d.note(v)
		if v.value != nil {
			out = append(out, sdk.Record{Key: key, Value: slices.Clone(v.value)})
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
	d.put(w, "")
	d.writes = append(d.writes, w)
	return nil
}

// Take gives the run's own writes since the last Take, in order. They stay visible.
func (d *Data) Take() []sdk.PluginDataWrite {
	writes := d.writes
	d.writes = nil
	return writes
}

// DataWrites gives the record writes of a plugin.data proposal of any kind; none for other proposals. A write that breaks a
// rule fails the whole proposal.
func DataWrites(p sdk.Proposal) ([]sdk.PluginDataWrite, error) {
	var writes []sdk.PluginDataWrite
	var read any
	var one sdk.PluginDataWrite
	var batch sdk.PluginDataBatch
	var del sdk.PluginDataDelete
	switch p.Type {
	case one.ProposalType():
		read = &one
	case batch.ProposalType():
		read = &batch
	case del.ProposalType():
		read = &del
	default:
		return nil, nil
	}
	if _, err := ReadPayload(p.Payload, read); err != nil {
		return nil, err
	}
	switch p.Type {
	case one.ProposalType():
		writes = []sdk.PluginDataWrite{one}
	case batch.ProposalType():
		writes = batch.Items
		if len(writes) == 0 {
			return nil, reject("items must not be empty")
		}
	case del.ProposalType():
		return []sdk.PluginDataWrite{{Namespace: del.Namespace, Key: del.Key}}, checkKey(del.Namespace, del.Key)
	}
	for _, w := range writes {
		if err := CheckDataWrite(w); err != nil {
			return nil, err
		}
	}
	return writes, nil
}

// CheckDataWrite holds a write against the rules for every writer (reference: plugins.md §13.2). The value null removes the
// record; to leave it out is a mistake.
func CheckDataWrite(w sdk.PluginDataWrite) error {
	if err := checkKey(w.Namespace, w.Key); err != nil {
		return err
	}
	switch {
	case len(w.Value) == 0:
		return reject("value of %s/%s is missing; null removes a record", w.Namespace, w.Key)
	case len(w.Value) > tools.MaxDataBytes:
		return reject("value of %s/%s has %d bytes, the limit is %d: split it or keep less", w.Namespace, w.Key, len(w.Value), tools.MaxDataBytes)
	case !json.Valid(w.Value):
		return reject("value of %s/%s is not JSON", w.Namespace, w.Key)
	}
	return checkNumbers("value of "+w.Namespace+"/"+w.Key, w.Value)
}

func checkKey(namespace, key string) error {
	if err := tools.CheckDataKey(namespace, key); err != nil {
		var known *sdk.ToolError
		if errors.As(err, &known) {
			return reject("%s", known.Message)
		}
		return err
	}
	if strings.ContainsRune(namespace, 0) || strings.ContainsRune(key, 0) {
		return reject("plugin data namespace and key must not contain U+0000")
	}
	return nil
}
