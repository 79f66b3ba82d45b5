package fakeipt

import (
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetTrace is -j TRACE.
type TargetTrace struct{}

// Name is "TRACE".
func (*TargetTrace) Name() string { return "TRACE" }

func (*TargetTrace) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return dst
}

func (*TargetTrace) appendList(dst []byte, _ listStyle) []byte { return dst }

// check: the nft tools write TRACE as an expression, which every table takes.
func (*TargetTrace) check(c *checkContext) syscall.Errno {
	if c.dialect == netfilter.NFT {
		return 0
	}
	return c.wantTable("raw")
}

// TargetNotrack is -j NOTRACK.
type TargetNotrack struct{}

// Name is "NOTRACK".
func (*TargetNotrack) Name() string { return "NOTRACK" }

func (*TargetNotrack) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return dst
}

func (*TargetNotrack) appendList(dst []byte, _ listStyle) []byte { return append(dst, " NOTRACK"...) }

func (*TargetNotrack) check(c *checkContext) syscall.Errno { return c.wantTable("raw") }

var traceExtension = &extension{
	name:      "TRACE",
	newTarget: func() targetParser { return plainParser{&TargetTrace{}} },
}

var notrackExtension = &extension{
	name:      "NOTRACK",
	newTarget: func() targetParser { return plainParser{&TargetNotrack{}} },
}

// plainParser is the parser of a target without options.
type plainParser struct {
	target Target
}

func (plainParser) begin(netfilter.Family) {}

func (p plainParser) option(o *optionCall) error {
	return badParameter("unknown option \"--%s\"", o.name)
}

func (p plainParser) finish(uint32) (Target, error) { return p.target, nil }
