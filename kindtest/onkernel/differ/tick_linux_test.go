package differ

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestSlowPlaysDoNotCount: a play that has taken so long that the kernel's timeouts are no more those of the walk counts for nothing, at
// whichever of its packets it has ended.
func TestSlowPlaysDoNotCount(t *testing.T) {
	assert.Empty(t, (&labKernel{began: time.Now()}).disturbed())
	assert.NotEmpty(t, (&labKernel{began: time.Now().Add(-2 * mostTime)}).disturbed())
}
