package projections_test

import (
	"fmt"
	"testing"

	"github.com/covel/covel/events"
	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// longLog is a session of about 10,000 events: turns as the bundled plugins write them.
func longLog(b *testing.B) []events.Recorded {
	log := begin(b)
	for turn := 0; len(log.log) < 10_000; turn++ {
		e := fmt.Sprint("exec-", turn)
		log.in(e, say(e, "r-"+e, "我点亮灯，问龙胆潮水什么时候回来。"), started(e),
			told(e, "灯亮了。龙胆没有回头，只是把缆绳又绕了一圈。\n\n“天亮以前。”他说。"),
			&eventsv1.UIRendered{MessageId: "m-" + e + "-guide", RuntimeId: "guide", PluginId: "guide", Render: []byte(`{"parts":[{"id":"a","type":"spec","status":"success","content":{"x":["问他","等","走"]}}]}`)},
			&eventsv1.PluginDataChanged{PluginId: "guide", Changes: []*eventsv1.PluginDataChange{{Namespace: "message", Key: "current", Value: []byte(`{"scene":"码头","suggestions":[{"type":"ask","text":"问他潮水"}]}`), Revision: uint64(turn + 1)}}},
			&eventsv1.CharacterUpserted{Record: &eventsv1.Character{Id: fmt.Sprint("npc-", turn%40), Name: "龙胆", Type: "npc", Fields: []byte(`{"hp":60,"mood":"沉默"}`), Version: uint32(turn + 1)}},
			&eventsv1.PlayerTurnCounted{LogicalTurnId: e, CompletedPlayerTurns: uint32(turn + 1)},
			&eventsv1.TriggerLedgerUpdated{Entries: []*eventsv1.TriggerLedgerEntry{{RuntimeId: "narrator", Runs: uint32(turn + 1)}, {RuntimeId: "guide", Runs: uint32(turn + 1)}}},
			committed(e))
	}
	return log.log
}

// BenchmarkFold is the fold of 10,000 events; BenchmarkDecode is the part of it that no fold can do without.
func BenchmarkFold(b *testing.B) {
	log := longLog(b)
	b.ReportAllocs()
	for b.Loop() {
		fold(b, projections.State{}, log)
	}
	b.ReportMetric(float64(len(log)), "events/op")
}

func BenchmarkDecode(b *testing.B) {
	log := longLog(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, r := range log {
			if _, err := events.Decode(r.Event); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(len(log)), "events/op")
}

func BenchmarkSnapshot(b *testing.B) {
	s := fold(b, projections.State{}, longLog(b))
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			encode(b, s)
		}
	})
	body := encode(b, s)
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			if _, err := projections.DecodeState(body); err != nil {
				b.Fatal(err)
			}
		}
	})
}
