//go:build unix

package internal_test

import (
	"os"
	"os/exec"
	"os/signal"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/internal/interrupt"
)

func TestInterruptsAreHeardWhereTheyAreIgnored(t *testing.T) {
	if !signal.Ignored(os.Interrupt) {
		signal.Ignore(os.Interrupt)
		t.Cleanup(func() { signal.Reset(os.Interrupt) })
	}
	interrupted := func() string {
		out, _ := exec.Command("sh", "-c", "kill -INT $$; echo deaf").Output() // its status is that of the signal
		return string(out)
	}
	assert.Equal(t, "deaf\n", interrupted())
	t.Run("heard", func(t *testing.T) {
		interrupt.Heard(t)
		assert.Empty(t, interrupted())
	})
	assert.Equal(t, "deaf\n", interrupted(), "when the test has ended it is as it was")
}
