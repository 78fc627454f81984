// Package storetest is the conformance suite of events.Store. An implementation says what it can do (Features), hands in how
// its stores are made (Factory), and the suite decides what runs.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, storetest.Features{Reopen: true}, func(t *testing.T) storetest.Factory {
//			dir := t.TempDir()
//			return storetest.Factory{Open: func() (events.Store, error) { return mystore.Open(dir) }}
//		})
//	}
package storetest

import (
	"os/exec"
	"testing"

	"github.com/covel/covel/events"
)

// Features are what an implementation declares. What it does not declare is not run.
type Features struct {
	// Reopen: the data outlives the handle, and Factory.Open after Close finds it again.
	Reopen bool
	// Faults: Factory.Inject works.
	Faults bool
	// Kill: Factory.Child works. It needs Reopen.
	Kill bool
	// MaxAppend is the size in bytes over which an append is events.ErrTooLarge; 0: no limit that a test could reach.
	MaxAppend int
}

// Factory makes stores over one set of data: a folder, a database, a piece of memory. Each test gets its own.
type Factory struct {
	// Open opens the data; the first call creates it. The suite has at most one store open and closes it.
	Open func() (events.Store, error)
	// Inject makes the fault happen to the next append of the store that is open.
	Inject func(Fault)
	// Child is a command that opens the data in a process of its own and calls AppendUntilKilled. The suite sets its
	// standard output.
	Child func() *exec.Cmd
}

// Fault is what happens to one append.
type Fault int

// Faults that a store with the feature can be told to have.
const (
	LoseAck           Fault = iota // written, and the caller gets ErrUnknown
	UnknownNotWritten              // not written, and the caller gets ErrUnknown
)

func (f Fault) String() string { return [...]string{"LoseAck", "UnknownNotWritten"}[f] }

// Run runs the suite.
func Run(t *testing.T, features Features, newFactory func(t *testing.T) Factory) {
	for _, test := range []struct {
		name string
		runs bool
		run  func(t *testing.T, h *harness)
	}{
		{"Append", true, testAppend},
		{"InvalidArguments", true, testInvalidArguments},
		{"ExpectedVersion", true, testExpectedVersion},
		{"AllOrNothing", true, testAllOrNothing},
		{"Repeat", true, testRepeat},
		{"RacingForOneStream", true, testRacingForOneStream},
		{"ManyStreamsAtOnce", true, testManyStreamsAtOnce},
		{"SlicesAreNotShared", true, testSlicesAreNotShared},
		{"EndedContext", true, testEndedContext},
		{"ReadStream", true, testReadStream},
		{"ReadAll", true, testReadAll},
		{"StoppedReader", true, testStoppedReader},
		{"ReaderThatAppends", true, testReaderThatAppends},
		{"LargeEvent", true, testLargeEvent},
		{"LongStream", true, testLongStream},
		{"Subscribe", true, testSubscribe},
		{"SubscribeSlowly", true, testSubscribeSlowly},
		{"SubscribeUntilCancelled", true, testSubscribeUntilCancelled},
		{"SubscribeStream", true, testSubscribeStream},
		{"Delete", true, testDelete},
		{"DeleteEndsSubscription", true, testDeleteEndsSubscription},
		{"DeleteWhileRead", true, testDeleteWhileRead},
		{"LogID", true, testLogID},
		{"Close", true, testClose},
		{"Model", true, func(t *testing.T, h *harness) { testModel(t, features, newFactory) }},
		{"TooLarge", features.MaxAppend > 0, func(t *testing.T, h *harness) { testTooLarge(t, h, features.MaxAppend) }},
		{"Reopen", features.Reopen, testReopen},
		{"Faults", features.Faults, testFaults},
		{"FaultsAreFollowed", features.Faults, testFaultsAreFollowed},
		{"Kill", features.Kill, testKill},
	} {
		if test.runs {
			t.Run(test.name, func(t *testing.T) { test.run(t, open(t, newFactory(t))) })
		}
	}
}
