package runtime

import (
	"testing"

	"github.com/covel/covel/plugins/tools"
)

// Rule TP:518–520: the framework's tools are allowed by themselves; of a plugin's own tool nothing of the kind is said.
func TestHowACallIsApproved(t *testing.T) {
	for _, name := range tools.FrameworkToolNames {
		if got := approvalOf(name); got != "auto-allowed" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := approvalOf("敲钟"); got != "" {
		t.Errorf("a plugin's own tool: %q", got)
	}
}
