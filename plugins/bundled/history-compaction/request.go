package historycompaction

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/covel/covel/plugins/sdk"
)

// writer asks the model for the summaries of one compaction.
type writer struct {
	in    sdk.CompactInput
	x     *sdk.ExtensionContext
	calls int // that may still be made
}

// request is one question to the model.
type request struct {
	system, text string
	source       string // what is to be summed up, as it was
	tokens       int    // of the source
	names        []string
}

// overhead is what a request costs beside its texts.
const overhead = 64

// pages asks for a summary of the oldest messages, as many as the model can read at once, and says how many those are.
func (w *writer) pages(earlier string, messages []sdk.HistoryMessage) (request, int, error) {
	system, err := prompts.In("summarize", w.x.Locale)
	if err != nil {
		return request{}, 0, err
	}
	if sdk.EstimateTokens(earlier) > w.in.InputWindow/4 {
		earlier = ""
	}
	lines := make([]string, len(messages))
	for i, m := range messages {
		lines[i] = "[" + speaker(m) + "] " + escape(strings.TrimSpace(m.Content))
	}
	r, n := w.fit(request{system: system}, block("earlier", escape(earlier)), "pages", lines)
	if n == 0 {
		return r, 0, w.tooLong(messages[0])
	}
	for _, m := range messages[:n] {
		r.source += m.Content + "\n"
		r.tokens += sdk.EstimateTokens(m.Content)
	}
	return w.named(r), n, nil
}

func (w *writer) tooLong(m sdk.HistoryMessage) error {
	return fmt.Errorf("one page alone has about %d tokens; the model of the slot \"fast\" reads %d with the instructions", sdk.EstimateTokens(m.Content), w.in.InputWindow)
}

// old asks for one summary of the oldest summaries, as many as the model can read at once.
func (w *writer) old(summaries []sdk.Summary) (request, int, error) {
	system, err := prompts.In("merge", w.x.Locale)
	if err != nil {
		return request{}, 0, err
	}
	texts := make([]string, len(summaries))
	for i, s := range summaries {
		texts[i] = escape(strings.TrimSpace(s.Content))
	}
	r, n := w.fit(request{system: system}, "", "summaries", texts)
	if n == 0 {
		return r, 0, errors.New("the oldest summary alone is longer than what the model of the slot \"fast\" reads")
	}
	for _, s := range summaries[:n] {
		r.source += s.Content + "\n"
		r.tokens += sdk.EstimateTokens(s.Content)
	}
	return w.named(r), n, nil
}

// fit puts as many parts into the request as the window of the model allows. The names that may be listed have a share of it.
func (w *writer) fit(r request, before, tag string, parts []string) (request, int) {
	room := w.in.InputWindow - sdk.EstimateTokens(r.system) - sdk.EstimateTokens(before) - 2*overhead - maxNamesTokens
	n := 0
	for ; n < len(parts); n++ {
		if room -= sdk.EstimateTokens(parts[n]) + 1; room < 0 {
			break
		}
	}
	r.text = join(before, block(tag, strings.Join(parts[:n], "\n\n")))
	return r, n
}

// named lists in front of the request who is named in its source.
func (w *writer) named(r request) request {
	r.names = namesIn(w.x.World.Characters, r.source)
	r.text = join(block("names", escape(within(r.names, maxNamesTokens))), r.text)
	return r
}

// write asks for a summary of about want tokens and gives it checked: no longer than most.
func (w *writer) write(ctx context.Context, r request, want, most int) (sdk.NewSummary, error) {
	length, err := prompts.In("length", w.x.Locale)
	if err != nil {
		return sdk.NewSummary{}, err
	}
	// English counts about 1.5 tokens for a word, Chinese 1.75 for a character; models rather write too much than too little.
	length = strings.NewReplacer("{words}", fmt.Sprint(max(want*6/10, 20)), "{characters}", fmt.Sprint(max(want/2, 30))).Replace(length)
	w.calls--
	reply, err := w.x.Gateway.GenerateText(ctx, sdk.TextRequest{
		System: r.system, Prompt: join(r.text, length),
		MaxOutputTokens: 2 * most, // a reply that is a little too long is cut by us, between two sentences
	})
	if err != nil {
		return sdk.NewSummary{}, fmt.Errorf("the model could not be asked for a summary: %w", err)
	}
	if reply.Truncated {
		return sdk.NewSummary{}, errors.New("the model's summary was cut off at the limit of its length")
	}
	return w.check(r, reply.Text, most)
}

func speaker(m sdk.HistoryMessage) string {
	switch {
	case m.Role == "user":
		return "player"
	case m.Source == "runtime":
		return "note"
	}
	return "story"
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// escape keeps a text of the story from closing the tag it stands in.
func escape(s string) string { return escaper.Replace(s) }

func block(tag, text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return "<" + tag + ">\n" + text + "\n</" + tag + ">"
}

func join(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n\n")
}
