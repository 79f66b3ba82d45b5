package fakeipt

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// caller is who reads a command: a tool, or Kernel.Load.
type caller struct {
	run    *toolRun // nil for Kernel.Load
	kernel *Kernel
}

// warn prints a warning of the tool that does not keep it from going on.
func (c caller) Warn(format string, args ...any) {
	if c.run != nil {
		fmt.Fprintf(c.run.stderr, format, args...)
	}
}

// warnOfLegacy warns of rules of the legacy tools, which a listing does not show (nft).
func (c caller) warnOfLegacy(suffix string) {
	if c.run != nil {
		c.run.warnOfLegacy(suffix)
	}
}

// names are where the tool looks names up; nil for Kernel.Load.
func (c caller) Names() *libc.Names {
	if c.run == nil {
		return nil
	}
	if c.run.names == nil {
		c.run.names = libc.NewNames(c.kernel.etc)
	}
	return c.run.names
}

// dialect is that of the tool.
func (c caller) Dialect() netfilter.Dialect { return c.kernel.dialect }

// findSet looks a set up in the kernel while the command line is read, as the tools do.
func (c caller) FindSet(name string) (f netfilter.Family, ok bool, err error) {
	if c.run != nil {
		if status, ok := c.run.enter(Visit{Locks: true}); !ok {
			return 0, false, &xtables.Problem{Status: status, Bare: true}
		}
	}
	set, ok := c.kernel.namespace.Sets().Family(name)
	return netfilter.Family(set), ok, nil
}
