// Package tools runs what a model calls: one path for the framework's tools and a plugin's own. It holds the builtin tools,
// the repair of malformed arguments, the result format the model reads, and the rules of interactions. It reads no store and
// knows no session: a Call brings everything.
package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"
	"github.com/tidwall/gjson"

	"github.com/covel/covel/internal/plainjson"
	"github.com/covel/covel/internal/safego"
	"github.com/covel/covel/plugins/schema"
	"github.com/covel/covel/plugins/sdk"
)

// Call is one tool call with all it needs.
type Call struct {
	Name      string // the final name, after session overrides and hooks
	Arguments string // as the model wrote them

	Authorised []string            // the names the runtime may run
	Own        map[string]sdk.Tool // what the runtime's plugin registered, by name
	// Runtime is the view the tool gets. Its PluginData is read through, also by several calls at once; what the tool sets
	// comes back as proposals.
	Runtime *sdk.Runtime

	Topics  []Topic  // advertised topics of the session
	Emitted []string // topics this loop has emitted already
	// Delegate runs a sub-agent for a call of delegate and returns its answer; it heeds ctx. nil: this run cannot.
	Delegate func(ctx context.Context, ask sdk.AgentRequest) (Delegated, error)
	Language string // instruction language: "zh", else English
}

// CallResult is how a call ended. Either Err is set, or Content and the effects are.
type CallResult struct {
	Name      string
	Arguments string // for the conversation's history: repaired JSON, or the unreadable text as a JSON string
	Fix       Fix    // what was repaired in the arguments

	Envelope    string          // the JSON object the model reads
	Content     json.RawMessage // the full content, for code; nil when the call failed
	Proposals   []sdk.Proposal  // staged writes, those of PluginData.Set first
	Events      []sdk.EmittedEvent
	Interaction *Interaction   // what the player is to be asked
	UI          []sdk.UIRender // blocks to show
	Wrote       bool           // it staged something: what stands above, or what its sub-agent staged

	Err     *sdk.ToolError // as the model reads it
	Refused bool           // the tool itself refused: no failure of the runtime
	Cause   error          // what an internal failure really was, for logs and trace only

	Skipped   bool // it was not executed: answered, and counted as nothing
	Terminate bool // a PostToolUse hook ends the loop after this result
}

// Executor runs calls. The zero value is ready; it may be used concurrently.
type Executor struct {
	compiled schema.Cache

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// Close stops taking calls and waits until every callback has returned, the late ones too, or until ctx ends. It may be
// called more than once.
func (e *Executor) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	done := make(chan struct{})
	safego.Go("tools close", func() {
		defer close(done)
		e.running.Wait()
	})
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return errors.Wrap(ctx.Err(), "tool callbacks are still running")
	}
}

// Run authorises, resolves, reads the arguments, runs the tool with its deadline and checks what it returns. It never
// panics and never returns late: a callback that does not heed its context is left behind and its result is discarded.
func (e *Executor) Run(ctx context.Context, c Call) CallResult {
	r := CallResult{Name: c.Name, Arguments: HistoryArguments(c.Arguments)}
	tool, failure := e.resolve(c)
	if failure != nil {
		return r.fail(failure)
	}
	fits, err := e.compiled.Compile(tool.Parameters)
	if err != nil {
		return r.crash(errors.Wrap(err, "its parameter schema"))
	}
	given := c.Arguments
	if strings.TrimSpace(given) == "" && needsNothing(tool.Parameters) {
		given = "{}" // how some providers write a call that needs no arguments
	}
	args, failure := readArguments(c.Name, fits, given)
	if failure != nil {
		if !strings.HasPrefix(HistoryArguments(given), "{") { // not even an object: say what would be
			failure = failure.WithHint("%s It takes %s.", failure.Hint, signature(tool.Parameters))
		}
		return r.fail(failure)
	}
	r.Arguments, r.Fix = string(args.JSON), args.Fix
	if c.Name == Delegate && c.Delegate != nil {
		return r.delegated(ctx, c, args.JSON)
	}
	done, err := e.execute(ctx, tool, args.JSON, c.Runtime)
	if err != nil {
		return r.failed(err)
	}
	return r.accept(tool, done, c.Language)
}

// resolve finds the tool, in this order: the name is authorised, it is the framework's, it is the plugin's own. A name that
// is not registered never falls through to another plugin's tool.
func (e *Executor) resolve(c Call) (sdk.Tool, *sdk.ToolError) {
	if !slices.Contains(c.Authorised, c.Name) {
		return sdk.Tool{}, sdk.Fail(sdk.Unavailable, "Tool %q is not available to this runtime.", c.Name).
			WithHint("Use one of the tools you were given.")
	}
	if c.Name == EmitEvent {
		return emitEvent(c.Topics, c.Emitted, &e.compiled), nil
	}
	if t, ok := builtins[c.Name]; ok {
		return t, nil
	}
	if t, ok := c.Own[c.Name]; ok && !Reserved(c.Name) && t.Execute != nil {
		return t, nil
	}
	return sdk.Tool{}, sdk.Fail(sdk.NotFound, "There is no tool %q.", c.Name)
}

// finished is a callback's outcome, already copied to JSON so that later changes by the tool do not reach it.
type finished struct {
	content   json.RawMessage
	view      *sdk.ModelView
	proposals []sdk.Proposal
	events    []sdk.EmittedEvent
}

// errStopped marks an end that is not the tool's own doing.
var errStopped = errors.New("stopped")

func (e *Executor) execute(ctx context.Context, tool sdk.Tool, args json.RawMessage, rt *sdk.Runtime) (finished, error) {
	if ctx.Err() != nil {
		return finished{}, errors.Wrap(errStopped, ctx.Err().Error())
	}
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return finished{}, sdk.Fail(sdk.Unavailable, "The server is shutting down.")
	}
	e.running.Add(1)
	e.mu.Unlock()

	var own sdk.Runtime
	if rt != nil {
		own = *rt
	}
	data := &callData{base: own.PluginData}
	own.PluginData = data

	callCtx, cancel := ctx, context.CancelFunc(func() {})
	if tool.TimeoutMs > 0 {
		callCtx, cancel = context.WithTimeout(ctx, time.Duration(tool.TimeoutMs)*time.Millisecond)
	}
	defer cancel()

	type outcome struct {
		done finished
		err  error
	}
	result := make(chan outcome, 1) // buffered: a late result finds no reader and is dropped
	safego.Go("tool "+tool.Name, func() {
		defer e.running.Done()
		o := outcome{err: errors.New("it did not return")}
		defer func() { result <- o }()
		defer safego.Recover("tool "+tool.Name, func(err error) { o = outcome{err: err} })
		o.done, o.err = e.callback(callCtx, tool, args, &own, data)
	})
	var o outcome
	select {
	case o = <-result:
	case <-callCtx.Done():
	}
	// A result is taken only when nothing had ended the call before it was there.
	if callCtx.Err() == nil {
		return o.done, o.err
	}
	_, _ = data.end()
	if ctx.Err() == nil {
		return finished{}, sdk.Fail(sdk.TimedOut, "Tool %q timed out after %d ms.", tool.Name, tool.TimeoutMs)
	}
	return finished{}, errors.Wrap(errStopped, ctx.Err().Error())
}

// callback runs the tool's function and copies what it returned.
func (e *Executor) callback(ctx context.Context, tool sdk.Tool, args json.RawMessage, rt *sdk.Runtime, data *callData) (finished, error) {
	res, err := tool.Execute(ctx, args, rt)
	writes, endErr := data.end()
	switch {
	case err != nil:
		return finished{}, err
	case endErr != nil:
		return finished{}, endErr
	}
	done := finished{
		proposals: append(writes, res.Proposals...),
		events:    slices.Clone(res.Events),
	}
	if tool.Annotations.ReadOnly && len(done.proposals)+len(done.events) > 0 {
		return finished{}, errors.New("read-only tool returned writes")
	}
	if res.Content != nil {
		if done.content, err = plainjson.Marshal(res.Content); err != nil {
			return finished{}, errors.Wrap(err, "its result is not JSON")
		}
	}
	for i, p := range done.proposals {
		done.proposals[i].Payload = slices.Clone(p.Payload)
		if p.Type == "" || !json.Valid(p.Payload) {
			return finished{}, errors.Errorf("proposal %d (%q) has no type or no JSON payload", i, p.Type)
		}
	}
	if res.View != nil {
		view := *res.View
		if view.Data != nil {
			raw, err := plainjson.Marshal(view.Data)
			if err != nil {
				return finished{}, errors.Wrap(err, "its model view is not JSON")
			}
			view.Data = json.RawMessage(raw)
		}
		done.view = &view
	}
	return done, nil
}

// accept checks the interaction and the blocks in the content and writes the envelope.
func (r CallResult) accept(tool sdk.Tool, done finished, language string) CallResult {
	asked, err := interactionOf(done.content)
	if err != nil {
		return r.crash(err)
	}
	ui, err := blocksOf(done.content)
	if err != nil {
		return r.crash(err)
	}
	text, err := Envelope(done.content, done.view, done.proposals, done.events, language)
	if err != nil {
		return r.crash(err)
	}
	r.Envelope, r.Content, r.Proposals, r.Events = text, done.content, done.proposals, done.events
	r.Interaction, r.UI = asked, ui
	r.Wrote = len(r.Proposals)+len(r.Events)+len(r.UI) > 0 || asked != nil
	if r.Content == nil {
		r.Content = json.RawMessage("null")
	}
	return r
}

// interactionOf reads the top-level interaction of a result, nil when there is none.
func interactionOf(content json.RawMessage) (*Interaction, error) {
	raw := gjson.GetBytes(content, "interaction")
	if !raw.IsObject() {
		return nil, nil
	}
	b, issues := ReadInteraction(json.RawMessage(raw.Raw))
	if len(issues) > 0 {
		return nil, errors.Wrap(&schema.Failure{Issues: issues}, "its interaction is not valid")
	}
	return &b, nil
}

// blocksOf reads the top-level ui array of a result. Every block must have parts (seed: tools.txt, "render-ui").
func blocksOf(content json.RawMessage) ([]sdk.UIRender, error) {
	raw := gjson.GetBytes(content, "ui")
	if !raw.IsArray() {
		return nil, nil
	}
	var blocks []sdk.UIRender
	if err := json.Unmarshal([]byte(raw.Raw), &blocks); err != nil {
		return nil, errors.Wrap(err, "its ui blocks")
	}
	for i, b := range blocks {
		if len(b.Parts) == 0 {
			return nil, errors.Errorf("ui[%d] has no parts", i)
		}
	}
	return blocks, nil
}

// failed sorts an error of the callback: the author's own words, a stop from outside, or an accident.
func (r CallResult) failed(err error) CallResult {
	var own *sdk.ToolError
	switch {
	case errors.As(err, &own) && own == nil: // a typed nil
		return r.crash(errors.New("it returned an empty error"))
	case own != nil:
		r.Refused = own.Code == sdk.Refused
		return r.fail(own)
	case errors.Is(err, errStopped):
		return r.fail(sdk.Fail(sdk.Cancelled, "The call of %q was cancelled.", r.Name))
	}
	return r.crash(err)
}

func (r CallResult) fail(e *sdk.ToolError) CallResult {
	r.Err = bounded(e)
	r.Envelope = ErrorEnvelope(e)
	return r
}

// crash is an accident: the model reads a sanitised line, logs get the whole.
func (r CallResult) crash(err error) CallResult {
	r.Cause = fmt.Errorf("tool %s: %w", r.Name, err)
	return r.fail(internalError(r.Name, err))
}

// Skipped answers a call that did not run, because a hook, a suspension or the end of the loop came before it.
func Skipped(name, arguments, reason string) CallResult {
	return CallResult{Name: name, Arguments: HistoryArguments(arguments), Skipped: true}.fail(sdk.Fail(sdk.Cancelled, "%s", reason))
}

// RefusedByHook answers a call that a PreToolUse hook stopped: the model reads the reason (reference: plugins.md §15).
func RefusedByHook(name, arguments, reason string) CallResult {
	return CallResult{Name: name, Arguments: HistoryArguments(arguments), Skipped: true, Refused: true}.fail(sdk.Fail(sdk.Refused, "%s", reason))
}

// WithResult puts a hook's object in the place of what the model reads. Its data, when the call succeeded and it has any, is
// what code reads.
func (r CallResult) WithResult(envelope json.RawMessage) CallResult {
	r.Envelope = string(envelope)
	if data := gjson.GetBytes(envelope, "data"); data.Exists() && r.Err == nil {
		r.Content = json.RawMessage(data.Raw)
	}
	return r
}
