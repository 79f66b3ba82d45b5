package target

import (
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Trace is -j TRACE.
type Trace struct{}

// Name is "TRACE".
func (*Trace) Name() string { return "TRACE" }

func (*Trace) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return dst
}

func (*Trace) AppendList(dst []byte, _ xtables.ListStyle) []byte { return dst }

// Check: the nft tools write TRACE as an expression, which every table takes.
func (*Trace) Check(c *xtables.CheckContext) syscall.Errno {
	if c.Dialect == netfilter.NFT {
		return 0
	}
	return c.WantTable("raw")
}

// Notrack is -j NOTRACK.
type Notrack struct{}

// Name is "NOTRACK".
func (*Notrack) Name() string { return "NOTRACK" }

// ListName is "CT": NOTRACK is a revision of the kernel's CT.
func (*Notrack) ListName(netfilter.Dialect) string { return "CT" }

func (*Notrack) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return dst
}

func (*Notrack) AppendList(dst []byte, _ xtables.ListStyle) []byte { return append(dst, " NOTRACK"...) }

func (*Notrack) Check(c *xtables.CheckContext) syscall.Errno { return c.WantTable("raw") }

var traceExtension = &xtables.Extension{
	Name:      "TRACE",
	NewTarget: xtables.WithoutOptions(&Trace{}),
}

var notrackExtension = &xtables.Extension{
	Name:      "NOTRACK",
	NewTarget: xtables.WithoutOptions(&Notrack{}),
}
