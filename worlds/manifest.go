package worlds

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/url"
	"regexp"
	"slices"

	"github.com/covel/covel/plugins/sdk"
)

// SchemaVersion is the format of world.yaml this version reads.
const SchemaVersion = "1.0"

// manifest is world.yaml in one language (reference: worlds-and-story.md §2).
type manifest struct {
	ID               string
	Version          string
	Name             string
	Summary          string
	Tags             []string
	DefaultLocale    string
	SupportedLocales []string
	Author           *Author
	License          string
	Homepage         string
	AccentColor      string
	DefaultViewMode  string
	Opening          string
	Greeting         string
	Tone             string
	Policy           PluginPolicy
	PluginSettings   map[string]map[string]json.RawMessage
	Schema           *sdk.CharacterSchema
}

// Author is shown before play. A link is opened only after the player confirms it.
type Author struct {
	Name  string `json:"name"`
	URL   string `json:"url,omitempty"`
	About string `json:"about,omitempty"`
	Links []Link `json:"links,omitempty"`
}

// Link is one of an author's links; URL is https.
type Link struct {
	Label string `json:"label"`
	URL   string `json:"url"`
}

// PluginPolicy is what a world wishes of the plugin selection. Nothing in it is locked: the player decides
// (reference: worlds-and-story.md §3).
type PluginPolicy struct {
	PresetID      string       `json:"presetId,omitempty"`
	Packs         []PluginPack `json:"packs,omitempty"`
	PreferredTags []string     `json:"preferredTags,omitempty"`
	AvoidedTags   []string     `json:"avoidedTags,omitempty"`
	Requested     []string     `json:"requested,omitempty"`   // plugin ids, on by default
	Recommended   []string     `json:"recommended,omitempty"` // plugin ids, only suggested
	Requires      []string     `json:"requires,omitempty"`    // contract ids, name@version
}

// PluginPack is a named selection a world offers.
type PluginPack struct {
	ID          string   `json:"id"`
	Label       string   `json:"label"`
	Description string   `json:"description,omitempty"`
	Requested   []string `json:"requested,omitempty"`
	Recommended []string `json:"recommended,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Reason      string   `json:"reason,omitempty"`
}

var (
	versionForm  = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$`)
	accentForm   = regexp.MustCompile(`^(#[0-9a-fA-F]{6}|oklch\((0|1|0?\.[0-9]{1,4}|1\.0+|[0-9]{1,3}(\.[0-9]{1,4})?%) (0|0?\.[0-9]{1,4}) [0-9]{1,3}(\.[0-9]{1,3})?\))$`)
	pluginForm   = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)
	contractForm = regexp.MustCompile(`^[a-z][a-z0-9.-]*@[1-9][0-9]*$`)
)

const (
	maxTags     = 30
	maxPlugins  = 200
	maxLinks    = 6
	maxLocales  = 40
	maxPacks    = 20
	maxSettings = 200
)

// notReadYet are keys of the world format that this version has no reader for. They are refused, so that an author does
// not wonder why a file has no effect.
var notReadYet = []string{"worldData", "dimensions", "dimensionSources", "cover", "themeMusic"}

// readManifest reads world.yaml. main is the manifest of defaultLocale when a translation is read, else nil.
func readManifest(c cursor, main *manifest) *manifest {
	o := c.objectExcept(notReadYet,
		"schemaVersion", "id", "name", "version", "summary", "defaultLocale", "supportedLocales", "tags", "author", "license", "homepage",
		"accentColor", "defaultViewMode", "openingScenario", "greeting", "tone", "pluginPolicy", "pluginSettings", "characterSchema")
	for _, key := range notReadYet {
		if later := o.get(key); later.present() {
			later.fail("remove it.", "this version of Covel does not read it.")
		}
	}
	m := &manifest{}
	if o.noMap {
		return m
	}
	if v := o.get("schemaVersion"); v.require() {
		v.oneOf("", SchemaVersion)
	}
	if id := o.get("id"); id.require() {
		m.ID = id.matching(recordID, recordIDRule)
	}
	if name := o.get("name"); name.require() {
		m.Name = name.label(maxNameRunes)
	}
	if summary := o.get("summary"); summary.require() {
		m.Summary = summary.prose(maxShortRunes)
	}
	m.Version = o.get("version").matching(versionForm, "digits, letters, dots, such as 1.2.0")
	if locale := o.get("defaultLocale"); locale.require() {
		m.DefaultLocale = readLocale(locale)
	}
	m.SupportedLocales = readLocales(o.get("supportedLocales"), m.DefaultLocale)
	m.Tags = o.get("tags").labels(maxTags, maxNameRunes)
	m.Author = readAuthor(o.get("author"))
	m.License = o.get("license").label(maxNameRunes)
	m.Homepage = readURL(o.get("homepage"))
	m.AccentColor = o.get("accentColor").matching(accentForm, "#rrggbb or oklch(L C H), such as oklch(0.6 0.12 210)")
	if m.AccentColor == "" {
		m.AccentColor = derivedAccent(m.ID)
	}
	m.DefaultViewMode = o.get("defaultViewMode").oneOf("", "stage", "parsed")
	m.Opening = o.get("openingScenario").prose(maxLongRunes)
	m.Greeting = o.get("greeting").prose(maxLongRunes)
	m.Tone = o.get("tone").prose(maxShortRunes)
	m.Policy = readPolicy(o.get("pluginPolicy"))
	m.PluginSettings = readSettings(o.get("pluginSettings"))
	var mainSchema *sdk.CharacterSchema
	if main != nil {
		mainSchema = main.Schema
	}
	m.Schema = readSchema(o.get("characterSchema"), mainSchema)
	return m
}

func readLocale(c cursor) string {
	text := c.label(64)
	if text == "" {
		return ""
	}
	locale, ok := canonicalLocale(text)
	if !ok {
		c.fail("use a tag such as en, zh-CN or pt-BR.", "%q is no language tag (BCP 47).", clip(text, 40))
	}
	return locale
}

func readLocales(c cursor, first string) []string {
	out := []string{}
	for _, item := range c.items(maxLocales) {
		if !item.require() {
			continue
		}
		switch locale := readLocale(item); {
		case locale == "": // reported
		case slices.Contains(out, locale):
			item.fail("keep one of them.", "%q occurs twice.", locale)
		default:
			out = append(out, locale)
		}
	}
	if c.present() && first != "" && len(out) > 0 && !slices.Contains(out, first) {
		c.fail("add it to the list.", "defaultLocale %q is not among them.", first)
	}
	return out
}

func readURL(c cursor) string {
	text := c.label(500)
	if text == "" {
		return ""
	}
	if u, err := url.Parse(text); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		c.fail("write a whole address that begins with https://.", "%q is no https address.", clip(text, 60))
		return ""
	}
	return text
}

func readAuthor(c cursor) *Author {
	if !c.present() {
		return nil
	}
	o := c.object("name", "url", "about", "links")
	a := &Author{URL: readURL(o.get("url")), About: o.get("about").prose(maxShortRunes)}
	if name := o.get("name"); name.require() {
		a.Name = name.label(maxNameRunes)
	}
	for _, item := range o.get("links").items(maxLinks) {
		l := item.object("label", "url")
		if l.noMap {
			continue
		}
		if label, address := l.get("label"), l.get("url"); label.require() && address.require() {
			a.Links = append(a.Links, Link{label.label(maxNameRunes), readURL(address)})
		}
	}
	return a
}

func readPolicy(c cursor) PluginPolicy {
	o := c.object("presetId", "packs", "preferredTags", "avoidedTags", "requested", "recommended", "requires")
	p := PluginPolicy{
		PresetID:      o.get("presetId").label(maxNameRunes),
		PreferredTags: o.get("preferredTags").labels(maxTags, maxNameRunes),
		AvoidedTags:   o.get("avoidedTags").labels(maxTags, maxNameRunes),
		Requested:     readIDs(o.get("requested")),
		Recommended:   readIDs(o.get("recommended")),
	}
	requires := o.get("requires")
	p.Requires = requires.labels(maxPlugins, 200)
	for _, r := range p.Requires {
		if !contractForm.MatchString(r) {
			requires.fail("name a contract such as action-check@1; plugins go into requested.", "%q is no contract.", clip(r, 60))
		}
	}
	for _, item := range o.get("packs").items(maxPacks) {
		k := item.object("id", "label", "description", "requested", "recommended", "tags", "reason")
		if k.noMap {
			continue
		}
		pack := PluginPack{
			Description: k.get("description").prose(maxShortRunes),
			Requested:   readIDs(k.get("requested")),
			Recommended: readIDs(k.get("recommended")),
			Tags:        k.get("tags").labels(maxTags, maxNameRunes),
			Reason:      k.get("reason").prose(maxShortRunes),
		}
		if id := k.get("id"); id.require() {
			pack.ID = id.matching(recordID, recordIDRule)
		}
		if label := k.get("label"); label.require() {
			pack.Label = label.label(maxNameRunes)
		}
		p.Packs = append(p.Packs, pack)
	}
	return p
}

func readIDs(c cursor) []string {
	ids := c.labels(maxPlugins, 64)
	for _, id := range ids {
		if !pluginForm.MatchString(id) {
			c.fail("use the plugin's id: lower-case letters, digits and -.", "%q is no plugin id.", clip(id, 60))
		}
	}
	return ids
}

func readSettings(c cursor) map[string]map[string]json.RawMessage {
	plugins := c.members()
	if len(plugins.order) == 0 {
		return nil
	}
	if len(plugins.order) > maxSettings {
		c.fail("shorten it.", "it has settings for %d plugins, at most %d are read.", len(plugins.order), maxSettings)
		return nil
	}
	out := map[string]map[string]json.RawMessage{}
	for _, id := range plugins.order {
		settings := plugins.get(id).members()
		values := map[string]json.RawMessage{}
		for _, key := range settings.order {
			data, err := json.Marshal(settings.get(key).any())
			if err != nil {
				settings.get(key).fail("write plain values.", "it is no JSON value.")
				continue
			}
			values[key] = data
		}
		out[id] = values
	}
	return out
}

// derivedAccent gives a world without accentColor a calm colour of its own.
func derivedAccent(id string) string {
	h := fnv.New32a()
	h.Write([]byte(id))
	return fmt.Sprintf("oklch(0.6 0.11 %d)", h.Sum32()%360)
}
