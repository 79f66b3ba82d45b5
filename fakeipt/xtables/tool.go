package xtables

import (
	"bytes"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Tool is who reads the options of a rule: one of the tools, or who loads a save.
type Tool interface {
	// Warn prints a warning of the tool that does not keep it from going on.
	Warn(format string, args ...any)
	// Names are where the tool looks names up; nil for who loads a save.
	Names() *libc.Names
	// Dialect is that of the tool.
	Dialect() netfilter.Dialect
	// FindSet looks a set up in the kernel while the command line is read, as the tools do.
	FindSet(name string) (f netfilter.Family, ok bool, err error)
}

// WarnOfDevice warns of the name of a device that no device can have.
func WarnOfDevice(t Tool, name []byte) {
	if bytes.ContainsAny(name, "/ ") {
		t.Warn("Warning: weird character in interface `%s' ('/' and ' ' are not allowed by the kernel).\n", name)
	}
}
