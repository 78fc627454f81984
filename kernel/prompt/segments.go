package prompt

import (
	"cmp"
	"slices"
	"strings"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/sdk"
)

// Segment is a passage a provider of prompt.segment@1 adds. The host says who the provider is.
type Segment struct {
	sdk.Segment
	ProviderPluginID string
}

// Places of a segment, and how often the content of one changes.
const (
	systemPlace = "system"
	preHistory  = "pre-history"
	postHistory = "post-history"

	perTurn = "turn"
)

// volatilities are in the order of the prompt: what changes least comes first.
var volatilities = []string{"stable", "session", perTurn}

// placed is a segment that this runtime gets, ready to be put in its place; place "" is a depth.
type placed struct {
	place, provider, id, content, volatility string
	depth, order                             int
	role                                     model.Role
}

// placed gives the segments this runtime may see, in their order: by volatility where it has a meaning, then order, then
// provider and id (seed: extension-points.txt, "volatility" and "order"). The package's own fixed segments are stable ones of
// the host's making.
func (in In) placed() []placed {
	var out []placed
	for _, s := range in.Static {
		out = append(out, placed{
			place: staticPlace(s), provider: in.Runtime.PluginID, id: s.ID, content: s.Content.In(in.instructionLocale()), volatility: volatilities[0],
			depth: s.Depth, role: model.Role(cmp.Or(s.Role, string(model.System))),
		})
	}
	for _, s := range in.Segments {
		if in.hears(s) {
			out = append(out, placed{
				place: s.Position.Place, provider: s.ProviderPluginID, id: s.ID, content: s.Content, volatility: s.Volatility,
				depth: s.Position.Depth, order: s.Order, role: model.Role(cmp.Or(s.Role, string(model.System))),
			})
		}
	}
	out = slices.DeleteFunc(out, func(s placed) bool { return strings.TrimSpace(s.content) == "" })
	rank := func(s placed) int {
		if s.place == systemPlace || s.place == preHistory && s.role == model.System {
			return slices.Index(volatilities, s.volatility)
		}
		return 0
	}
	slices.SortStableFunc(out, func(a, b placed) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.order, b.order), cmp.Compare(a.provider, b.provider), cmp.Compare(a.id, b.id))
	})
	return out
}

func staticPlace(s manifest.PromptSegment) string {
	switch s.Position {
	case "":
		return systemPlace
	case "depth":
		return ""
	}
	return s.Position
}

// hears says whether a segment is meant for this runtime: all, the story's, the provider's own, or those whose output has
// the named contract.
func (in In) hears(s Segment) bool {
	switch s.Audience.Group {
	case "all":
		return true
	case "story":
		return in.isStoryteller()
	case "self":
		return s.ProviderPluginID == in.Runtime.PluginID
	}
	return s.Audience.Contract != "" && s.Audience.Contract == in.Runtime.IO.OutputContract
}

// insertByDepth puts lore and segments with a depth into the conversation, counted in its messages from the end: 0 is the
// end, more than there are is the front. It gives where the player's line stands then.
func (in In) insertByDepth(talk []model.Message, line int, segments []placed) ([]model.Message, int) {
	type insert struct {
		at      int
		message model.Message
	}
	var inserts []insert
	add := func(depth int, role model.Role, content string) {
		if strings.TrimSpace(content) != "" {
			inserts = append(inserts, insert{max(len(talk)-max(depth, 0), 0), model.Message{Role: role, Content: content}})
		}
	}
	if in.isStoryteller() {
		for _, l := range in.LoreAt {
			add(l.Depth, model.System, loreBlock("lore", []sdk.LorebookEntry{l.Entry}))
		}
	}
	for _, s := range segments {
		if s.place == "" {
			add(s.depth, s.role, s.content)
		}
	}
	if len(inserts) == 0 {
		return talk, line
	}
	var out []model.Message
	at := line
	for i := 0; i <= len(talk); i++ {
		for _, x := range inserts {
			if x.at == i {
				out = append(out, x.message)
				if i <= line {
					at++
				}
			}
		}
		if i < len(talk) {
			out = append(out, talk[i])
		}
	}
	return out, at
}

// eventsBlock is the directory of events an agent may emit, for those that ask for it (agent.advertiseEvents).
func (in In) eventsBlock() string {
	if !in.Runtime.Agent.AdvertiseEvents {
		return ""
	}
	lines := make([]string, len(in.Topics))
	for i, t := range in.Topics {
		lines[i] = "- " + Escape(oneLine(t.Topic+": "+t.Description))
	}
	return block("available-events", strings.Join(lines, "\n"))
}
