package scripted

import (
	"bufio"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/pkg/errors"

	"github.com/covel/covel/kernel/model"
)

const maxLine = 16 << 20 // bytes; arguments of a megabyte are a case worth testing

// Load reads a script file; the format is described at the top of the package.
func Load(path string) (Script, error) {
	f, err := os.Open(path)
	if err != nil {
		return Script{}, errors.Wrap(err, "the script cannot be read")
	}
	defer func() { _ = f.Close() }()
	script, err := Parse(f)
	return script, errors.WithMessagef(err, "script %s", path)
}

// Parse reads a script; the format is described at the top of the package. Errors name the line, the word and what was
// expected.
func Parse(text io.Reader) (Script, error) {
	p := parser{}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := p.directive(cut(line)); err != nil {
			return Script{}, errors.WithMessagef(err, "line %d", n)
		}
	}
	if err := lines.Err(); err != nil {
		return Script{}, errors.Wrapf(err, "line %d", n+1)
	}
	p.close()
	return p.script, nil
}

type parser struct {
	script  Script
	current *Reply
	expect  []string
	chunk   int
	pace    time.Duration
	newLine bool // the last step was an unquoted text line
}

// cut takes the first word off a line.
func cut(line string) (word, rest string) {
	if i := strings.IndexFunc(line, unicode.IsSpace); i >= 0 {
		return line[:i], strings.TrimSpace(line[i:])
	}
	return line, ""
}

func (p *parser) directive(word, rest string) error {
	if err := p.setting(word, rest); !errors.Is(err, errUnknown) {
		return err
	}
	if p.current == nil {
		return errors.Errorf("%q: expected at-end, otherwise, chunk, pace or reply here; steps belong to a reply", word)
	}
	if err := p.option(word, rest); !errors.Is(err, errUnknown) {
		return err
	}
	step, err := parseStep(word, rest, p.newLine)
	if errors.Is(err, errUnknown) {
		return errors.Errorf("%q is no directive", word)
	}
	if err != nil {
		return err
	}
	p.newLine = word == "text" && !strings.HasPrefix(rest, `"`)
	p.current.Steps = append(p.current.Steps, step)
	return nil
}

// errUnknown sends a word on to the next group of directives.
var errUnknown = errors.New("unknown directive")

// setting reads what may stand outside of replies.
func (p *parser) setting(word, rest string) (err error) {
	switch word {
	case "at-end":
		p.script.AtEnd = AtEnd(rest)
		if !slices.Contains([]AtEnd{Repeat, Loop, Fail, Otherwise}, p.script.AtEnd) {
			return errors.Errorf("at-end %q: expected repeat, loop, fail or otherwise", rest)
		}
	case "otherwise":
		switch rest {
		case "bundled":
			p.script.Otherwise = BundledGame()
		case "none":
			p.script.Otherwise = nil
		default:
			return errors.Errorf("otherwise %q: expected bundled or none", rest)
		}
	case "chunk":
		n, err := number(word, rest)
		if p.current != nil {
			p.current.Chunk = n
		} else {
			p.chunk = n
		}
		return err
	case "pace":
		d, err := duration(word, rest)
		if p.current != nil {
			p.current.Pace = d
		} else {
			p.pace = d
		}
		return err
	case "reply":
		p.close()
		p.current = &Reply{Subject: rest, Chunk: p.chunk, Pace: p.pace}
	default:
		return errUnknown
	}
	return nil
}

// option reads what belongs to a reply as a whole.
func (p *parser) option(word, rest string) (err error) {
	switch word {
	case "expect":
		text, err := unquote(word, rest)
		if text == "" && err == nil {
			err = errors.New("expect needs the text that is expected")
		}
		p.expect = append(p.expect, text)
		return err
	case "cut":
		p.current.Cut, err = number(word, rest)
		if err == nil && p.current.Cut == 0 {
			err = errors.New("cut 0: expected at least 1; use fault for a stream that breaks before any text")
		}
	case "finish":
		reasons := []model.FinishReason{
			model.FinishStop, model.FinishLength, model.FinishToolCalls, model.FinishContentFilter, model.FinishError, model.FinishOther,
		}
		if !slices.Contains(reasons, model.FinishReason(rest)) {
			return errors.Errorf("finish %q: expected one of %v", rest, reasons)
		}
		p.current.Finish = model.FinishReason(rest)
	case "usage":
		p.current.Usage, err = parseUsage(rest)
	default:
		return errUnknown
	}
	return err
}

func (p *parser) close() {
	if p.current == nil {
		return
	}
	if wanted := p.expect; len(wanted) > 0 {
		p.current.Check = func(req model.Request) error {
			for _, text := range wanted {
				if !slices.ContainsFunc(req.Messages, func(m model.Message) bool { return strings.Contains(m.Content, text) }) {
					return errors.Errorf("the script expected %q in a message", text)
				}
			}
			return nil
		}
	}
	p.script.Replies = append(p.script.Replies, *p.current)
	p.current, p.expect, p.newLine = nil, nil, false
}

func parseStep(word, rest string, newLine bool) (Step, error) {
	switch word {
	case "text":
		text, err := unquote(word, rest)
		if newLine && !strings.HasPrefix(rest, `"`) {
			text = "\n" + text
		}
		return Text(text), err
	case "reasoning":
		text, err := unquote(word, rest)
		return Reasoning(text), err
	case "narration", "action":
		text, err := unquote(word, rest)
		return Segment{Kind: word, Text: text}, err
	case "dialogue":
		at := strings.IndexAny(rest, ":：")
		if at <= 0 {
			return nil, errors.Errorf("dialogue %q: expected SPEAKER: TEXT", rest)
		}
		speaker, said := rest[:at], strings.TrimLeft(rest[at:], ":：")
		text, err := unquote(word, strings.TrimSpace(said))
		return Segment{Kind: word, Speaker: strings.TrimSpace(speaker), Text: text}, err
	case "tool":
		name, arguments := cut(rest)
		if name == "" {
			return nil, errors.New("tool needs a name")
		}
		return Tool{Name: name, Arguments: arguments}, nil
	case "delay":
		d, err := duration(word, rest)
		return Delay(d), err
	case "gate":
		if rest == "" {
			return nil, errors.New("gate needs a name")
		}
		return Hold(rest), nil
	case "stall":
		if rest != "" {
			return nil, errors.Errorf("stall takes nothing, got %q", rest)
		}
		return Stall{}, nil
	case "fault":
		return parseFault(rest)
	}
	return nil, errUnknown
}

func parseFault(rest string) (Step, error) {
	word, rest := cut(rest)
	fault := Fault{Kind: model.ErrorKind(word)}
	kinds := []model.ErrorKind{
		model.Transient, model.RateLimited, model.Interrupted, model.Empty, model.Permanent, model.Timeout, model.Cancelled, model.Overflow,
	}
	if !slices.Contains(kinds, fault.Kind) {
		return nil, errors.Errorf("fault %q: expected one of %v", word, kinds)
	}
	if strings.HasPrefix(rest, `"`) {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return nil, errors.Errorf("fault: the message has no closing quote: %s", rest)
		}
		fault.Message, _ = strconv.Unquote(quoted)
		rest = strings.TrimSpace(rest[len(quoted):])
	}
	for rest != "" {
		var value string
		var err error
		word, rest = cut(rest)
		value, rest = cut(rest)
		switch word {
		case "status":
			fault.Status, err = number(word, value)
		case "retry-after":
			fault.RetryAfter, err = duration(word, value)
		default:
			err = errors.Errorf("fault: unexpected %q: expected \"message\", status N or retry-after D", word)
		}
		if err != nil {
			return nil, err
		}
	}
	if fault.Message == "" {
		fault.Message = "scripted " + string(fault.Kind)
	}
	return fault, nil
}

func parseUsage(rest string) (*model.Usage, error) {
	words := strings.Fields(rest)
	if len(words) != 2 && len(words) != 3 {
		return nil, errors.Errorf("usage %q: expected tokens in, tokens out and, if any, cached ones", rest)
	}
	var counts [3]int
	for i, w := range words {
		n, err := number("usage", w)
		if err != nil {
			return nil, err
		}
		counts[i] = n
	}
	return &model.Usage{InputTokens: counts[0], OutputTokens: counts[1], CachedInputTokens: counts[2]}, nil
}

func unquote(word, text string) (string, error) {
	if !strings.HasPrefix(text, `"`) {
		return text, nil
	}
	s, err := strconv.Unquote(text)
	if err != nil {
		return "", errors.Errorf("%s %s: a text that begins with a quote must end with one and be a Go string", word, text)
	}
	return s, nil
}

func number(word, text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, errors.Errorf("%s %q: expected a number from 0", word, text)
	}
	return n, nil
}

func duration(word, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, errors.Errorf("%s %q: expected a duration such as 10ms or 2s", word, text)
	}
	return d, nil
}
