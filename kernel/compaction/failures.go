package compaction

// noticeEvery is after how many failures in a row the player is told, and again after as many more.
const noticeEvery = 3

// Count counts a session's failures in a row: a success, or a run with nothing to do, begins anew. show: the player is told
// that the story's memory cannot be compressed (seed: extension-points.txt, "How a compression failure is reported").
func Count(before int, failed bool) (after int, show bool) {
	if !failed {
		return 0, false
	}
	after = before + 1
	return after, after%noticeEvery == 0
}
