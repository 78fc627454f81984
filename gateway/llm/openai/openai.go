// Package openai answers requests through any server that speaks the OpenAI chat completions API. The official library
// builds the requests, sends them and decodes frames; this package decides what an answer is: how pieces become whole
// text and whole tool calls, which endings are failures, and of which kind.
package openai

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/pkg/errors"

	"github.com/covel/covel/gateway/llm/secret"
	"github.com/covel/covel/kernel/model"
)

// DefaultBaseURL is where requests go when Options name no server.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options say which server, which model and which key.
type Options struct {
	BaseURL string        // with the version part, e.g. http://127.0.0.1:11434/v1; "" is DefaultBaseURL
	Model   string        // as the server names it; required
	Key     secret.Secret // may be unset: local servers need none
	Client  *http.Client  // nil: one with its own connections, closed by Close
}

// Provider implements model.Provider. It reads nothing from the environment and never retries.
type Provider struct {
	chat   sdk.ChatCompletionService
	client *http.Client
	model  string
	key    secret.Secret
	// official servers know max_completion_tokens; most compatible ones only know the older max_tokens.
	official bool
}

// New checks the options and returns a provider; it opens no connection yet. Errors name the option and what is wrong.
func New(o Options) (*Provider, error) {
	if strings.TrimSpace(o.Model) == "" {
		return nil, errors.New("openai: model is empty: name the model as the server does")
	}
	base, err := checkBaseURL(o.BaseURL)
	if err != nil {
		return nil, errors.WithMessage(err, "openai: baseURL")
	}
	client := o.Client
	if client == nil {
		client = newClient()
	}
	options := []option.RequestOption{
		option.WithBaseURL(base.String()),
		option.WithHTTPClient(client),
		option.WithMaxRetries(0), // the agent loop counts attempts; hidden ones would multiply its limits
		option.WithMiddleware(boundBody),
	}
	if o.Key.IsSet() {
		options = append(options, option.WithAPIKey(o.Key.Reveal()))
	}
	return &Provider{
		// The service and not the whole client: NewClient would read keys and headers from the environment.
		chat:     sdk.NewChatCompletionService(options...),
		client:   client,
		model:    o.Model,
		key:      o.Key,
		official: base.Hostname() == "api.openai.com" || strings.HasSuffix(base.Hostname(), ".openai.azure.com"),
	}, nil
}

// checkBaseURL refuses what could not work or would put a secret where URLs are shown. Its errors never quote the URL.
func checkBaseURL(text string) (*url.URL, error) {
	if text == "" {
		text = DefaultBaseURL
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("must begin with http:// or https://")
	case u.Hostname() == "":
		return nil, errors.New("has no host")
	case u.User != nil:
		return nil, errors.New("must not hold a user or password: give the key as key")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("must not have a query or fragment")
	}
	return u, nil
}

func newClient() *http.Client {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok { // somebody wrapped it for tracing; keep the wrapping
		return &http.Client{Transport: http.DefaultTransport}
	}
	transport = transport.Clone()
	transport.MaxIdleConnsPerHost = 16
	return &http.Client{Transport: transport}
}

// Close drops idle connections. Calls in flight go on.
func (p *Provider) Close() { p.client.CloseIdleConnections() }

// Generate implements model.Provider. With req.Stream, text and reasoning come as deltas; a piece of a tool call comes as
// an empty Delta, a sign of life for whoever watches the time (llm.WithLimits). Without, onDelta is not
// called. When the answer breaks off, the Reply returned beside the error holds what had arrived.
//
// Failures are *model.Error: Interrupted once text was given out, else by status and code; a broken connection before
// any text is Transient, an answer with neither text nor calls is Empty, the end of ctx is Cancelled, or Timeout when it
// was a deadline.
func (p *Provider) Generate(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	params, err := p.params(req)
	if err != nil {
		return model.Reply{}, &model.Error{Kind: model.Permanent, Message: err.Error(), Err: err}
	}
	// Its own context, so that every way out of here closes the connection or has read it to its end.
	call, cancel := context.WithCancel(ctx)
	defer cancel()

	var res *http.Response
	options := []option.RequestOption{option.WithResponseBodyInto(&res)}
	if req.Stream {
		options = append(options, option.WithJSONSet("stream", true), option.WithHeader("Accept", "text/event-stream"))
	}
	if _, err := p.chat.New(call, params, options...); err != nil {
		return model.Reply{}, p.refused(ctx, res, err)
	}
	defer func() { _ = res.Body.Close() }()

	if !req.Stream {
		onDelta = nil
	}
	a := newAnswer(req, onDelta)
	var failed *model.Error
	if req.Stream && !isJSON(res) {
		failed = p.readStream(ctx, cancel, res, a)
	} else {
		failed = p.readWhole(ctx, res, a)
	}
	if failed == nil {
		failed = a.judge()
	}
	if failed != nil {
		return a.reply(), failed
	}
	return a.reply(), nil
}
