package manifest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

var (
	slotPattern    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
	tagNamePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,63}$`)
	pointerPattern = regexp.MustCompile(`^(/([^~/]|~[01])*)*$`)
	leadingZero    = regexp.MustCompile(`^/0[0-9]`)
)

// kernelInputs are what io.inputs.from.kernel may name.
var kernelInputs = []string{"turn-digest@1", "operations@1"}

// io reads what the runtime reads and gives (reference: plugins.md §4.2).
func (l *loader) io(r *Runtime, o *object) {
	r.IO = IO{Visibility: VisibilityPlugin}
	if o == nil {
		return
	}
	if in := o.object("inputs"); in != nil {
		r.IO.Inputs = map[string]Binding{}
		for _, slot := range in.keys {
			b := in.object(slot)
			if !slotPattern.MatchString(slot) {
				in.values[slot].problem("", "%q is not a slot name: a letter, then letters, digits, - and _", shorten(slot))
			}
			if b != nil {
				r.IO.Inputs[slot] = l.binding(b)
			}
		}
	}
	if out := o.object("output"); out != nil {
		l.output(r, out)
	}
	r.IO.PayloadSchema, r.IO.PayloadFrom = l.schemaOrContract(o, "payloadSchema")
	r.IO.Visibility = o.choice("visibility", VisibilityPlugin, VisibilityStory, VisibilityPlugin, VisibilitySystem)
	r.IO.Concealed = o.boolean("concealed", false)
	for _, n := range o.list("selfData") {
		l.selfData(r, n)
	}
	o.done(nil)
}

// binding reads one input slot. An input is required and of this turn unless it says otherwise.
func (l *loader) binding(o *object) Binding {
	b := Binding{Cardinality: "one", Scope: "turn", Required: true}
	o.required("from", "Write from: {contract: …}, {runtime: …} or {kernel: turn-digest@1}")
	if from := o.object("from"); from != nil {
		l.source(&b, from)
	}
	b.Scope = o.choice("scope", "turn", "turn", "committed")
	b.Required = o.boolean("required", true)
	b.RecordAs = o.text("recordAs")
	if n, ok := o.get("select"); ok {
		b.Select, _ = n.text()
		if !isPointer(b.Select) {
			n.problem("Write a JSON Pointer such as /narrativeOutput or /items/0/name", "%q is not a JSON Pointer", shorten(b.Select))
		}
	}
	b.Accepts, b.AcceptsFrom = l.schemaOrContract(o, "accepts")
	if b.Scope == "committed" {
		switch {
		case o.has("select"):
			o.values["select"].problem("Remove select", "a committed input reads the whole export")
		case b.RecordAs == "":
			o.problem("Add recordAs", "a committed input names the export it reads")
		case b.Kernel != "":
			o.problem("Read from a runtime or a contract", "the kernel has no committed exports")
		}
	} else if b.RecordAs != "" {
		o.values["recordAs"].problem("Add scope: committed", "recordAs belongs to committed inputs")
	}
	o.done(nil)
	return b
}

func (l *loader) source(b *Binding, o *object) {
	b.Runtime, b.Contract, b.Kernel = o.text("runtime"), o.text("contract"), o.text("kernel")
	named := 0
	for _, s := range []string{b.Runtime, b.Contract, b.Kernel} {
		if s != "" {
			named++
		}
	}
	if named != 1 {
		o.problem("Write one of {contract: …}, {runtime: …}, {kernel: …}", "must name exactly one source")
	}
	if b.Runtime != "" {
		b.Runtime = l.runtimeID(o.values["runtime"], b.Runtime, false)
	}
	if b.Contract != "" {
		l.consumed(o.values["contract"], b.Contract, false)
		b.Cardinality = o.choice("cardinality", "one", "one", "all")
	}
	if b.Kernel != "" && !slices.Contains(kernelInputs, b.Kernel) {
		o.values["kernel"].problem("Use one of: "+strings.Join(kernelInputs, ", "), "the kernel gives no %q", shorten(b.Kernel))
	}
	o.done(nil)
}

func (l *loader) output(r *Runtime, o *object) {
	out := &r.IO
	out.OutputContract = o.text("contract")
	out.RecordAs = o.text("recordAs")
	if n, ok := o.get("schema"); ok {
		out.OutputSchema = l.files.schema(n)
	}
	if c := out.OutputContract; c != "" {
		n := o.values["contract"]
		switch other, twice := l.producers[c]; {
		case isContract(c) != "":
			n.problem("", "%s", isContract(c))
		case !l.isProvided(c):
			n.problem("Add it to provides in PLUGIN.md", "the package does not provide %s", c)
		case twice:
			n.problem("A contract has one runtime in a package", "%s is already the output of %s", c, other)
		default:
			l.producers[c] = r.ID
		}
	}
	if out.RecordAs != "" && !o.has("schema") {
		o.values["recordAs"].problem("Add output.schema", "an export needs a schema")
	}
	o.done(nil)
}

// schemaOrContract reads a schema file, or contract:<id> for the schema of a contract.
func (l *loader) schemaOrContract(o *object, key string) (json.RawMessage, string) {
	n, ok := o.get(key)
	if !ok {
		return nil, ""
	}
	if contract, ok := strings.CutPrefix(n.yaml.Value, "contract:"); ok {
		if wrong := isContract(contract); wrong != "" {
			n.problem("", "%s", wrong)
			return nil, ""
		}
		return nil, contract
	}
	return l.files.schema(n), ""
}

func isPointer(s string) bool {
	if !pointerPattern.MatchString(s) {
		return false
	}
	for i := range s {
		if s[i] == '/' && leadingZero.MatchString(s[i:]) {
			token, _, _ := strings.Cut(s[i+1:], "/")
			if strings.Trim(token, "0123456789") == "" {
				return false
			}
		}
	}
	return true
}

func (l *loader) selfData(r *Runtime, n node) {
	o := n.object()
	if o == nil {
		return
	}
	o.required("namespace", "Name a namespace of this plugin")
	d := SelfData{
		Namespace:  o.text("namespace"),
		As:         o.text("as"),
		Format:     o.choice("format", "summary", "summary", "full", "ids-only"),
		MaxEntries: o.integer("maxEntries", 50, 1, 500),
	}
	if d.As == "" {
		d.As = d.Namespace
	}
	switch {
	case d.Namespace == "":
	case strings.HasPrefix(d.Namespace, "_"):
		o.values["namespace"].problem("Let a guard or a tool read it", "the namespace %q does not go into prompts", shorten(d.Namespace))
	case !namespacePattern.MatchString(d.Namespace):
		o.values["namespace"].problem("", "%q is not a namespace", shorten(d.Namespace))
	}
	if d.As != "" && !tagNamePattern.MatchString(d.As) {
		o.problem("Use letters, digits and hyphens", "%q cannot be the name of a block", shorten(d.As))
	}
	o.done(nil)
	r.IO.SelfData = append(r.IO.SelfData, d)
}
