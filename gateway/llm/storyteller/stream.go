package storyteller

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/covel/covel/kernel/model"
	"github.com/rivo/uniseg"
)

// stream hands a text out piece by piece, waiting pace before each one. It stops at once when ctx ends.
func stream(ctx context.Context, text string, pace time.Duration, onDelta func(model.Delta)) error {
	if onDelta == nil {
		return ctx.Err()
	}
	var timer *time.Timer
	if pace > 0 {
		timer = time.NewTimer(pace)
		defer timer.Stop()
	}
	for text != "" {
		n := pieceLength(text)
		if timer != nil {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-timer.C:
				timer.Reset(pace)
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		onDelta(model.Delta{Text: text[:n]})
		text = text[n:]
	}
	return ctx.Err()
}

// A piece is a word with the space after it, or up to three Han characters; in any case whole grapheme clusters, and
// never half of a JSON escape.
const (
	hanPerPiece   = 3
	bytesPerPiece = 24
)

func pieceLength(text string) int {
	n, han := 0, 0
	state := -1
	rest := text
	for rest != "" {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		n += len(cluster)
		if strings.HasSuffix(cluster, "\\") && rest != "" { // the character that is escaped
			_, size := utf8.DecodeRuneInString(rest)
			if rest[0] == 'u' {
				size = min(5, len(rest))
			}
			n += size
			rest, state = rest[size:], -1
		}
		if isHan(firstRune(cluster)) {
			han++
		}
		switch {
		case han >= hanPerPiece && !strings.HasPrefix(rest, "，") && !strings.HasPrefix(rest, "。"):
			return n
		case cluster == " " || cluster == "\n" || n >= bytesPerPiece:
			return n
		}
	}
	return n
}

// usage estimates tokens: four Latin letters or about one Han character each.
func usage(req model.Request, out string) model.Usage {
	in := 0
	for _, m := range req.Messages {
		in += estimate(m.Content) + 4
		for _, c := range m.ToolCalls {
			in += estimate(c.Arguments)
		}
	}
	for _, t := range req.Tools {
		in += estimate(t.Description) + len(t.Parameters)/4
	}
	return model.Usage{InputTokens: in, OutputTokens: estimate(out)}
}

func estimate(s string) int {
	quarter := 0
	for _, r := range s {
		if r < 0x2e80 {
			quarter++
		} else {
			quarter += 4
		}
	}
	return (quarter + 3) / 4
}
