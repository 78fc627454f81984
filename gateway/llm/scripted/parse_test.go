package scripted_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/covel/covel/gateway/llm/scripted"
	"github.com/covel/covel/kernel/model"
)

const script = `
# A comment.
at-end loop
otherwise bundled
chunk 8
pace 5ms

reply narrator
  expect 陆青云
  expect "said \"go\""
  chunk 0
  narration The door opens.
  gate mid
  dialogue 陆青云： 你来了： 坐。
  action "quoted\n"
  cut 40
  usage 900 40 800

reply
  pace 0s
  text First line
  text   second line
  text
  text "exact\t🐉"
  text fourth
  reasoning Hm.
  tool quest.update {"quest":"Amulet","state":
  tool nothing
  delay 10ms
  stall
  finish length
reply guide
  fault rate-limited "slow down, 请" status 429 retry-after 7s
reply guide
  fault empty
`

func TestParse(t *testing.T) {
	got, err := scripted.Parse(strings.NewReader(script))
	if err != nil {
		t.Fatal(err)
	}
	if got.AtEnd != scripted.Loop || got.Otherwise == nil || len(got.Replies) != 4 {
		t.Fatalf("got %+v", got)
	}
	check := got.Replies[0].Check
	if err := check(model.Request{Messages: []model.Message{{Content: "她是陆青云"}}}); err == nil || !strings.Contains(err.Error(), `said`) {
		t.Errorf("the second expectation must fail: %v", err)
	}
	if err := check(model.Request{Messages: []model.Message{{Content: "陆青云"}, {Content: `they said "go"`}}}); err != nil {
		t.Error(err)
	}
	got.Replies[0].Check = nil
	want := []scripted.Reply{
		{Subject: "narrator", Pace: 5 * time.Millisecond, Cut: 40, Usage: &model.Usage{InputTokens: 900, OutputTokens: 40, CachedInputTokens: 800}, Steps: []scripted.Step{
			scripted.Segment{Kind: "narration", Text: "The door opens."}, scripted.Hold("mid"),
			scripted.Segment{Kind: "dialogue", Speaker: "陆青云", Text: "你来了： 坐。"}, scripted.Segment{Kind: "action", Text: "quoted\n"},
		}},
		{Chunk: 8, Finish: model.FinishLength, Steps: []scripted.Step{
			scripted.Text("First line"), scripted.Text("\nsecond line"), scripted.Text("\n"), scripted.Text("exact\t🐉"), scripted.Text("fourth"),
			scripted.Reasoning("Hm."), scripted.Tool{Name: "quest.update", Arguments: `{"quest":"Amulet","state":`}, scripted.Tool{Name: "nothing"},
			scripted.Delay(10 * time.Millisecond), scripted.Stall{},
		}},
		{Subject: "guide", Chunk: 8, Pace: 5 * time.Millisecond, Steps: []scripted.Step{
			scripted.Fault{Kind: model.RateLimited, Status: 429, Message: "slow down, 请", RetryAfter: 7 * time.Second},
		}},
		{Subject: "guide", Chunk: 8, Pace: 5 * time.Millisecond, Steps: []scripted.Step{scripted.Fault{Kind: model.Empty, Message: "scripted empty"}}},
	}
	for i := range want {
		if !reflect.DeepEqual(got.Replies[i], want[i]) {
			t.Errorf("reply %d:\ngot  %+v\nwant %+v", i, got.Replies[i], want[i])
		}
	}
}

func TestParseErrorsNameLineAndWord(t *testing.T) {
	for text, wants := range map[string]string{
		"reply\n sing a song":               `line 2: "sing" is no directive`,
		"text x":                            `line 1: "text": expected at-end, otherwise, chunk, pace or reply`,
		"# x\n\nat-end never":               `line 3: at-end "never"`,
		"otherwise me":                      `line 1: otherwise "me"`,
		"chunk -1":                          `line 1: chunk "-1"`,
		"pace fast":                         `line 1: pace "fast"`,
		"reply\ncut 0":                      `line 2: cut 0`,
		"reply\ncut x":                      `line 2: cut "x"`,
		"reply\nfinish now":                 `line 2: finish "now"`,
		"reply\nusage 1":                    `line 2: usage "1"`,
		"reply\nusage 1 b":                  `line 2: usage "b"`,
		"reply\ntext \"open":                `line 2: text "open`,
		"reply\nexpect":                     `line 2: expect needs`,
		"reply\ndialogue no colon":          `line 2: dialogue "no colon"`,
		"reply\ntool":                       `line 2: tool needs a name`,
		"reply\ngate":                       `line 2: gate needs a name`,
		"reply\nstall 5s":                   `line 2: stall takes nothing`,
		"reply\ndelay -5s":                  `line 2: delay "-5s"`,
		"reply\nfault sudden":               `line 2: fault "sudden"`,
		"reply\nfault empty \"open":         `line 2: fault: the message has no closing quote`,
		"reply\nfault empty status x":       `line 2: status "x"`,
		"reply\nfault empty retry-after":    `line 2: retry-after ""`,
		"reply\nfault empty \"m\" and then": `line 2: fault: unexpected "and"`,
		"reply\ntext " + strings.Repeat("x", 17<<20): `line 2: `,
	} {
		_, err := scripted.Parse(strings.NewReader(text))
		if err == nil || !strings.HasPrefix(err.Error(), wants) {
			t.Errorf("%.40q: got %v, want %s…", text, err, wants)
		}
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "陆.script")
	if err := os.WriteFile(path, []byte("reply\n text 雨\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := scripted.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if h := ask(context.Background(), scripted.New(s), "x"); h.reply.Text != "雨" {
		t.Errorf("got %+v", h)
	}
	if err := os.WriteFile(path, []byte("reply\n sing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := scripted.Load(path); err == nil || !strings.Contains(err.Error(), "陆.script") || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v", err)
	}
	if _, err := scripted.Load(path + ".none"); !os.IsNotExist(unwrapAll(err)) {
		t.Errorf("got %v", err)
	}
}

func unwrapAll(err error) error {
	for {
		inner, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		if os.IsNotExist(err) {
			return err
		}
		err = inner.Unwrap()
	}
}

// The description at the top of the package is the manual; its example must work.
func TestTheManualParses(t *testing.T) {
	raw, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, manual, found := strings.Cut(string(raw), "# As a file")
	if !found {
		t.Fatal("the manual has moved")
	}
	directives := 0
	var file strings.Builder
	for line := range strings.SplitSeq(manual, "\n") {
		text, isExample := strings.CutPrefix(line, "//\t")
		if !isExample {
			continue
		}
		text, _, _ = strings.Cut(text, "   ") // the explanation beside it
		directives++
		file.WriteString(text + "\n")
	}
	got, err := scripted.Parse(strings.NewReader(file.String()))
	if err != nil || directives < 18 || len(got.Replies) != 1 {
		t.Errorf("%d directives, %+v, %v\n%s", directives, got, err, file.String())
	}
}

func FuzzParse(f *testing.F) {
	f.Add(script)
	f.Add("reply\n text \"\\xff\"\n dialogue a:\"b\"\n fault empty \"\" status 1")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := scripted.Parse(strings.NewReader(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "line ") {
				t.Errorf("no line in %v", err)
			}
			return
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		m := scripted.New(s)
		for range len(s.Replies) {
			h := ask(ctx, m, "")
			mustFail(t, h.err, model.Cancelled)
		}
	})
}
