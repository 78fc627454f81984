package node

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"maps"

	"github.com/pkg/errors"

	"github.com/covel/covel/actors/runtime"
	"github.com/covel/covel/actors/session"
	"github.com/covel/covel/kernel/job"
	kernel "github.com/covel/covel/kernel/session"
	"github.com/covel/covel/plugins/manifest"
	"github.com/covel/covel/plugins/registry"
	"github.com/covel/covel/projections"
)

// freezeJob fixes what the execution of a job reads: the world and its plugin's data as they are now, and everything that was
// frozen when it was queued. A job whose plugin has other code now, or whose input another program wrote, is stale.
func (n *Node) freezeJob(ctx context.Context, start kernel.StartJob) (runtime.Frozen, error) {
	f, err := n.freeze(ctx, kernel.StartTurn{Execution: start.Execution, View: start.View, Paused: start.Paused})
	if err != nil {
		return f, err
	}
	rt, loaded, ok := f.Generation.Runtime(start.Job.RuntimeID)
	if !ok {
		return f, &kernel.StaleJob{Reason: job.ReasonPluginInactive}
	}
	if loaded.Manifest.Digest != start.Job.PluginDigest {
		return f, &kernel.StaleJob{Reason: job.ReasonPluginChanged}
	}
	frozen, err := job.Thaw(start.Job.Input)
	if err != nil {
		n.Log.Warn("job cannot be continued", "session", start.View.Session.ID, "job", start.Job.ID, "error", err)
		return f, &kernel.StaleJob{Reason: job.ReasonInput}
	}
	run := frozen.Run(rt)
	f.Only = &run
	f.State.Session.Input = &projections.Input{ExecutionID: start.Execution.ID, Actions: frozen.Actions, Rendered: frozen.Rendered}
	f.Pack.PluginSettings = maps.Clone(f.Pack.PluginSettings)
	if f.Pack.PluginSettings == nil {
		f.Pack.PluginSettings = map[string]map[string]json.RawMessage{}
	}
	f.Pack.PluginSettings[rt.PluginID] = frozen.Settings
	return f, nil
}

// digest is of the code of a plugin that is installed now, "" when it is not.
func (n *Node) digest(pluginID string) string {
	if p, ok := n.Plugins().Plugins[pluginID]; ok {
		return p.Manifest.Digest
	}
	return ""
}

// background gives the runtime that a command names when it is to run in the background.
func (n *Node) background(cmd kernel.Command) (manifest.Runtime, *registry.Loaded, bool) {
	if cmd.Type != kernel.RunRuntimes || len(cmd.Targets) != 1 || cmd.SourceTurnID != "" {
		return manifest.Runtime{}, nil, false
	}
	rt, loaded, ok := n.Plugins().Runtime(cmd.Targets[0].RuntimeID)
	return rt, loaded, ok && rt.Schedule.Background != nil
}

// queueManual queues a run that a client named as a job, at once: nobody waits for it.
func (n *Node) queueManual(ctx context.Context, id string, cmd kernel.Command, rt manifest.Runtime, loaded *registry.Loaded, reply func(kernel.Answer)) error {
	v, err := n.View(ctx, id)
	if err != nil {
		return err
	}
	pack, err := n.World(ctx, v.State.Session)
	if err != nil {
		return err
	}
	q := job.Queued("", job.Manual, rt, v.State.Session, job.FreezeManual(cmd.Targets[0].Payload, pack.PluginSettings[rt.PluginID]))
	q.Plugin.Digest, q.Plugin.Version = loaded.Manifest.Digest, loaded.Manifest.Version
	q.RequestId, q.BodyHash = cmd.RequestID, nil
	if q.BodyHash, err = hex.DecodeString(cmd.BodyHash); err != nil {
		return errors.Wrap(err, "body hash")
	}
	if cmd.SeatID == "" {
		if seat, ok := v.State.Session.PrimarySeat(); ok {
			cmd.SeatID = seat.ID
		}
	}
	_, err = n.request(ctx, id, session.ChangeStatus{
		Kind: kernel.RunJobChange, SeatID: cmd.SeatID, Run: &kernel.ManualJob{Queued: q, BodyHash: cmd.BodyHash}, Reply: reply,
	})
	return err
}

// ChangeJob cancels a job (kernel.CancelJobChange), or queues a new one like it (kernel.RetryJobChange). The answer names the
// job.
func (n *Node) ChangeJob(ctx context.Context, id, jobID string, kind kernel.ChangeKind) (kernel.Answer, error) {
	return n.ask(ctx, id, func(reply func(kernel.Answer)) any {
		return session.ChangeStatus{Kind: kind, JobID: jobID, Reply: reply}
	})
}

// Wake asks a session to look after what is open in it, as the due scan does.
func (n *Node) Wake(ctx context.Context, id string) error {
	pid, err := n.locate(ctx, id)
	if err != nil {
		return err
	}
	n.system.Root.Send(pid, session.Wake{})
	return nil
}
