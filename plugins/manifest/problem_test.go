package manifest

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// problemsOf loads a package and gives its problems as text.
func problemsOf(t *testing.T, list map[string]string, folder string) []string {
	t.Helper()
	_, err := Load(files(list), folder)
	if err == nil {
		return nil
	}
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatalf("an error of type %T: %v", err, err)
	}
	var out []string
	for _, p := range problems {
		if p.File == "" || p.Message == "" {
			t.Errorf("a problem without a place or a word: %+v", p)
		}
		out = append(out, p.String())
	}
	return out
}

// root is a PLUGIN.md with these lines after the description (line 3 on).
func root(lines string) map[string]string {
	return map[string]string{"PLUGIN.md": "---\ndescription: Test.\n" + lines + "\n---\nBody.\n", "a.json": anySchema, "bad.json": `{"type":`, "list.json": "[]"}
}

// sub is a package with one runtime; its lines start at line 2 of RUNTIME.md.
func sub(lines string) map[string]string {
	out := root("provides: [own@1]\nrequires: [story@1]\ncontributes: {tools: [look]}")
	out["runtimes/r/RUNTIME.md"] = "---\n" + lines + "\n---\nPrompt.\n"
	out["runtimes/other/RUNTIME.md"] = "---\nschedule: {stage: audit}\n---\nPrompt.\n"
	return out
}

// reference: plugins.md §1–3 and §6.2: each root field with what is refused about it.
func TestRootProblems(t *testing.T) {
	for name, c := range map[string]struct {
		lines string
		want  []string
	}{
		"unknown key":                {"colour: red", []string{`PLUGIN.md:3: colour: is not a known key. Known keys here: author, conflicts, contracts, contributes, covel, description, displayName, entry, homepage, id, kind, license, optional, provides, requires, runtime, tags, version`}},
		"a typing mistake":           {"verison: 1.0.0", []string{`PLUGIN.md:3: verison: is not a known key. Did you mean "version"?`}},
		"a flat runtime":             {"schedule: {stage: audit}", []string{`PLUGIN.md:3: schedule: is not a known key. Put it under runtime, or in runtimes/<id>/RUNTIME.md`}},
		"a key twice":                {"tags: [a]\ntags: [b]", []string{"PLUGIN.md:4: tags: is written twice. Keep one of them"}},
		"an id of another folder":    {"id: lamp", []string{`PLUGIN.md:3: id: "lamp" differs from the folder's name "test". Rename one of the two, or leave id out`}},
		"an id in capitals":          {"id: Test", []string{`PLUGIN.md:3: id: "Test" is not a plugin id. Use a lower-case letter, then lower-case letters, digits and hyphens`}},
		"kind":                       {"kind: builtin", []string{`PLUGIN.md:3: kind: "builtin" is not allowed here. Use one of: core, plugin`}},
		"a version that is a number": {"version: 1.0", []string{"PLUGIN.md:3: version: must be text, got the number 1.0. Put it in quotes"}},
		"a version":                  {"version: v1", []string{`PLUGIN.md:3: version: "v1" is not a version. Write it as 1.2.3`}},
		"tags":                       {"tags: [Story, role:gm, a, a, 5]", []string{`PLUGIN.md:3: tags[0]: "Story" is not a tag: a word of lower-case letters, digits and hyphens, or group:word, at most 64 characters`, "PLUGIN.md:3: tags[1]: the group role: is reserved", `PLUGIN.md:3: tags[3]: "a" is listed twice. Keep one of them`, "PLUGIN.md:3: tags[4]: must be text, got the number 5. Put it in quotes"}},
		"tags that are no list":      {"tags: story", []string{`PLUGIN.md:3: tags: must be a list, got "story". Write a list: [a, b]`}},
		"author":                     {"author: {url: 'http://a', about: 5}", []string{`PLUGIN.md:3: author.name: is required. Write the name, or leave author out`, `PLUGIN.md:3: author.url: must be an https address without user name, got "http://a"`, "PLUGIN.md:3: author.about: must be text, got the number 5. Put it in quotes"}},
		"homepage with user":         {"homepage: 'https://me:secret@a.org'", []string{`PLUGIN.md:3: homepage: must be an https address without user name, got "https://me:secret@a.org"`}},
		"contracts ids":              {"requires: [story, Story@1, story@01]", []string{`PLUGIN.md:3: requires[0]: "story" is not a contract id: lower-case letters, digits, dots and hyphens, then @ and a version, as in narrative-engine@2`, `PLUGIN.md:3: requires[1]: "Story@1" is not a contract id: lower-case letters, digits, dots and hyphens, then @ and a version, as in narrative-engine@2`, `PLUGIN.md:3: requires[2]: "story@01" is not a contract id: lower-case letters, digits, dots and hyphens, then @ and a version, as in narrative-engine@2`}},
		"required and optional":      {"requires: [a@1]\noptional: [a@1]", []string{"PLUGIN.md:4: optional: a@1 is also in requires. Keep it in one of the two"}},
		"provides":                   {"provides: [a@1, {default: true}, {contract: a@1}, b]", []string{"PLUGIN.md:3: provides[1].contract: is required. Name the contract", "PLUGIN.md:3: provides[2]: a@1 is listed twice. Keep one of them", `PLUGIN.md:3: provides[3]: "b" is not a contract id: lower-case letters, digits, dots and hyphens, then @ and a version, as in narrative-engine@2`}},
		"contract schemas":           {"contracts:\n  a@1: {}\n  b@1: {schema: bad.json}\n  c: {schema: a.json}\n  d@1: {schema: list.json}", []string{"PLUGIN.md:4: contracts.a@1.schema: is required. Name a JSON Schema file", "PLUGIN.md:5: contracts.b@1.schema: bad.json is not valid JSON: line 1: unexpected end of JSON input", `PLUGIN.md:6: contracts.c: "c" is not a contract id: lower-case letters, digits, dots and hyphens, then @ and a version, as in narrative-engine@2`, "PLUGIN.md:7: contracts.d@1.schema: list.json: a schema must be a JSON object"}},
		"entry":                      {"entry: ../x.js", []string{`PLUGIN.md:3: entry: "../x.js" is not a path inside the package. Paths are relative to the package folder, without .. and without a leading slash`}},
		"entry, absolute":            {"entry: /x.js", []string{`PLUGIN.md:3: entry: "/x.js" is not a path inside the package. Paths are relative to the package folder, without .. and without a leading slash`}},
		"entry, another kind":        {"entry: a.json", []string{`PLUGIN.md:3: entry: "a.json" must be a .js, .mjs, .cjs, .ts file`}},
		"entry, missing":             {"entry: server/x.js", []string{`PLUGIN.md:3: entry: there is no file "server/x.js" in the package. Create the file or correct the path`}},
		"tools":                      {"contributes: {tools: [Look, emit-event, look, look]}", []string{`PLUGIN.md:3: contributes.tools[0]: "Look" is not a tool name: a lower-case letter, then lower-case letters, digits, - and _, at most 64`, `PLUGIN.md:3: contributes.tools[1]: "emit-event" is a framework tool; a plugin's own tool needs another name`, `PLUGIN.md:3: contributes.tools[3]: "look" is listed twice. Keep one of them`}},
		"forms":                      {"contributes: {forms: ['a b']}", []string{`PLUGIN.md:3: contributes.forms[0]: "a b" is not a validator name`}},
		"what arrives later":         {"contributes: {actions: [], memory: {}}", []string{"PLUGIN.md:3: contributes.actions: is not a known key. This version of Covel cannot host it yet; remove it", "PLUGIN.md:3: contributes.memory: is not a known key. Declare contributes.data with a search field instead"}},
		"kinds of action": {"contributes:\n  actionKinds:\n    - {name: 出价, description: X., roles: [spectator]}\n    - {name: bid}\n    - {name: bid, description: X., text: some, fields: bad.json}\n    - {description: X., colour: red}", []string{
			`PLUGIN.md:5: contributes.actionKinds[0].roles[0]: "spectator" is no role that acts: write player, host or both`,
			`PLUGIN.md:5: contributes.actionKinds[0].name: "出价" is not a name of an action kind. A lower-case letter, then lower-case letters, digits, - and _, at most 64`,
			"PLUGIN.md:6: contributes.actionKinds[1].description: is required. Say what the player does with it",
			`PLUGIN.md:7: contributes.actionKinds[2].text: "some" is not allowed here. Use one of: required, optional, none`,
			"PLUGIN.md:7: contributes.actionKinds[2].fields: bad.json is not valid JSON: line 1: unexpected end of JSON input",
			`PLUGIN.md:7: contributes.actionKinds[2]: the action kind "bid" is declared twice. Keep one of them`,
			"PLUGIN.md:8: contributes.actionKinds[3].name: is required. Name the kind, as in bid; players submit it as <plugin>/bid",
			"PLUGIN.md:8: contributes.actionKinds[3].colour: is not a known key. Known keys here: description, fields, name, roles, text",
		}},
		"events":                      {"contributes:\n  events:\n    - {topic: scene, description: X.}\n    - {topic: a.b}\n    - {topic: a.b, description: X., schema: bad.json}\n    - text", []string{`PLUGIN.md:5: contributes.events[0].topic: "scene" is not a topic. Use two or more words with dots between them, as in scene.set`, "PLUGIN.md:6: contributes.events[1].description: is required. Say when the event happens; emitting agents read it", "PLUGIN.md:7: contributes.events[2].schema: bad.json is not valid JSON: line 1: unexpected end of JSON input", `PLUGIN.md:7: contributes.events[2]: the topic "a.b" is declared twice. Keep one of them`, `PLUGIN.md:8: contributes.events[3]: must be a map of keys and values, got "text"`}},
		"data":                        {"contributes: {data: {_x: {version: 1}, y: {version: 0, authoring: {}, search: {}}, z: 5}}", []string{`PLUGIN.md:3: contributes.data._x: "_x" is not a namespace: a letter, then letters, digits, - and _, at most 64`, "PLUGIN.md:3: contributes.data.y.version: 0 is out of range. Use 1 or more", "PLUGIN.md:3: contributes.data.y.search.text: is required. Name the field of a record that is searched", "PLUGIN.md:3: contributes.data.y.authoring: is not a known key. This version of Covel has no world generator yet; remove it", "PLUGIN.md:3: contributes.data.z: must be a map of keys and values, got the number 5"}},
		"ui":                          {"contributes: {ui: {right: [list.json, a.json, none.json], top: []}}", []string{"PLUGIN.md:3: contributes.ui.right[0]: list.json must hold one JSON object with an id", `PLUGIN.md:3: contributes.ui.right[1]: a.json has no id. Add "id"`, `PLUGIN.md:3: contributes.ui.right[2]: there is no file "none.json" in the package. Create the file or correct the path`, "PLUGIN.md:3: contributes.ui.top: is not a known key. Known keys here: left, message, right"}},
		"prompt":                      {"contributes: {prompt: [{id: a, content: x, position: top}, {id: a, content: ' '}]}", []string{`PLUGIN.md:3: contributes.prompt[0].position: "top" is not allowed here. Use one of: system, pre-history, post-history`, "PLUGIN.md:3: contributes.prompt[1].content: is empty. Write a text or leave the key out", `PLUGIN.md:3: contributes.prompt[1]: the id "a" is used twice. Give every segment its own id`}},
		"aliases":                     {"tags: &t [a]\nrequires: *t", []string{"PLUGIN.md:4: requires: anchors and aliases are not supported. Write the value out"}},
		"the top is a list":           {"- x", []string{"PLUGIN.md:3: this is not YAML: did not find expected key"}},
		"broken YAML":                 {"tags: [a", []string{"PLUGIN.md:3: this is not YAML: did not find expected ',' or ']'"}},
		"a runtime that is no map":    {"runtime: yes", []string{`PLUGIN.md:3: runtime: must be a map of keys and values, got "yes"`}},
		"a runtime without a stage":   {"runtime: {schedule: {}}", []string{"PLUGIN.md:3: runtime.schedule.stage: a runtime with trigger auto needs a stage. Add stage: post-turn, or trigger: manual"}},
		"nothing behind a key is not": {"tags:\nruntime:", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, problemsOf(t, root(c.lines), "test")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// reference: plugins.md §4 and §6.
func TestRuntimeProblems(t *testing.T) {
	const f = "runtimes/r/RUNTIME.md"
	stage := "schedule: {stage: post-turn}\n"
	for name, c := range map[string]struct {
		lines string
		want  []string
	}{
		"no schedule":                    {"type: agent", []string{f + ":2: schedule: is required. Add schedule: {stage: post-turn}, or schedule: {trigger: manual}"}},
		"function without handler":       {stage + "type: function", []string{f + ":2: a function runtime needs a function block. Add function: {handler: name}"}},
		"function without a name":        {stage + "function: {}", []string{f + ":3: function.handler: is required. Name the handler the entry registers"}},
		"function with agent":            {stage + "type: function\nfunction: {handler: run}\nagent: {}", []string{f + ":5: agent: a function runtime has no agent block. Remove agent, or set type: agent and remove function"}},
		"agent with function":            {stage + "type: agent\nfunction: {handler: run}", []string{f + ":4: function: an agent runtime has no function block. Remove function, or set type: function and remove agent"}},
		"type":                           {stage + "type: tool", []string{f + `:3: type: "tool" is not allowed here. Use one of: agent, function`}},
		"concealed story":                {stage + "io: {visibility: story, concealed: true}", []string{f + ":3: io.concealed: the player reads the story; it cannot be concealed. Conceal another runtime"}},
		"story of a function":            {stage + "function: {handler: run}\nio: {visibility: story}", []string{f + ":4: io.visibility: a function runtime cannot tell the story. Use an agent for the story"}},
		"committed input with select":    {stage + "io: {inputs: {a: {from: {contract: story@1}, scope: committed, recordAs: x, select: ''}}}", []string{f + ":3: io.inputs.a.select: a committed input reads the whole export. Remove select"}},
		"committed input without export": {stage + "io: {inputs: {a: {from: {contract: story@1}, scope: committed}}}", []string{f + ":3: io.inputs.a: a committed input names the export it reads. Add recordAs"}},
		"committed input of the kernel":  {stage + "io: {inputs: {a: {from: {kernel: turn-digest@1}, scope: committed, recordAs: x}}}", []string{f + ":3: io.inputs.a: the kernel has no committed exports. Read from a runtime or a contract"}},
		"export read in the turn":        {stage + "io: {inputs: {a: {from: {contract: story@1}, recordAs: x}}}", []string{f + ":3: io.inputs.a.recordAs: recordAs belongs to committed inputs. Add scope: committed"}},
		"explicit on a story":            {stage + "io: {visibility: story}\nagent: {completion: {require: explicit}}", []string{f + ":4: agent.completion: a story runtime cannot require explicit completion. Leave require out: a story ends with its text"}},
		"explicit with a schema":         {stage + "io: {output: {schema: a.json}}\nagent: {completion: {require: explicit}}", []string{f + ":4: agent.completion: explicit completion is for agents without an output schema. Use require: tool-use, or remove io.output.schema"}},
		"export without schema":          {stage + "io: {output: {recordAs: x}}", []string{f + ":3: io.output.recordAs: an export needs a schema. Add output.schema"}},
		"event without topic":            {"schedule: {trigger: event}", []string{f + ":2: schedule.topic: an event runtime needs the topic it waits for. Write trigger: {type: event, topic: scene.set}"}},
		"topic without event":            {"schedule: {stage: audit, topic: a.b}", []string{f + ":2: schedule.topic: only an event runtime has a topic. Remove topic, or use trigger: event"}},
		"stage with manual":              {"schedule: {stage: audit, trigger: manual}", []string{f + ":2: schedule.stage: a runtime with trigger manual has no stage. Remove stage, or use trigger: auto"}},
		"auto without stage":             {"schedule: {trigger: auto}", []string{f + ":2: schedule.stage: a runtime with trigger auto needs a stage. Add stage: post-turn, or trigger: manual"}},
		"a stage that does not exist":    {"schedule: {stage: later}", []string{f + `:2: schedule.stage: "later" is not allowed here. Use one of: setup, pre-turn, narrative, post-turn, audit`}},
		"the retired trigger":            {"schedule: {stage: audit, trigger: {type: scheduled, interval: 2}}", []string{f + ":2: schedule.trigger.type: the trigger scheduled does not exist. Use trigger: auto with schedule.every", f + ":2: schedule.trigger.interval: is not a known key. Use schedule.every"}},
		"cadence in both places":         {"schedule: {stage: audit, startTurn: 2, trigger: {type: auto, startTurn: 3}}", []string{f + ":2: schedule.trigger.startTurn: is also written in schedule. Keep one of the two"}},
		"every turn of manual":           {"schedule: {trigger: manual, every: 2}", []string{f + ":2: schedule.every: only trigger auto counts turns. Remove every"}},
		"numbers":                        {"schedule: {stage: audit, every: 0, startTurn: 1.5, cooldownTurns: -1, maxTriggerCount: many}", []string{f + ":2: schedule.every: 0 is out of range. Use 1 or more", f + ":2: schedule.startTurn: must be a whole number, got the number 1.5", f + `:2: schedule.maxTriggerCount: must be a whole number, got "many"`, f + ":2: schedule.cooldownTurns: -1 is out of range. Use 0 or more"}},
		"setup by hand":                  {"schedule: {stage: setup, trigger: manual}", []string{f + ":2: schedule.stage: a runtime with trigger manual has no stage. Remove stage, or use trigger: auto", f + ":2: schedule.trigger: a setup runtime is started by the session's setup only. Use trigger: auto"}},
		"cadence of setup":               {"schedule: {stage: setup, startTurn: 2}", []string{f + ":2: schedule.stage: there is no cadence before the first turn. Remove every, startTurn and cooldownTurns"}},
		"session scope outside setup":    {"schedule: {stage: audit, needs: [{contract: story@1, scope: session}]}", []string{f + ":2: schedule.needs: scope session is for setup runtimes. Use scope: turn"}},
		"background of a stage":          {"schedule: {stage: audit, background: true}", []string{f + ":2: schedule.background: background is for manual and event runtimes. Use schedule.detached for a runtime of a stage"}},
		"detached before the story":      {"schedule: {stage: pre-turn, detached: true}\nfunction: {handler: run}", []string{f + ":2: schedule.detached: only post-turn and audit runtimes can be detached. Use stage post-turn or audit"}},
		"detached by hand":               {"schedule: {trigger: manual, detached: true}\nfunction: {handler: run}", []string{f + ":2: schedule.detached: detached is for runtimes of a stage. Use schedule.background"}},
		"detached agent":                 {"schedule: {stage: audit, detached: true}", []string{f + ":2: schedule.detached: only a function runtime can be detached"}},
		"a wait that nobody waits":       {"schedule: {stage: audit, detached: {maxSettleWaitMs: 120001}}\nfunction: {handler: run}", []string{f + ":2: schedule.detached.maxSettleWaitMs: 120001 is out of range. Use 1 to 120000", f + ":2: schedule.detached.maxSettleWaitMs: nothing waits without settle. Add settle: true"}},
		// Rule TL:673: work in the background that lists suspend is refused at load.
		"suspend in the background":       {"schedule: {trigger: manual, background: true}\nagent: {tools: {builtin: [suspend]}}", []string{f + ":3: agent.tools: work in the background cannot wait for the player. Remove suspend from agent.tools.builtin"}},
		"sub-agent with stage":            {"schedule: {subagentOnly: true, stage: audit}\nio: {output: {contract: own@1}}", []string{f + ":2: schedule.stage: a sub-agent has no stage; its caller starts it. Remove stage"}},
		"sub-agent that tells the story":  {"schedule: {subagentOnly: true}\nio: {visibility: story, output: {contract: own@1}}", []string{f + ":3: io.visibility: a sub-agent answers the run that asked, not the player. Let the agent that asks tell the story"}},
		"sub-agent with a guard":          {"schedule: {subagentOnly: true}\nio: {output: {contract: own@1}}\nguard: awake", []string{f + ":4: guard: a sub-agent has no guard. Let the runtime that asks decide"}},
		"sub-agent that exports":          {"schedule: {subagentOnly: true}\nio: {output: {contract: own@1, schema: s.json, recordAs: x}}", []string{f + `:3: io.output.schema: there is no file "s.json" in the package. Create the file or correct the path`, f + ":3: io.output: a sub-agent commits nothing, so that it exports nothing. Remove recordAs"}},
		"sub-agent with sub-agents":       {"schedule: {subagentOnly: true}\nio: {output: {contract: own@1}}\nagent: {tools: {builtin: [delegate]}}", []string{f + ":4: agent.tools: a sub-agent cannot start others, and cannot wait for the player. Remove delegate and suspend from agent.tools.builtin"}},
		"sub-agent without contract":      {"schedule: {subagentOnly: true}", []string{f + ":2: schedule.subagentOnly: a sub-agent is found by the contract of its output. Add io.output.contract"}},
		"needs of a runtime elsewhere":    {"schedule: {stage: audit, needs: [pregame]}", []string{f + `:2: schedule.needs[0]: "pregame" is not a runtime of this package. Name a runtime of this package (other, r), or a contract across packages: {contract: …}`}},
		"needs of an unknown sibling":     {"schedule: {stage: audit, needs: [test/none], after: [test/none]}", []string{f + `:2: schedule.needs[0]: there is no runtime "test/none" in this package. Runtimes of this package: other, r`, f + `:2: schedule.after[0]: there is no runtime "test/none" in this package. Runtimes of this package: other, r`}},
		"needs of itself":                 {"schedule: {stage: audit, needs: [r]}", []string{f + ":2: schedule.needs[0]: a runtime cannot wait for itself. Remove it"}},
		"needs of an undeclared contract": {"schedule: {stage: audit, needs: [{contract: own@1}], after: [{contract: any@1}]}", []string{f + ":2: schedule.needs[0]: the contract own@1 is not declared. Add it to requires, or to optional, in PLUGIN.md"}},
		"needs of both":                   {"schedule: {stage: audit, needs: [{runtime: other, contract: story@1}, {}]}", []string{f + ":2: schedule.needs[0]: names both a runtime and a contract. Keep one of the two", f + ":2: schedule.needs[1]: names neither a runtime nor a contract. Write {runtime: …} or {contract: …}"}},
		"output nobody claims":            {stage + "io: {output: {contract: foreign@1}}", []string{f + ":3: io.output.contract: the package does not provide foreign@1. Add it to provides in PLUGIN.md"}},
		"input of an undeclared contract": {stage + "io: {inputs: {a: {from: {contract: other@1}}}}", []string{f + ":3: io.inputs.a.from.contract: the contract other@1 is not declared. Add it to requires, or to optional, in PLUGIN.md"}},
		"input without a source":          {stage + "io: {inputs: {1a: {}, b: {from: {}}, c: {from: {kernel: clock@1}}}}", []string{f + `:3: io.inputs.1a: "1a" is not a slot name: a letter, then letters, digits, - and _`, f + ":3: io.inputs.1a.from: is required. Write from: {contract: …}, {runtime: …} or {kernel: turn-digest@1}", f + ":3: io.inputs.b.from: must name exactly one source. Write one of {contract: …}, {runtime: …}, {kernel: …}", f + `:3: io.inputs.c.from.kernel: the kernel gives no "clock@1". Use one of: turn-digest@1, operations@1`}},
		"select that is no pointer":       {stage + "io: {inputs: {a: {from: {contract: story@1}, select: narrativeOutput}, b: {from: {contract: story@1}, select: /items/01}}}", []string{f + `:3: io.inputs.a.select: "narrativeOutput" is not a JSON Pointer. Write a JSON Pointer such as /narrativeOutput or /items/0/name`, f + `:3: io.inputs.b.select: "/items/01" is not a JSON Pointer. Write a JSON Pointer such as /narrativeOutput or /items/0/name`}},
		// Rule REF:plugins.md §18.6: hidden data in selfData is an error.
		"hidden data in a prompt":          {stage + "io: {selfData: [{namespace: _hidden.x}, {as: 'a b', namespace: n, maxEntries: 501}]}", []string{f + `:3: io.selfData[0].namespace: the namespace "_hidden.x" does not go into prompts. Let a guard or a tool read it`, f + `:3: io.selfData[0]: "_hidden.x" cannot be the name of a block. Use letters, digits and hyphens`, f + ":3: io.selfData[1].maxEntries: 501 is out of range. Use 1 to 500", f + `:3: io.selfData[1]: "a b" cannot be the name of a block. Use letters, digits and hyphens`}},
		"framework tool that is none":      {stage + "agent: {tools: {builtin: [lok, look, search-tools], plugin: [peek], defer: [x]}}", []string{f + `:3: agent.tools.builtin[0]: there is no framework tool "lok"; there are: create-choices, create-form, create-notification, delegate, emit-event, get-character, list-characters, memory-search, render-ui, runtime-done, suspend, sync-characters, world-dimension-get, world-dimension-list`, f + `:3: agent.tools.builtin[1]: "look" is this package's own tool; list it under tools.plugin`, f + ":3: agent.tools.builtin[2]: search-tools is added by tools.defer and cannot be listed", f + `:3: agent.tools.plugin[0]: "peek" is not in contributes.tools of PLUGIN.md`, f + `:3: agent.tools.defer[0]: "x" is not one of the runtime's tools`}},
		"tools.local":                      {stage + "agent: {tools: {local: [look], datasets: [a]}}", []string{f + ":3: agent.tools.local: is not a known key. List the package's own tools under plugin", f + ":3: agent.tools.datasets: is not a known key. This version of Covel has no dataset tools yet; remove it"}},
		"completing tool that is not held": {stage + "agent: {tools: {builtin: [create-form]}, llm: {toolChoice: {name: look}}, completion: {afterTools: [look]}}", []string{f + `:3: agent.llm.toolChoice.name: "look" is not a tool of this runtime. List it under agent.tools.plugin or agent.tools.builtin`, f + `:3: agent.completion.afterTools[0]: "look" is not a tool of this runtime. List it under agent.tools.plugin or agent.tools.builtin`}},
		"finishWith beside completion":     {stage + "agent: {tools: {builtin: [create-form]}, finishWith: create-form, completion: {require: tool-use}}", []string{f + ":3: agent.finishWith: stands beside completion, which says the same in full. Write finishWith, or completion with require and afterTools"}},
		"finishWith another's tool":        {stage + "agent: {tools: {builtin: [create-form]}, finishWith: look}", []string{f + `:3: agent.finishWith: "look" is not a tool of this runtime. List it under agent.tools.plugin or agent.tools.builtin`}},
		"required without tools":           {stage + "agent: {llm: {toolChoice: required, reasoningEffort: low}}", []string{f + `:3: agent.llm.reasoningEffort: "low" is not allowed here. Use one of: disabled`, f + ":3: agent.llm.toolChoice: there is no tool to require. List tools under agent.tools"}},
		"misplaced keys":                   {stage + "agent: {timeoutMs: 5, loop: {completion: {}, maxRetries: 6}}\ntrigger: auto\nprovides: []", []string{f + ":3: agent.loop.maxRetries: 6 is out of range. Use 0 to 5", f + ":3: agent.loop.completion: is not a known key. Put it under agent.completion", f + ":3: agent.timeoutMs: is not a known key. Put it under agent.loop", f + ":4: trigger: is not a known key. Put it under schedule", f + ":5: provides: is not a known key. Package-level fields belong in the root PLUGIN.md"}},
		"effects":                          {stage + "effects: {writes: ['characters', 'plugin-data:other', 'http:http://a']}", []string{f + `:3: effects.writes[0]: "characters" is not an effect: use <state|narrative|characters|assets|media|lorebook|ui|interaction|unknown>:*, plugin-data:self:<namespace>, event:<topic> or http:https://<host>`, f + `:3: effects.writes[1]: "plugin-data:other" is not an effect: use <state|narrative|characters|assets|media|lorebook|ui|interaction|unknown>:*, plugin-data:self:<namespace>, event:<topic> or http:https://<host>`, f + `:3: effects.writes[2]: "http:http://a" is not an effect: use <state|narrative|characters|assets|media|lorebook|ui|interaction|unknown>:*, plugin-data:self:<namespace>, event:<topic> or http:https://<host>`}},
		"permissions":                      {stage + "permissions: {http: [{origin: 'https://a.org/x'}, {origin: 'https://a.org', methods: [get]}, {}]}", []string{f + `:3: permissions.http[0].origin: must be an https origin without path, query and user name, got "https://a.org/x"`, f + `:3: permissions.http[1].methods[0]: "get" is not one of GET, POST, PUT, PATCH, DELETE, HEAD`, f + ":3: permissions.http[1].methods: is empty. Name a method or leave methods out for GET", f + ":3: permissions.http[2].origin: is required. Write an address such as https://example.org"}},
		"guard":                            {stage + "guard: Do It", []string{f + `:3: guard: "Do It" is neither a name nor a module. Use lower-case letters, digits and hyphens, or the path of a module`}},
		"guard module that is not there":   {stage + "guard: ./server/guard.js", []string{f + `:3: guard: there is no file "server/guard.js" in the package. Create the file or correct the path`}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, problemsOf(t, sub(c.lines), "test")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPackageProblems(t *testing.T) {
	ok := root("")
	with := func(more map[string]string) map[string]string {
		out := maps.Clone(ok)
		maps.Copy(out, more)
		return out
	}
	inline := root("runtime: {schedule: {stage: audit}}")["PLUGIN.md"]
	for name, c := range map[string]struct {
		files  map[string]string
		folder string
		want   []string
	}{
		"good":            {ok, "test", nil},
		"no PLUGIN.md":    {map[string]string{"README.md": ""}, "test", []string{"PLUGIN.md: is missing. A package is a folder with a PLUGIN.md"}},
		"no front matter": {map[string]string{"PLUGIN.md": "Just text."}, "test", []string{"PLUGIN.md: has no front matter. Begin the file with a line ---, the fields, and a line ---"}},
		"an engine on the fence": {map[string]string{"PLUGIN.md": "---js\nmodule.exports = {}\n---\n"}, "test",
			[]string{"PLUGIN.md:1: the front matter must be plain YAML, but its first line is ---js. Begin the file with a line of three dashes and nothing else"}},
		"an engine on a variant's fence": {with(map[string]string{"PLUGIN.zh.md": "--- js\n---\n"}), "test",
			[]string{"PLUGIN.zh.md:1: the front matter must be plain YAML, but its first line is --- js. Begin the file with a line of three dashes and nothing else"}},
		"a fence that does not end": {map[string]string{"PLUGIN.md": "---\ndescription: X.\n"}, "test", []string{"PLUGIN.md:1: the front matter does not end. Close it with a line of three dashes"}},
		"no description":            {map[string]string{"PLUGIN.md": "---\n---\n"}, "test", []string{"PLUGIN.md:2: description: is required. Say in one sentence what the plugin does"}},
		"a description of nothing":  {map[string]string{"PLUGIN.md": "---\ndescription: '  '\n---\n"}, "test", []string{"PLUGIN.md:2: description: is empty. Write a text or leave the key out"}},
		"a map of translations":     {map[string]string{"PLUGIN.md": "---\ndescription: {en: X}\n---\n"}, "test", []string{"PLUGIN.md:2: description: must be text, got a map"}},
		"both layouts": {with(map[string]string{"PLUGIN.md": inline, "runtimes/a/RUNTIME.md": "---\nschedule: {stage: audit}\n---\nX"}), "test",
			[]string{"PLUGIN.md:3: runtime: the package also has runtimes/a/RUNTIME.md. Keep the inline runtime or the files, not both"}},
		"an agent without a prompt": {map[string]string{"PLUGIN.md": "---\ndescription: X.\nruntime: {schedule: {stage: audit}}\n---\n \n"}, "test",
			[]string{"PLUGIN.md:3: runtime: an agent needs a prompt. Write the prompt below the front matter"}},
		"a second PLUGIN.md": {with(map[string]string{"runtimes/a/PLUGIN.md": "", "runtimes/a/b/RUNTIME.md": "", "RUNTIME.md": ""}), "test",
			[]string{"RUNTIME.md: is not read here. A package has one PLUGIN.md at its root and runtimes/<id>/RUNTIME.md", "runtimes/a/PLUGIN.md: is not read here. A package has one PLUGIN.md at its root and runtimes/<id>/RUNTIME.md", "runtimes/a/b/RUNTIME.md: is not read here. A package has one PLUGIN.md at its root and runtimes/<id>/RUNTIME.md"}},
		"a runtime folder in capitals": {with(map[string]string{"runtimes/灯/RUNTIME.md": ""}), "test",
			[]string{`runtimes/灯/RUNTIME.md: "灯" is not a runtime id. Rename the folder: a lower-case letter, then lower-case letters, digits and hyphens`}},
		"two outputs of one contract": {func() map[string]string {
			l := sub("schedule: {stage: audit}\nio: {output: {contract: own@1}}")
			l["runtimes/other/RUNTIME.md"] = "---\nschedule: {stage: audit}\nio: {output: {contract: own@1}}\n---\nX\n"
			return l
		}(), "test", []string{"runtimes/r/RUNTIME.md:3: io.output.contract: own@1 is already the output of test/other. A contract has one runtime in a package"}},
		"a variant with fields": {func() map[string]string {
			l := sub("schedule: {stage: audit}")
			l["runtimes/r/RUNTIME.zh.md"] = "---\ntype: agent\n---\n提示"
			return l
		}(), "test", []string{"runtimes/r/RUNTIME.zh.md:2: type: a variant has only the translated body. Remove it"}},
		"a variant of no segment":   {with(map[string]string{"PLUGIN.zh.md": "---\ncontributes: {prompt: [{id: none, content: 无}], tools: []}\n---\n"}), "test", []string{`PLUGIN.zh.md:2: contributes.prompt[0]: PLUGIN.md has no prompt segment "none"`, "PLUGIN.zh.md:2: contributes.tools: is not a known key. Known keys here: prompt"}},
		"a folder that is no id":    {ok, "Test Plugin", []string{`PLUGIN.md:2: the folder name "Test Plugin" is not a plugin id. Rename the folder: a lower-case letter, then lower-case letters, digits and hyphens`}},
		"package.json of another":   {with(map[string]string{"PLUGIN.md": "---\ndescription: X.\nversion: 1.0.0\n---\n", "package.json": `{"version":"1.0.1"}`}), "test", []string{"package.json: its version 1.0.1 is not the version 1.0.0 of PLUGIN.md. Write the same version in both"}},
		"package.json broken":       {with(map[string]string{"package.json": "{\n,}"}), "test", []string{"package.json: is not valid JSON: line 2: invalid character ',' looking for beginning of object key string"}},
		"a locale that is none":     {with(map[string]string{"locales/chinese!.yaml": "", "locales/zh.yml": ""}), "test", []string{`locales/chinese!.yaml: "chinese!" is not a locale. Name it after a locale, for example zh-CN.yaml`, "locales/zh.yml: is not a locale file. Name it <locale>.yaml, for example zh-CN.yaml"}},
		"messages that are no text": {with(map[string]string{"locales/zh.yaml": "messages:\n  A: [甲]\n  A: 乙\n"}), "test", []string{"locales/zh.yaml:2: messages.A: a message is a text, got a list", "locales/zh.yaml:3: messages.A: is written twice. Keep one of them"}},
		"not UTF-8":                 {with(map[string]string{"PLUGIN.md": "---\ndescription: \xff\n---\n"}), "test", []string{"PLUGIN.md: is not UTF-8 text. Save it as UTF-8"}},
		"U+0000":                    {with(map[string]string{"PLUGIN.md": "---\ndescription: \"\x00\"\n---\n"}), "test", []string{"PLUGIN.md: contains the character U+0000. Save it as plain text"}},
		"a huge manifest":           {with(map[string]string{"PLUGIN.md": "---\n" + strings.Repeat("#", maxTextBytes) + "\n---\n"}), "test", []string{"PLUGIN.md: is larger than 1024 KiB"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, problemsOf(t, c.files, c.folder)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	got := problemsOf(t, map[string]string{
		"PLUGIN.md":             "---\nkind: big\ncolour: red\n---\n",
		"runtimes/a/RUNTIME.md": "---\nschedule: {stage: never}\nguard: 5\n---\n",
		"locales/zh.yaml":       "plugin: 5\n",
	}, "test")
	want := []string{
		`PLUGIN.md:2: kind: "big" is not allowed here. Use one of: core, plugin`,
		"PLUGIN.md:2: description: is required. Say in one sentence what the plugin does",
		"PLUGIN.md:3: colour: is not a known key. Known keys here: author, conflicts, contracts, contributes, covel, description, displayName, entry, homepage, id, kind, license, optional, provides, requires, runtime, tags, version",
		"locales/zh.yaml:1: plugin: must be a map of keys and values, got the number 5",
		`runtimes/a/RUNTIME.md:2: schedule.stage: "never" is not allowed here. Use one of: setup, pre-turn, narrative, post-turn, audit`,
		"runtimes/a/RUNTIME.md:2: an agent needs a prompt. Write the prompt below the front matter",
		"runtimes/a/RUNTIME.md:3: guard: must be text, got the number 5. Put it in quotes",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTooManyFiles(t *testing.T) {
	list := root("")
	for i := range maxFiles {
		list["assets/"+strings.Repeat("a", 1+i%200)+string(rune('a'+i/200))] = ""
	}
	if got := problemsOf(t, list, "test"); !slices.Contains(got, ".: the package has more than 2000 files. Remove what the plugin does not need") {
		t.Errorf("got %v", got)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(full["PLUGIN.md"], full["runtimes/keeper/RUNTIME.md"], full["locales/zh-CN.yaml"], full["PLUGIN.zh.md"])
	f.Add("---\ndescription: X.\nruntime: {schedule: {trigger: {type: event, topic: a.b}}}\n---\nBody", "", "messages: {a: b}", "---js\n")
	f.Add("---\na: &a [*a]\n<<: *a\n? {x: y}\n: z\n---\n", "---\nschedule: !!binary x\n---\n", "- 1", "")
	f.Fuzz(func(t *testing.T, root, runtime, locale, variant string) {
		p, err := Load(files(map[string]string{
			"PLUGIN.md": root, "runtimes/keeper/RUNTIME.md": runtime, "locales/zh-CN.yaml": locale, "PLUGIN.zh.md": variant,
			"schemas/state.json": anySchema, "ui/panel.json": full["ui/panel.json"], "runtimes/watch/RUNTIME.md": full["runtimes/watch/RUNTIME.md"],
		}), "lantern")
		if err != nil {
			var problems Problems
			if !errors.As(err, &problems) || len(problems) == 0 || strings.TrimSpace(err.Error()) == "" {
				t.Fatalf("an error without problems: %v", err)
			}
			return
		}
		if p.ID != "lantern" || len(p.Digest) != 64 || p.Description["en"] == "" {
			t.Errorf("a plugin without identity was loaded: %+v", p)
		}
		for _, r := range p.Runtimes {
			if (r.Schedule.Stage == "") != (r.Schedule.Trigger != TriggerAuto || r.Schedule.SubagentOnly) {
				t.Errorf("a runtime of stage %q and trigger %q was loaded", r.Schedule.Stage, r.Schedule.Trigger)
			}
			if r.Type == TypeFunction && r.Function.Handler == "" || r.Type == TypeAgent && r.Body["en"] == "" {
				t.Errorf("a runtime without code or prompt was loaded: %+v", r)
			}
		}
	})
}
