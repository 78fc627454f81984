package commit

import (
	"github.com/covel/covel/kernel/text"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// compacted writes the summaries of the turn and how far they reach, in one event (seed: turn-pipeline.txt §6.3, "The framework
// saves the summary and the compaction marker atomically"). The messages themselves stay in the log.
func (p *planner) compacted() []Fact {
	c := p.in.Compaction
	if c == nil {
		return nil
	}
	ev := &eventsv1.HistoryCompacted{PluginId: c.PluginID, ThroughMessageId: c.Through, MessageCount: uint32(c.Messages)}
	known := map[string]bool{}
	for _, s := range p.in.State.History.Summaries {
		known[s.ID] = s.Truncated
	}
	for _, s := range c.Summaries {
		out := &eventsv1.HistorySummary{Id: s.ID, Content: text.Clean(s.Content), Truncated: c.Truncated[s.ID] || known[s.ID]}
		for _, f := range s.FocusSections {
			out.FocusSections = append(out.FocusSections, text.Clean(f))
		}
		ev.Summaries = append(ev.Summaries, out)
	}
	return []Fact{{Message: ev, PluginID: c.PluginID}}
}
