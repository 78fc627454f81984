package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/internal/safego"
	"github.com/covel/covel/kernel/extension"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/kernel/world"
	"github.com/covel/covel/plugins/points"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/plugins/sdk"
	"github.com/covel/covel/projections"
)

// Extensions calls the providers of extension points for one execution, or for one reading outside of a turn. What handlers
// see is frozen when it is made; equal inputs are answered once (seed: extension-points.txt, "What a handler can get";
// reference: plugins.md §17). It may be used by several runs at once.
type Extensions struct {
	frozen Frozen
	model  model.Provider
	trace  *trace.Writer
	log    *slog.Logger
	calls  atomic.Uint64 // traced so far

	mu     sync.Mutex
	known  map[string]*extensionCall
	health map[string]string // by plugin whose handlers were asked: "", or the first failure
	used   turn.Usage        // of models that handlers asked
}

// Usage is what the models cost that handlers asked.
func (e *Extensions) Usage() turn.Usage {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.used
}

// Health tells how the plugins did whose handlers were asked.
func (e *Extensions) Health() map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.health)
}

func (e *Extensions) note(asked []registry.Provider, failed []extension.Failure) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range asked {
		e.health[p.Plugin.Manifest.ID] += ""
	}
	for _, f := range failed {
		var called *model.Error // its model's, not its own
		if e.health[f.Provider.PluginID] == "" && !errors.As(f.Err, &called) {
			e.health[f.Provider.PluginID] = "extension " + f.Provider.ID + ": " + f.Err.Error()
		}
	}
}

// extensionCall is a call whose result several runs may wait for.
type extensionCall struct {
	done   chan struct{}
	result extension.Result
	err    error
}

// NewExtensions makes the caller of a frozen view. m answers the handlers' own model calls; nil offers none. t may be nil.
func NewExtensions(f Frozen, m model.Provider, t *trace.Writer, log *slog.Logger) *Extensions {
	return &Extensions{frozen: f, model: m, trace: t, log: log, known: map[string]*extensionCall{}, health: map[string]string{}}
}

// Call asks the providers of a point. It blocks, at most as long as the point allows for each provider. The error is
// extension.ErrFailTurn, or ctx's.
func (e *Extensions) Call(ctx context.Context, point string, input any) (extension.Result, error) {
	p, ok := points.Find(point)
	if !ok {
		return extension.Result{}, errors.Errorf("there is no extension point %q", point)
	}
	slot := ""
	if in, ok := input.(sdk.SlotInput); ok {
		slot = in.Slot
	}
	providers := e.frozen.Generation.Providers(e.frozen.Plugins(), point, slot)
	if len(providers) == 0 {
		return extension.Result{}, nil
	}
	raw, err := json.Marshal(input)
	if err != nil {
		return extension.Result{}, errors.Wrap(err, point)
	}
	sum := sha256.Sum256(raw)
	key := point + "\x00" + string(sum[:])
	e.mu.Lock()
	call, known := e.known[key]
	if !known {
		call = &extensionCall{done: make(chan struct{})}
		e.known[key] = call
		safego.Go("extension "+point, func() {
			defer close(call.done)
			call.err = errors.Errorf("calling %s failed unexpectedly", point)
			// The first run's end must not spoil the result for the others: the point's own limit ends the call.
			call.result, call.err = e.combine(context.WithoutCancel(ctx), p, raw, providers)
		})
	}
	e.mu.Unlock()
	select {
	case <-call.done:
		return call.result, call.err
	case <-ctx.Done():
		return extension.Result{}, ctx.Err()
	}
}

// World adds what session.world-context@1 tells of the session to a view, once for an execution. A failing provider fails the
// turn: the world's authoritative state is never replaced by guesses (seed: extension-points.txt, "the system does not fall
// back to the initial values the author wrote").
func (e *Extensions) World(ctx context.Context, w sdk.World) (sdk.World, error) {
	r, err := e.Call(ctx, points.WorldContext, struct{}{})
	if err != nil {
		return w, err
	}
	told, err := extension.WorldContext(r)
	if err != nil || len(r.Outputs) == 0 {
		return w, err
	}
	w.Entries = told.Entries
	if told.Dimensions != nil {
		w.Dimensions, w.DimensionProviderPluginID = told.Dimensions, told.DimensionProviderPluginID
	}
	return w, nil
}

func (e *Extensions) combine(ctx context.Context, p points.Point, input json.RawMessage, providers []registry.Provider) (extension.Result, error) {
	names := make([]extension.Provider, len(providers))
	byName := map[extension.Provider]registry.Provider{}
	for i, pr := range providers {
		names[i] = extension.Provider{PluginID: pr.Plugin.Manifest.ID, ID: pr.Decl.ID, Slot: pr.Decl.Slot}
		byName[names[i]] = pr
	}
	result, err := extension.Combine(p, input, names, e.check(p), func(who []extension.Provider, in json.RawMessage) []extension.Answer {
		answers := make([]extension.Answer, len(who))
		var wg sync.WaitGroup
		for i, name := range who {
			wg.Add(1)
			safego.Go("extension", func() {
				defer wg.Done()
				answers[i] = e.ask(ctx, p, byName[name], in)
			})
		}
		wg.Wait()
		return answers
	})
	e.note(providers, result.Failed)
	for _, f := range result.Failed {
		e.log.Warn("an extension was skipped", "point", p.ID, "plugin", f.Provider.PluginID, "id", f.Provider.ID, "session", e.frozen.State.Session.ID, "error", f.Err)
	}
	return result, err
}

// check is what a point's outputs must fulfil beside their schema.
func (e *Extensions) check(p points.Point) func(who extension.Provider, input, output json.RawMessage) error {
	switch p.ID {
	case points.UISlot:
		return extension.CheckSlot
	case points.WorldContext:
		return func(who extension.Provider, _, output json.RawMessage) error {
			return extension.CheckWorldContext(who, output, e.frozen.Generation.Plugins[who.PluginID].Manifest.Runtimes)
		}
	}
	return nil
}

// ask calls one handler. It is given up at the point's limit, whether it heeds its context or not; a panic is its failure.
func (e *Extensions) ask(ctx context.Context, p points.Point, pr registry.Provider, input json.RawMessage) extension.Answer {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	call, began := e.callID(), time.Now()
	view := e.view(pr, p.ID)
	answered := make(chan extension.Answer, 1)
	safego.Go("extension of plugin "+pr.Plugin.Manifest.ID, func() {
		answer := extension.Answer{Err: errors.New("the handler panicked")}
		defer func() { answered <- answer }()
		v, err := pr.Handle(ctx, append(json.RawMessage(nil), input...), view)
		if err == nil {
			answer.Output, err = json.Marshal(v)
		}
		answer.Err = err
	})
	outcome, answer := "success", extension.Answer{}
	select {
	case answer = <-answered:
		if answer.Err != nil {
			outcome = "failed"
		}
	case <-ctx.Done():
		outcome, answer.Err = "timeout", errors.Errorf("it did not answer within %s", p.Timeout)
	}
	e.trace.Emit(e.scope(pr.Plugin.Manifest.ID), trace.PluginServiceCompleted, trace.Service{
		CallID: call, ProviderPlugin: pr.Plugin.Manifest.ID, Name: pr.Decl.ID, Contract: p.ID, DurationMs: time.Since(began).Milliseconds(), Outcome: outcome,
		Extension: map[string]string{"point": p.ID, "id": pr.Decl.ID, "slot": pr.Decl.Slot},
	})
	return answer
}

func (e *Extensions) scope(plugin string) trace.Scope {
	return trace.Scope{SessionID: e.frozen.State.Session.ID, TurnID: e.frozen.Execution.ID, PluginID: plugin}
}

// callID names a call in the trace.
func (e *Extensions) callID() string {
	return fmt.Sprintf("%s-extension-%d", e.frozen.Execution.ID, e.calls.Add(1))
}

// view is what the handler gets beside its input: its own plugin's, read only.
func (e *Extensions) view(pr registry.Provider, point string) *sdk.ExtensionContext {
	f, id := e.frozen, pr.Plugin.Manifest.ID
	x := &sdk.ExtensionContext{
		SessionID: f.State.Session.ID, TurnID: f.Execution.ID, PluginID: id, Locale: f.Locale(), Messages: pr.Plugin.Manifest.MessagesIn(f.Locale()),
		World: world.View(f.State, f.Pack), PluginData: ownData{id, f.State.PluginData}, Settings: f.Pack.PluginSettings[id],
	}
	if e.model != nil {
		x.Gateway = textGateway{model: e.model, subject: id, asking: e.asking(point, id)}
	}
	return x
}

// asking tells the trace what a handler asks of a model.
func (e *Extensions) asking(point, plugin string) func(context.Context, model.Request) (context.Context, func(model.Reply, error), error) {
	return func(ctx context.Context, req model.Request) (context.Context, func(model.Reply, error), error) {
		told := emitGateway(e.trace, e.scope(plugin), e.model, e.callID(), point, req)
		return ctx, func(reply model.Reply, err error) {
			cost := told.ended(reply, err)
			e.mu.Lock()
			defer e.mu.Unlock()
			e.used = e.used.Add(usageOf(cost, turn.Usage{ModelCalls: 1}))
		}, nil
	}
}

// hiddenPrefix begins the namespaces of hidden world data. What a provider returns reaches the prompt or a client, so that it
// may not read them.
const hiddenPrefix = "_hidden."

// ownData is the committed data of one plugin, without what is hidden.
type ownData struct {
	plugin string
	data   projections.PluginData
}

func (d ownData) Get(namespace, key string) json.RawMessage {
	rec, ok := d.data.Get(d.plugin, namespace, key)
	if !ok || strings.HasPrefix(namespace, hiddenPrefix) {
		return nil
	}
	return append(json.RawMessage(nil), rec.Value...)
}

func (d ownData) List(namespace string) []sdk.Record {
	if namespace == "" || strings.HasPrefix(namespace, hiddenPrefix) {
		return nil
	}
	var out []sdk.Record
	for _, rec := range world.Created(d.data.List(d.plugin, namespace)) {
		out = append(out, world.Record(rec))
	}
	return out
}
