package projections

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/events"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Assets are the files a session has made, by id. A session may refer to these and to no others.
type Assets []Asset

// Asset is one file.
type Asset struct {
	ID        string    `json:"id"` // lower-case hex SHA-256
	Mime      string    `json:"mime"`
	Size      int64     `json:"size"`
	Modality  string    `json:"modality"`
	Meta      RawJSON   `json:"meta,omitempty"`
	RuntimeID string    `json:"runtimeId"`
	PluginID  string    `json:"pluginId"`
	CreatedAt time.Time `json:"createdAt"`
}

// Find gives a file by id.
func (a Assets) Find(id string) (Asset, bool) {
	i, ok := slices.BinarySearchFunc(a, id, func(x Asset, id string) int { return strings.Compare(x.ID, id) })
	if !ok {
		return Asset{}, false
	}
	return a[i], true
}

func (a Assets) apply(r events.Recorded, msg proto.Message) Assets {
	m, ok := msg.(*eventsv1.AssetGenerated)
	if !ok {
		return a
	}
	x := Asset{
		ID: m.Ref.GetId(), Mime: m.Ref.GetMime(), Size: m.Ref.GetSize(), Modality: m.Modality, Meta: RawJSON(m.Meta),
		RuntimeID: m.RuntimeId, PluginID: m.PluginId, CreatedAt: r.RecordedAt,
	}
	return putBy(a, x, func(y Asset) string { return y.ID })
}
