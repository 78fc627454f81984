package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/covel/covel/plugins/sdk"
)

// MaxFieldChars is the longest text of one field: the limit of a player's message (reference: api-and-protocol.md §2.3).
const MaxFieldChars = 100_000

// Codes of SubmitIssue.
const (
	IssueRejected = "rejected"      // the player can correct it: form_rejected
	IssueUnknown  = "unknown-field" // the client should not have sent it
)

// SubmitIssue is one thing wrong with an answer. Message is in the session's language and uses the field's label.
type SubmitIssue struct {
	sdk.FormIssue
	Code string
}

// Submit checks an answer to a block and gives its normalised values. All field checks are made at once; with issues the
// values are nil. locale is the session's content language.
//
// Values: form {fieldName: value}; choice {selectedId}; confirmation {confirmed}. Numbers may come as number strings and
// become numbers, a missing field gets its default value, the label of a choice is the block's, not the client's.
func Submit(b Interaction, values map[string]any, locale string) (map[string]any, []SubmitIssue) {
	s := submission{texts: textsFor(locale), out: map[string]any{}}
	known := map[string]bool{}
	switch b.Type {
	case ChoiceInteraction:
		known["selectedId"], known["selectedLabel"] = true, true
		s.choice(b, values["selectedId"])
	case ConfirmationInteraction:
		known["confirmed"] = true
		if v, ok := values["confirmed"].(bool); ok {
			s.out["confirmed"] = v
		} else {
			s.reject("confirmed", "%s", s.texts.confirm)
		}
	default:
		for _, f := range b.Fields {
			known[f.Name] = true
			v, given := values[f.Name]
			s.field(f, v, given)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !known[name] {
			s.issues = append(s.issues, SubmitIssue{FormIssue: sdk.FormIssue{Field: name, Message: fmt.Sprintf(s.texts.unknown, name)}, Code: IssueUnknown})
		}
	}
	if len(s.issues) > 0 {
		return nil, s.issues
	}
	return s.out, nil
}

// SubmitForm is Submit for a form.
func SubmitForm(b Interaction, values map[string]any, locale string) (map[string]any, []SubmitIssue) {
	b.Type = FormInteraction
	return Submit(b, values, locale)
}

// Narrative is the sentence an answer becomes in the conversation: the block's template, else the chosen label, the
// confirmation, or the fields with their labels. values are normalised.
func Narrative(b Interaction, values map[string]any, locale string) string {
	t := textsFor(locale)
	shown := maps.Clone(values)
	if shown == nil {
		shown = map[string]any{}
	}
	if yes, ok := values["confirmed"].(bool); ok && b.Type == ConfirmationInteraction {
		shown["confirmed"] = t.no
		if yes {
			shown["confirmed"] = t.yes
		}
	}
	switch {
	case b.NarrativeTemplate != "":
		return sdk.FillNarrativeTemplate(b.NarrativeTemplate, shown)
	case b.Type == ChoiceInteraction:
		return sdk.TemplateText(shown["selectedLabel"])
	case b.Type == ConfirmationInteraction:
		return sdk.TemplateText(shown["confirmed"])
	}
	var parts []string
	for _, f := range b.Fields {
		if v, ok := shown[f.Name]; ok {
			parts = append(parts, f.Label+t.colon+sdk.TemplateText(v))
		}
	}
	return strings.Join(parts, t.separator)
}

type submission struct {
	texts  submitTexts
	out    map[string]any
	issues []SubmitIssue
}

func (s *submission) reject(field, format string, args ...any) {
	s.issues = append(s.issues, SubmitIssue{FormIssue: sdk.FormIssue{Field: field, Message: fmt.Sprintf(format, args...)}, Code: IssueRejected})
}

func (s *submission) choice(b Interaction, v any) {
	id, _ := v.(string)
	for _, c := range b.Choices {
		if c.ID == id {
			s.out["selectedId"], s.out["selectedLabel"] = c.ID, c.Label
			return
		}
	}
	s.reject("selectedId", "%s", s.texts.choose)
}

// field normalises one value and puts it into the answer.
func (s *submission) field(f FormField, v any, given bool) {
	switch f.Type {
	case NumberField:
		s.number(f, v, given)
	case CheckboxField:
		s.checkbox(f, v, given)
	default:
		s.text(f, v, given)
	}
}

func (s *submission) text(f FormField, v any, given bool) {
	text, ok := v.(string)
	if given && !ok && v != nil {
		s.reject(f.Name, s.texts.notText, f.Label)
		return
	}
	if strings.TrimSpace(text) == "" {
		// Also a field that was sent empty has its default value.
		if def, ok := f.DefaultValue.(string); ok {
			text = def
		}
	}
	switch {
	case strings.TrimSpace(text) == "":
		switch {
		case f.Required:
			s.reject(f.Name, s.texts.required, f.Label)
		case given && v != nil:
			s.out[f.Name] = text
		}
	case len([]rune(text)) > MaxFieldChars:
		s.reject(f.Name, s.texts.tooLong, f.Label, MaxFieldChars)
	case f.Type == SelectField && !f.hasOption(text):
		s.reject(f.Name, s.texts.options, f.Label)
	default:
		s.out[f.Name] = text
	}
}

func (s *submission) checkbox(f FormField, v any, given bool) {
	if !given || v == nil {
		v = f.DefaultValue
	}
	yes, ok := v.(bool)
	switch {
	case ok:
		s.out[f.Name] = yes
	case v != nil:
		s.reject(f.Name, s.texts.notBool, f.Label)
	case f.Required:
		s.reject(f.Name, s.texts.required, f.Label)
	}
}

func (s *submission) number(f FormField, v any, given bool) {
	if !given {
		v = f.DefaultValue
	}
	// A field that was cleared is empty: neither 0 nor its default value.
	if text, ok := v.(string); v == nil || ok && strings.TrimSpace(text) == "" {
		if f.Required {
			s.reject(f.Name, s.texts.required, f.Label)
		}
		return
	}
	n, ok := numberOf(v)
	if !ok {
		s.reject(f.Name, s.texts.notNumber, f.Label)
		return
	}
	switch f.numberProblem(n) {
	case belowMin:
		s.reject(f.Name, s.texts.min, f.Label, sdk.TemplateText(*f.Min))
	case aboveMax:
		s.reject(f.Name, s.texts.max, f.Label, sdk.TemplateText(*f.Max))
	case offStep:
		if base := f.stepBase(); base != 0 {
			s.reject(f.Name, s.texts.stepFrom, f.Label, sdk.TemplateText(base), sdk.TemplateText(*f.Step))
		} else {
			s.reject(f.Name, s.texts.step, f.Label, sdk.TemplateText(*f.Step))
		}
	default:
		s.out[f.Name] = n
	}
}

var numberText = regexp.MustCompile(`^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$`)

// numberOf reads a finite number, or one written as text (full-width digits of a Chinese keyboard too).
func numberOf(v any) (float64, bool) {
	var n float64
	switch x := v.(type) {
	case float64:
		n = x
	case int:
		n = float64(x)
	case json.Number:
		return numberOf(x.String())
	case string:
		text := strings.TrimSpace(norm.NFKC.String(x))
		if !numberText.MatchString(text) {
			return 0, false
		}
		var err error
		if n, err = strconv.ParseFloat(text, 64); err != nil {
			return 0, false
		}
	default:
		return 0, false
	}
	return n, !math.IsNaN(n) && !math.IsInf(n, 0)
}

type numberProblem int

const (
	numberFits numberProblem = iota
	belowMin
	aboveMax
	offStep
)

// numberProblem checks range and step; steps count from min, or from 0 without one. It counts in decimals, as people do:
// 0.3 is three steps of 0.1.
func (f FormField) numberProblem(n float64) numberProblem {
	switch {
	case f.Min != nil && n < *f.Min:
		return belowMin
	case f.Max != nil && n > *f.Max:
		return aboveMax
	case f.Step == nil || *f.Step <= 0:
		return numberFits
	}
	steps := new(big.Rat).Quo(new(big.Rat).Sub(decimal(n), decimal(f.stepBase())), decimal(*f.Step))
	if !steps.IsInt() {
		return offStep
	}
	return numberFits
}

func (f FormField) stepBase() float64 {
	if f.Min != nil {
		return *f.Min
	}
	return 0
}

func decimal(n float64) *big.Rat {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(n, 'g', -1, 64))
	if !ok {
		return new(big.Rat)
	}
	return r
}

// submitTexts are what a player reads; %s is the field's label.
type submitTexts struct {
	required, notText, notNumber, notBool, tooLong, options, min, max, step, stepFrom, choose, confirm, unknown string
	yes, no, colon, separator                                                                                   string
}

var submitEN = submitTexts{
	required:  "“%s” is required.",
	notText:   "“%s” must be text.",
	notNumber: "“%s” must be a number.",
	notBool:   "“%s” must be yes or no.",
	tooLong:   "“%s” is too long: at most %d characters.",
	options:   "“%s”: choose one of the listed options.",
	min:       "“%s” must be at least %s.",
	max:       "“%s” must be at most %s.",
	step:      "“%s” must be a multiple of %s.",
	stepFrom:  "“%s” must count from %s in steps of %s.",
	choose:    "Choose one of the listed options.",
	confirm:   "Confirm or cancel.",
	unknown:   "There is no field “%s”.",
	yes:       "Confirm", no: "Cancel", colon: ": ", separator: "; ",
}

var submitZH = submitTexts{
	required:  "请填写“%s”。",
	notText:   "“%s”必须是文字。",
	notNumber: "“%s”必须是数字。",
	notBool:   "“%s”只能选择“是”或“否”。",
	tooLong:   "“%s”太长了：最多 %d 个字符。",
	options:   "“%s”：请选择列出的选项之一。",
	min:       "“%s”不能小于 %s。",
	max:       "“%s”不能大于 %s。",
	step:      "“%s”必须是 %s 的倍数。",
	stepFrom:  "“%s”必须从 %s 起，每次增加 %s。",
	choose:    "请选择列出的选项之一。",
	confirm:   "请选择“确认”或“取消”。",
	unknown:   "没有名为“%s”的字段。",
	yes:       "确认", no: "取消", colon: "：", separator: "；",
}

func textsFor(locale string) submitTexts {
	if locale == "zh" || strings.HasPrefix(locale, "zh-") {
		return submitZH
	}
	return submitEN
}
