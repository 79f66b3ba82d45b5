//go:build unix

package command

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestItEndsWhenAskedTo by a terminal and by kill.
func TestItEndsWhenAskedTo(t *testing.T) {
	for _, asked := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		ctx, stop := untilEnded()
		require.NoError(t, syscall.Kill(os.Getpid(), asked))
		<-ctx.Done()
		stop()
	}
}
