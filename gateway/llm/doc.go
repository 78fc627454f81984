// Package llm is the gateway to language models: it opens the providers that a configuration names (Open), and holds what
// goes around any of them, each a model.Provider that wraps another:
//
//	slots      story, fast, … → a provider                       slots.go
//	cooldown   a rate limit met by one call is known to all       cooldown.go
//	pool       so many calls at once per process                  pool.go
//	limits     first token, silence, whole call                   limits.go
//	recorder   every call becomes a line of a file                record.go
//	replay     answers from such a file, without a model          replay.go
//
// The providers themselves live in packages of their own: openai, storyteller (offline), scripted (tests).
package llm

import "github.com/covel/covel/gateway/llm/secret"

// Secret is a provider key. It prints as "[secret]" in every way Go has; see package secret.
type Secret = secret.Secret

// NewSecret wraps a key; "" gives the unset Secret.
func NewSecret(key string) Secret { return secret.New(key) }
