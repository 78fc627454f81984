// Package manifest reads PLUGIN.md and RUNTIME.md: strict, with errors that name file, line, field and the fix. Nothing
// here runs plugin code.
//
// A package is a folder:
//
//	PLUGIN.md                    front matter: the root manifest; body: the prompt of an inline runtime
//	PLUGIN.zh.md                 Chinese body; its front matter may hold contributes.prompt[] {id, content} and nothing else
//	runtimes/<rid>/RUNTIME.md    one runtime; its id is <plugin>/<rid>. Not together with an inline runtime
//	runtimes/<rid>/RUNTIME.zh.md Chinese body
//	locales/<locale>.yaml        translations of labels, for example locales/zh-CN.yaml
//	schemas/*.json, ui/*.json    files the manifests name
//
// The root manifest:
//
//	id: guide                    # default: the folder's name
//	kind: core                   # core | plugin (default)
//	version: 1.0.0
//	displayName: Guide
//	description: Suggests what to do next.      # required
//	tags: [story]
//	provides: [scene-prompts@1, {contract: other@1, default: true}]
//	requires: [narrative-engine@1]
//	optional: []
//	conflicts: []
//	contracts:
//	  scene-prompts@1: {schema: schemas/scene-prompts.json}
//	contributes:
//	  tools: [generate-guide]
//	  forms: [player-name]
//	  actionKinds:               # what players may submit beside say, act and command, as <plugin>/bid
//	    - {name: bid, description: Offers gold., roles: [player, host], text: required, fields: schemas/bid.json}   # text: required (default) | optional | none
//	  events:
//	    - {topic: scene.set, description: The scene changes., schema: schemas/scene-set.json, advertise: true}
//	  data:
//	    message: {version: 1, schema: schemas/message.json, description: Last suggestions.}
//	  ui: {message: [ui/message.json], right: [], left: []}
//	  prompt:
//	    - {id: rules, content: Fixed text., position: system, role: system}
//	runtime: {…}                 # an inline runtime, the same keys as RUNTIME.md below
//
// A runtime (RUNTIME.md, or under runtime):
//
//	type: agent                  # inferred: function when there is a function block, else agent
//	description: Writes suggestions.
//	schedule:
//	  stage: post-turn           # setup | pre-turn | narrative | post-turn | audit; for trigger auto only
//	  trigger: auto              # auto (default) | manual | event; or {type: event, topic: scene.set}
//	  every: 1                   # auto: logical turns it divides
//	  startTurn: 1
//	  maxTriggerCount: 3
//	  cooldownTurns: 2
//	  needs: [pregame, {contract: world-data@1, cardinality: one, scope: turn}]   # plain text: a runtime of this package
//	  after: [{contract: session.opening@1}]
//	  subagentOnly: false
//	io:
//	  inputs:
//	    narrative: {from: {contract: narrative-engine@2}, select: /narrativeOutput, required: true}
//	  output: {contract: scene-prompts@1, schema: schemas/out.json, recordAs: guide}
//	  visibility: plugin         # story | plugin (default) | system
//	  concealed: false
//	  selfData: [{namespace: message, as: last-suggestions, format: full, maxEntries: 5}]
//	agent:
//	  model: story
//	  llm: {reasoningEffort: disabled, toolChoice: required}      # toolChoice may be {name: generate-guide}
//	  history: {maxTurns: 4}
//	  tools: {builtin: [get-character], plugin: [generate-guide]}
//	  advertiseEvents: false
//	  loop: {profile: system, maxSteps: 6, timeoutMs: 120000, maxRetries: 1}
//	  completion: {require: tool-use, afterTools: [generate-guide]}   # or in short: finishWith: generate-guide
//	function: {handler: run, timeoutMs: 5000, tools: {builtin: [], plugin: []}}   # handler: the name the entry registers
//	guard: create-player         # the name the entry registers
//	effects: {reads: [], writes: [plugin-data:self:message]}
//	permissions: {http: [{origin: https://example.org, methods: [GET]}]}
//
// A locale file:
//
//	plugin: {displayName: 向导, description: 建议接下来可以做什么。}
//	runtimes:
//	  extract: {description: 整理要点。}         # by <rid>; an inline runtime is translated under plugin.runtime
//	messages:
//	  "The name {name} is taken.": "“{name}”这个名字已有人使用。"
package manifest
