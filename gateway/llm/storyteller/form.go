package storyteller

import (
	"encoding/json"
	"slices"
	"strings"
)

// A character form is recognised by its shape: fields beside a narrativeTemplate. It asks for the name and for up to
// three attributes of the world that are a text or a choice.

func isForm(s *schema) bool {
	return s.property("narrativeTemplate") != nil && s.property("fields").kind() == "array"
}

// attributeDef is one attribute of a world's character schema.
type attributeDef struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Type         string          `json:"type"`
	Options      []string        `json:"options"`
	DefaultValue json.RawMessage `json:"defaultValue"`
	Description  string          `json:"description"`
}

// characterNameField is the one field every character form has.
const characterNameField = "characterName"

const mostAttributes = 3

// attributes finds the character schema in the inputs, else in the prompt, and picks what a form may ask for.
func (f *filler) attributes() []attributeDef {
	var defs []attributeDef
	keys := make([]string, 0, len(f.b.inputs))
	for k := range f.b.inputs {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if defs = findAttributes(f.b.inputs[k], 0); len(defs) > 0 {
			break
		}
	}
	if len(defs) == 0 {
		defs = attributesInText(unescape(f.b.system))
	}
	var out []attributeDef
	for _, d := range defs {
		if f.collectable(d) && len(out) < mostAttributes && !slices.ContainsFunc(out, func(o attributeDef) bool { return o.ID == d.ID }) {
			out = append(out, d)
		}
	}
	return out
}

var nameAttributes = map[string]bool{"name": true, "charactername": true, "playername": true, "姓名": true, "名字": true}

func (f *filler) collectable(d attributeDef) bool {
	if d.ID == "" || f.refused[d.ID] || nameAttributes[strings.ToLower(d.ID)] || nameAttributes[strings.ToLower(d.Name)] || strings.ContainsAny(d.ID, "{} ") {
		return false
	}
	switch d.Type {
	case "string":
		return true
	case "enum":
		return len(d.Options) > 0
	}
	return false
}

// findAttributes looks for a list of attribute definitions anywhere in a JSON value.
func findAttributes(raw json.RawMessage, depth int) []attributeDef {
	if depth > 6 || len(raw) == 0 {
		return nil
	}
	var list []attributeDef
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 && list[0].ID != "" && list[0].Type != "" {
		return list
	}
	var text string
	if json.Unmarshal(raw, &text) == nil && strings.HasPrefix(strings.TrimSpace(text), "{") {
		return findAttributes(json.RawMessage(text), depth+1)
	}
	var obj map[string]json.RawMessage
	if json.Unmarshal(raw, &obj) != nil {
		return nil
	}
	keys := make([]string, 0, len(obj))
	for k := range obj {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	if i := slices.Index(keys, "attributes"); i > 0 { // where it is expected
		keys[0], keys[i] = keys[i], keys[0]
	}
	for _, k := range keys {
		if found := findAttributes(obj[k], depth+1); len(found) > 0 {
			return found
		}
	}
	return nil
}

// attributesInText tries every bracket of a prompt that may open a list of attributes.
func attributesInText(s string) []attributeDef {
	for tries := 0; tries < 64; tries++ {
		i := strings.Index(s, "[")
		if i < 0 {
			return nil
		}
		s = s[i:]
		if rest := strings.TrimLeft(s[1:], " \n\r\t"); strings.HasPrefix(rest, "{") {
			var raw json.RawMessage
			if json.NewDecoder(strings.NewReader(s)).Decode(&raw) == nil {
				if found := findAttributes(raw, 0); len(found) > 0 {
					return found
				}
			}
		} else {
			tries-- // a bracket that opens no list of objects costs nothing
		}
		s = s[1:]
	}
	return nil
}

// form writes the whole form for a schema.
func (f *filler) form(s *schema) any {
	attrs := f.attributes()
	if most := int(s.property("fields").number("maxItems", 4)); len(attrs)+1 > most {
		attrs = attrs[:max(0, most-1)]
	}
	f.t.slots["world"] = f.w.name
	out := map[string]any{"narrativeTemplate": f.narrative(attrs)}
	var fields []any
	item := s.property("fields").item()
	name := f.formField(item, characterNameField, f.t.pick("form.name.label"), nil, f.playerName(), true)
	if item.property("placeholder") != nil && !f.drop["placeholder"] { // a name is for the player to give
		name["placeholder"] = f.playerName()
		delete(name, "defaultValue")
	}
	fields = append(fields, name)
	for _, a := range attrs {
		label := printable(f.b.tongue, a.Name, 24)
		if label == "" {
			label = showable(a.Name)
		}
		if label == "" {
			label = a.ID
		}
		fields = append(fields, f.formField(item, a.ID, label, a.Options, f.defaultFor(a), false))
	}
	out["fields"] = fields
	for _, name := range s.properties() {
		if _, done := out[name]; done || f.drop[name] {
			continue
		}
		p := s.property(name)
		switch {
		case name == "title":
			out[name] = f.fit(p, f.t.pick("form.title.world", "form.title"))
		case strings.EqualFold(name, "submitLabel"):
			out[name] = f.fit(p, f.t.pick("form.submit"))
		case name == "formId" && p.kind() == "string":
			out[name] = "char-creation"
		case name == "description" || name == "intro":
			if p.kind() == "string" {
				out[name] = f.fit(p, f.t.pick("form.intro"))
			}
		case s.requires(name):
			out[name] = f.value(p, name, 1)
		}
	}
	for name := range f.drop {
		delete(out, name)
	}
	return out
}

func (f *filler) fit(s *schema, text string) string {
	return fitted(text, int(s.number("minLength", 0)), int(s.number("maxLength", 1<<20)))
}

func (f *filler) formField(item *schema, name, label string, options []string, value string, required bool) map[string]any {
	kind := "text"
	if len(options) > 0 {
		kind = "select"
	}
	out := map[string]any{"name": name, "type": kind, "label": label}
	has := func(p string) bool { return item == nil || item.property(p) != nil }
	if has("defaultValue") && !f.drop["defaultValue"] {
		out["defaultValue"] = value
	}
	if has("required") {
		out["required"] = required
	}
	if len(options) > 0 {
		list := make([]any, len(options))
		for i, o := range options {
			list[i] = o
			if opt := item.property("options").item(); opt.kind() == "object" {
				v := map[string]any{}
				for _, p := range opt.properties() {
					v[p] = o
				}
				list[i] = v
			}
		}
		out["options"] = list
	}
	for _, p := range item.properties() {
		if _, done := out[p]; !done && item.requires(p) {
			out[p] = f.value(item.property(p), p, 3)
		}
	}
	for p := range f.drop {
		if p != "name" && p != "type" && p != "label" && p != "options" {
			delete(out, p)
		}
	}
	return out
}

// playerName is a name that nobody in the world has.
func (f *filler) playerName() string {
	pool := f.t.bank.pools["form.name"]
	if len(pool) == 0 {
		return ""
	}
	start := f.pick.below(len(pool))
	for i := range pool {
		name := pool[(start+i)%len(pool)].source
		if f.w.named(name) == nil && !f.refused[name] {
			return name
		}
	}
	return pool[start].source
}

// defaultFor is a short concrete value: the world's own default, one of the options, or something that suits anyone.
func (f *filler) defaultFor(a attributeDef) string {
	var own string
	_ = json.Unmarshal(a.DefaultValue, &own)
	if len(a.Options) > 0 {
		if slices.Contains(a.Options, own) {
			return own
		}
		return a.Options[f.pick.below(len(a.Options))]
	}
	if own = strings.TrimSpace(own); own != "" && !strings.ContainsAny(own, "{}") {
		return own
	}
	kind := fieldKind(a.ID)
	if kind == "any" {
		kind = fieldKind(a.Name)
	}
	return f.t.pick("form."+kind, "form.any")
}

// narrative is one sentence that says every answer once. The words around a placeholder are chosen so that both the
// default and whatever a player writes instead can stand there.
func (f *filler) narrative(attrs []attributeDef) string {
	const open, end = "{{", "}}"
	name := open + characterNameField + end
	var clauses []string
	for _, a := range attrs {
		f.t.slots["slot"] = open + a.ID + end
		f.t.slots["label"] = labelInside(f.b.tongue, a.Name)
		kind := fieldKind(a.ID)
		if kind == "any" {
			kind = fieldKind(a.Name)
		}
		pools := []string{"form.clause.label", "form.clause.any"}
		if len(a.Options) == 0 {
			pools = []string{"form.clause." + kind, "form.clause.said", "form.clause.any"} // anything may be written there
		}
		for _, p := range slices.Concat(f.t.bank.pools["form.clause.label"], f.t.bank.pools["form.clause.said"]) { // two labels may stand in the same form of words
			delete(f.t.used, p)
		}
		clauses = append(clauses, f.t.pick(pools...))
	}
	if f.b.tongue == chinese {
		return strings.TrimRight("我叫"+name+"，"+strings.Join(clauses, "；"), "，") + "。"
	}
	switch len(clauses) {
	case 0:
		return "My name is " + name + "."
	case 1:
		return "My name is " + name + "; " + clauses[0] + "."
	}
	last := len(clauses) - 1
	return "My name is " + name + "; " + strings.Join(clauses[:last], "; ") + "; and " + clauses[last] + "."
}

// labelInside is an attribute's name as it stands inside a sentence, "" when it cannot.
func labelInside(t tongue, label string) string {
	s := printable(t, label, 16)
	if s == "" || strings.ContainsAny(s, "?？.。,，") {
		return ""
	}
	if t == chinese {
		return s
	}
	words := strings.Fields(s)
	if len(words) > 3 || len(words) > 0 && (baseForm(words[0]) != "" && len(words) > 1 || questionHas.MatchString(s) || determiner(words[0])) {
		return ""
	}
	return strings.ToLower(s)
}
