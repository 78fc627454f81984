package loop

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/covel/covel/kernel/text"
)

// ReadOutput reads an answer that was asked for in a schema and holds it against it.
func ReadOutput(schema json.RawMessage, answer string) (json.RawMessage, error) {
	value, err := parseOutput(answer)
	if err != nil {
		return nil, err
	}
	problem, err := checkOutput(schema, value)
	if err == nil && problem != "" {
		err = errors.New(problem)
	}
	if err != nil {
		return nil, err
	}
	return value, nil
}

// parseOutput reads the JSON value of a final answer, which may stand in a code fence or before other text.
func parseOutput(answer string) (json.RawMessage, error) {
	body := strings.TrimSpace(strings.TrimLeftFunc(answer, isLead))
	if fenced, ok := strings.CutPrefix(body, "```"); ok {
		body = strings.TrimLeftFunc(fenced, isFenceName)
	} else if fenced, ok := fencedObject(body); ok && !strings.HasPrefix(body, "{") && !strings.HasPrefix(body, "[") {
		body = fenced
	}
	var v json.RawMessage
	if err := json.NewDecoder(strings.NewReader(body)).Decode(&v); err != nil {
		return nil, errors.Errorf("the answer is not JSON: %s", notJSON(body, err))
	}
	return text.CleanJSON(v)
}

// notJSON says what is wrong with a text that is no JSON. The decoder speaks of bytes, and a character beyond ASCII is more
// than one.
func notJSON(body string, err error) string {
	if first, size := utf8.DecodeRuneInString(body); size > 1 {
		return fmt.Sprintf("it begins with %q", first)
	}
	return err.Error()
}

// checkOutput validates a value against the runtime's private schema. problem says what does not fit, by place, in words a
// model can act on; err means that the schema itself is unusable.
func checkOutput(schema, value json.RawMessage) (problem string, err error) {
	s, err := compileSchema(schema)
	if err != nil {
		return "", err
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(value)))
	if err != nil {
		return fmt.Sprintf("the answer is not JSON: %v", err), nil
	}
	err = s.Validate(v)
	if err == nil {
		return "", nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return "", errors.Wrap(err, "validate the output")
	}
	problems := leafProblems(invalid, message.NewPrinter(language.English), nil)
	return "the answer does not fit its schema: " + strings.Join(problems, "; "), nil
}

const schemaURL = "covel:output"

// compileSchema knows no way to load anything else: a private schema is one document.
func compileSchema(schema json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil {
		return nil, errors.Wrap(err, "the output schema is not JSON")
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, errors.Wrap(err, "the output schema")
	}
	s, err := c.Compile(schemaURL)
	return s, errors.Wrap(err, "the output schema")
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, errors.Errorf("a private schema may not refer to %s", url)
}

const maxProblems = 8

// leafProblems are the innermost errors, which say what to do.
func leafProblems(e *jsonschema.ValidationError, p *message.Printer, out []string) []string {
	for _, c := range e.Causes {
		out = leafProblems(c, p, out)
	}
	if len(e.Causes) == 0 && len(out) < maxProblems {
		out = append(out, fmt.Sprintf("at '/%s': %s", strings.Join(e.InstanceLocation, "/"), e.ErrorKind.LocalizedString(p)))
	}
	return out
}
