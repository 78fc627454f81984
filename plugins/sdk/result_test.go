package sdk

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// seed: tools.txt, "withModelView, withPendingProposals and withEmittedEvents compose in any order".
func TestResultsComposeInAnyOrder(t *testing.T) {
	content := map[string]any{"name": "龙胆"}
	view := ModelView{Summary: "写好了。"}
	proposals := []Proposal{{Type: "plugin.data", Payload: []byte(`{}`)}}
	events := []EmittedEvent{{Topic: "scene.set"}}
	steps := []func(any) any{
		func(c any) any { return WithModelView(c, view) },
		func(c any) any { return WithPendingProposals(c, proposals) },
		func(c any) any { r := WithEmittedEvents(c, events); return &r },
	}
	want := ToolResult{Content: content, View: &view, Proposals: proposals, Events: events}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		var got any = content
		for _, i := range order {
			got = steps[i](got)
		}
		if diff := cmp.Diff(want, resultOf(got)); diff != "" {
			t.Errorf("order %v:\n%s", order, diff)
		}
	}
}

func TestResultChannelsAreReplacedAndNotShared(t *testing.T) {
	list := []Proposal{{Type: "a"}, {Type: "b"}}
	first := WithPendingProposals("text", list)
	list[0].Type = "changed"
	if first.Proposals[0].Type != "a" {
		t.Error("the result shares its list with the caller")
	}
	if again := WithPendingProposals(first, []Proposal{{Type: "c"}}); len(again.Proposals) != 1 || again.Content != "text" || len(first.Proposals) != 2 {
		t.Errorf("setting a channel again must replace it and leave the former result alone: %+v, %+v", again, first)
	}
	if r := WithPendingProposals((*ToolResult)(nil), nil); r.Content != nil {
		t.Errorf("a nil result became content: %+v", r)
	}
}

func TestFail(t *testing.T) {
	base := Fail(NotFound, "There is no %q.", "Élodie")
	hinted := base.WithHint("Try %s.", "list-characters")
	if base.Hint != "" || hinted.Hint != "Try list-characters." || hinted.Message != `There is no "Élodie".` {
		t.Errorf("base %+v, hinted %+v", base, hinted)
	}
	var te *ToolError
	if !errors.As(error(hinted), &te) || !strings.HasPrefix(te.Error(), "not-found: ") {
		t.Errorf("error text %q", hinted.Error())
	}
	if len(ToolErrorCodes) != 9 {
		t.Errorf("%d codes", len(ToolErrorCodes))
	}
}
