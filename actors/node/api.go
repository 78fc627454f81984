package node

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/covel/covel/actors/session"
	"github.com/covel/covel/events"
	"github.com/covel/covel/kernel/latch"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/projections"
	"github.com/covel/covel/worlds"
)

// View is a session as it is now.
type View = session.View

// Subscription is a follower's queue.
type Subscription = session.Subscription

// Update is one thing a follower is shown.
type Update = session.Update

// NewSubscription makes a queue to hand to Follow.
func NewSubscription() *Subscription { return session.NewSubscription() }

// ErrSubscriptionClosed: the subscription is over.
var ErrSubscriptionClosed = session.ErrClosed

var sessionIDs = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// ValidSessionID says whether an id has the form of a session id (decisions: "Identity and configuration").
func ValidSessionID(id string) bool { return sessionIDs.MatchString(id) }

func sessionOf(stream string) (string, bool) { return strings.CutPrefix(stream, "session-") }

// Create makes a session of a world: one append, all or nothing. The id must be valid and unused. A *kernel.Refusal says
// that the choice of plugins cannot be.
func (n *Node) Create(ctx context.Context, id string, pack worlds.View, choice Choice) (projections.State, error) {
	selection := projections.PluginSelection(choice)
	if choice.Requested == nil {
		selection.Requested = pack.PluginPolicy.Requested
	}
	chosen := n.choose(selection, pack.PluginPolicy.Requires)
	if refusal := chosen.Check(choice.Requested...); refusal != nil {
		return projections.State{}, refusal
	}
	for _, plugin := range slices.Sorted(maps.Keys(chosen.Rejected)) {
		n.Log.Info("a plugin does not take part in a new session", "session", id, "plugin", plugin, "reason", chosen.Rejected[plugin])
	}
	ref, err := n.packs.put(ctx, pack)
	if err != nil {
		return projections.State{}, err
	}
	evs, err := kernel.Create(kernel.Creation{
		SessionID: id, Incarnation: n.NewID(), Pack: pack, PackDigest: ref, Plugins: chosen.Plugins, Selection: selection, Runtimes: runtimesOf(n.Plugins(), chosen.Plugins),
	})
	if err != nil {
		return projections.State{}, errors.Wrapf(err, "create session %s", id)
	}
	for attempt := 0; ; attempt++ {
		call, cancel := context.WithTimeout(ctx, session.AppendTimeout)
		_, err = n.Store.Append(call, kernel.StreamOf(id), events.NoStream, evs)
		cancel()
		if !errors.Is(err, events.ErrUnknown) || attempt >= 5 || !sleep(ctx, 50*time.Millisecond<<attempt) {
			break
		}
	}
	switch {
	case errors.Is(err, events.ErrWrongVersion), errors.Is(err, events.ErrStreamDeleted):
		return projections.State{}, errors.Wrapf(ErrExists, "session %s", id)
	case err != nil:
		return projections.State{}, errors.Wrapf(err, "create session %s", id)
	}
	v, err := n.View(ctx, id)
	if err == nil {
		n.sessionStarted(v.State.Session)
	}
	return v.State, err
}

// Submit hands a command to its session. reply is called for every answer, on a goroutine of the session: it must not
// block. An error means that the command did not arrive.
func (n *Node) Submit(ctx context.Context, id string, cmd kernel.Command, reply func(kernel.Answer)) error {
	if rt, loaded, ok := n.background(cmd); ok {
		return n.queueManual(ctx, id, cmd, rt, loaded, reply)
	}
	cmd.ExecutionID = n.NewID()
	_, err := n.request(ctx, id, session.Submit{Command: cmd, Reply: reply})
	return err
}

// Stop is the player's stop.
func (n *Node) Stop(ctx context.Context, id string) (kernel.Answer, error) {
	return n.ask(ctx, id, func(reply func(kernel.Answer)) any { return session.StopTurn{Reply: reply} })
}

// ChangeStatus pauses, resumes or ends a session.
func (n *Node) ChangeStatus(ctx context.Context, id string, kind kernel.ChangeKind) (kernel.Answer, error) {
	return n.ask(ctx, id, func(reply func(kernel.Answer)) any { return session.ChangeStatus{Kind: kind, Reply: reply} })
}

func (n *Node) ask(ctx context.Context, id string, msg func(func(kernel.Answer)) any) (kernel.Answer, error) {
	answers := make(chan kernel.Answer, 1)
	if _, err := n.request(ctx, id, msg(func(a kernel.Answer) { answers <- a })); err != nil {
		return kernel.Answer{}, err
	}
	select {
	case a := <-answers:
		return a, nil
	case <-ctx.Done():
		return kernel.Answer{}, ctx.Err()
	}
}

// ChangeGathering closes the gathering of a session (kernel.CloseGathering) or takes the submission of a seat out of it
// (kernel.WithdrawSubmission, seat "" for the primary one).
func (n *Node) ChangeGathering(ctx context.Context, id string, kind kernel.ChangeKind, seat string) (kernel.Answer, error) {
	return n.ask(ctx, id, func(reply func(kernel.Answer)) any {
		return session.ChangeStatus{Kind: kind, SeatID: seat, Reply: reply}
	})
}

// ChangeSeat changes who sits at the table of a session. The answer names the seat.
func (n *Node) ChangeSeat(ctx context.Context, id string, change kernel.SeatChange) (kernel.Answer, error) {
	return n.ask(ctx, id, func(reply func(kernel.Answer)) any {
		return session.ChangeStatus{Kind: kernel.ChangeSeat, Seat: &change, Reply: reply}
	})
}

// ChangeSettings changes the settings of a session.
func (n *Node) ChangeSettings(ctx context.Context, id string, change kernel.SettingsChange) (kernel.Answer, error) {
	return n.ask(ctx, id, func(reply func(kernel.Answer)) any {
		return session.ChangeStatus{Kind: kernel.ChangeSettings, Settings: &change, Reply: reply}
	})
}

// DecideSetup tries a blocked setup runtime again, or goes on without it.
func (n *Node) DecideSetup(ctx context.Context, id, runtimeID string, kind kernel.ChangeKind) (kernel.Answer, error) {
	return n.ask(ctx, id, func(reply func(kernel.Answer)) any {
		return session.ChangeStatus{Kind: kind, Runtime: runtimeID, Reply: reply}
	})
}

// AbandonSuspension gives a question up, whatever the status of the session.
func (n *Node) AbandonSuspension(ctx context.Context, id, suspensionID string) (kernel.Answer, error) {
	return n.ask(ctx, id, func(reply func(kernel.Answer)) any {
		return session.ChangeStatus{Kind: kernel.AbandonSuspension, SuspensionID: suspensionID, Reply: reply}
	})
}

// View reads a session, also while a turn runs.
func (n *Node) View(ctx context.Context, id string) (View, error) {
	return n.view(ctx, id, session.Read{})
}

// Follow adds a follower: its updates go on from exactly the view that is returned.
func (n *Node) Follow(ctx context.Context, id string, sub *Subscription) (View, error) {
	return n.view(ctx, id, session.Follow{Subscription: sub})
}

func (n *Node) view(ctx context.Context, id string, msg any) (View, error) {
	res, err := n.request(ctx, id, msg)
	if err != nil {
		return View{}, err
	}
	v := res.(View)
	return v, v.Err
}

// ReadFrom gives the events of a session after a version, and the state they begin from: what a client missed.
func (n *Node) ReadFrom(ctx context.Context, id string, after, until events.Version) (projections.State, []events.Recorded, error) {
	var state projections.State
	var missed []events.Recorded
	for r, err := range n.Store.ReadStream(ctx, kernel.StreamOf(id), 1) {
		if err != nil {
			return state, nil, errors.Wrapf(err, "read session %s", id)
		}
		if r.Version > until {
			break
		}
		if r.Version > after {
			missed = append(missed, r)
			continue
		}
		if state, err = projections.Apply(state, r); err != nil {
			return state, nil, errors.Wrapf(err, "fold session %s", id)
		}
	}
	return state, missed, nil
}

// Delete ends a session for good: its actor leaves, then its stream is removed. Its id is not used again.
func (n *Node) Delete(ctx context.Context, id string) error {
	pid, err := n.locate(ctx, id)
	if err != nil {
		return err
	}
	// What hooks are told of is read before it is gone. A session that cannot be read is deleted without them.
	seen, _ := n.View(ctx, id)
	// Whoever follows the session asks for it anew when it leaves; from here on it is not started again for them.
	n.setDeleting(id, true)
	defer n.setDeleting(id, false)
	n.system.Root.Send(pid, session.Leave{})
	for n.isActive(id) {
		if !sleep(ctx, 2*time.Millisecond) {
			return ctx.Err()
		}
	}
	if err := n.Store.DeleteStream(ctx, kernel.StreamOf(id)); err != nil {
		return errors.Wrapf(err, "delete session %s", id)
	}
	n.keepLatch(id, latch.Latch{})
	if seen.State.Version > 0 {
		n.sessionEnded(seen.State.Session, "deleted")
	}
	return nil
}

func (n *Node) setDeleting(id string, yes bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if yes {
		n.deleting[id] = true
	} else {
		delete(n.deleting, id)
	}
}

func (n *Node) isActive(id string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.sessions[id]
	return ok
}
