package turnscript

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/covel/covel/events"
	kernel "github.com/covel/covel/kernel/session"
)

// transcript is what a script led to, in a form that reads like a story and is the same in every run.
type transcript struct {
	mu      sync.Mutex
	text    strings.Builder
	names   map[string]string // of ids, in the order of their appearance
	heard   []string          // answers and notes since the newest command
	waiting [][]string        // answers to commands that were sent at once, by command
}

func (s *transcript) command(l line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.verb != "expect" {
		s.heard = nil
		fmt.Fprintf(&s.text, "\n> %s\n", strings.TrimSpace(l.verb+" "+l.rest))
		for _, b := range l.block {
			fmt.Fprintf(&s.text, ">   %s\n", b.text)
		}
	}
}

// since gives the answers and notes since the newest command.
func (s *transcript) since() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.heard)
}

func (s *transcript) write(prefix, text string) string {
	text = s.tame(text)
	fmt.Fprintf(&s.text, "%s%s\n", prefix, text)
	return text
}

// atOnce keeps the answers to what is sent from here on, so that they stand in the order of the commands.
func (s *transcript) atOnce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = [][]string{}
}

func (s *transcript) inOrder() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, answers := range s.waiting {
		for _, a := range answers {
			s.heard = append(s.heard, s.write("  < ", fmt.Sprint("the ", nth(i), ": ", a)))
		}
	}
	s.waiting = nil
}

func nth(i int) string {
	if i < 5 {
		return []string{"first", "second", "third", "fourth", "fifth"}[i]
	}
	return fmt.Sprint(i+1, "th")
}

// answerer gives who writes down the answers to one command.
func (s *transcript) answerer() func(kernel.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := len(s.waiting)
	if s.waiting != nil {
		s.waiting = append(s.waiting, nil)
	}
	return func(a kernel.Answer) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.waiting != nil && at < len(s.waiting) {
			s.waiting[at] = append(s.waiting[at], answerText(a))
			return
		}
		s.heard = append(s.heard, s.write("  < ", answerText(a)))
	}
}

func answerText(a kernel.Answer) string {
	text := string(a.Status)
	switch {
	case a.Refusal != nil:
		text += fmt.Sprintf(" %s: %s", a.Refusal.Code, a.Refusal.Message)
		for _, i := range a.Refusal.Issues {
			text += fmt.Sprintf(" [%s: %s]", i.Field, i.Message)
		}
	case a.Status == kernel.Queued:
		if a.SettleWait == nil {
			text += fmt.Sprintf(" behind %d", a.Ahead)
			break
		}
		var jobs []string
		for _, j := range a.SettleWait.Jobs {
			jobs = append(jobs, j.RuntimeID)
		}
		text += ", it waits for " + strings.Join(jobs, ", ")
	case a.Repeat:
		text += " before"
	}
	return text
}

func (s *transcript) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, s.write("  . ", fmt.Sprintf(format, args...)))
}

func (s *transcript) event(r events.Recorded) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	msg, err := events.Decode(r.Event)
	if err != nil {
		return s.write("    ", r.Type+": "+err.Error())
	}
	if r.Type == "ExecutionResults" { // what the runs gave stands in the events beside it
		return r.Type
	}
	return s.write("    ", strings.TrimSpace(r.Type+fields(msg.ProtoReflect())))
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimLeft(s.text.String(), "\n")
}

var id = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// tame gives ids short names.
func (s *transcript) tame(text string) string {
	if s.names == nil {
		s.names = map[string]string{}
	}
	return id.ReplaceAllStringFunc(text, func(id string) string {
		if s.names[id] == "" {
			s.names[id] = fmt.Sprint("#", len(s.names)+1)
		}
		return s.names[id]
	})
}

// dull are fields that tell a reader nothing.
var dull = map[protoreflect.Name]bool{
	"body_hash": true, "plugins": true, "node": true, "activation": true, "request_id": true, "message_id": true, "input_message_id": true,
	"incarnation": true, "world_digest": true, "usage": true, "digest": true, "created_at": true, "logical_turn_id": true, "recording_hash": true,
	"plugin_version": true, "plugin_digest": true, "continuation": true, "seats": true, "actions": true, "run_id": true, "advance_limit": true,
	"selection": true,
}

// telling are fields of a dull name that do tell.
var telling = map[protoreflect.FullName]bool{"covel.events.v1.JobQueued.activation": true, "covel.events.v1.PluginSelectionChanged.selection": true}

// fields writes the fields of a message that are set: name=value.
func fields(m protoreflect.Message) string {
	var b strings.Builder
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		if !m.Has(f) || dull[f.Name()] && !telling[f.FullName()] {
			continue
		}
		v := m.Get(f)
		switch {
		case f.IsMap():
		case f.IsList():
			var list []string
			for j := range v.List().Len() {
				list = append(list, value(f, v.List().Get(j)))
			}
			fmt.Fprintf(&b, " %s=[%s]", f.Name(), strings.Join(list, ", "))
		default:
			fmt.Fprintf(&b, " %s=%s", f.Name(), value(f, v))
		}
	}
	return b.String()
}

func value(f protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch f.Kind() {
	case protoreflect.MessageKind:
		return "{" + strings.TrimSpace(fields(v.Message())) + "}"
	case protoreflect.BytesKind:
		if json.Valid(v.Bytes()) {
			return string(v.Bytes())
		}
		return fmt.Sprintf("(%d bytes)", len(v.Bytes()))
	case protoreflect.StringKind:
		s := oneLine(v.String())
		if strings.ContainsAny(s, " ") {
			return "“" + s + "”"
		}
		return s
	}
	return v.String()
}
