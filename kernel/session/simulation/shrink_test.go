package simulation

// maxTries bounds the shrinking of one script.
const maxTries = 3000

// shrink leaves out steps, and makes what they pick smaller, as long as the script still fails.
func shrink(steps []step, stillFails func([]step) bool) []step {
	tries := 0
	fails := func(s []step) bool { tries++; return tries < maxTries && stillFails(s) }
	for again := true; again; {
		again = false
		for size := max(len(steps)/2, 1); ; size /= 2 {
			for from := 0; from < len(steps); {
				to := min(from+size, len(steps))
				shorter := append(steps[:from:from], steps[to:]...)
				if fails(shorter) {
					steps, again = shorter, true
				} else {
					from = to
				}
			}
			if size == 1 {
				break
			}
		}
		for i := range steps {
			for a, v := range steps[i].args {
				for _, smaller := range []uint32{0, 1, v / 2, v - 1} {
					if smaller >= steps[i].args[a] {
						continue
					}
					changed := append([]step(nil), steps...)
					changed[i].args[a] = smaller
					if fails(changed) {
						steps, again = changed, true
						break
					}
				}
			}
		}
	}
	return steps
}
