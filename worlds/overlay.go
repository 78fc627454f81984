package worlds

import (
	"path"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A language file holds only text: it is laid over the main file's tree (reference: worlds-and-story.md §9). Maps merge
// by key, lists of maps by id, else by position; a list of texts is replaced as a whole, where an empty item keeps the
// main file's item. Whatever has no place in the main file, or is no text there, is ignored and reported as a warning.

// textPlaces are the patterns of places that are text, with "*" for one list index and a final "**" for everything below.
type textPlaces []string

var (
	manifestTexts = textPlaces{
		"name", "summary", "tags", "openingScenario", "greeting", "tone", "author.about", "author.links.*.label",
		"pluginPolicy.packs.*.label", "pluginPolicy.packs.*.description", "pluginPolicy.packs.*.reason",
		"characterSchema.attributes.*.name", "characterSchema.attributes.*.description",
		"characterSchema.attributes.*.options", "characterSchema.attributes.*.defaultValue.**",
	}
	characterTexts = textPlaces{"*.name", "*.aliases", "*.description", "*.fields.**"}
	lorebookTexts  = textPlaces{"*.keys", "*.content", "*.extra.title"}
)

// has says whether the place is text. Attributes inside attributes follow the same patterns as the outer ones.
func (t textPlaces) has(place []string) bool {
	for i := 2; i+1 < len(place); i++ {
		if place[i] == "subSchema" && place[0] == "characterSchema" {
			return t.has(append(append([]string{}, place[:1]...), append([]string{"attributes"}, place[i+1:]...)...))
		}
	}
	for _, pattern := range t {
		if placeMatches(strings.Split(pattern, "."), place) {
			return true
		}
	}
	return false
}

func placeMatches(pattern, place []string) bool {
	for i, p := range pattern {
		if p == "**" {
			return true
		}
		if i >= len(place) || (p != "*" && p != place[i]) {
			return false
		}
	}
	return len(pattern) == len(place)
}

// translate lays one language file over a copy of the main tree.
func translate(main, over *yaml.Node, texts textPlaces, mainFile, overFile string, report *problems) *source {
	t := &translation{
		texts:    texts,
		overFile: overFile,
		mainFile: path.Base(mainFile),
		out:      &source{file: mainFile, origin: map[*yaml.Node]string{}, report: report},
	}
	t.out.root = t.lay(main, over, nil, "")
	return t.out
}

type translation struct {
	texts              textPlaces
	mainFile, overFile string
	out                *source
}

func (t *translation) ignore(line int, field, message string) {
	t.out.report.warn(Error{File: t.overFile, Line: line, Field: field, Message: message + " It was ignored.", Fix: "translate only texts that " + t.mainFile + " has."})
}

// lay returns main with the texts of over in it; main itself stays as it is.
func (t *translation) lay(main, over *yaml.Node, place []string, field string) *yaml.Node {
	switch {
	case over == nil || over.ShortTag() == "!!null":
		return main
	case main.Kind != over.Kind:
		t.ignore(over.Line, field, "here it is "+kindName(over)+", in the main file "+kindName(main)+".")
		return main
	case main.Kind == yaml.MappingNode:
		return t.layMap(main, over, place, field)
	case main.Kind == yaml.SequenceNode && isTextList(main) && isTextList(over):
		return t.layTexts(main, over, place, field)
	case main.Kind == yaml.SequenceNode:
		return t.layList(main, over, place, field)
	case main.ShortTag() == over.ShortTag() && main.Value == over.Value:
		return main
	case main.ShortTag() != "!!str" || over.ShortTag() != "!!str" || !t.texts.has(place):
		t.ignore(over.Line, field, "it is no text that a translation may change.")
		return main
	}
	t.out.origin[over] = t.overFile
	return over
}

func (t *translation) layMap(main, over *yaml.Node, place []string, field string) *yaml.Node {
	out := *main
	out.Content = append([]*yaml.Node{}, main.Content...)
	values := map[string]int{} // a repeated key is reported when the main file is read
	for i := 0; i+1 < len(main.Content); i += 2 {
		values[main.Content[i].Value] = i + 1
	}
	for i := 0; i+1 < len(over.Content); i += 2 {
		key := over.Content[i]
		name := cursor{field: field}.child(clip(cleanText(key.Value), 64))
		at, ok := values[key.Value]
		if !ok {
			t.ignore(key.Line, name, "the main file has no such key.")
			continue
		}
		out.Content[at] = t.lay(main.Content[at], over.Content[i+1], append(place[:len(place):len(place)], key.Value), name)
	}
	return &out
}

func (t *translation) layTexts(main, over *yaml.Node, place []string, field string) *yaml.Node {
	if !t.texts.has(place) {
		t.ignore(over.Line, field, "the list is no text that a translation may change.")
		return main
	}
	// The options of an enum correspond one to one: values elsewhere are translated by their place in the list.
	if place[len(place)-1] == "options" && len(main.Content) != len(over.Content) {
		t.ignore(over.Line, field, "it must have as many options as in the main file.")
		return main
	}
	out := *over
	out.Content = append([]*yaml.Node{}, over.Content...)
	for i, item := range out.Content {
		if item.ShortTag() == "!!null" && i < len(main.Content) {
			out.Content[i] = main.Content[i]
			continue
		}
		t.out.origin[item] = t.overFile
	}
	t.out.origin[&out] = t.overFile
	return &out
}

func (t *translation) layList(main, over *yaml.Node, place []string, field string) *yaml.Node {
	byID := map[string]int{}
	for i, item := range main.Content {
		if id := idOf(item); id != "" {
			byID[id] = i
		}
	}
	out := *main
	out.Content = append([]*yaml.Node{}, main.Content...)
	for i, item := range over.Content {
		at, name := i, field+"["+itemName(item, i)+"]"
		if id := idOf(item); id != "" || len(byID) > 0 {
			found, ok := byID[id]
			if !ok {
				t.ignore(item.Line, name, "the main file has no item with this id.")
				continue
			}
			at = found
		} else if at >= len(main.Content) {
			t.ignore(item.Line, name, "the main file's list is shorter.")
			continue
		}
		out.Content[at] = t.lay(out.Content[at], item, append(place[:len(place):len(place)], "*"), name)
	}
	return &out
}

func isTextList(n *yaml.Node) bool {
	for _, item := range n.Content {
		if tag := item.ShortTag(); item.Kind != yaml.ScalarNode || (tag != "!!str" && tag != "!!null") {
			return false
		}
	}
	return true
}

func idOf(n *yaml.Node) string {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == "id" && n.Content[i+1].Kind == yaml.ScalarNode {
				return n.Content[i+1].Value
			}
		}
	}
	return ""
}

func itemName(n *yaml.Node, i int) string {
	if id := idOf(n); id != "" {
		return clip(cleanText(id), 64)
	}
	return strconv.Itoa(i)
}
