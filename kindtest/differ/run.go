package differ

import (
	"bytes"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
)

// runFake runs a tool on a fake kernel.
func runFake(k *fakeipt.Kernel, argv []string, stdin string) toolrun.Run {
	var stdout, stderr bytes.Buffer
	status := k.Run(argv, strings.NewReader(stdin), &stdout, &stderr)
	return toolrun.Run{Stdout: stdout.String(), Stderr: stderr.String(), Status: status}
}

// newFake is a fake kernel with the objects and rules of a case.
func newFake(c *walkCase, f fakeipt.Family) (*fakeipt.Kernel, toolrun.Run) {
	fake := fakeipt.New(fakeipt.Options{Dialect: c.Dialect})
	runFake(fake, []string{tool("iptables-restore", c.Dialect, f)}, emptyRules)
	for _, name := range c.NFAcct {
		runFake(fake, []string{"nfacct", "add", name}, "")
	}
	if c.Sets != "" {
		if run := runFake(fake, []string{"ipset", "restore"}, c.Sets); run.Status != 0 {
			return fake, run
		}
	}
	return fake, runFake(fake, []string{tool("iptables-restore", c.Dialect, f)}, c.Rules)
}
