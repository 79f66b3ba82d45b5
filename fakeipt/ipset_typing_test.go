package fakeipt

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The real tool then asks for commands, also in the middle of its input.
func TestIPSetDoesNotAskForCommands(t *testing.T) {
	for _, run := range []struct {
		argv  []string
		stdin string
	}{{argv: []string{"ipset", "-"}}, {argv: []string{"ipset", "restore"}, stdin: "create a hash:ip\n-\nlist\n"}} {
		k := New(Options{})
		var stdout, stderr bytes.Buffer
		assert.Equal(t, 1, k.Run(run.argv, strings.NewReader(run.stdin), &stdout, &stderr))
		assert.Empty(t, stdout.String())
		assert.Contains(t, stderr.String(), "not supported: typing commands (-): give them to restore")
	}
}
