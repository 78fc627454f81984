package model

import "math"

// Price is what a model's tokens cost, in units of some currency per million tokens. CachedInput is nil where cached tokens
// cost what others do.
type Price struct {
	Input       float64
	CachedInput *float64
	Output      float64
}

// Cost gives what a call came to, in millionths of the currency. CachedInputTokens are among the InputTokens.
func (p Price) Cost(u Usage) int64 {
	cached := p.Input
	if p.CachedInput != nil {
		cached = *p.CachedInput
	}
	read := min(u.CachedInputTokens, u.InputTokens)
	return int64(math.Round(float64(u.InputTokens-read)*p.Input + float64(read)*cached + float64(u.OutputTokens)*p.Output))
}

// Priced is a Provider that knows what its models cost; nil where it does not.
type Priced interface {
	Price(slot string) *Price
}

// PriceOf gives the price of the model behind a slot, nil when nobody knows it: that is not the same as free.
func PriceOf(p Provider, slot string) *Price {
	if s, ok := p.(Priced); ok {
		return s.Price(slot)
	}
	return nil
}
