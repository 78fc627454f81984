package prompt

import "github.com/covel/covel/plugins/sdk"

// EstimateTokens estimates how many tokens a model needs for a text, on the high side (sdk.EstimateTokens: plugins and the
// host count alike). The estimate of a text is never more than the sum of its parts' and never less by more than one token
// per part.
func EstimateTokens(s string) int { return sdk.EstimateTokens(s) }

func quarterTokens(s string) int { return sdk.QuarterTokens(s) }

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
		if left -= quarterTokens(s[pos:next]) + quarterTokens("\n"); left < 0 {
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
