package manifest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/covel/covel/plugins/points"
)

var extensionID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)

// staticPrompt is the id under which the host registers the fixed segments of contributes.prompt.
const staticPrompt = "static-prompt"

// extensions reads the extension points the entry provides (reference: plugins.md §3.2).
func (l *loader) extensions(o *object) {
	for _, n := range o.list("extensions") {
		e := n.object()
		if e == nil {
			continue
		}
		e.required("point", "Name the extension point, as in prompt.segment@1")
		e.required("id", "Name the provider; the entry registers it under the same id")
		decl := ExtensionDecl{Point: e.text("point"), ID: e.text("id"), Order: e.integer("order", 0, -1_000_000, 1_000_000)}
		if decl.Point != "" {
			if _, ok := points.Find(decl.Point); !ok {
				known := make([]string, len(points.All))
				for i, p := range points.All {
					known[i] = p.ID
				}
				e.values["point"].problem("The points are: "+strings.Join(known, ", "), "%q is not an extension point", shorten(decl.Point))
			}
		}
		switch {
		case decl.ID == "":
		case !extensionID.MatchString(decl.ID):
			e.values["id"].problem("", "%q is not an id: a letter or a digit, then letters, digits, dots, - and _", shorten(decl.ID))
		case decl.ID == staticPrompt:
			e.values["id"].problem("Choose another", "%q is the id of contributes.prompt", decl.ID)
		}
		if decl.Point == points.UISlot {
			l.slot(e, &decl)
		}
		if slices.ContainsFunc(l.plugin.Contributes.Extensions, func(x ExtensionDecl) bool { return x.Point == decl.Point && x.ID == decl.ID }) {
			n.problem("Keep one of them", "the provider %q of %s is declared twice", decl.ID, decl.Point)
		}
		e.done(map[string]string{"slot": "Only ui.slot@1 fills a slot", "watch": "Only ui.slot@1 watches", "preview": "Only ui.slot@1 has a preview"})
		l.plugin.Contributes.Extensions = append(l.plugin.Contributes.Extensions, decl)
	}
}

func (l *loader) slot(e *object, decl *ExtensionDecl) {
	e.required("slot", "Name the slot: "+strings.Join(points.Slots, ", "))
	decl.Slot = e.text("slot")
	if decl.Slot != "" && !slices.Contains(points.Slots, decl.Slot) {
		e.values["slot"].problem("The slots are: "+strings.Join(points.Slots, ", "), "%q is not a slot", shorten(decl.Slot))
	}
	decl.Watch = e.texts("watch", func(ns string) string {
		if !namespacePattern.MatchString(ns) {
			return fmt.Sprintf("%q is not a namespace", shorten(ns))
		}
		return ""
	})
	decl.Preview = e.texts("preview", func(topic string) string {
		if !topicPattern.MatchString(topic) {
			return fmt.Sprintf("%q is not a topic", shorten(topic))
		}
		return ""
	})
}
