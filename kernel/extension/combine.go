// Package extension combines the providers of an extension point (seed: extension-points.txt, "Combination modes"). It is
// pure: who calls a handler, with which limit, is the caller's.
package extension

import (
	"encoding/json"

	"github.com/pkg/errors"

	"github.com/covel/covel/plugins/points"
	"github.com/covel/covel/plugins/sdk"
)

// Provider names who answers. Providers come in declared order.
type Provider struct {
	PluginID string
	ID       string
	Slot     string // ui.slot@1
}

// Answer is what a provider gave: its output as JSON, or why there is none (an error, a panic, a timeout).
type Answer struct {
	Output json.RawMessage
	Err    error
}

// Output is a valid output and whose it is.
type Output struct {
	Provider Provider
	Value    json.RawMessage
}

// Failure is a provider that was skipped, and why.
type Failure struct {
	Provider Provider
	Err      error
}

// Result is what a point gives. Collect: all valid outputs. Pipeline: the last valid one, none when no provider gave one.
// Single: at most one. Failed lists who was skipped.
type Result struct {
	Outputs []Output
	Failed  []Failure
}

// ErrFailTurn: a provider failed of a point whose failures fail the whole turn.
var ErrFailTurn = errors.New("an extension failed that the turn depends on")

// Combine asks the providers of a point and puts their outputs together. call asks some of them with one input, at the same
// time if there are several, and gives their answers in the same order. check may hold a valid output against more than its
// schema, the input it was made from among it; nil checks nothing. An input that does not fit the point is a defect of the host and an error.
func Combine(p points.Point, input json.RawMessage, providers []Provider, check func(who Provider, input, output json.RawMessage) error,
	call func(providers []Provider, input json.RawMessage) []Answer,
) (Result, error) {
	if err := p.CheckInput(input); err != nil {
		return Result{}, errors.Wrapf(err, "the input of %s", p.ID)
	}
	var out Result
	accept := func(who Provider, a Answer) (json.RawMessage, error) {
		err := a.Err
		if err == nil {
			err = p.CheckOutput(a.Output)
		}
		if err == nil && check != nil {
			err = check(who, input, a.Output)
		}
		if err == nil {
			return a.Output, nil
		}
		if p.OnError == points.FailTurn {
			return nil, errors.Wrapf(ErrFailTurn, "%s of plugin %s: %v", p.ID, who.PluginID, err)
		}
		out.Failed = append(out.Failed, Failure{who, err})
		return nil, nil
	}
	switch p.Mode {
	case points.Collect:
		for i, a := range call(providers, input) {
			v, err := accept(providers[i], a)
			if err != nil {
				return Result{}, err
			}
			if v != nil {
				out.Outputs = append(out.Outputs, Output{providers[i], v})
			}
		}
	case points.Pipeline:
		for _, who := range providers {
			v, err := accept(who, call([]Provider{who}, input)[0])
			if err != nil {
				return Result{}, err
			}
			if v == nil {
				continue // the previous valid result goes on
			}
			out.Outputs = []Output{{who, v}}
			if input, err = handOn(p, input, v); err != nil {
				return Result{}, err
			}
		}
	default:
		if len(providers) == 0 {
			break
		}
		v, err := accept(providers[0], call(providers[:1], input)[0])
		if err != nil {
			return Result{}, err
		}
		if v != nil {
			out.Outputs = []Output{{providers[0], v}}
		}
	}
	return out, nil
}

// handOn gives the next provider of a pipeline its input: the one before, with the valid result in it.
func handOn(p points.Point, input, output json.RawMessage) (json.RawMessage, error) {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, errors.Wrap(err, p.ID)
	}
	if p.ID == points.UISlot {
		in["previous"] = output
	} else {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(output, &fields); err != nil {
			return nil, errors.Wrap(err, p.ID)
		}
		for k, v := range fields {
			in[k] = v
		}
	}
	b, err := json.Marshal(in)
	return b, errors.Wrap(err, p.ID)
}

// Transformed reads the result of prompt.history-transform@1; without a valid one the messages stay as they are. It is a
// projection: nothing is written.
func Transformed(messages []sdk.HistoryMessage, r Result) []sdk.HistoryMessage {
	var out sdk.HistoryTransform
	if len(r.Outputs) == 0 || json.Unmarshal(r.Outputs[0].Value, &out) != nil {
		return messages
	}
	return out.Messages
}
