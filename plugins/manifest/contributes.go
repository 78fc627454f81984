package manifest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/covel/covel/plugins/tools"
)

var (
	toolPattern      = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)
	namePattern      = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)
	topicPattern     = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*(\.[a-z][a-z0-9]*(-[a-z0-9]+)*)+$`)
	namespacePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
)

// later are contributions this version has no host for yet.
var later = []string{"actions", "commands", "services", "wires", "settings", "datasets", "worldProjections"}

// contributes reads what the package adds beside its runtimes (reference: plugins.md §3).
func (l *loader) contributes(o *object) {
	if o == nil {
		return
	}
	c := &l.plugin.Contributes
	c.Tools = o.texts("tools", func(name string) string {
		switch {
		case !toolPattern.MatchString(name):
			return fmt.Sprintf("%q is not a tool name: a lower-case letter, then lower-case letters, digits, - and _, at most 64", shorten(name))
		case tools.Reserved(name):
			return fmt.Sprintf("%q is a framework tool; a plugin's own tool needs another name", name)
		}
		return ""
	})
	c.Forms = o.texts("forms", func(name string) string {
		if !namePattern.MatchString(name) {
			return fmt.Sprintf("%q is not a validator name", shorten(name))
		}
		return ""
	})
	l.actionKinds(o)
	l.events(o)
	l.hooks(o)
	l.data(o.object("data"))
	if ui := o.object("ui"); ui != nil {
		c.UI = UIDecl{Right: l.specs(ui, "right"), Message: l.specs(ui, "message"), Left: l.specs(ui, "left")}
		ui.done(nil)
	}
	l.prompt(o)
	l.extensions(o)
	hints := map[string]string{"memory": "Declare contributes.data with a search field instead"}
	for _, key := range later {
		hints[key] = "This version of Covel cannot host it yet; remove it"
	}
	o.done(hints)
}

func (l *loader) actionKinds(o *object) {
	kinds := &l.plugin.Contributes.ActionKinds
	for _, n := range o.list("actionKinds") {
		e := n.object()
		if e == nil {
			continue
		}
		e.required("name", "Name the kind, as in bid; players submit it as <plugin>/bid")
		e.required("description", "Say what the player does with it")
		decl := ActionKindDecl{Name: e.text("name"), Description: e.text("description"), Text: e.choice("text", "required", "required", "optional", "none")}
		decl.Roles = e.texts("roles", func(role string) string {
			if role != "player" && role != "host" {
				return fmt.Sprintf("%q is no role that acts: write player, host or both", shorten(role))
			}
			return ""
		})
		if len(decl.Roles) == 0 {
			decl.Roles = []string{"player", "host"}
		}
		if s, ok := e.get("fields"); ok {
			decl.Fields = l.files.schema(s)
		}
		if decl.Name != "" && !namePattern.MatchString(decl.Name) {
			e.values["name"].problem("A lower-case letter, then lower-case letters, digits, - and _, at most 64", "%q is not a name of an action kind", shorten(decl.Name))
		}
		if slices.ContainsFunc(*kinds, func(other ActionKindDecl) bool { return other.Name == decl.Name }) {
			n.problem("Keep one of them", "the action kind %q is declared twice", decl.Name)
		}
		e.done(nil)
		*kinds = append(*kinds, decl)
	}
}

func (l *loader) events(o *object) {
	for _, n := range o.list("events") {
		e := n.object()
		if e == nil {
			continue
		}
		e.required("topic", "Name the topic, as in scene.set")
		e.required("description", "Say when the event happens; emitting agents read it")
		decl := EventDecl{Topic: e.text("topic"), Description: e.text("description"), Advertise: e.boolean("advertise", true)}
		if s, ok := e.get("schema"); ok {
			decl.Schema = l.files.schema(s)
		}
		if decl.Topic != "" && !topicPattern.MatchString(decl.Topic) {
			e.values["topic"].problem("Use two or more words with dots between them, as in scene.set", "%q is not a topic", shorten(decl.Topic))
		}
		if slices.ContainsFunc(l.plugin.Contributes.Events, func(other EventDecl) bool { return other.Topic == decl.Topic }) {
			n.problem("Keep one of them", "the topic %q is declared twice", decl.Topic)
		}
		e.done(nil)
		l.plugin.Contributes.Events = append(l.plugin.Contributes.Events, decl)
	}
}

func (l *loader) data(o *object) {
	if o == nil {
		return
	}
	l.plugin.Contributes.Data = map[string]DataDecl{}
	for _, ns := range o.keys {
		d := o.object(ns)
		if !namespacePattern.MatchString(ns) {
			o.values[ns].problem("", "%q is not a namespace: a letter, then letters, digits, - and _, at most 64", shorten(ns))
		}
		if d == nil {
			continue
		}
		d.required("version", "Write version: 1 and raise it when the records change their shape")
		decl := DataDecl{Version: d.integer("version", 1, 1, unlimited), Description: d.text("description"), Accepts: d.texts("accepts", isContract)}
		if s, ok := d.get("schema"); ok {
			decl.Schema = l.files.schema(s)
		}
		if search := d.object("search"); search != nil {
			search.required("text", "Name the field of a record that is searched")
			decl.SearchText = search.text("text")
			search.done(nil)
		}
		d.done(map[string]string{"authoring": "This version of Covel has no world generator yet; remove it"})
		l.plugin.Contributes.Data[ns] = decl
	}
}

// specs reads UI files. Their components are checked by the client that draws them; here they must be objects with an id.
func (l *loader) specs(o *object, key string) []json.RawMessage {
	var out []json.RawMessage
	seen := map[string]bool{}
	for _, n := range o.list(key) {
		raw := l.files.json(n)
		if raw == nil {
			continue
		}
		var spec struct {
			ID string `json:"id"`
		}
		switch err := json.Unmarshal(raw, &spec); {
		case err != nil:
			n.problem("", "%s must hold one JSON object with an id", n.yaml.Value)
		case spec.ID == "":
			n.problem(`Add "id"`, "%s has no id", n.yaml.Value)
		case seen[spec.ID]:
			n.problem("Give every panel its own id", "the id %q is used twice", spec.ID)
		default:
			seen[spec.ID] = true
			out = append(out, raw)
		}
	}
	return out
}

func (l *loader) prompt(o *object) {
	for _, n := range o.list("prompt") {
		e := n.object()
		if e == nil {
			continue
		}
		e.required("id", "")
		e.required("content", "")
		seg := PromptSegment{ID: e.text("id"), Content: Text{"en": e.text("content")}, Role: e.choice("role", "system", "system", "user", "assistant")}
		seg.Position, seg.Depth = position(e)
		if slices.ContainsFunc(l.plugin.Contributes.Prompt, func(p PromptSegment) bool { return p.ID == seg.ID }) {
			n.problem("Give every segment its own id", "the id %q is used twice", seg.ID)
		}
		e.done(nil)
		l.plugin.Contributes.Prompt = append(l.plugin.Contributes.Prompt, seg)
	}
}

// position reads where a segment stands: a word, or {depth: n} for n conversation messages from the end.
func position(o *object) (string, int) {
	if n, ok := o.values["position"]; ok && n.yaml.ShortTag() == "!!map" {
		d := o.object("position")
		d.required("depth", "Write {depth: 2} or one of system, pre-history, post-history")
		depth := d.integer("depth", 0, 0, unlimited)
		d.done(nil)
		return "depth", depth
	}
	return o.choice("position", "system", "system", "pre-history", "post-history"), 0
}
