package terminal

import (
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"github.com/covel/covel/plugins/bundled"
	"github.com/covel/covel/projections"
)

const sheet = `{"dataSource":{"namespace":"n"},"view":{"component":"Stack","children":[
	{"component":"Heading","props":{"content":"Where"}},
	{"component":"Text","props":{"content":{"$state":"/entries/0/value/place"},"variant":"muted"}},
	{"type":"Text","props":{"content":{"$state":"/a/count"},"weight":"bold"}},
	{"component":"Text","props":{"content":{"$state":"/nowhere/9/x"}}},
	{"component":"Image","props":{"content":"no"}},
	{"component":"Row","repeat":{"statePath":"/entries/0/value/lines"},"children":[
		{"component":"Button","on":{"click":{"action":"draftMessage","params":{"text":{"$item":"text"}}}}}]},
	{"component":"Row","repeat":{"statePath":"a/words"},"children":[
		{"component":"Button","on":{"press":[{"action":"copy","params":{"text":"x"}},{"action":"sendMessage","params":{"text":{"$item":""}}}]}}]}]}}`

func TestDraw(t *testing.T) {
	p, ok := readPanel("x", []byte(sheet))
	if !ok {
		t.Fatal("the panel is not read")
	}
	got := p.draw(map[string]projections.RawJSON{
		"a": projections.RawJSON(`{"place":"渡口","count":3,"lines":[{"text":" Who is\n there? "},{"text":""},{"no":1}],"words":["走","🏮"]}`),
		"b": projections.RawJSON(`{"place":"elsewhere"}`), "c": projections.RawJSON(`{`),
	})
	want := drawn{
		Lines:       []panelLine{{"Where", true, false}, {"渡口", false, true}, {"3", true, false}},
		Suggestions: []string{"Who is there?", "走", "🏮"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Every message panel of the bundled plugins can be shown, and one of them suggests lines.
func TestBundledPanels(t *testing.T) {
	shown := 0
	for _, b := range bundled.All() {
		files, err := fs.Glob(b.Package.FS, "ui/*.json")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			spec, err := fs.ReadFile(b.Package.FS, f)
			if err != nil {
				t.Fatal(err)
			}
			p, ok := readPanel(b.ID, spec)
			if !ok {
				continue
			}
			d := p.draw(map[string]projections.RawJSON{"current": projections.RawJSON(`{"scene":"渡口","recap":"雨停了。","decision":"走吗？","suggestions":[{"type":"act","text":"我走。"}]}`)})
			if len(d.Suggestions) == 1 && d.Suggestions[0] == "我走。" && len(d.Lines) == 3 {
				shown++
			}
		}
	}
	if shown != 1 {
		t.Errorf("%d panels suggest lines", shown)
	}
}

func TestPanelsThatCannotBeShown(t *testing.T) {
	for _, spec := range []string{``, `[]`, `{}`, `{"dataSource":{"namespace":""}}`, `{"dataSource":{"namespace":"n"},"view":7}`} {
		if _, ok := readPanel("x", []byte(spec)); ok {
			t.Errorf("%s is read", spec)
		}
	}
	deep := strings.Repeat(`{"component":"Stack","children":[`, 100) + `{"component":"Text","props":{"content":"deep"}}` + strings.Repeat("]}", 100)
	p, ok := readPanel("x", []byte(`{"dataSource":{"namespace":"n"},"view":`+deep+`}`))
	if d := p.draw(nil); !ok || len(d.Lines) != 0 {
		t.Errorf("%v %+v", ok, d)
	}
}

func FuzzPanel(f *testing.F) {
	f.Add([]byte(sheet), []byte(`{"place":1,"lines":[[]]}`))
	f.Fuzz(func(t *testing.T, spec, record []byte) {
		if p, ok := readPanel("x", spec); ok {
			if d := p.draw(map[string]projections.RawJSON{"a": record}); len(d.Lines) > maxLines+1 {
				t.Errorf("%d lines", len(d.Lines))
			}
		}
	})
}
