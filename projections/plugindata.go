package projections

import (
	"strings"
	"time"

	"github.com/benbjohnson/immutable"
	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// PluginData is the key-value data of all plugins of a session.
type PluginData struct {
	records *immutable.SortedMap[string, PluginRecord] // by plugin, namespace and key, parted by NUL
}

// PluginRecord is one value. Revision counts its writes.
type PluginRecord struct {
	PluginID  string    `json:"pluginId"`
	Namespace string    `json:"namespace"`
	Key       string    `json:"key"`
	Value     RawJSON   `json:"value"`
	Revision  uint64    `json:"revision"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

func dataKey(plugin, namespace, key string) string { return plugin + "\x00" + namespace + "\x00" + key }

// Get gives one record.
func (d PluginData) Get(plugin, namespace, key string) (PluginRecord, bool) {
	if d.records == nil {
		return PluginRecord{}, false
	}
	return d.records.Get(dataKey(plugin, namespace, key))
}

// List gives the records of a namespace by key; namespace "" gives all of a plugin, plugin "" gives everything.
func (d PluginData) List(plugin, namespace string) []PluginRecord {
	if d.records == nil {
		return nil
	}
	prefix := ""
	if plugin != "" {
		prefix = plugin + "\x00"
		if namespace != "" {
			prefix += namespace + "\x00"
		}
	}
	var out []PluginRecord
	it := d.records.Iterator()
	it.Seek(prefix)
	for !it.Done() {
		k, rec, ok := it.Next()
		if !ok || !strings.HasPrefix(k, prefix) {
			break
		}
		out = append(out, rec)
	}
	return out
}

func (d PluginData) apply(r events.Recorded, msg proto.Message) PluginData {
	m, ok := msg.(*eventsv1.PluginDataChanged)
	if !ok {
		return d
	}
	recs := d.records
	if recs == nil {
		recs = immutable.NewSortedMap[string, PluginRecord](nil)
	}
	for _, c := range m.Changes {
		k := dataKey(m.PluginId, c.Namespace, c.Key)
		if c.Removed {
			recs = recs.Delete(k)
			continue
		}
		rec := PluginRecord{m.PluginId, c.Namespace, c.Key, RawJSON(c.Value), c.Revision, r.RecordedAt, r.RecordedAt}
		if old, ok := recs.Get(k); ok {
			rec.CreatedAt = old.CreatedAt
		}
		recs = recs.Set(k, rec)
	}
	return PluginData{recs}
}
