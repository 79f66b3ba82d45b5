package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/internal/command"
	"github.com/chainwalk/chainwalk/internal/namespace"
)

func TestBadUsageIsSaid(t *testing.T) {
	var out, errOut bytes.Buffer
	for _, args := range [][]string{{"-seed", "x"}, {"-no-such-flag"}, {"walk"}} {
		errOut.Reset()
		assert.Equal(t, command.Broken, newCommand(strings.NewReader("")).Run(t.Context(), args, &out, &errOut), args)
		assert.Contains(t, errOut.String(), "Usage of search", args)
	}
	assert.Empty(t, out.String())
}

func TestAMachineThatIsNotReadyIsSaid(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if len(namespace.Lacks("iptables-nft")) == 0 {
		t.Fatal("the tools are found without a PATH")
	}
	var out, errOut bytes.Buffer
	assert.Equal(t, command.Broken, newCommand(strings.NewReader("")).Run(t.Context(), []string{"-tests"}, &out, &errOut))
	assert.Contains(t, errOut.String(), "search: ")
}
