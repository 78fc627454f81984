package turn

// Diagnostic tells what the scheduler did that its reader might not expect: traces, watchers and tests see it.
type Diagnostic struct {
	Code      string            `json:"code"`
	Message   string            `json:"message"` // English, for authors and operators
	RuntimeID string            `json:"runtimeId,omitempty"`
	Data      map[string]string `json:"data,omitempty"`
}

// Codes of diagnostics.
const (
	HazardEventDropped     = "event-payload-dropped" // a second payload of a topic at one depth reaches nobody
	HazardEventDepth       = "event-depth"           // topics beyond MaxEventDepth set off nobody
	HazardEffects          = "effects-clash"         // two runs of a level declare effects that clash
	HazardForeground       = "detached-foreground"   // a detached runtime runs in the foreground
	HazardInputRejected    = "input-rejected"        // a value does not fit what the reader or its contract accepts
	HazardTarget           = "target-unavailable"    // a runtime that was named cannot run
	HazardPayload          = "payload-rejected"      // an activation payload does not fit io.payloadSchema
	HazardSetupUnreachable = "setup-unreachable"     // a setup runtime needs one that is blocked or not enabled
)

// Report tells watchers of a diagnostic; it stands in Finish too.
type Report struct{ Diagnostic Diagnostic }

func (Report) turnEffect() {}

// concealed takes the words out of a diagnostic that could quote what a concealed runtime reads or writes.
func (p Plan) concealed(d Diagnostic) Diagnostic {
	if d.Code != HazardInputRejected && d.Code != HazardPayload {
		return d
	}
	for _, r := range p.Active {
		if r.IO.Concealed && (r.ID == d.RuntimeID || r.ID == d.Data["source"]) {
			d.Message = d.RuntimeID + " got a value that does not fit; " + r.ID + " is concealed"
			break
		}
	}
	return d
}

// report notes a diagnostic and tells watchers.
func (s State) report(effects []Effect, list ...Diagnostic) (State, []Effect) {
	for _, d := range list {
		d = s.plan.concealed(d)
		s.Diagnostics = append(s.Diagnostics[:len(s.Diagnostics):len(s.Diagnostics)], d)
		effects = append(effects, Report{d})
	}
	return s, effects
}
