package turn

import (
	"crypto/sha256"
	"strconv"

	"github.com/google/uuid"
)

// RunID derives the id of a run from its execution, its runtime and the number of its start, so that parallel runs do not
// disturb each other and a recorded execution runs again with the same ids. It is a UUIDv7 with the execution's time.
func RunID(executionID, runtimeID string, n int) string {
	sum := sha256.Sum256([]byte(executionID + "\x00" + runtimeID + "\x00" + strconv.Itoa(n)))
	var id uuid.UUID
	copy(id[:], sum[:16])
	if exec, err := uuid.Parse(executionID); err == nil {
		copy(id[:6], exec[:6])
	}
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}
