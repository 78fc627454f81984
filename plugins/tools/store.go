package tools

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/plugins/sdk"
)

// callData is the plugin data of one tool call: it reads through to the run's view, keeps the call's own writes to itself
// until the call has succeeded, and answers nothing once the call is over (seed: tools.txt, "Reading data at run time").
type callData struct {
	mu     sync.Mutex
	base   sdk.PluginData
	writes []sdk.PluginDataWrite
	over   bool
}

// Get gives the value of the call's last write, else the run's.
func (d *callData) Get(namespace, key string) json.RawMessage {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return nil
	}
	for _, w := range slices.Backward(d.writes) {
		if w.Namespace == namespace && w.Key == key {
			return slices.Clone(w.Value)
		}
	}
	if d.base == nil {
		return nil
	}
	return slices.Clone(d.base.Get(namespace, key))
}

// List gives the records of a namespace in key order, the call's own writes included.
func (d *callData) List(namespace string) []sdk.Record {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return nil
	}
	var out []sdk.Record
	if d.base != nil {
		for _, r := range d.base.List(namespace) {
			out = append(out, sdk.Record{Key: r.Key, Value: slices.Clone(r.Value)})
		}
	}
	for _, w := range d.writes {
		if w.Namespace != namespace {
			continue
		}
		out = slices.DeleteFunc(out, func(r sdk.Record) bool { return r.Key == w.Key })
		if w.Value != nil {
			out = append(out, sdk.Record{Key: w.Key, Value: slices.Clone(w.Value)})
		}
	}
	slices.SortFunc(out, func(a, b sdk.Record) int { return cmp.Compare(a.Key, b.Key) })
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
	if len(raw) > MaxDataBytes {
		return sdk.Fail(sdk.InvalidInput, "The value of %s/%s has %d bytes of JSON; at most %d fit into one record.", namespace, key, len(raw), MaxDataBytes)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return sdk.Fail(sdk.Cancelled, "The call is over; its writes are discarded.")
	}
	d.writes = append(d.writes, sdk.PluginDataWrite{Namespace: namespace, Key: key, Value: raw})
	return nil
}

// end closes the store and gives the writes as proposals, in order.
func (d *callData) end() ([]sdk.Proposal, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	var out []sdk.Proposal
	for _, w := range d.writes {
		var payload sdk.Payload = w
		if w.Value == nil {
			payload = sdk.PluginDataDelete{Namespace: w.Namespace, Key: w.Key}
		}
		p, err := sdk.Propose(payload)
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
