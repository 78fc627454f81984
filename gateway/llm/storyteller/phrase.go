package storyteller

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/pkg/errors"
	"go.yaml.in/yaml/v3"
)

//go:embed words
var wordFiles embed.FS

// phrase is one sentence form. Its source is a line of text with {slots}; "@tag" and "!tag" before the text say when it
// may be used: "@out @night !future The dark comes down over {place}."
type phrase struct {
	need, veto []string
	parts      []phrasePart
	grams      []uint64
	source     string
}

// phrasePart is either literal text or a slot with an optional argument: {he:look} is the pronoun with a verb that
// agrees, {+pool} is a phrase from another pool.
type phrasePart struct{ text, slot, arg string }

// bank holds everything of one language: pools of phrases by name, verbs by class, things that can stand in a scene.
type bank struct {
	pools    map[string][]*phrase
	lexicon  lexicon
	things   []thing
	devices  []*device
	fallback string
}

var banks = [2]func() *bank{
	english: sync.OnceValue(func() *bank { return loadBank(english) }),
	chinese: sync.OnceValue(func() *bank { return loadBank(chinese) }),
}

func bankOf(t tongue) *bank { return banks[t]() }

// loadBank reads the word files of a language. They are part of the binary, so a fault in them is a fault of the build,
// which the tests find; here it only leaves out what cannot be read.
func loadBank(t tongue) *bank {
	b := &bank{pools: map[string][]*phrase{}}
	dir := "words/" + t.String()
	files, _ := fs.Glob(wordFiles, dir+"/*")
	slices.Sort(files)
	for _, file := range files {
		data, err := wordFiles.ReadFile(file)
		if err != nil {
			continue
		}
		switch base := path.Base(file); {
		case base == "fallback.md":
			b.fallback = string(data)
		case base == "verbs.yaml":
			b.lexicon = readLexicon(t, data)
		case base == "things.yaml":
			_ = yaml.Unmarshal(data, &b.things)
		case base == "devices.yaml":
			b.devices = readDevices(t, data)
		case strings.HasSuffix(base, ".yaml"):
			var pools map[string][]string
			_ = yaml.Unmarshal(data, &pools)
			for name, lines := range pools {
				for _, line := range lines {
					if p, err := parsePhrase(t, line); err == nil {
						b.pools[name] = append(b.pools[name], p)
					}
				}
			}
		}
	}
	return b
}

// parsePhrase reads one line of a pool. The error names the line.
func parsePhrase(t tongue, line string) (*phrase, error) {
	p := &phrase{source: line}
	text := strings.TrimSpace(line)
	for strings.HasPrefix(text, "@") || strings.HasPrefix(text, "!") {
		tag, rest, ok := strings.Cut(text, " ")
		if !ok || len(tag) < 2 {
			return nil, errors.Errorf("phrase %q: a tag must be followed by text", line)
		}
		if tag[0] == '@' {
			p.need = append(p.need, tag[1:])
		} else {
			p.veto = append(p.veto, tag[1:])
		}
		text = strings.TrimSpace(rest)
	}
	longest := ""
	for text != "" {
		i := strings.IndexByte(text, '{')
		if i < 0 {
			i = len(text)
		}
		if lit := text[:i]; lit != "" {
			if strings.ContainsRune(lit, '}') {
				return nil, errors.Errorf("phrase %q: closing brace without an opening one", line)
			}
			p.parts = append(p.parts, phrasePart{text: lit})
			if len(tokens(nil, lit)) > len(tokens(nil, longest)) {
				longest = lit
			}
		}
		if i == len(text) {
			break
		}
		end := strings.IndexByte(text[i:], '}')
		if end < 0 {
			return nil, errors.Errorf("phrase %q: a slot is not closed", line)
		}
		slot, arg, _ := strings.Cut(text[i+1:i+end], ":")
		if slot == "" || strings.ContainsAny(slot, "{ ") {
			return nil, errors.Errorf("phrase %q: slot without a name", line)
		}
		p.parts = append(p.parts, phrasePart{slot: slot, arg: arg})
		text = text[i+end+1:]
	}
	if len(p.parts) == 0 {
		return nil, errors.Errorf("phrase %q: empty", line)
	}
	p.grams = gramsOf(t, longest)
	return p, nil
}

// allowed tells whether the tags of the scene admit a phrase.
func (p *phrase) allowed(tags map[string]bool) bool {
	for _, n := range p.need {
		if !tags[n] {
			return false
		}
	}
	for _, v := range p.veto {
		if tags[v] {
			return false
		}
	}
	return true
}
