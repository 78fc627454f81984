package runtime

import (
	"encoding/json"
	"sync/atomic"

	"github.com/pkg/errors"

	"github.com/covel/covel/plugins/sdk"
)

// errOver is what plugin code gets from what it was handed, once it has returned or its time is up (seed: tools.txt, "Once
// the guard returns or times out, all of these stop working").
var errOver = errors.New("the run is over: what was handed to this code no longer works")

// access is what one piece of plugin code may do to its run, as long as that code runs.
type access struct {
	run  *run
	over atomic.Bool
}

// do does something to the run, unless the code is over. Nothing else does anything to it meanwhile.
func (a *access) do(f func() error) error {
	a.run.mu.Lock()
	defer a.run.mu.Unlock()
	if a.over.Load() {
		return errOver
	}
	return f()
}

// end takes everything back. What is being done is waited for.
func (a *access) end() {
	a.run.mu.Lock()
	defer a.run.mu.Unlock()
	a.over.Store(true)
}

// ownRecords are the plugin's records as its code reads and writes them. access is nil for tools, whose results are
// discarded as a whole when they come late.
type ownRecords struct {
	run    *run
	access *access
}

func (d ownRecords) do(f func() error) error {
	if d.access != nil {
		return d.access.do(f)
	}
	d.run.mu.Lock()
	defer d.run.mu.Unlock()
	return f()
}

// Get implements sdk.PluginData.
func (d ownRecords) Get(namespace, key string) (value json.RawMessage) {
	_ = d.do(func() error { value = d.run.data.Get(namespace, key); return nil })
	return value
}

// List implements sdk.PluginData.
func (d ownRecords) List(namespace string) (records []sdk.Record) {
	_ = d.do(func() error { records = d.run.data.List(namespace); return nil })
	return records
}

// Set implements sdk.PluginData.
func (d ownRecords) Set(namespace, key string, value any) error {
	return d.do(func() error { return d.run.data.Set(namespace, key, value) })
}

// Update implements sdk.PluginData.
func (d ownRecords) Update(namespace, key string, ops ...sdk.DataOp) error {
	return d.do(func() error { return d.run.data.Update(namespace, key, ops...) })
}
