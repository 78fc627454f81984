package session

import "testing"

func TestTheScriptIsPlayed(t *testing.T) {
	s := newSim(t)
	s.survive(s.script)
	s.checkPlayed()
}

// A crash between any two effects of the script, and before any input: nothing is lost, nothing is there twice.
func TestCrashBetweenAnyTwoEffects(t *testing.T) {
	clean := newSim(t)
	clean.survive(clean.script)
	for at := 1; at <= clean.points; at++ {
		s := newSim(t)
		s.crashAt = at
		s.survive(s.script)
		if !s.crashed {
			t.Fatalf("point %d was not reached", at)
		}
		s.checkPlayed()
		if t.Failed() {
			t.Fatalf("crash before point %d of %d", at, clean.points)
		}
	}
	t.Logf("%d crash points", clean.points)
}

// Two crashes, the second in the recovery of the first.
func TestCrashInTheRecovery(t *testing.T) {
	clean := newSim(t)
	clean.survive(clean.script)
	for first := 1; first <= clean.points; first += 3 {
		for after := 1; after <= 12; after++ {
			s := newSim(t)
			s.crashAt = first
			died := false
			s.survive(func() {
				if s.crashed && !died {
					died = true
					s.crashAt = s.points + after
				}
				s.script()
			})
			s.checkPlayed()
			if t.Failed() {
				t.Fatalf("crash before point %d and again %d points later", first, after)
			}
		}
	}
}

// A store fault at every append, of every kind.
func TestStoreFaultAtEveryAppend(t *testing.T) {
	clean := newSim(t)
	clean.survive(clean.script)
	for kind, name := range map[fault]string{
		unknownWritten: "unknown, written", unknownNotWritten: "unknown, not written", refusedByStore: "refused", foreignBefore: "foreign event before",
	} {
		t.Run(name, func(t *testing.T) {
			for at := 1; at <= clean.appends; at++ {
				s := newSim(t)
				s.fault = func(n int, _ Append) fault {
					if n == at {
						return kind
					}
					return noFault
				}
				s.survive(s.script)
				s.checkPlayed()
				if t.Failed() {
					t.Fatalf("fault at append %d of %d", at, clean.appends)
				}
			}
		})
	}
}

// A store fault at every append together with a crash at every later point of its handling.
func TestCrashWhileTheOutcomeIsUnknown(t *testing.T) {
	clean := newSim(t)
	clean.survive(clean.script)
	for at := 1; at <= clean.appends; at++ {
		for after := 1; after <= 6; after++ {
			s := newSim(t)
			s.fault = func(n int, _ Append) fault {
				if n == at {
					s.crashAt = s.points + after
					return unknownWritten
				}
				return noFault
			}
			s.survive(s.script)
			s.checkPlayed()
			if t.Failed() {
				t.Fatalf("unknown outcome of append %d, crash %d points later", at, after)
			}
		}
	}
}
