package ipset

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	clocktesting "k8s.io/utils/clock/testing"
)

// The real tool then asks for commands, also in the middle of its input.
func TestToolDoesNotAskForCommands(t *testing.T) {
	for _, run := range []struct {
		args  []string
		stdin string
	}{{args: []string{"-"}}, {args: []string{"restore"}, stdin: "create a hash:ip\n-\nlist\n"}} {
		var stdout, stderr bytes.Buffer
		tool := testTool(NewTable(clocktesting.NewFakePassiveClock(time.Time{})), run.stdin)
		tool.Stdout, tool.Stderr = &stdout, &stderr
		assert.Equal(t, 1, tool.Run(run.args))
		assert.Empty(t, stdout.String())
		assert.Contains(t, stderr.String(), "not supported: typing commands (-): give them to restore")
	}
}
