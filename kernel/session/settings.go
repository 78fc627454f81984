package session

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/covel/covel/projections"
	eventsv1 "github.com/covel/covel/proto/covel/events/v1"
)

// Limits of settings.
const (
	maxGatherMs       = 24 * 60 * 60 * 1000
	maxModelOverrides = 64 // reference: api-and-protocol.md §1.3
	maxModelName      = 200
)

var pluginID = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

var overrideKey = regexp.MustCompile(`^[a-z][a-z0-9-]*(?:/[a-z][a-z0-9-]*)?$`)

// SettingsChange holds what is to change; nil stays. A zero takes the host's value, and what is above it has no effect: a
// session can only be given less.
type SettingsChange struct {
	Gathering       *string
	GatherTimeoutMs *uint64
	AdvanceLimit    *uint32
	ModelCalls      *uint32
	ToolCalls       *uint32
	Subagents       *uint32
	DurationMs      *uint64
	ModelOverrides  map[string]string // all of them; nil stays, empty clears
	Policy          *string           // plugin that is asked for turn-policy@1; "" takes the one there is
}

// decideSettings gives the settings as they are after a change, nothing when they are so already; every problem is named at
// once.
func decideSettings(now projections.Settings, c SettingsChange) ([]proto.Message, *Refusal) {
	next := now
	var issues []Issue
	bad := func(field, format string, args ...any) {
		issues = append(issues, Issue{"settings." + field, fmt.Sprintf(format, args...)})
	}
	if c.Gathering != nil {
		next.Gathering = *c.Gathering
		if next.Gathering != projections.GatheringOff && next.Gathering != projections.GatheringOn {
			bad("gathering", "gathering is off or on")
		}
	}
	if set(&next.GatherTimeoutMs, c.GatherTimeoutMs); next.GatherTimeoutMs > maxGatherMs {
		bad("gatherTimeoutMs", "at most %d", maxGatherMs)
	}
	set(&next.AdvanceLimit, c.AdvanceLimit)
	set(&next.Allowances.ModelCalls, c.ModelCalls)
	set(&next.Allowances.ToolCalls, c.ToolCalls)
	set(&next.Allowances.Subagents, c.Subagents)
	set(&next.Allowances.DurationMs, c.DurationMs)
	if c.ModelOverrides != nil {
		next.ModelOverrides = nil
		if len(c.ModelOverrides) > maxModelOverrides {
			bad("runtimeModelOverrides", "at most %d overrides", maxModelOverrides)
		}
		for _, id := range slices.Sorted(maps.Keys(c.ModelOverrides)) {
			model := strings.TrimSpace(c.ModelOverrides[id])
			switch {
			case !overrideKey.MatchString(id):
				bad("runtimeModelOverrides", "%q names no runtime: <plugin> or <plugin>/<runtime>", id)
			case model == "" || utf8.RuneCountInString(model) > maxModelName:
				bad("runtimeModelOverrides."+id, "name a model, with at most %d characters", maxModelName)
			}
			next.ModelOverrides = append(next.ModelOverrides, projections.ModelOverride{RuntimeID: id, Model: model})
		}
	}
	if set(&next.Orchestration.Policy, c.Policy); next.Orchestration.Policy != "" && !pluginID.MatchString(next.Orchestration.Policy) {
		bad("orchestration.policy", "%q is no plugin id", next.Orchestration.Policy)
	}
	if len(issues) > 0 {
		return nil, &Refusal{Code: "invalid_settings", Message: issues[0].Message, Issues: issues}
	}
	if reflect.DeepEqual(next, now) {
		return nil, nil
	}
	ev := &eventsv1.Settings{
		Gathering: next.Gathering, GatherTimeoutMs: next.GatherTimeoutMs, AdvanceLimit: next.AdvanceLimit,
		Allowances: &eventsv1.Allowances{
			ModelCalls: next.Allowances.ModelCalls, ToolCalls: next.Allowances.ToolCalls, Subagents: next.Allowances.Subagents, DurationMs: next.Allowances.DurationMs,
		},
	}
	if next.Orchestration.Policy != "" {
		ev.Orchestration = &eventsv1.Orchestration{Policy: next.Orchestration.Policy}
	}
	for _, o := range next.ModelOverrides {
		ev.ModelOverrides = append(ev.ModelOverrides, &eventsv1.ModelOverride{RuntimeId: o.RuntimeID, Model: o.Model})
	}
	return []proto.Message{&eventsv1.SettingsChanged{Settings: ev}}, nil
}

func set[T any](to *T, given *T) {
	if given != nil {
		*to = *given
	}
}
