package projections

import (
	"bytes"
	"encoding/json"

	"github.com/pkg/errors"
	"google.golang.org/protobuf/proto"

	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// ErrNoMeaning: an event decodes, but says nothing that can be folded: a part is missing, or a JSON value is not JSON. Such
// an event was never written by a sound program; the text names the part.
var ErrNoMeaning = errors.New("projections: event has no meaning")

// understand checks what the folds take for granted and makes the JSON values of a freshly decoded event compact, so that
// a state holds the same bytes whether it was folded just now or read back from a snapshot.
func understand(msg proto.Message) error {
	switch m := msg.(type) {
	case *eventsv1.SeatChanged:
		if m.Seat == nil {
			return errors.Wrap(ErrNoMeaning, "seat is missing")
		}
	case *eventsv1.PluginSelectionChanged:
		if m.Selection == nil {
			return errors.Wrap(ErrNoMeaning, "selection is missing")
		}
	case *eventsv1.SettingsChanged:
		if m.Settings == nil {
			return errors.Wrap(ErrNoMeaning, "settings are missing")
		}
	case *eventsv1.ExecutionResults:
		for i, r := range m.Results {
			if err := compact(&r.Output); err != nil {
				return errors.Wrapf(err, "results[%d].output", i)
			}
		}
	case *eventsv1.HeadMoved:
		if m.To == 0 {
			return errors.Wrap(ErrNoMeaning, "to is missing")
		}
	case *eventsv1.SetupRuntimeChanged:
		if m.Setup == nil {
			return errors.Wrap(ErrNoMeaning, "setup is missing")
		}
	case *eventsv1.ActionsSubmitted:
		for i, a := range m.Actions {
			if err := compact(&a.Fields); err != nil {
				return errors.Wrapf(err, "actions[%d].fields", i)
			}
		}
	case *eventsv1.ExecutionStarted:
		for i, t := range m.Targets {
			if err := compact(&t.Payload); err != nil {
				return errors.Wrapf(err, "targets[%d].payload", i)
			}
		}
	case *eventsv1.SuspensionSaved:
		return errors.Wrap(compact(&m.ResumeSchema), "resumeSchema")
	case *eventsv1.SuspensionClaimed:
		return errors.Wrap(compact(&m.Answer), "answer")
	case *eventsv1.JobQueued:
		switch {
		case m.Plugin == nil:
			return errors.Wrap(ErrNoMeaning, "plugin is missing")
		case m.Input == nil:
			return errors.Wrap(ErrNoMeaning, "input is missing")
		case m.JobId == "" || m.RuntimeId == "":
			return errors.Wrap(ErrNoMeaning, "jobId or runtimeId is missing")
		}
	case *eventsv1.InteractionRequested:
		return errors.Wrap(compact(&m.Block), "block")
	case *eventsv1.UIRendered:
		return errors.Wrap(compact(&m.Render), "render")
	case *eventsv1.CharacterSchemaSet:
		return errors.Wrap(compact(&m.Attributes), "attributes")
	case *eventsv1.CharacterUpserted:
		if m.Record == nil {
			return errors.Wrap(ErrNoMeaning, "record is missing")
		}
		return errors.Wrapf(compact(&m.Record.Fields), "fields of character %s", m.Record.Id)
	case *eventsv1.LorebookUpserted:
		for _, e := range m.Entries {
			if err := compact(&e.Extra); err != nil {
				return errors.Wrapf(err, "extra of entry %s", e.Id)
			}
		}
	case *eventsv1.LoreEdited:
		if m.Entry == nil {
			return errors.Wrap(ErrNoMeaning, "entry is missing")
		}
		return errors.Wrapf(compact(&m.Entry.Extra), "extra of entry %s", m.Entry.Id)
	case *eventsv1.OutputExported:
		return errors.Wrapf(compact(&m.Value), "value of export %s of %s", m.Name, m.RuntimeId)
	case *eventsv1.AssetGenerated:
		if m.Ref == nil {
			return errors.Wrap(ErrNoMeaning, "ref is missing")
		}
		return errors.Wrap(compact(&m.Meta), "meta")
	case *eventsv1.DimensionsInitialized:
		return compactDimensions(m.Dimensions)
	case *eventsv1.DimensionsUpdated:
		for _, v := range m.Values {
			if err := compact(&v.Value); err != nil {
				return errors.Wrapf(err, "value of dimension %s", v.Id)
			}
		}
		return compactDimensions(m.GetReceipt().GetDefinitions())
	case *eventsv1.PluginDataChanged:
		for _, c := range m.Changes {
			if err := compact(&c.Value); err != nil {
				return errors.Wrapf(err, "value of %s/%s", c.Namespace, c.Key)
			}
		}
	}
	return nil
}

func compactDimensions(list []*eventsv1.Dimension) error {
	for _, d := range list {
		if d.Definition == nil {
			return errors.Wrapf(ErrNoMeaning, "definition of dimension %s is missing", d.Id)
		}
		for _, b := range []*[]byte{&d.Definition.Schema, &d.Definition.InitialValue, &d.Value} {
			if err := compact(b); err != nil {
				return errors.Wrapf(err, "dimension %s", d.Id)
			}
		}
	}
	return nil
}

// compact drops insignificant space; null becomes no value, as it does in a snapshot.
func compact(b *[]byte) error {
	if len(*b) == 0 {
		*b = nil
		return nil
	}
	var out bytes.Buffer
	out.Grow(len(*b))
	if err := json.Compact(&out, *b); err != nil {
		return errors.Wrapf(ErrNoMeaning, "not JSON: %v", err)
	}
	*b = out.Bytes()
	if string(*b) == "null" {
		*b = nil
	}
	return nil
}
