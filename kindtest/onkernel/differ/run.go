package differ

import (
	"bytes"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
	"github.com/chainwalk/chainwalk/netfilter"
)

// runFake runs a tool on a fake kernel.
func runFake(k *fakeipt.Kernel, argv []string, stdin string) toolrun.Run {
	var stdout, stderr bytes.Buffer
	status := k.Run(argv, strings.NewReader(stdin), &stdout, &stderr)
	return toolrun.Run{Stdout: stdout.String(), Stderr: stderr.String(), Status: status}
}

// newFake is a fake kernel with the objects and rules of a case, and what its tools said to its rules and to those beside them.
func newFake(c *walkCase, f netfilter.Family) (fake *fakeipt.Kernel, own, beside toolrun.Run) {
	fake = fakeipt.New(fakeipt.Options{Dialect: c.Dialect})
	other := fake
	if c.OtherRules != "" {
		other = fakeipt.New(fakeipt.Options{Dialect: c.other(), Namespace: fake.Namespace()})
	}
	runFake(fake, []string{tool("iptables-restore", c.Dialect, f)}, emptyRules)
	for _, name := range c.NFAcct {
		runFake(fake, []string{"nfacct", "add", name}, "")
	}
	if c.Sets != "" {
		if run := runFake(fake, []string{"ipset", "restore"}, c.Sets); run.Status != 0 {
			return fake, run, toolrun.Run{}
		}
	}
	own, beside = restoreBoth(c, func(d netfilter.Dialect, rules string) toolrun.Run {
		k := fake
		if d != c.Dialect {
			k = other
		}
		return runFake(k, []string{tool("iptables-restore", d, f)}, rules)
	})
	return fake, own, beside
}

// restoreBoth restores a case's rules and those beside them, if there are any, those of the legacy tools first.
func restoreBoth(c *walkCase, restore func(d netfilter.Dialect, rules string) toolrun.Run) (own, beside toolrun.Run) {
	if c.OtherRules != "" && c.Dialect == netfilter.NFT {
		beside = restore(c.other(), c.OtherRules)
	}
	own = restore(c.Dialect, c.Rules)
	if c.OtherRules != "" && c.Dialect == netfilter.Legacy {
		beside = restore(c.other(), c.OtherRules)
	}
	return own, beside
}
