package manifest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// files makes a package; a text that begins with a line break is taken without it.
func files(list map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range list {
		out[name] = &fstest.MapFile{Data: []byte(strings.TrimPrefix(text, "\n")), Mode: 0o644}
	}
	return out
}

const anySchema = `{"type":"object"}`

var full = map[string]string{
	"PLUGIN.md": `
---
id: lantern
kind: core
version: 1.2.0
covel: ">=1.0.0"
displayName: Lantern
description: Keeps the lamps.
tags: [story, "mood:dark"]
author: {name: 陆青云, url: https://example.org, about: Keeper., links: [{label: Home, url: https://example.org/me}]}
license: MIT
homepage: https://example.org/lantern
provides: [lamp-state@1, {contract: lamp-light@2, default: true}]
requires: [narrative-engine@2]
optional: [lamp-state@1]
conflicts: [darkness@1]
contracts:
  lamp-state@1: {schema: schemas/state.json}
contributes:
  tools: [light-lamp, put-out]
  forms: [oil]
  actionKinds:
    - {name: light, description: Lights a lamp.}
    - {name: trade_oil-1, description: 卖油。, roles: [host], text: none, fields: schemas/state.json}
  events:
    - {topic: lamp.lit, description: A lamp burns., schema: schemas/state.json}
    - {topic: lamp.internal-note, description: Internal., advertise: false}
  data:
    lamps: {version: 2, schema: schemas/state.json, description: The lamps., accepts: [lamps.initial@1], search: {text: name}}
  ui: {right: [ui/panel.json], message: [ui/panel.json]}
  prompt:
    - {id: rules, content: Lamps burn oil.}
    - {id: late, content: Remember., position: {depth: 2}, role: user}
---
What the package is about. Not a prompt.
`,
	"PLUGIN.zh.md": `
---
contributes:
  prompt:
    - {id: rules, content: 灯要烧油。}
---
`,
	"runtimes/keeper/RUNTIME.md": `
---
description: Lights the lamps.
schedule:
  stage: post-turn
  every: 2
  startTurn: 3
  maxTriggerCount: 4
  cooldownTurns: 1
  needs: [watch, {contract: narrative-engine@2}]
  after: [pregame, {contract: session.opening@1, cardinality: all}]
io:
  inputs:
    story: {from: {contract: narrative-engine@2}, select: /narrativeOutput}
    seen: {from: {runtime: watch}, required: false, accepts: schemas/state.json}
    digest: {from: {kernel: turn-digest@1}}
    last: {from: {contract: lamp-state@1, cardinality: all}, scope: committed, recordAs: lamps, accepts: "contract:lamp-state@1"}
  output: {contract: lamp-state@1, schema: schemas/state.json, recordAs: lamps}
  payloadSchema: contract:lamp-state@1
  visibility: system
  concealed: true
  selfData: [{namespace: lamps, as: my-lamps, format: full, maxEntries: 5}, {namespace: lamps}]
agent:
  model: fast
  llm: {reasoningEffort: disabled, toolChoice: {name: light-lamp}}
  history: {maxTurns: 0, includeSummaries: true}
  tools: {builtin: [get-character, emit-event], plugin: [light-lamp], defer: [get-character]}
  advertiseEvents: true
  loop:
    profile: system
    maxSteps: 6
    timeoutMs: 1000
    callTimeoutMs: 900
    firstTokenTimeoutMs: 1500
    idleTimeoutMs: 1600
    maxRetries: 0
    loopDetection: 0
    maxRecursionDepth: 2
    stream: false
    steering: true
    keepTruncated: false
    fallback: fail
    corrections: {toolUse: 0, review: 3, perturbation: 1, output: 2}
    finalizer: {maxSteps: false, deadlineReserveMs: 500}
  completion: {require: tool-use, afterTools: [light-lamp]}
guard: dry
effects: {reads: ["characters:*"], writes: ["plugin-data:self:lamps", "event:lamp.lit"], parallelSafe: true}
permissions: {http: [{origin: https://example.org}, {origin: "https://api.example.org:8443", methods: [POST]}]}
---

Light what must burn.

`,
	"runtimes/keeper/RUNTIME.zh.md": "点亮该亮的灯。\n",
	"runtimes/watch/RUNTIME.md": `
---
schedule: {stage: audit, trigger: {type: auto, startTurn: 2}, detached: {settle: true, maxSettleWaitMs: 100, maxQueueMs: 5, maxExecutionMs: 6}}
function: {handler: watch, model: fast, timeoutMs: 500, tools: {builtin: [list-characters], plugin: [put-out]}}
---
`,
	"runtimes/alarm/RUNTIME.md": `
---
type: function
schedule: {trigger: {type: event, topic: lamp.lit, cooldownTurns: 2}, background: true}
function: {handler: alarm}
---
`,
	"runtimes/lend/RUNTIME.md": `
---
schedule: {subagentOnly: true}
io: {output: {contract: lamp-light@2}}
---
Lend a lamp.
`,
	"locales/zh-CN.yaml": `
plugin: {displayName: 灯, description: 看守灯火。}
runtimes:
  keeper: {description: 点灯。}
  gone: {description: 没有了。}
messages:
  "The lamp {name} is out.": "“{name}”灭了。"
other: 1
`,
	"schemas/state.json": anySchema,
	"ui/panel.json":      `{"id":"lamps","label":"Lamps","view":{}}`,
	"README.md":          "ignored",
	".hidden/x":          "ignored",
}

func TestLoadReadsEverything(t *testing.T) {
	got, err := Load(files(full), "lantern")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Digest) != 64 {
		t.Errorf("digest %q", got.Digest)
	}
	var warnings []string
	for _, w := range got.Warnings {
		warnings = append(warnings, w.String())
	}
	if diff := cmp.Diff([]string{
		"locales/zh-CN.yaml:4: runtimes.gone: there is no runtime lantern/gone. Remove it",
		"locales/zh-CN.yaml:7: other: translates nothing of this package. Remove it",
	}, warnings); diff != "" {
		t.Error(diff)
	}
	got.Digest, got.Warnings = "", nil
	raw := json.RawMessage(anySchema)
	panel := json.RawMessage(full["ui/panel.json"])
	no, yes, zero, one, two, three, reserve := false, true, 0, 1, 2, 3, 500
	want := Plugin{
		ID: "lantern", Kind: "core", Version: "1.2.0", Host: ">=1.0.0",
		DisplayName: Text{"en": "Lantern", "zh-CN": "灯"}, Description: Text{"en": "Keeps the lamps.", "zh-CN": "看守灯火。"},
		Tags:    []string{"story", "mood:dark"},
		Author:  Author{Name: "陆青云", URL: "https://example.org", About: "Keeper.", Links: []Link{{"Home", "https://example.org/me"}}},
		License: "MIT", Homepage: "https://example.org/lantern",
		Provides: []Provided{{Contract: "lamp-state@1"}, {Contract: "lamp-light@2", Default: true}},
		Requires: []string{"narrative-engine@2"}, Optional: []string{"lamp-state@1"}, Conflicts: []string{"darkness@1"},
		Contracts: map[string]json.RawMessage{"lamp-state@1": raw},
		Contributes: Contributes{
			Tools: []string{"light-lamp", "put-out"}, Forms: []string{"oil"},
			// Rule DEC Seats, roles, gathering: a plugin adds kinds of action and names the roles that may use them; players and
			// hosts may unless it says otherwise.
			ActionKinds: []ActionKindDecl{
				{Name: "light", Description: "Lights a lamp.", Roles: []string{"player", "host"}, Text: "required"},
				{Name: "trade_oil-1", Description: "卖油。", Roles: []string{"host"}, Text: "none", Fields: raw},
			},
			Events: []EventDecl{{Topic: "lamp.lit", Description: "A lamp burns.", Advertise: true, Schema: raw}, {Topic: "lamp.internal-note", Description: "Internal."}},
			Data:   map[string]DataDecl{"lamps": {Version: 2, Description: "The lamps.", Schema: raw, Accepts: []string{"lamps.initial@1"}, SearchText: "name"}},
			UI:     UIDecl{Right: []json.RawMessage{panel}, Message: []json.RawMessage{panel}},
			Prompt: []PromptSegment{
				{ID: "rules", Content: Text{"en": "Lamps burn oil.", "zh": "灯要烧油。"}, Position: "system", Role: "system"},
				{ID: "late", Content: Text{"en": "Remember."}, Position: "depth", Depth: 2, Role: "user"},
			},
		},
		Locales: map[string]map[string]string{"zh-CN": {"The lamp {name} is out.": "“{name}”灭了。"}},
		Runtimes: []Runtime{
			{ID: "lantern/alarm", PluginID: "lantern", Type: "function", Description: Text{}, Body: Text{"en": ""},
				Schedule: Schedule{Trigger: "event", Every: 1, Topic: "lamp.lit", CooldownTurns: 2, Background: &Background{}},
				IO:       IO{Visibility: "plugin"}, Function: Function{Handler: "alarm"}},
			{ID: "lantern/keeper", PluginID: "lantern", Type: "agent", Description: Text{"en": "Lights the lamps.", "zh-CN": "点灯。"},
				Body: Text{"en": "Light what must burn.", "zh": "点亮该亮的灯。"},
				Schedule: Schedule{Stage: PostTurn, Trigger: "auto", Every: 2, StartTurn: 3, MaxTriggerCount: 4, CooldownTurns: 1,
					Needs: []Need{{Runtime: "lantern/watch", Cardinality: "one", Scope: "turn"}, {Contract: "narrative-engine@2", Cardinality: "one", Scope: "turn"}},
					After: []Need{{Runtime: "pregame", Cardinality: "one", Scope: "turn"}, {Contract: "session.opening@1", Cardinality: "all", Scope: "turn"}}},
				IO: IO{
					Inputs: map[string]Binding{
						"story":  {Contract: "narrative-engine@2", Cardinality: "one", Scope: "turn", Select: "/narrativeOutput", Required: true},
						"seen":   {Runtime: "lantern/watch", Cardinality: "one", Scope: "turn", Accepts: raw},
						"digest": {Kernel: "turn-digest@1", Cardinality: "one", Scope: "turn", Required: true},
						"last":   {Contract: "lamp-state@1", Cardinality: "all", Scope: "committed", Required: true, RecordAs: "lamps", AcceptsFrom: "lamp-state@1"},
					},
					OutputContract: "lamp-state@1", OutputSchema: raw, RecordAs: "lamps", PayloadFrom: "lamp-state@1", Visibility: "system", Concealed: true,
					SelfData: []SelfData{{Namespace: "lamps", As: "my-lamps", Format: "full", MaxEntries: 5}, {Namespace: "lamps", As: "lamps", Format: "summary", MaxEntries: 50}},
				},
				Agent: Agent{Model: "fast", ReasoningEffort: "disabled", ToolChoice: "light-lamp", HistoryMaxTurns: &zero, HistorySummaries: true,
					BuiltinTools: []string{"get-character", "emit-event"}, PluginTools: []string{"light-lamp"}, DeferTools: []string{"get-character"}, AdvertiseEvents: true,
					Profile: "system", MaxSteps: 6, TimeoutMs: 1000, CallTimeoutMs: 900, FirstTokenMs: 1500, IdleMs: 1600, MaxRetries: 0, LoopDetection: &zero, MaxRecursionDepth: &two,
					Corrections: Corrections{ToolUse: &zero, Review: &three, Perturbation: &one, Output: &two}, Finalizer: Finalizer{MaxSteps: &no, DeadlineReserveMs: &reserve},
					Stream: &no, Steering: &yes, KeepTruncated: &no, Fallback: "fail", Require: "tool-use", AfterTools: []string{"light-lamp"}},
				Guard:   "dry",
				Effects: Effects{Reads: []string{"characters:*"}, Writes: []string{"plugin-data:self:lamps", "event:lamp.lit"}, ParallelSafe: true},
				HTTP:    []HTTPPermission{{Origin: "https://example.org", Methods: []string{"GET"}}, {Origin: "https://api.example.org:8443", Methods: []string{"POST"}}},
			},
			{ID: "lantern/lend", PluginID: "lantern", Type: "agent", Description: Text{}, Body: Text{"en": "Lend a lamp."},
				Schedule: Schedule{Trigger: "auto", Every: 1, SubagentOnly: true}, IO: IO{OutputContract: "lamp-light@2", Visibility: "plugin"}, Agent: Agent{MaxRetries: 1}},
			{ID: "lantern/watch", PluginID: "lantern", Type: "function", Description: Text{}, Body: Text{"en": ""},
				Schedule: Schedule{Stage: Audit, Trigger: "auto", Every: 1, StartTurn: 2, Detached: &Detached{Settle: true, MaxSettleWaitMs: 100, MaxQueueMs: 5, MaxExecutionMs: 6}},
				IO:       IO{Visibility: "plugin"}, Function: Function{Handler: "watch", Model: "fast", TimeoutMs: 500, BuiltinTools: []string{"list-characters"}, PluginTools: []string{"put-out"}}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// seed: tools.txt, "A minimal plugin you can copy": the package without its JavaScript.
func TestLoadInfersWhatIsNotWritten(t *testing.T) {
	got, err := Load(files(map[string]string{
		"PLUGIN.md": `
---
description: Echoes one short value for a smoke test.
contributes:
  tools: [echo-value]
runtime:
  schedule:
    trigger: { type: manual }
  agent:
    loop: { maxSteps: 2 }
---
When manually triggered, call ` + "`echo-value`" + ` once.
`,
		"PLUGIN.zh.md":    "手动触发时，调用一次 `echo-value`。",
		"server/index.js": "export default () => {}",
	}), "echo-demo")
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != "echo-demo" || got.Kind != "plugin" || got.Version != "0.0.0" || got.DisplayName.In("zh") != "echo-demo" || got.Entry != "server/index.js" {
		t.Errorf("%+v", got)
	}
	r := got.Runtimes[0]
	if r.ID != "echo-demo" || r.Type != TypeAgent || r.Schedule.Trigger != TriggerManual || r.Agent.MaxSteps != 2 || r.Agent.MaxRetries != 1 {
		t.Errorf("%+v", r)
	}
	if diff := cmp.Diff([]string{"echo-value"}, r.Agent.PluginTools); diff != "" {
		t.Errorf("an inline runtime has every contributed tool: %s", diff)
	}
	if r.Body.In("zh-CN") != "手动触发时，调用一次 `echo-value`。" || !strings.HasPrefix(r.Body.In("en"), "When") {
		t.Errorf("bodies %v", r.Body)
	}
}

func TestAPackageMayHaveNoRuntime(t *testing.T) {
	got, err := Load(files(map[string]string{"PLUGIN.md": "\ufeff---\r\ndescription: Only words.\r\n---\r\nBody.\r\n"}), "words")
	if err != nil || len(got.Runtimes) != 0 {
		t.Errorf("%+v %v", got.Runtimes, err)
	}
}

func TestLocales(t *testing.T) {
	text := Text{"en": "Lamp", "zh": "灯", "zh-TW": "燈"}
	for locale, want := range map[string]string{"zh": "灯", "zh-CN": "灯", "zh-Hans-SG": "灯", "zh-TW": "燈", "zh-HK": "燈", "en-GB": "Lamp", "fr": "Lamp", "": "Lamp", "???": "Lamp"} {
		if got := text.In(locale); got != want {
			t.Errorf("%q: %s, want %s", locale, got, want)
		}
	}
	if got := (Text{"de": "Lampe"}).In("fr"); got != "Lampe" {
		t.Errorf("without English the first text is used, got %q", got)
	}
	if got := (Text{}).In("en"); got != "" {
		t.Errorf("got %q", got)
	}
	p := Plugin{Locales: map[string]map[string]string{"zh-CN": {"a": "甲"}}}
	if p.MessagesIn("zh")["a"] != "甲" || p.MessagesIn("zh-TW") != nil || p.MessagesIn("en") != nil {
		t.Error("messages are of the language and script of the session")
	}
}

func TestDigest(t *testing.T) {
	digest := func(change func(map[string]string)) string {
		list := maps.Clone(full)
		change(list)
		p, err := Load(files(list), "lantern")
		if err != nil {
			t.Fatal(err)
		}
		return p.Digest
	}
	base := digest(func(map[string]string) {})
	if again := digest(func(map[string]string) {}); again != base {
		t.Error("the same files have another digest")
	}
	if hidden := digest(func(l map[string]string) { l[".hidden/x"] = "changed" }); hidden != base {
		t.Error("a hidden file changes the digest")
	}
	for name, change := range map[string]func(map[string]string){
		"content":         func(l map[string]string) { l["README.md"] = "x" },
		"another file":    func(l map[string]string) { l["NOTES.md"] = "" },
		"another name":    func(l map[string]string) { delete(l, "README.md"); l["READYOU.md"] = full["README.md"] },
		"moved over":      func(l map[string]string) { l["README.md"] = ""; l["ui/other.json"] = "ignored" },
		"an unused place": func(l map[string]string) { l["assets/灯.txt"] = "灯" },
	} {
		if digest(change) == base {
			t.Errorf("%s does not change the digest", name)
		}
	}
}

type badFS struct{ fstest.MapFS }

func (b badFS) Open(name string) (fs.File, error) {
	if name == "README.md" {
		return nil, errors.New("the disk is gone")
	}
	return b.MapFS.Open(name)
}

func TestFilesThatCannotBeRead(t *testing.T) {
	_, err := Load(badFS{files(full)}, "lantern")
	if err == nil || err.Error() != "README.md: cannot be read: the disk is gone" {
		t.Errorf("got %v", err)
	}
	linked := files(full)
	linked["schemas/link.json"] = &fstest.MapFile{Data: []byte("/etc/passwd"), Mode: fs.ModeSymlink}
	if _, err := Load(linked, "lantern"); err == nil || !strings.Contains(err.Error(), "schemas/link.json: is not a regular file") {
		t.Errorf("got %v", err)
	}
}
