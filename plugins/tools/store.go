package tools

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/plugins/tools/dataop"
)

// callData is the plugin data of one tool call: it reads through to the run's view, keeps the call's own writes to itself
// until the call has succeeded, and answers nothing once the call is over (seed: tools.txt, "Reading data at run time").
type callData struct {
	mu     sync.Mutex
	base   sdk.PluginData
	writes []dataWrite
	over   bool
}

// dataWrite is a write of the call as it is proposed, and the value it leaves behind; nil removes the record.
type dataWrite struct {
	namespace, key string
	value          json.RawMessage
	payload        sdk.Payload
}

// Get gives the value of the call's last write, else the run's.
func (d *callData) Get(namespace, key string) json.RawMessage {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return nil
	}
	return d.get(namespace, key)
}

func (d *callData) get(namespace, key string) json.RawMessage {
	for _, w := range slices.Backward(d.writes) {
		if w.namespace == namespace && w.key == key {
			return slices.Clone(w.value)
		}
	}
	if d.base == nil {
		return nil
	}
	return slices.Clone(d.base.Get(namespace, key))
}

// List gives the records of a namespace, the call's own writes included. The order is the run's; new records come last.
func (d *callData) List(namespace string) []sdk.Record {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return nil
	}
	var out []sdk.Record
	if d.base != nil {
		out = d.base.List(namespace)
	}
	for _, w := range d.writes {
		if w.namespace != namespace {
			continue
		}
		i := slices.IndexFunc(out, func(r sdk.Record) bool { return r.Key == w.key })
		switch {
		case w.value == nil && i >= 0:
			out = slices.Delete(out, i, i+1)
		case w.value == nil:
		case i >= 0:
			out[i].Value, out[i].UpdatedAt = slices.Clone(w.value), time.Time{}
		default:
			out = append(out, sdk.Record{Key: w.key, Value: slices.Clone(w.value)})
		}
	}
	return out
}

// Set keeps a write for the end of the call.
func (d *callData) Set(namespace, key string, value any) error {
	if err := CheckDataKey(namespace, key); err != nil {
		return err
	}
	var raw json.RawMessage
	if value != nil {
		b, err := plainjson.Marshal(value)
		if err != nil {
			return sdk.Fail(sdk.InvalidInput, "The value of %s/%s cannot be written as JSON: %s.", namespace, key, err)
		}
		if string(b) != "null" {
			raw = b
		}
	}
	var payload sdk.Payload = sdk.PluginDataWrite{Namespace: namespace, Key: key, Value: raw}
	if raw == nil {
		payload = sdk.PluginDataDelete{Namespace: namespace, Key: key}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.keep(dataWrite{namespace, key, raw, payload})
}

// Update keeps operations for the end of the call; later reads of the call see what they give now.
func (d *callData) Update(namespace, key string, ops ...sdk.DataOp) error {
	if err := CheckDataKey(namespace, key); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	value, err := dataop.Apply(d.get(namespace, key), ops)
	if err != nil {
		var failed *dataop.Error
		if errors.As(err, &failed) {
			return failed.Tool()
		}
		return err
	}
	return d.keep(dataWrite{namespace, key, value, sdk.PluginDataUpdate{Namespace: namespace, Key: key, Ops: slices.Clone(ops)}})
}

func (d *callData) keep(w dataWrite) error {
	switch {
	case d.over:
		return sdk.Fail(sdk.Cancelled, "The call is over; its writes are discarded.")
	case len(w.value) > MaxDataBytes:
		return sdk.Fail(sdk.InvalidInput, "The value of %s/%s has %d bytes of JSON; at most %d fit into one record.", w.namespace, w.key, len(w.value), MaxDataBytes)
	}
	d.writes = append(d.writes, w)
	return nil
}

// end closes the store and gives the writes as proposals, in order.
func (d *callData) end() ([]sdk.Proposal, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	var out []sdk.Proposal
	for _, w := range d.writes {
		p, err := sdk.Propose(w.payload)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// MaxDataBytes is the largest plugin-data value, as JSON (reference: plugins.md §28).
const MaxDataBytes = 262_144

// HiddenPrefix begins the namespaces a plugin keeps to its own code; every other "_" namespace is the kernel's.
const HiddenPrefix = "_hidden."

// CheckDataKey refuses namespaces and keys a plugin may not write.
func CheckDataKey(namespace, key string) error {
	switch {
	case strings.TrimSpace(namespace) == "" || strings.TrimSpace(key) == "":
		return sdk.Fail(sdk.InvalidInput, "A record needs a namespace and a key that are not empty.")
	case strings.HasPrefix(namespace, "_") && (!strings.HasPrefix(namespace, HiddenPrefix) || len(namespace) == len(HiddenPrefix)):
		return sdk.Fail(sdk.InvalidInput, "The namespace %q is reserved: a plugin writes its own namespaces and %s<namespace>.", namespace, HiddenPrefix)
	}
	return nil
}
