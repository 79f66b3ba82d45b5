//go:build linux

package kmsg

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

// TestKernelLogHasWhatIsWrittenFromNowOn writes to the log before it is opened and after.
func TestKernelLogHasWhatIsWrittenFromNowOn(t *testing.T) {
	kerneltest.Need(t)
	write := func(what string) {
		require.NoError(t, os.WriteFile("/dev/kmsg", fmt.Appendf(nil, "chainwalk %d %s\n", os.Getpid(), what), 0))
	}
	write("before")
	log, err := Open()
	require.NoError(t, err)
	write("after")
	var own []string
	for deadline := time.Now().Add(5 * time.Second); len(own) == 0 && time.Now().Before(deadline); {
		record, there, err := log.Next()
		require.NoError(t, err)
		if !there {
			_, err := log.Wait(time.Until(deadline))
			require.NoError(t, err)
		}
		if strings.Contains(record, fmt.Sprintf("chainwalk %d", os.Getpid())) {
			own = append(own, record)
		}
	}
	require.Len(t, own, 1)
	assert.Contains(t, own[0], "after")
	require.NoError(t, log.Close())
	_, _, err = log.Next()
	assert.Error(t, err)
}
