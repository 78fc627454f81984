package commit

import (
	"github.com/pkg/errors"

	"github.com/covel/covel/kernel/turn"
	"github.com/covel/covel/kernel/world"
)

// Codes of a refused unit, besides those of world.Rejection: the codes of operations on plugin data, of dimensions and of
// media references.
const (
	RefusedDependency = "dependency-dropped" // all of the runs that it needs one of were dropped
	RefusedRead       = "read-dropped"       // it had read writes that were dropped
	RefusedUnit       = "unit-dropped"       // of an operation: the run that asked for it was dropped
	RefusedHook       = "hook-refused"       // a PreStateCommit hook let a proposal not pass
	RefusedSuspension = "suspension-invalid" // what a run that waits keeps cannot be saved
	RefusedMedia      = "media_reference_forbidden"
)

// Refusal says why a unit is not written.
type Refusal struct {
	Code         string
	ProposalType string // of the proposal that was to blame; "" when it was another unit's
	Operation    string // id, when the proposal was an operation's
	Message      string
}

func refused(proposalType string, err error) *Refusal {
	r := &Refusal{Code: world.Invalid, ProposalType: proposalType, Message: proposalType + ": " + err.Error()}
	var known *world.Rejection
	if errors.As(err, &known) && known.Code != "" {
		r.Code = known.Code
	}
	return r
}

// blames says it of a run.
func (r *Refusal) blames(run turn.Result) string {
	if r.ProposalType == "" {
		return run.RuntimeID + " " + r.Message
	}
	return run.RuntimeID + ": " + r.Message
}

// shown is blames as players may read it.
func (r *Refusal) shown(run turn.Result) string {
	if run.Concealed {
		return run.RuntimeID + ": " + turn.ConcealedFailure
	}
	return r.blames(run)
}

// verdicts are what the commit has to say of runs, by run id.
type verdicts map[string]verdict

type verdict struct {
	refusal *Refusal
	lost    []string // dropped runs whose writes it had read, and was committed all the same
}
