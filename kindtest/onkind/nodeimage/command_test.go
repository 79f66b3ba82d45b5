package nodeimage

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCommandSaysWhatItPrinted(t *testing.T) {
	c := command{argv: []string{"sh", "-c", "cat; echo $WORD; pwd"}, stdin: strings.NewReader("in "), env: []string{"WORD=out"}, dir: "/"}
	out, err := c.run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "in out\n/\n", out)
}

func TestCommandSaysWhyItFailed(t *testing.T) {
	_, err := command{argv: []string{"sh", "-c", "seq 30; seq 100 130 >&2; exit 3"}}.run(t.Context())
	assert.ErrorContains(t, err, "exit status 3\n111\n")
	assert.ErrorContains(t, err, "\n130")
	assert.NotContains(t, err.Error(), "\n110\n")
	_, err = command{argv: []string{"sh", "-c", "echo only here; exit 1"}}.run(t.Context())
	assert.ErrorContains(t, err, "only here")
	_, err = command{argv: []string{"no-such-program-here"}}.run(t.Context())
	assert.ErrorContains(t, err, "no-such-program-here")
}

func TestCommandEndsWithItsChildren(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, feed := io.Pipe()
	go func() {
		_, _ = feed.Write([]byte("go\n")) // returns when somebody reads
		cancel()
		_ = feed.Close()
	}()
	// The child holds the pipe of the output: run would wait for it if it lived on.
	_, err := command{argv: []string{"sh", "-c", "sleep 600 & read line; wait"}, stdin: in}.run(ctx)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestExpectations(t *testing.T) {
	e := expectation{[]string{"kubelet", "--version"}, `^Kubernetes v1\.2$`}
	assert.NoError(t, e.judge("Kubernetes v1.2"))
	assert.EqualError(t, e.judge("Kubernetes v1.3"),
		"the image is not complete: `kubelet --version` prints \"Kubernetes v1.3\", which does not match \"^Kubernetes v1\\\\.2$\"")
}

func TestSameNames(t *testing.T) {
	assert.True(t, sameNames([]string{"a", "b"}, []string{"b", "a"}))
	assert.False(t, sameNames([]string{"a"}, []string{"a", "a"}))
	assert.False(t, sameNames([]string{"a"}, nil))
}
