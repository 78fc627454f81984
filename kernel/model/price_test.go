package model_test

import (
	"testing"

	"github.com/covel/covel/kernel/model"
)

func TestCost(t *testing.T) {
	half, free := 0.5, 0.0
	for name, c := range map[string]struct {
		price model.Price
		usage model.Usage
		want  int64
	}{
		"input and output":        {model.Price{Input: 2.5, Output: 10}, model.Usage{InputTokens: 1000, OutputTokens: 100}, 3500},
		"cached as the rest":      {model.Price{Input: 2, Output: 10}, model.Usage{InputTokens: 1000, CachedInputTokens: 900}, 2000},
		"cached for less":         {model.Price{Input: 2, CachedInput: &half, Output: 10}, model.Usage{InputTokens: 1000, CachedInputTokens: 900}, 650},
		"cached for nothing":      {model.Price{Input: 2, CachedInput: &free}, model.Usage{InputTokens: 1000, CachedInputTokens: 900}, 200},
		"more cached than read":   {model.Price{Input: 2, CachedInput: &half}, model.Usage{InputTokens: 10, CachedInputTokens: 900}, 5},
		"a fraction of a micro":   {model.Price{Input: 0.1}, model.Usage{InputTokens: 7}, 1},
		"a price of 0 is a price": {model.Price{}, model.Usage{InputTokens: 1000, OutputTokens: 5}, 0},
	} {
		if got := c.price.Cost(c.usage); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// Rule DESIGN §10: calls are accounted with tokens and cost; a price that nobody knows is no price, not 0.
func TestAPriceNobodyKnows(t *testing.T) {
	if p := model.PriceOf(nil, "story"); p != nil {
		t.Errorf("%+v", p)
	}
}
