package points

// The shapes of inputs and outputs. They say what the host relies on and refuse what it does not know, so that a mistyped
// field is an error and not silence.

const emptyInput = `{"type":"object","maxProperties":0}`

const segmentInput = `{"type":"object","additionalProperties":false,"required":["turnId","playerMessage"],
"properties":{"turnId":{"type":"string"},"playerMessage":{"type":"string"}}}`

const segmentOutput = `{"type":"array","maxItems":64,"items":{"type":"object","additionalProperties":false,
"required":["id","content","position","audience","volatility"],"properties":{
"id":{"type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"},
"content":{"type":"string","maxLength":200000},
"position":{"anyOf":[{"enum":["system","pre-history","post-history"]},
{"type":"object","additionalProperties":false,"required":["depth"],"properties":{"depth":{"type":"integer","minimum":0,"maximum":100000}}}]},
"role":{"enum":["system","user","assistant"]},
"audience":{"anyOf":[{"enum":["all","story","self"]},
{"type":"object","additionalProperties":false,"required":["contract"],"properties":{"contract":{"type":"string","minLength":1}}}]},
"volatility":{"enum":["stable","session","turn"]},
"order":{"type":"integer","minimum":-1000000,"maximum":1000000}}}}`

const historyMessage = `{"type":"object","additionalProperties":false,"required":["id","role","content"],"properties":{
"id":{"type":"string","minLength":1},"role":{"enum":["user","assistant"]},"content":{"type":"string"},
"turnId":{"type":"string"},"runtimeId":{"type":"string"},"pluginId":{"type":"string"},"source":{"type":"string"}}}`

const transformInput = `{"type":"object","additionalProperties":false,"required":["messages","turnId"],
"properties":{"turnId":{"type":"string"},"messages":{"type":"array","items":` + historyMessage + `}}}`

const transformOutput = `{"type":"object","additionalProperties":false,"required":["messages"],
"properties":{"messages":{"type":"array","maxItems":5000,"items":` + historyMessage + `}}}`

const slotInput = `{"type":"object","additionalProperties":false,"required":["slot","previous","events"],
"properties":{"slot":{"type":"string"},"key":{"type":"string"},"previous":{"type":["object","null"]},"events":{"type":"array","items":{
"type":"object","additionalProperties":false,"required":["topic","data","turnId"],
"properties":{"topic":{"type":"string"},"data":true,"turnId":{"type":"string"},"pluginId":{"type":"string"}}}}}}`

// slotOutput is what the values of all slots have in common; CheckSlot knows those of each.
const slotOutput = `{"type":["object","null"]}`

const imageFlowOutput = `{"type":"object","additionalProperties":false,"required":["entryRuntimeId","assetRuntimeIds"],
"properties":{"entryRuntimeId":{"type":"string","minLength":1},"assetRuntimeIds":{"type":"array","items":{"type":"string","minLength":1}}}}`

const worldContextOutput = `{"type":"object","additionalProperties":false,"properties":{
"schema":{"type":"object"},"entries":{"type":"object"},
"dimensions":{"type":"object","additionalProperties":{"type":"object","additionalProperties":false,
"required":["name","schema","value","version"],"properties":{"name":{"type":"string"},"description":{"type":"string"},
"schema":{"type":"object"},"value":true,"version":{"type":"integer","minimum":0}}}},
"dimensionRecovery":{"type":"object","additionalProperties":false,"required":["editorRuntimeId","trackerRuntimeId"],
"properties":{"editorRuntimeId":{"type":"string","minLength":1},"trackerRuntimeId":{"type":"string","minLength":1}}}}}`

const compactInput = `{"type":"object","additionalProperties":false,
"required":["messages","existingSummaries","locale","estimatedTokens","contextWindow","inputWindow","summaryBudget"],"properties":{
"messages":{"type":"array","items":` + historyMessage + `},
"existingSummaries":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["id","content"],
"properties":{"id":{"type":"string"},"content":{"type":"string"},"focusSections":{"type":"array","items":{"type":"string"}}}}},
"locale":{"type":"string"},"estimatedTokens":{"type":"integer","minimum":0},
"contextWindow":{"type":"integer","minimum":1},"inputWindow":{"type":"integer","minimum":1},
"summaryBudget":{"type":"object","additionalProperties":false,"required":["maxTokens","maxSegmentTokens","maxSegments"],"properties":{
"maxTokens":{"type":"integer","minimum":1},"maxSegmentTokens":{"type":"integer","minimum":1},"maxSegments":{"type":"integer","minimum":1}}}}}`

const compactOutput = `{"anyOf":[{"type":"null"},{"type":"object","additionalProperties":false,"required":["summaries"],"properties":{
"summaries":{"type":"array","minItems":1,"maxItems":64,"items":{"type":"object","additionalProperties":false,
"required":["messageIds","replacesSummaryIds","content","focusSections"],"properties":{
"messageIds":{"type":"array","items":{"type":"string","minLength":1}},
"replacesSummaryIds":{"type":"array","items":{"type":"string","minLength":1}},
"content":{"type":"string","minLength":1,"maxLength":200000},
"focusSections":{"type":"array","maxItems":32,"items":{"type":"string","maxLength":200}},
"truncated":{"type":"boolean"}}}},
"deferred":{"type":"object","additionalProperties":false,"required":["reason"],"properties":{"reason":{"type":"string","minLength":1}}}}}]}`
