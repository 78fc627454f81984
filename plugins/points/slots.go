package points

import (
	"slices"

	"github.com/pkg/errors"
)

// Slots are the places of the interface that ui.slot@1 fills (seed: extension-points.txt, "Where the other extension points
// are described"). Who speaks a passage is told by the story's segments and needs no slot.
var Slots = []string{"stage.backdrop@1", "stage.cast@1", "stage.choices@1", "stage.music@1", "character.visual@1", SummarySlot}

// SummarySlot is the slot to which each provider adds its own entries.
const SummarySlot = "session.summary@1"

// CheckSlot holds a value against the shape of its slot; nil when it fits. null empties any slot.
func CheckSlot(slot string, raw []byte) error {
	if !slices.Contains(Slots, slot) {
		return errors.Errorf("there is no slot %q", slot)
	}
	return check(slotValues[slot], raw)
}

// The shapes of the slots' values (reference: worlds-and-story.md §22.3 and §8.3).
const (
	slotText  = `{"type":"string","maxLength":4000}`
	slotLabel = `{"type":"string","maxLength":400}`
	slotID    = `{"type":"string","minLength":1,"maxLength":200}`

	slotMedia = `{"type":"object","additionalProperties":false,"required":["id","mime","size"],"properties":{
"id":{"type":"string","pattern":"^[0-9a-f]{64}$"},"mime":{"type":"string","minLength":1,"maxLength":200},"size":{"type":"integer","minimum":0}}}`

	slotTone = `{"enum":["info","success","warning","danger"]}`

	slotFigure = `{"type":"object","additionalProperties":false,"required":["characterId"],"properties":{
"schemaVersion":{"const":1},"characterId":` + slotID + `,"displayName":` + slotLabel + `,"style":true,"metadata":{"type":"object"},
"avatar":` + slotMedia + `,"sprite":` + slotMedia + `,"voice":` + slotMedia + `,"media":` + slotMedia + `,
"visuals":{"type":"object","additionalProperties":false,"properties":{"defaultVariant":` + slotID + `,
"variants":{"type":"array","maxItems":64,"items":{"type":"object","additionalProperties":false,"required":["id","sprite"],"properties":{
"id":` + slotID + `,"sprite":` + slotMedia + `,"outfit":` + slotLabel + `,"expression":` + slotLabel + `,"pose":` + slotLabel + `,
"stage":{"type":"object","additionalProperties":false,"properties":{"scale":{"type":"number","minimum":0.5,"maximum":2},
"offsetX":{"type":"number","minimum":-100,"maximum":100},"offsetY":{"type":"number","minimum":-100,"maximum":100}}}}}}}}}}`
)

var slotValues = map[string]string{
	"stage.backdrop@1": slotOf(``, `"sceneId":`+slotID+`,"name":`+slotLabel+`,"ref":`+slotMedia+`,"variant":{"enum":["day","night"]},
"label":`+slotLabel+`,"preload":{"type":"array","maxItems":64,"items":`+slotMedia+`}`),

	"stage.cast@1": slotOf(`"actors"`, `"retainWhenEmpty":{"type":"boolean"},"actors":{"type":"array","maxItems":64,
"items":{"type":"object","additionalProperties":false,"required":["characterId","displayName"],"properties":{
"characterId":`+slotID+`,"displayName":`+slotLabel+`,"type":`+slotLabel+`,"description":`+slotText+`,
"active":{"type":"boolean"},"exiting":{"type":"boolean"},
"visual":{"type":"object","additionalProperties":false,"properties":{
"variantId":`+slotID+`,"outfit":`+slotLabel+`,"expression":`+slotLabel+`,"pose":`+slotLabel+`}},
"position":{"enum":["left","center-left","center","center-right","right"]},
"transition":{"enum":["none","fade","slide-left","slide-right","dissolve"]}}}}`),

	"stage.choices@1": slotOf(`"choices"`, `"turnId":`+slotID+`,"scene":`+slotText+`,"recap":`+slotText+`,"decision":`+slotText+`,
"choices":{"type":"array","maxItems":64,"items":{"type":"object","additionalProperties":false,"required":["id","text"],
"properties":{"id":`+slotID+`,"text":`+slotText+`,"label":`+slotLabel+`}}}`),

	"stage.music@1": slotOf(``, `"trackId":`+slotID+`,"title":`+slotLabel+`,"ref":`+slotMedia+`,"loop":{"type":"boolean"},
"volume":{"type":"number","minimum":0,"maximum":1},"fadeMs":{"type":"integer","minimum":0,"maximum":600000}`),

	"character.visual@1": `{"type":["object","null"],"if":{"type":"object","required":["characters"]},
"then":{"additionalProperties":false,"properties":{"characters":{"type":"array","maxItems":1024,"items":` + slotFigure + `}}},
"else":{"if":{"type":"object"},"then":` + slotFigure + `}}`,

	SummarySlot: slotOf(`"entries"`, `"entries":{"type":"array","maxItems":16,"items":{"type":"object","required":["kind","id","label"],
"properties":{"kind":{"enum":["text","meter","list"]},"id":`+slotID+`,"label":`+slotLabel+`,"tone":`+slotTone+`},
"allOf":[`+
		summaryKind("text", `"value"`, `"value":{"type":["string","number"],"maxLength":400}`)+`,`+
		summaryKind("meter", `"value","max"`, `"value":{"type":"number"},"max":{"type":"number"},"min":{"type":"number"}`)+`,`+
		summaryKind("list", `"items"`, `"items":{"type":"array","maxItems":64,"items":`+slotLabel+`},"total":{"type":"integer","minimum":0}`)+`]}}`),
}

func slotOf(required, properties string) string {
	return `{"type":["object","null"],"additionalProperties":false,"required":[` + required + `],"properties":{` + properties + `}}`
}

func summaryKind(kind, required, properties string) string {
	return `{"if":{"properties":{"kind":{"const":"` + kind + `"}},"required":["kind"]},"then":{"additionalProperties":false,"required":[` + required + `],
"properties":{"kind":true,"id":true,"label":true,"tone":true,` + properties + `}}}`
}
