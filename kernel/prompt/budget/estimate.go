package budget

import (
	"github.com/covel/covel/kernel/model"
	"github.com/covel/covel/plugins/sdk"
)

// What a message and a picture cost beside their text, in quarters of a token.
const (
	messageCost = 4 * 6
	imageCost   = 4 * 1100
)

func tokens(quarters int) int { return (quarters + 3) / 4 }

// Estimate is about how many tokens a request has: messages, tool calls and results, tool and response schemas.
func Estimate(req model.Request) int { return tokens(size(req)) }

// Messages is about how many tokens messages have.
func Messages(messages []model.Message) int {
	n := 0
	for _, m := range messages {
		n += messageSize(m)
	}
	return tokens(n)
}

func size(req model.Request) int {
	n := 0
	for _, m := range req.Messages {
		n += messageSize(m)
	}
	for _, t := range req.Tools {
		n += messageCost + sdk.QuarterTokens(t.Name) + sdk.QuarterTokens(t.Description) + sdk.QuarterTokens(string(t.Parameters))
	}
	if f := req.ResponseFormat; f != nil {
		n += messageCost + sdk.QuarterTokens(f.Name) + sdk.QuarterTokens(string(f.Schema))
	}
	return n
}

func messageSize(m model.Message) int {
	n := messageCost + sdk.QuarterTokens(m.Content) + imageCost*len(m.Images) + sdk.QuarterTokens(m.ToolCallID)
	for _, c := range m.ToolCalls {
		n += messageCost + sdk.QuarterTokens(c.ID) + sdk.QuarterTokens(c.Name) + sdk.QuarterTokens(c.Arguments)
	}
	return n
}
