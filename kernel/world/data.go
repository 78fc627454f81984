package world

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools/dataop"
	"github.com/covel/covel/projections"
)

// Data is one plugin's view of its own records inside a run: committed values, below the writes of completed upstream
// runs of the same plugin, below the run's own buffer (seed: turn-pipeline.txt, "When the data a runtime reads was
// taken"). It implements sdk.PluginData. It belongs to one run and is not for concurrent use.
type Data struct {
	plugin    string
	committed projections.PluginData
	overlay   map[string]stagedValue // namespace NUL key
	puts      int
	writes    []sdk.Payload
	reads     *Reads
}

// stagedValue is a record as this execution would leave it: nil removes it. runIDs are the upstream runs it comes from:
// who wrote it, and on whose value their operations were applied. The run's own writes alone have none: nobody else can
// take them back.
type stagedValue struct {
	value  json.RawMessage
	runIDs []string
	order  int // of the write that made it
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
		ws, err := DataWrites(p, d.peek)
		if err != nil {
			continue
		}
		for _, w := range ws {
			d.put(w, runID, p.Type == sdk.PluginDataUpdate{}.ProposalType())
		}
	}
}

// put shows a write of a run, "" for the own one. onTop: it is operations on what was seen before.
func (d *Data) put(w sdk.PluginDataWrite, runID string, onTop bool) {
	k := w.Namespace + "\x00" + w.Key
	d.puts++
	next := stagedValue{value: w.Value, order: d.puts}
	if isNull(w.Value) {
		next.value = nil
	}
	if before := d.overlay[k]; before.value != nil {
		next.order = before.order
	}
	if onTop {
		next.runIDs = slices.Clone(d.overlay[k].runIDs)
	}
	if runID != "" {
		next.runIDs = append(next.runIDs, runID)
	}
	d.overlay[k] = next
}

func (d *Data) note(v stagedValue) {
	for _, id := range v.runIDs {
		d.reads.Note(id)
	}
}

// peek is Get without a trace: to apply operations to a value is not to read it, since the commit applies them again.
func (d *Data) peek(namespace, key string) json.RawMessage {
	if v, ok := d.overlay[namespace+"\x00"+key]; ok {
		return v.value
	}
	rec, _ := d.committed.Get(d.plugin, namespace, key)
	return json.RawMessage(rec.Value)
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

// List gives the records of a namespace in the order in which they were created (seed: extension-points.txt, "The read methods
// of ctx.pluginData"); what this execution adds comes last.
func (d *Data) List(namespace string) []sdk.Record {
	var out []sdk.Record
	for _, rec := range Created(d.committed.List(d.plugin, namespace)) {
		v, over := d.overlay[namespace+"\x00"+rec.Key]
		switch {
		case !over:
			out = append(out, Record(rec))
		case v.value != nil:
			out = append(out, sdk.Record{Key: rec.Key, Value: slices.Clone(v.value), CreatedAt: rec.CreatedAt})
		}
	}
	var added []string
	for k, v := range d.overlay {
		ns, key, _ := strings.Cut(k, "\x00")
		if ns != namespace {
			continue
		}
		d.note(v)
		if _, known := d.committed.Get(d.plugin, namespace, key); !known && v.value != nil {
			added = append(added, key)
		}
	}
	at := func(key string) stagedValue { return d.overlay[namespace+"\x00"+key] }
	slices.SortFunc(added, func(a, b string) int { return cmp.Compare(at(a).order, at(b).order) })
	for _, key := range added {
		out = append(out, sdk.Record{Key: key, Value: slices.Clone(at(key).value)})
	}
	return out
}

// Created sorts records by when they were created; those of one commit by key, as they come.
func Created(recs []projections.PluginRecord) []projections.PluginRecord {
	slices.SortStableFunc(recs, func(a, b projections.PluginRecord) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return recs
}

// Record is a committed record as plugin code reads it.
func Record(rec projections.PluginRecord) sdk.Record {
	return sdk.Record{Key: rec.Key, Value: slices.Clone(json.RawMessage(rec.Value)), CreatedAt: rec.CreatedAt, UpdatedAt: rec.UpdatedAt}
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
	d.put(w, "", false)
	d.writes = append(d.writes, w)
	return nil
}

// Update buffers operations on a record; later reads of the run see what they give now.
func (d *Data) Update(namespace, key string, ops ...sdk.DataOp) error {
	if err := checkKey(namespace, key); err != nil {
		return err
	}
	u := sdk.PluginDataUpdate{Namespace: namespace, Key: key, Ops: slices.Clone(ops)}
	w, err := updated(u, d.peek)
	if err != nil {
		var failed *dataop.Error
		if errors.As(err, &failed) {
			return failed.Tool()
		}
		return err
	}
	d.put(w, "", true)
	d.writes = append(d.writes, u)
	return nil
}

// Take gives the run's own writes since the last Take, in order. They stay visible.
func (d *Data) Take() []sdk.Payload {
	writes := d.writes
	d.writes = nil
	return writes
}
