package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/pkg/errors"

	"github.com/covel/covel/actors/hook"
	"github.com/covel/covel/events/trace"
	"github.com/covel/covel/kernel/compaction"
	"github.com/covel/covel/kernel/extension"
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/prompt"
	kernelsession "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/points"
	"github.com/covel/covel/plugins/sdk"
)

// Failures counts failed compactions in a row, by session, in this process only: after a restart it begins anew.
type Failures struct {
	mu    sync.Mutex
	count map[string]int
}

// note counts one attempt; show: the player is told.
func (f *Failures) note(session string, failed bool) (n int, show bool) {
	if f == nil {
		return compaction.Count(0, failed)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n, show = compaction.Count(f.count[session], failed)
	delete(f.count, session)
	if n > 0 {
		if f.count == nil {
			f.count = map[string]int{}
		}
		f.count[session] = n
	}
	return n, show
}

// Shared is what the runs of one execution have in common: answers of extension points, and the one compaction of the turn.
// A nil Shared has no extensions.
type Shared struct {
	extensions *Extensions
	failures   *Failures

	mu     sync.Mutex
	begun  bool
	done   chan struct{}
	view   historyView
	result *compaction.Result
}

// NewShared makes the part of an execution that its runs share.
func NewShared(e *Extensions, failures *Failures) *Shared {
	return &Shared{extensions: e, failures: failures, done: make(chan struct{})}
}

// Health tells how the plugins did whose extensions were asked.
func (s *Shared) Health() map[string]string {
	if s == nil || s.extensions == nil {
		return nil
	}
	return s.extensions.Health()
}

// Usage is what the models cost that extensions asked.
func (s *Shared) Usage() turn.Usage {
	if s == nil || s.extensions == nil {
		return turn.Usage{}
	}
	return s.extensions.Usage()
}

func (s *Shared) call(ctx context.Context, point string, input any) (extension.Result, error) {
	if s == nil {
		return extension.Result{}, nil
	}
	return s.extensions.Call(ctx, point, input)
}

// history is the committed view.
func (s *Shared) history(f Frozen) historyView {
	view := historyView{messages: historyMessages(f.State.History)}
	for _, x := range f.State.History.Summaries {
		view.summaries = append(view.summaries, sdk.Summary{ID: x.ID, Content: x.Content, FocusSections: x.FocusSections})
	}
	return view
}

// Compaction is what the commit of the execution writes, nil when nothing was compacted.
func (s *Shared) Compaction() *compaction.Result {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.result
}

// compactOnce is the compaction barrier of the turn: the first run measures its real system prompt and compacts, the others
// wait and read what is left (seed: turn-pipeline.txt, "the first agent compacts and rebuilds against the real system prompt").
func (s *Shared) compactOnce(ctx context.Context, r *runtime, system string, tell func(notice)) (historyView, error) {
	view := s.history(r.run.frozen)
	if s == nil {
		return view, nil
	}
	s.mu.Lock()
	first := !s.begun
	s.begun = true
	s.mu.Unlock()
	if !first {
		select {
		case <-s.done:
			return s.view, nil
		case <-ctx.Done():
			return historyView{}, ctx.Err()
		}
	}
	s.view = view
	defer close(s.done)
	result := s.compact(ctx, r, system, view, tell)
	if result != nil {
		s.view = historyView{messages: result.Apply(view.messages), summaries: result.Summaries}
		s.mu.Lock()
		s.result = result
		s.mu.Unlock()
	}
	return s.view, nil
}

func (s *Shared) compact(ctx context.Context, r *runtime, system string, view historyView, tell func(notice)) *compaction.Result {
	f := r.run.frozen
	in, due := compaction.Due(compaction.View{
		System: system, Messages: view.messages, Summaries: view.summaries, Locale: f.Locale(),
		Story: model.CapacityOf(r.Model, storySlot(f.Active)), Fast: model.CapacityOf(r.Model, fastSlot),
	})
	providers := f.Generation.Providers(f.Plugins(), points.HistoryCompact, "")
	if !due || len(providers) == 0 {
		return nil
	}
	about := trace.Scope{SessionID: f.State.Session.ID, TurnID: f.Execution.ID} // the turn's, whichever run happens to be the first
	if _, o := hook.Run(ctx, f.Hooks, sdk.OnPreCompaction, about, sdk.CompactionStarting{MessageCount: len(in.Messages)}); o.Aborted {
		return nil
	}
	who := extension.Provider{PluginID: providers[0].Plugin.Manifest.ID, ID: providers[0].Decl.ID}
	provider := about
	provider.PluginID = who.PluginID
	result, err := s.ask(ctx, f, in, who)
	if ctx.Err() != nil {
		return nil // the run was stopped: nobody failed
	}
	reason := ""
	if err != nil {
		reason = err.Error()
	} else if result != nil {
		reason = result.Deferred
	}
	var ended sdk.CompactionEnded
	if result != nil {
		ended.Compacted = result.Messages
		r.Trace.Emit(provider, trace.ContextCompacted, compacted(in, *result))
		ended.SummaryID = result.Summaries[len(result.Summaries)-1].ID
	}
	n, show := s.failures.note(f.State.Session.ID, reason != "")
	if reason != "" {
		r.Trace.Emit(provider, trace.ContextCompactionFailed, trace.CompactionFailed{Extension: who.ID, Reason: reason, Consecutive: n})
		r.Log.Warn("the history could not be compacted", "session", f.State.Session.ID, "plugin", who.PluginID, "failures", n, "reason", reason)
	}
	if show {
		tell(notice{plugin: who.PluginID, runID: f.Execution.ID + "/compaction", chinese: f.Instructions == prompt.Chinese, reason: reason})
	}
	hook.Run(ctx, f.Hooks, sdk.OnPostCompaction, about, ended)
	return result
}

// compacted tells what a compaction saved.
func compacted(in sdk.CompactInput, r compaction.Result) trace.Compacted {
	out := trace.Compacted{Messages: r.Messages, EstimatedTokens: in.EstimatedTokens}
	known := map[string]string{}
	for _, s := range in.ExistingSummaries {
		known[s.ID] = s.Content
		out.TokenSavings += sdk.EstimateTokens(s.Content)
	}
	for _, m := range in.Messages[:r.Messages] {
		out.TokenSavings += sdk.EstimateTokens(m.Content)
	}
	out.SummariesMerged = len(known)
	for _, s := range r.Summaries {
		out.SummaryID, out.FocusSections = s.ID, s.FocusSections
		out.SummaryIDs = append(out.SummaryIDs, s.ID)
		size := sdk.EstimateTokens(s.Content)
		out.TotalTokens += size
		if before, same := known[s.ID]; same && before == s.Content {
			out.SummariesMerged--
		} else {
			out.SummaryTokens += size
			out.SummaryTruncated = out.SummaryTruncated || r.Truncated[s.ID]
		}
	}
	out.TokenSavings -= out.TotalTokens
	return out
}

// storySlot is the slot of the model that tells the story, whoever's context is built first.
func storySlot(active []manifest.Runtime) string {
	for _, rt := range active {
		if rt.IO.Visibility == manifest.VisibilityStory {
			return rt.Agent.Model
		}
	}
	return ""
}

// ask gets the provider's summaries and holds them against what was asked. nil without an error: there is nothing to compress.
func (s *Shared) ask(ctx context.Context, f Frozen, in sdk.CompactInput, who extension.Provider) (*compaction.Result, error) {
	answers, err := s.extensions.Call(ctx, points.HistoryCompact, in)
	switch {
	case err != nil:
		return nil, err
	case len(answers.Failed) > 0:
		return nil, answers.Failed[0].Err
	case len(answers.Outputs) == 0:
		return nil, nil
	}
	var out *sdk.CompactOutput
	if err := json.Unmarshal(answers.Outputs[0].Value, &out); err != nil {
		return nil, errors.Wrap(err, points.HistoryCompact)
	}
	if out == nil {
		return nil, nil
	}
	r, err := compaction.Verify(in, *out, who.PluginID, func(n int) string { return fmt.Sprintf("summary-%s-%d", f.Execution.ID, n) })
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// notice is the failed task that the player sees when the story's memory cannot be compressed.
type notice struct {
	plugin, runID, reason string
	chinese               bool
}

func (n notice) progress() kernelsession.Progress {
	p := kernelsession.Progress{
		Kind: kernelsession.RuntimeFailed, RuntimeID: points.HistoryCompact, PluginID: n.plugin, RunID: n.runID, Status: "failed",
		Label: "Story memory",
		Error: "The story's memory could not be compressed several times in a row; the oldest pages will be left out of what the model reads. Check the model of the slot \"fast\" or choose one with a larger context window. (" + n.reason + ")",
	}
	if n.chinese {
		p.Label = "故事记忆"
		p.Error = "故事记忆连续多次无法压缩；模型将读不到最早的篇章。请检查 fast 槽位的模型，或选择上下文窗口更大的模型。（" + n.reason + "）"
	}
	return p
}
