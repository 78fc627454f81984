package llm_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/covel/covel/gateway/llm"
	"github.com/covel/covel/gateway/llm/storyteller"
	"github.com/covel/covel/kernel/model"
)

func scriptFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "game.script")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRequestsGoToTheirSlot(t *testing.T) {
	p, info, err := llm.Open(llm.Config{Slots: map[string]llm.Slot{
		"story": {Provider: llm.Scripted, File: scriptFile(t, "reply\n text 故事")},
		"fast":  {Provider: llm.Scripted, File: scriptFile(t, "reply\n text 快")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var provider model.Provider = p
	for slot, want := range map[string]string{"story": "故事", "": "故事", "fast": "快", "never-heard-of": "故事"} {
		reply, err := provider.Generate(context.Background(), model.Request{Slot: slot}, nil)
		if err != nil || reply.Text != want {
			t.Errorf("slot %q: got %+v, %v", slot, reply, err)
		}
	}
	want := llm.Info{Slots: map[string]llm.SlotInfo{"story": {Provider: "scripted"}, "fast": {Provider: "scripted"}}}
	if !reflect.DeepEqual(info, want) {
		t.Errorf("got %+v", info)
	}
}

func TestWithoutConfigurationTheStoryIsOffline(t *testing.T) {
	for _, c := range []llm.Config{{}, {Slots: map[string]llm.Slot{"story": {Provider: llm.Offline}, "fast": {}}}} {
		p, info, err := llm.Open(c)
		if err != nil {
			t.Fatal(err)
		}
		if !info.Offline || info.Slots["story"].Provider != llm.Offline {
			t.Errorf("got %+v", info)
		}
		reply, err := p.Generate(context.Background(), model.Request{Messages: []model.Message{{Role: model.User, Content: "(Begin.)"}}}, nil)
		if err != nil || reply.Model != storyteller.Name {
			t.Errorf("got %+v, %v", reply, err)
		}
		p.Close()
	}
}

// server is an OpenAI-compatible one that answers as told and counts.
func server(t *testing.T, answer http.HandlerFunc) (url string, asked func() int) {
	t.Helper()
	var mu sync.Mutex
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n++
		mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() int { mu.Lock(); defer mu.Unlock(); return n }
}

func TestServersShareACooldownPerKey(t *testing.T) {
	url, asked := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	server := func(key string) llm.Slot {
		return llm.Slot{Provider: llm.OpenAI, Model: "m", BaseURL: url, Key: llm.NewSecret(key)}
	}
	p, info, err := llm.Open(llm.Config{Slots: map[string]llm.Slot{"story": server("key-one"), "fast": server("key-one"), "image": server("key-two")}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, slot := range []string{"story", "fast", "image"} {
		_, err := p.Generate(context.Background(), model.Request{Slot: slot}, nil)
		mustFail(t, err, model.RateLimited)
	}
	if got := asked(); got != 2 {
		t.Errorf("the server was asked %d times, want once per key", got)
	}
	if info.Offline || info.Slots["fast"] != (llm.SlotInfo{Provider: "openai", Model: "m"}) {
		t.Errorf("got %+v", info)
	}
}

func TestConfigurationsThatCannotWork(t *testing.T) {
	for name, c := range map[string]struct {
		slots map[string]llm.Slot
		want  string
	}{
		"no story":    {map[string]llm.Slot{"fast": {}}, `the slot "story" is missing`},
		"provider":    {map[string]llm.Slot{"story": {Provider: "oracle"}}, `slot "story": provider "oracle": expected offline, openai, scripted or replay`},
		"no model":    {map[string]llm.Slot{"story": {}, "fast": {Provider: llm.OpenAI}}, `slot "fast": openai: model is empty`},
		"base URL":    {map[string]llm.Slot{"story": {Provider: llm.OpenAI, Model: "m", BaseURL: "host:1"}}, `slot "story": openai: baseURL`},
		"no script":   {map[string]llm.Slot{"story": {Provider: llm.Scripted}}, `slot "story": scripted: script is empty`},
		"lost script": {map[string]llm.Slot{"story": {Provider: llm.Scripted, File: "nowhere.script"}}, `nowhere.script`},
		"lost replay": {map[string]llm.Slot{"story": {Provider: llm.Replayed, File: "nowhere.jsonl"}}, `nowhere.jsonl`},
		"bad replay":  {map[string]llm.Slot{"story": {Provider: llm.Replayed, File: scriptFile(t, "sing\n")}}, `recording, line 1`},
		"bad script":  {map[string]llm.Slot{"story": {Provider: llm.Scripted, File: scriptFile(t, "sing")}}, `line 1`},
	} {
		p, _, err := llm.Open(llm.Config{Slots: c.slots})
		if err == nil || !strings.Contains(err.Error(), c.want) || p != nil {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

func TestParseModel(t *testing.T) {
	for text, want := range map[string]llm.Slot{
		"offline":              {Provider: llm.Offline},
		"openai:gpt-龙:latest":  {Provider: llm.OpenAI, Model: "gpt-龙:latest"},
		"replay:故事.jsonl":      {Provider: llm.Replayed, File: "故事.jsonl"},
		`scripted:C:\a.script`: {Provider: llm.Scripted, File: `C:\a.script`},
	} {
		got, err := llm.ParseModel(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "openai", "openai:", "scripted:", "replay:", "offline:x", "gpt-4"} {
		if got, err := llm.ParseModel(text); err == nil {
			t.Errorf("%s: got %+v", text, got)
		}
	}
}

// What a server said once is said again without it, and a key that a player or a model repeats is not in the file.
func TestRecordedCallsAreReplayed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "录音.jsonl")
	req := model.Request{Slot: "fast", Messages: []model.Message{{Role: "user", Content: "看 sk-0123456789"}}}
	ask := func(c llm.Config) string {
		p, _, err := llm.Open(c)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		reply, err := p.Generate(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		return reply.Text
	}
	script := llm.Slot{Provider: llm.Scripted, File: scriptFile(t, "reply\n text 快"), Key: llm.NewSecret("sk-0123456789")}
	ask(llm.Config{Slots: map[string]llm.Slot{"story": {}, "fast": script}, Record: file})
	recorded, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(recorded), "0123456789") {
		t.Errorf("recorded %q, %v", recorded, err)
	}
	if got := ask(llm.Config{Slots: map[string]llm.Slot{"story": {Provider: llm.Replayed, File: file}}}); got != "快" {
		t.Errorf("replayed %q", got)
	}
	if _, _, err := llm.Open(llm.Config{Record: filepath.Join(file, "no-folder")}); err == nil {
		t.Error("a recording that cannot be written is no error")
	}
}

func TestConfigPrintsNoKey(t *testing.T) {
	c := llm.Config{Slots: map[string]llm.Slot{"story": {Provider: llm.OpenAI, Model: "m", Key: llm.NewSecret("sk-0123456789")}}}
	if shown := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(shown, "0123456789") {
		t.Errorf("got %s", shown)
	}
}

func TestParsePrice(t *testing.T) {
	cached := 1.25
	for text, want := range map[string]*model.Price{
		"":                                      nil,
		"input=2.5,output=10":                   {Input: 2.5, Output: 10},
		"output=10,input=2.5,cached-input=1.25": {Input: 2.5, Output: 10, CachedInput: &cached},
		"input=0,output=0":                      {},
	} {
		got, err := llm.ParsePrice(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	}
	for _, text := range []string{"input=1", "output=1", "input=1,output=x", "input=-1,output=1", "input=1,output=2,tax=3", "input=1,input=1,output=1", "input=1,output=NaN", "5", ","} {
		if p, err := llm.ParsePrice(text); err == nil {
			t.Errorf("%q gives %+v", text, p)
		}
	}
}

// A slot that is not configured is answered by story, and costs what story costs.
func TestPriceOfASlot(t *testing.T) {
	price := &model.Price{Input: 1, Output: 2}
	s, _, err := llm.Open(llm.Config{Slots: map[string]llm.Slot{llm.StorySlot: {Price: price}, "fast": {}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if model.PriceOf(s, llm.StorySlot) != price || model.PriceOf(s, "image") != price || model.PriceOf(s, "fast") != nil {
		t.Error("a slot has another slot's price")
	}
}

// Rule EP:168: what the story model and the fast model take is known where their slots are configured.
func TestCapacityOfASlot(t *testing.T) {
	s, _, err := llm.Open(llm.Config{Slots: map[string]llm.Slot{
		llm.StorySlot: {Provider: llm.OpenAI, Model: "m", BaseURL: "http://127.0.0.1:1/v1", ContextWindow: 8192, Images: true},
		"fast":        {Provider: llm.OpenAI, Model: "m", BaseURL: "http://127.0.0.1:1/v1"},
		"small":       {},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	story := model.Capacity{ContextWindow: 8192, Images: true}
	for slot, want := range map[string]model.Capacity{
		llm.StorySlot: story, "image": story, "fast": {ContextWindow: llm.DefaultContextWindow}, "small": {},
	} {
		if got := model.CapacityOf(s, slot); got != want {
			t.Errorf("%s takes %+v, want %+v", slot, got, want)
		}
	}
}
