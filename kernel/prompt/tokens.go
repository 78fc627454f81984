package prompt

import "unicode/utf8"

// EstimateTokens estimates how many tokens a model needs for a text. It is meant to err on the high side, in Chinese too:
// four ASCII characters count as one token, two letters of other alphabets as one (below U+0800), every other character
// as one and a quarter, and characters outside the basic plane (emoji, rare ideographs) as two. The estimate of a text is
// never more than the sum of its parts' and never less by more than one token per part.
func EstimateTokens(s string) int { return (quarterTokens(s) + 3) / 4 }

func quarterTokens(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			n++
		case r < 0x0800:
			n += 2
		case r <= 0xFFFF:
			n += 5
		default:
			n += 8
		}
	}
	return n
}

// cutLines keeps whole lines from the start that fit into a budget of estimated tokens, and marks the cut with a last
// line "…". When not even the first line fits, it is cut.
func cutLines(s string, budget int) string {
	if EstimateTokens(s) <= budget {
		return s
	}
	left := 4*budget - quarterTokens("…\n")
	end := 0
	for pos := 0; pos < len(s); {
		next := pos
		for next < len(s) && s[next] != '\n' {
			next++
		}
		if left -= quarterTokens(s[pos:next]) + 1; left < 0 {
			break
		}
		end = next
		pos = next + 1
	}
	if end == 0 {
		left = 4*budget - quarterTokens("…\n")
		for pos, r := range s {
			if left -= quarterTokens(string(r)); left < 0 {
				break
			}
			end = pos + len(string(r))
		}
	}
	return s[:end] + "\n…"
}

// cutRunes keeps at most n characters and marks a cut with "…".
func cutRunes(s string, n int) string {
	i, count := 0, 0
	for i = range s {
		if count == n {
			return s[:i] + "…"
		}
		count++
	}
	return s
}
