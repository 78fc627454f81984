package commit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

// Kinds of noted records.
const (
	notedCharacter = "character"
	notedSchema    = "character-schema"
	notedData      = "plugin-data" // key: JSON [plugin, namespace, key]
	notedLore      = "lorebook"    // key: JSON [plugin, entry]
	notedExport    = "export"      // key: JSON [runtime, name]
)

// noted gives the records that the saved writes of a run would change, with their content in a state (seed:
// turn-pipeline.txt §2.3, "Writes after a suspension").
func noted(s projections.State, r turn.Result) []projections.NotedRecord {
	var out []projections.NotedRecord
	note := func(kind string, parts ...string) {
		n := projections.NotedRecord{Kind: kind, Key: notedKey(parts)}
		n.Digest = contentOf(s, n)
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	touch := func(plugin string, proposals []sdk.Proposal) {
		for _, p := range proposals {
			switch {
			case p.Type == sdk.CharacterSchemaSet{}.ProposalType():
				note(notedSchema)
			case p.Type == sdk.CharacterUpsert{}.ProposalType():
				var up struct{ ID string }
				if json.Unmarshal(p.Payload, &up) == nil {
					note(notedCharacter, up.ID)
				}
			case strings.HasPrefix(p.Type, sdk.PluginDataWrite{}.ProposalType()): // one, a batch, a removal, an update
				type record struct{ Namespace, Key string }
				var w struct {
					record
					Items []record
				}
				if json.Unmarshal(p.Payload, &w) != nil {
					continue
				}
				if w.Items == nil {
					w.Items = []record{w.record}
				}
				for _, i := range w.Items {
					note(notedData, plugin, i.Namespace, i.Key)
				}
			case p.Type == sdk.LorebookUpsert{}.ProposalType():
				var l struct{ Entries []struct{ ID string } }
				if json.Unmarshal(p.Payload, &l) != nil {
					continue
				}
				for _, e := range l.Entries {
					note(notedLore, plugin, e.ID)
				}
			}
		}
	}
	touch(r.PluginID, r.Proposals)
	for _, op := range r.Operations {
		touch(op.PluginID, op.Proposals)
	}
	for _, e := range r.Exports {
		note(notedExport, e.RuntimeID, e.Name)
	}
	return out
}

// changedSince names a noted record whose content is another now, "" when all are as they were.
func changedSince(s projections.State, noted []projections.NotedRecord) string {
	for _, n := range noted {
		if contentOf(s, n) != n.Digest {
			return strings.TrimSpace(n.Kind + " " + n.Key)
		}
	}
	return ""
}

// contentOf is a digest of what a record holds, without when it was written; "" when there is no such record. A kind this
// program does not know has a content of its own, so that it never counts as unchanged.
func contentOf(s projections.State, n projections.NotedRecord) string {
	part := notedParts(n)
	switch n.Kind {
	case notedSchema:
		if s.Characters.SchemaVersion == 0 {
			return ""
		}
		return digest([]any{s.Characters.SchemaVersion, s.Characters.Types, s.Characters.Attributes})
	case notedCharacter:
		if c, ok := s.Characters.Find(part(0)); ok {
			c.CreatedAt, c.UpdatedAt = time.Time{}, time.Time{}
			return digest(c)
		}
		return ""
	case notedData:
		if rec, ok := s.PluginData.Get(part(0), part(1), part(2)); ok {
			return digest(rec.Value)
		}
		return ""
	case notedExport:
		if e, ok := s.Exports.Find(part(0), part(1)); ok {
			return digest(e.Value)
		}
		return ""
	case notedLore:
		for _, e := range s.Lorebook {
			if e.OwnerKind == "plugin" && e.OwnerPlugin == part(0) && e.ID == part(1) {
				return digest(e)
			}
		}
		return ""
	}
	return "unknown"
}

func digest(v any) string {
	b, err := plainjson.Marshal(v)
	if err != nil { // committed values are JSON
		return "unreadable"
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

func notedKey(parts []string) string {
	switch len(parts) {
	case 0:
		return ""
	case 1:
		return parts[0]
	}
	b, _ := plainjson.Marshal(parts) // strings
	return string(b)
}

func notedParts(n projections.NotedRecord) func(int) string {
	parts := []string{n.Key}
	if n.Kind == notedData || n.Kind == notedLore || n.Kind == notedExport {
		parts = nil
		_ = json.Unmarshal([]byte(n.Key), &parts) // written by notedKey
	}
	return func(i int) string {
		if i < len(parts) {
			return parts[i]
		}
		return ""
	}
}
