package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/cmd/covel/terminal"
	"github.com/covel/covel/events"
	kernel "github.com/covel/covel/kernel/session"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

func eventsCommand() *cobra.Command {
	cat := &cobra.Command{
		Use:   "cat SESSION",
		Short: "Print the events of a session, one a line",
		Long: `Prints the events of a session in order: version, time, type and a summary.

With --json each line is an object {version, position, id, type, schemaVersion, recordedAt, metadata, data}: metadata and data
are the stored protobuf messages in their JSON form, in which bytes, such as free JSON values, are base64.`,
		Example: `  covel events cat low-water-4c3vx6qz
  covel events cat low-water-4c3vx6qz --from 100
  covel events cat low-water-4c3vx6qz --json | jq 'select(.type=="NarrativeAppended").data.text'`,
		Args: oneSession,
		RunE: func(c *cobra.Command, args []string) error { return catEvents(c, args[0]) },
	}
	cat.Flags().Uint64("from", 1, "version to begin with")
	jsonFlag(cat)
	return group("events", "The log itself", `Reads the log of the data folder (--data), also while a server writes it. Reading changes nothing.`, cat)
}

func catEvents(c *cobra.Command, id string) error {
	from, _ := c.Flags().GetUint64("from")
	store, err := readLog(dataDir(c))
	if err != nil {
		return err
	}
	defer store.Close()
	stream := kernel.StreamOf(id)
	if v, err := store.StreamVersion(c.Context(), stream); err != nil {
		return err
	} else if v == 0 {
		return noSession(id)
	}
	for r, err := range store.ReadStream(c.Context(), stream, events.Version(from)) {
		if err != nil {
			return err
		}
		line, err := eventLine(r, asJSON(c))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(c.OutOrStdout(), line); err != nil {
			return errors.Wrap(err, "write")
		}
	}
	return nil
}

// eventLine is one event for people or for programs. One that this program cannot decode is shown as such.
func eventLine(r events.Recorded, asJSON bool) (string, error) {
	msg, decodeErr := events.Decode(r.Event)
	if !asJSON {
		text := "(this version of Covel cannot read it)"
		if decodeErr == nil {
			text = summary(msg)
		}
		return strings.TrimRight(fmt.Sprintf("%5d  %s  %-22s %s", r.Version, when(r.RecordedAt), r.Type, oneLine(text)), " "), nil
	}
	out := struct {
		Version       events.Version  `json:"version"`
		Position      events.Position `json:"position"`
		ID            string          `json:"id"`
		Type          string          `json:"type"`
		SchemaVersion uint32          `json:"schemaVersion"`
		RecordedAt    time.Time       `json:"recordedAt"`
		Metadata      json.RawMessage `json:"metadata"`
		Data          json.RawMessage `json:"data"`
		Raw           string          `json:"raw,omitempty"` // hex of what could not be decoded
		Error         string          `json:"error,omitempty"`
	}{Version: r.Version, Position: r.Position, ID: r.ID.String(), Type: r.Type, SchemaVersion: r.SchemaVersion, RecordedAt: r.RecordedAt}
	var err error
	if out.Metadata, err = messageJSON(r.Metadata); err != nil {
		return "", err
	}
	if decodeErr != nil {
		out.Raw, out.Error = hex.EncodeToString(r.Data), decodeErr.Error()
	} else if out.Data, err = messageJSON(msg); err != nil {
		return "", err
	}
	b, err := json.Marshal(out)
	return string(b), errors.Wrapf(err, "version %d", r.Version)
}

func messageJSON(m proto.Message) (json.RawMessage, error) {
	b, err := protojson.Marshal(m)
	return b, errors.Wrap(err, "write an event as JSON")
}

// summaryLength is how many characters of a text a summary shows.
const summaryLength = 90

// summary says in a few words what happened.
func summary(msg proto.Message) string {
	switch m := msg.(type) {
	case *eventsv1.SessionCreated:
		return fmt.Sprintf("%s in %s, %s, %d plugins", m.WorldId, m.Locale, m.Phase, len(m.Plugins))
	case *eventsv1.SessionEnded:
		return m.Reason
	case *eventsv1.SeatChanged:
		return fmt.Sprintf("%s (%s) plays %s", m.Seat.GetId(), m.Seat.GetRole(), m.Seat.GetCurrentCharacterId())
	case *eventsv1.SeatRemoved:
		return m.SeatId
	case *eventsv1.SeatKeysChanged:
		return m.SeatId
	case *eventsv1.PluginSelectionChanged:
		return fmt.Sprintf("%d plugins, requested %v, excluded %v", len(m.Plugins), m.Selection.GetRequested(), m.Selection.GetExcluded())
	case *eventsv1.SettingsChanged:
		return fmt.Sprintf("gathering %s, at most %d rounds", quoted(m.Settings.GetGathering()), m.Settings.GetAdvanceLimit())
	case *eventsv1.SubmissionGathered:
		return fmt.Sprintf("%s waits with %d actions", m.SeatId, len(m.Actions))
	case *eventsv1.SubmissionWithdrawn:
		return fmt.Sprintf("%s waits no more: %s", m.SeatId, m.Reason)
	case *eventsv1.AdvanceStopped:
		return fmt.Sprintf("after %s: %s", m.ExecutionId, m.Reason)
	case *eventsv1.ExecutionResults:
		return fmt.Sprintf("of %d runs", len(m.Results))
	case *eventsv1.InterjectionMerged:
		return fmt.Sprintf("%s %s", m.SeatId, quoted(m.Text))
	case *eventsv1.ActionsSubmitted:
		return fmt.Sprintf("%s %s %s", m.Type, m.RequestId, quoted(m.Rendered))
	case *eventsv1.ExecutionStarted:
		return fmt.Sprintf("%s %s, turn %d, %s", m.ExecutionId, m.Origin, m.LogicalTurn, m.Phase)
	case *eventsv1.ExecutionCommitted:
		return fmt.Sprintf("%s %s%s", m.ExecutionId, outcomes(m.Outcomes), after(m.Next))
	case *eventsv1.ExecutionFailed:
		return fmt.Sprintf("%s %s: %s", m.ExecutionId, m.Reason, m.Error)
	case *eventsv1.ExecutionAborted:
		return fmt.Sprintf("%s %s", m.ExecutionId, m.Reason)
	case *eventsv1.NarrativeAppended:
		return fmt.Sprintf("%d paragraphs %s", len(m.Segments), quoted(m.Text))
	case *eventsv1.MessageAppended:
		return fmt.Sprintf("%s %s", m.RuntimeId, quoted(m.Text))
	case *eventsv1.InteractionRequested:
		return fmt.Sprintf("%s %s of %s", m.Type, m.InteractionId, m.PluginId)
	case *eventsv1.UIRendered:
		return "block of " + m.PluginId
	case *eventsv1.DomainEventEmitted:
		return fmt.Sprintf("%s by %s", m.Topic, m.PluginId)
	case *eventsv1.HistoryCompacted:
		return fmt.Sprintf("%d messages, %d summaries by %s", m.MessageCount, len(m.Summaries), m.PluginId)
	case *eventsv1.CharacterSchemaSet:
		return fmt.Sprintf("version %d", m.Version)
	case *eventsv1.CharacterUpserted:
		return fmt.Sprintf("%s (%s), version %d", m.Record.GetName(), m.Record.GetType(), m.Record.GetVersion())
	case *eventsv1.LorebookUpserted:
		return fmt.Sprintf("%d entries of %s%s", len(m.Entries), m.Owner.GetKind(), after(m.Owner.GetPluginId()))
	case *eventsv1.DimensionsInitialized:
		return fmt.Sprintf("%d dimensions by %s", len(m.Dimensions), m.PluginId)
	case *eventsv1.DimensionsUpdated:
		return fmt.Sprintf("%d values%s", len(m.Values), after(m.GetReceipt().GetStatus()))
	case *eventsv1.AssetGenerated:
		return fmt.Sprintf("%s %s by %s", m.Modality, m.Ref.GetMime(), m.PluginId)
	case *eventsv1.PluginDataChanged:
		return fmt.Sprintf("%s: %s", m.PluginId, changes(m.Changes))
	case *eventsv1.OutputExported:
		return fmt.Sprintf("%s %s, revision %d", m.RuntimeId, m.Name, m.Revision)
	case *eventsv1.PhaseAdvanced:
		return m.Phase
	case *eventsv1.SetupRuntimeChanged:
		return fmt.Sprintf("%s %s", m.Setup.GetRuntimeId(), m.Setup.GetStatus())
	case *eventsv1.PlayerTurnCounted:
		return fmt.Sprintf("%d", m.CompletedPlayerTurns)
	case *eventsv1.TriggerLedgerUpdated:
		return fmt.Sprintf("%d runtimes", len(m.Entries))
	}
	return ""
}

func outcomes(list []*eventsv1.RuntimeOutcome) string {
	parts := make([]string, len(list))
	for i, o := range list {
		parts[i] = o.RuntimeId + " " + o.Status
		if o.Dropped {
			parts[i] += " (dropped)"
		}
	}
	return strings.Join(parts, ", ")
}

func changes(list []*eventsv1.PluginDataChange) string {
	parts := make([]string, len(list))
	for i, ch := range list {
		verb := "set"
		if ch.Removed {
			verb = "removed"
		}
		parts[i] = fmt.Sprintf("%s %s/%s", verb, ch.Namespace, ch.Key)
	}
	return strings.Join(parts, ", ")
}

func after(text string) string {
	if text == "" {
		return ""
	}
	return " → " + text
}

// quoted is the beginning of a text.
func quoted(text string) string {
	text = oneLine(text)
	if text == "" {
		return ""
	}
	if r := []rune(text); len(r) > summaryLength {
		text = string(r[:summaryLength]) + "…"
	}
	return "“" + text + "”"
}

// oneLine keeps text of others on its line, and from steering the terminal.
func oneLine(text string) string { return terminal.Printable(strings.Join(strings.Fields(text), " ")) }
