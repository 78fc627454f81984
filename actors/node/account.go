package node

import (
	"github.com/covel/covel/actors/runtime"
	"github.com/covel/covel/kernel/allowance"
	kernel "github.com/covel/covel/kernel/session"
)

// account opens the account of an execution that was accepted: what was waited for before is not charged. A resumed one goes
// on from what its chain has spent (seed: turn-pipeline.txt, "loads the newest budget for the root").
func (n *Node) account(start kernel.StartTurn) *runtime.Account {
	limits := allowance.Of(n.Allowances).Lowered(start.View.Session.Settings.Allowances)
	x, _ := start.View.Suspensions.Find(start.Execution.SuspensionID) // none: nothing is spent yet
	return runtime.NewAccount(limits, allowance.Before(x.Spent))
}
