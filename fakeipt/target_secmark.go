package fakeipt

import (
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetSecmark is -j SECMARK: the packet gets the mark of a security context.
type TargetSecmark struct {
	Context string
}

// Name is "SECMARK".
func (*TargetSecmark) Name() string { return "SECMARK" }

func (t *TargetSecmark) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return append(append(dst, " --selctx "...), t.Context...)
}

func (t *TargetSecmark) appendList(dst []byte, _ listStyle) []byte {
	return append(append(dst, " SECMARK selctx "...), t.Context...)
}

// check: the machine has no security module that knows contexts.
func (*TargetSecmark) check(c *checkContext) syscall.Errno {
	if errno := c.wantSecurityTable(); errno != 0 || c.elsewhere {
		return errno
	}
	return syscall.ENOENT
}

// maxSecmarkContext is the length of a context that the kernel keeps; the tool cuts the rest off.
const maxSecmarkContext = 255

var secmarkExtension = &extension{
	name:      "SECMARK",
	options:   []optionSpec{{name: "selctx", mandatory: true}},
	newTarget: func() targetParser { return &secmarkParser{} },
}

type secmarkParser struct {
	t     TargetSecmark
	arena arena[TargetSecmark]
}

func (p *secmarkParser) begin(netfilter.Family) { p.t = TargetSecmark{} }

func (p *secmarkParser) option(o *optionCall) error {
	p.t.Context = string(o.arg[:min(len(o.arg), maxSecmarkContext)])
	return nil
}

func (p *secmarkParser) finish(uint32) (Target, error) { return p.arena.intern(p.t), nil }
