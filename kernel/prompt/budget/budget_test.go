package budget_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/kernel/prompt/budget"
	"github.com/covel/covel/plugins/sdk"
)

func history(n int, text string) []model.Message {
	var out []model.Message
	for i := range n {
		role := model.User
		if i%2 == 1 {
			role = model.Assistant
		}
		out = append(out, model.Message{Role: role, Content: fmt.Sprintf("%d %s", i, text), Part: model.HistoryPart})
	}
	return out
}

func toolStep(n int, result string) []model.Message {
	id := fmt.Sprint("call-", n)
	return []model.Message{
		{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: id, Name: "look", Arguments: fmt.Sprintf(`{"where":"渡口 %d"}`, n)}}},
		{Role: model.ToolRole, ToolCallID: id, Content: result},
	}
}

func request(parts ...[]model.Message) model.Request {
	r := model.Request{Messages: []model.Message{{Role: model.System, Content: "You tell the story."}}}
	for _, p := range parts {
		r.Messages = append(r.Messages, p...)
	}
	return r
}

var line = []model.Message{{Role: model.User, Content: "我问龙胆。"}}

func limits(window int) budget.Options {
	return budget.Options{Capacity: model.Capacity{ContextWindow: window, MaxOutputTokens: 200}}
}

func shape(r model.Request) string {
	var out []string
	for _, m := range r.Messages {
		s := string(m.Role)
		switch {
		case len(m.ToolCalls) > 0:
			s += ":" + m.ToolCalls[0].ID
		case m.Role == model.ToolRole && strings.Contains(m.Content, "left out here"):
			s += ":cut"
		case strings.HasPrefix(m.Content, "[Earlier tool calls"):
			s += ":digest"
		case strings.HasPrefix(m.Content, "["):
			s += ":gap"
		case strings.HasPrefix(m.Content, "<compacted_history>"):
			s += ":summary"
			if strings.Contains(m.Content, "left out here") {
				s += "-cut"
			}
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// Rule TP:568: pictures first, older tool data, older steps as digests, old history, head and tail of what is too long, in
// this order; then the request is refused.
// Rule REF plugins.md §18.4: the current turn and the newest tool step stay whole; summaries are cut last, for this call only.
func TestOrderOfReduction(t *testing.T) {
	long := strings.Repeat("data ", 1000)
	summary := []model.Message{{Role: model.User, Content: "<compacted_history>" + strings.Repeat("Then. ", 800) + "</compacted_history>", Part: model.SummaryPart}}
	full := request(summary, history(8, strings.Repeat("word ", 100)), line, toolStep(1, long), toolStep(2, long), toolStep(3, "ok"))
	whole := "system user:summary user assistant user assistant user assistant user assistant user assistant:call-1 tool assistant:call-2 tool assistant:call-3 tool"
	for _, c := range []struct {
		window int
		want   string
	}{
		{20000, whole},
		{4900, "system user:summary user assistant user assistant user assistant user assistant user assistant:call-1 tool:cut assistant:call-2 tool assistant:call-3 tool"},
		{3460, "system user:summary user assistant user assistant user assistant user assistant user assistant:call-1 tool:cut assistant:call-2 tool:cut assistant:call-3 tool"},
		{3300, "system user:summary user assistant user assistant user assistant user assistant user user:digest assistant:call-2 tool:cut assistant:call-3 tool"},
		{3150, "system user:summary user assistant user assistant user assistant user assistant user user:digest user:digest assistant:call-3 tool"},
		{2920, "system user:summary system:gap user assistant user assistant user assistant user user:digest user:digest assistant:call-3 tool"},
		{2150, "system user:summary system:gap user user:digest user:digest assistant:call-3 tool"},
		{1200, "system user:summary-cut system:gap user user:digest user:digest assistant:call-3 tool"},
		{420, ""},
	} {
		got, _, report, err := budget.Apply(budget.Ledger{}, full, limits(c.window))
		if c.want == "" {
			if !errors.Is(err, budget.ErrOverflow) {
				t.Errorf("window %d: %v", c.window, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("window %d: %v", c.window, err)
			continue
		}
		if d := cmp.Diff(c.want, shape(got)); d != "" {
			t.Errorf("window %d: %+v\n%s", c.window, report, d)
		}
		if report.After > c.window-200 || got.MaxOutputTokens != 200 {
			t.Errorf("window %d: %+v, maximum output %d", c.window, report, got.MaxOutputTokens)
		}
	}
}

// Rule TP:568: pictures that the model cannot see are stripped, also where nobody knows its window.
func TestPictures(t *testing.T) {
	r := request([]model.Message{{Role: model.User, Content: "看", Images: []model.Image{{Ref: "media/1"}, {Ref: "media/2"}}}})
	got, _, report, err := budget.Apply(budget.Ledger{}, r, budget.Options{})
	if err != nil || len(got.Messages[1].Images) > 0 || report.Images != 2 || len(r.Messages[1].Images) != 2 {
		t.Errorf("%+v %+v %v", got.Messages[1], report, err)
	}
	got, _, report, _ = budget.Apply(budget.Ledger{}, r, budget.Options{Capacity: model.Capacity{Images: true}})
	if len(got.Messages[1].Images) != 2 || report.Changed() {
		t.Errorf("a model that sees: %+v", report)
	}
}

// Rule REF plugins.md §18.4: the response reserve is also the request's maximum output; a call may only lower it.
func TestReserve(t *testing.T) {
	for _, c := range []struct {
		limits      model.Capacity
		asked, want int
	}{
		{model.Capacity{ContextWindow: 8000, MaxOutputTokens: 1000}, 0, 1000},
		{model.Capacity{ContextWindow: 8000, MaxOutputTokens: 1000}, 300, 300},
		{model.Capacity{ContextWindow: 8000, MaxOutputTokens: 1000}, 5000, 1000},
		{model.Capacity{ContextWindow: 8000}, 0, 2000},
		{model.Capacity{ContextWindow: 200000}, 0, 4096},
	} {
		if got := budget.Reserve(c.limits, c.asked); got != c.want {
			t.Errorf("%+v asked %d: %d, want %d", c.limits, c.asked, got, c.want)
		}
	}
	_, _, _, err := budget.Apply(budget.Ledger{}, request(line), budget.Options{Capacity: model.Capacity{ContextWindow: 100, MaxOutputTokens: 100}})
	if !errors.Is(err, budget.ErrInvalid) {
		t.Errorf("no room at all: %v", err)
	}
}

// Rule TP:576: in the last request after an overflow the newest step may be shortened too.
func TestNewestStep(t *testing.T) {
	r := request(line, toolStep(1, strings.Repeat("x", 40000)))
	o := limits(1000)
	got, _, _, err := budget.Apply(budget.Ledger{}, r, o)
	if err != nil || shape(got) != "system user assistant:call-1 tool:cut" {
		t.Errorf("its result is cut by head and tail: %s %v", shape(got), err)
	}
	r = request(line, toolStep(1, strings.Repeat("x", 4000)), toolStep(2, "{}"))
	r.Messages[len(r.Messages)-2].ToolCalls[0].Arguments = strings.Repeat("y", 4000)
	if _, _, _, err = budget.Apply(budget.Ledger{}, r, o); !errors.Is(err, budget.ErrOverflow) {
		t.Errorf("calls of the newest step are not cut: %v", err)
	}
	o.Newest = true
	got, _, _, err = budget.Apply(budget.Ledger{}, r, o)
	if err != nil || !strings.HasPrefix(shape(got), "system user user:digest user:digest") {
		t.Errorf("%s %v", shape(got), err)
	}
}

// Rule TP:568: whatever the conversation is, the copy fits or is refused; the canonical messages are not touched; calls and
// results stay together; the current turn stays; the decisions of a run are replayed: the same request gives the same copy again.
func TestAnyConversation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string) string {
			unit := rapid.SampledFrom([]string{"a ", "龙胆", "Ольга ", "🐉", "{\"k\":1}", "\n"}).Draw(t, label)
			return strings.Repeat(unit, rapid.IntRange(0, 600).Draw(t, label+" times"))
		}
		r := request(history(rapid.IntRange(0, 12).Draw(t, "history"), text("row")), line)
		if rapid.Bool().Draw(t, "summary") {
			r.Messages = append(r.Messages[:1:1], append([]model.Message{{Role: model.User, Content: "<compacted_history>" + text("summary"), Part: model.SummaryPart}}, r.Messages[1:]...)...)
		}
		o := limits(rapid.IntRange(300, 6000).Draw(t, "window"))
		o.Chinese = rapid.Bool().Draw(t, "chinese")
		var ledger budget.Ledger
		for n := range rapid.IntRange(1, 6).Draw(t, "steps") {
			before, _ := json.Marshal(r)
			got, next, report, err := budget.Apply(ledger, r, o)
			if after, _ := json.Marshal(r); string(after) != string(before) {
				t.Fatal("the conversation was changed")
			}
			if err != nil {
				if !errors.Is(err, budget.ErrOverflow) {
					t.Fatal(err)
				}
				return
			}
			if n := budget.Estimate(got); n > report.Budget {
				t.Fatalf("%d tokens, budget %d", n, report.Budget)
			}
			open := map[string]bool{}
			now := false
			for _, m := range got.Messages {
				for _, c := range m.ToolCalls {
					open[c.ID] = true
				}
				if m.Role == model.ToolRole {
					if !open[m.ToolCallID] {
						t.Fatalf("a result without its call: %s", m.ToolCallID)
					}
					delete(open, m.ToolCallID)
				}
				now = now || m.Content == line[0].Content
				if m.Part != "" {
					t.Fatal("the host's own mark was sent")
				}
			}
			if len(open) > 0 || !now {
				t.Fatalf("calls without results: %v; the current line is there: %v", open, now)
			}
			again, _, _, _ := budget.Apply(ledger, r, o)
			if cmp.Diff(got, again) != "" {
				t.Fatal("the same request gave two copies")
			}
			replayed, _, second, err := budget.Apply(next, r, o)
			if err == nil && report.Truncated == 0 && cmp.Diff(got.Messages, replayed.Messages) != "" {
				t.Fatalf("replaying the ledger gave another copy: %+v, %+v", report, second)
			}
			ledger = next
			r.Messages = append(r.Messages, toolStep(n, text("result"))...)
		}
	})
}

// Rule REF:plugins.md §18.4: long read-backs keep head and tail before a summary is touched, which is the last resort.
func TestSummariesAreCutLast(t *testing.T) {
	summary := []model.Message{{Role: model.User, Content: "<compacted_history>" + strings.Repeat("Then. ", 800) + "</compacted_history>", Part: model.SummaryPart}}
	talk := request(summary, line, toolStep(1, strings.Repeat("data ", 1000)))
	for window, want := range map[int]string{
		4000: "system user:summary user assistant:call-1 tool",
		2200: "system user:summary user assistant:call-1 tool:cut",
		1400: "system user:summary-cut user assistant:call-1 tool:cut",
	} {
		got, _, report, err := budget.Apply(budget.Ledger{}, talk, limits(window))
		if err != nil || shape(got) != want {
			t.Errorf("window %d: %s %+v %v, want %s", window, shape(got), report, err, want)
		}
	}
}

// Rule REF:plugins.md §18.4: the budget counts messages, calls and results of tools, pictures, and the schemas of tools and answers.
func TestWhatIsCounted(t *testing.T) {
	base := request(line)
	long := strings.Repeat("龙胆点灯。", 40)
	schema := json.RawMessage(`{"description":"` + long + `"}`)
	for name, add := range map[string]func(r *model.Request){
		"a message": func(r *model.Request) {
			r.Messages = append(r.Messages, model.Message{Role: model.User, Content: long})
		},
		"a call": func(r *model.Request) {
			r.Messages = append(r.Messages, model.Message{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "1", Name: "look", Arguments: long}}})
		},
		"a result": func(r *model.Request) { r.Messages = append(r.Messages, toolStep(1, long)...) },
		"a picture": func(r *model.Request) {
			r.Messages = append(r.Messages, model.Message{Role: model.User, Images: []model.Image{{Ref: "media/1"}}})
		},
		"a tool's words":     func(r *model.Request) { r.Tools = []model.Tool{{Name: "look", Description: long}} },
		"a tool's schema":    func(r *model.Request) { r.Tools = []model.Tool{{Name: "look", Parameters: schema}} },
		"the answer's shape": func(r *model.Request) { r.ResponseFormat = &model.ResponseFormat{Name: "story", Schema: schema} },
	} {
		r := request(line)
		add(&r)
		if more := budget.Estimate(r) - budget.Estimate(base); more < 200 {
			t.Errorf("%s counts %d", name, more)
		}
	}
}

// Rule TP:577: the ledger is not saved: a resumed run decides anew, each time the same; what it sends may differ once from what
// the run sent before, and from then on keeps its prefix.
func TestAResumedRunDecidesAnew(t *testing.T) {
	o := limits(2400)
	long := strings.Repeat("灯下的水很静。", 180)
	talk := request(history(2, "word"), line, toolStep(1, long), toolStep(2, strings.Repeat("x", 6000)))
	_, ledger, report, err := budget.Apply(budget.Ledger{}, talk, o)
	if err != nil || report.Collapsed != 1 {
		t.Fatalf("%+v %v", report, err)
	}
	talk.Messages = append(talk.Messages, toolStep(3, "ok")...)
	going, _, _, err := budget.Apply(ledger, talk, o)
	if err != nil || !strings.Contains(shape(going), "user:digest assistant:call-2") {
		t.Fatalf("a run that goes on: %s %v", shape(going), err)
	}
	resumed, again, _, err := budget.Apply(budget.Ledger{}, talk, o)
	if err != nil || !strings.Contains(shape(resumed), "assistant:call-1 tool:cut assistant:call-2") {
		t.Fatalf("a resumed run: %s %v", shape(resumed), err)
	}
	if other, _, _, _ := budget.Apply(budget.Ledger{}, talk, o); cmp.Diff(resumed, other) != "" {
		t.Error("another node decides otherwise")
	}
	talk.Messages = append(talk.Messages, toolStep(4, "ok")...)
	next, _, _, err := budget.Apply(again, talk, o)
	if err != nil || cmp.Diff(resumed.Messages, next.Messages[:len(resumed.Messages)]) != "" {
		t.Errorf("the prefix changed once more: %s, %s %v", shape(resumed), shape(next), err)
	}
}

// tokenised are texts with the number of tokens that they have in a vocabulary: the larger of those of cl100k_base and
// o200k_base.
var tokenised = []struct {
	text   string
	tokens int
}{
	{"The fog lifts from the harbour, and Mara lights the second lamp.", 14},
	{"“Come aboard,” she says. “Nobody who lives here lit it.”", 15},
	{"龙胆在渡口的石墙上挂起一盏灯。", 23},
	{"陆青云把铜钥匙藏在松动的石头下，谁也没有看见。", 31},
	{"雾漫過水面，龍膽花開了滿牆。", 23},
	{"灯塔のランプを灯す。霧が晴れていく。", 22},
	{"등불을 켜고 안개 속으로 걸어간다.", 20},
	{"Ольга зажигает второй фонарь у причала.", 20},
	{"Élodie sourit, puis éteint la lampe du phare.", 17},
	{"🐉🔥 龙来了！👩\u200d👩\u200d👧", 25},
	{"𠀀𪚥𠮷野家", 14},
	{"เห็นมังกรแล้ว", 12},
	{"رأيت التنين", 8},
	{`{"sceneId":"ferry-gate","hp":18,"tags":["雾","灯"]}`, 21},
	{"0190a5b0-7c5e-7000-8000-000000000001", 22},
	{"    \n\n\t\t## Key events\n- [x] `look(at)`", 15},
	{"!!??..--==++", 6},
}

// Rule REF:plugins.md §18.4: the estimate is safe, for Chinese, Japanese and Korean too: never less than a tokeniser counts, and
// not so much more that half a window stays empty.
func TestEstimateIsSafe(t *testing.T) {
	for _, c := range tokenised {
		if got := sdk.EstimateTokens(c.text); got < c.tokens || got > 2*c.tokens+4 {
			t.Errorf("%q: %d, a tokeniser counts %d", c.text, got, c.tokens)
		}
	}
}

// Rule REF:plugins.md §18.4: the estimate of a long text is as safe as that of its parts: no part lives on another's rounding.
func TestEstimateAddsUp(t *testing.T) {
	for _, c := range tokenised {
		if got := sdk.QuarterTokens(c.text); got < 4*c.tokens {
			t.Errorf("%q: %d quarters, a tokeniser counts %d tokens", c.text, got, c.tokens)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		if sum := sdk.QuarterTokens(a) + sdk.QuarterTokens(b); sdk.QuarterTokens(a+b) != sum {
			t.Fatalf("%q and %q: %d quarters apart, %d together", a, b, sum, sdk.QuarterTokens(a+b))
		}
	})
}

func BenchmarkApply(b *testing.B) {
	r := request(history(200, strings.Repeat("龙胆花开 word ", 40)), line, toolStep(1, strings.Repeat("x", 9000)), toolStep(2, "ok"))
	for b.Loop() {
		if _, _, _, err := budget.Apply(budget.Ledger{}, r, limits(8000)); err != nil {
			b.Fatal(err)
		}
	}
}
