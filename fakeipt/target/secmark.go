package target

import (
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Secmark is -j SECMARK: the packet gets the mark of a security context.
type Secmark struct {
	Context string
}

// Name is "SECMARK".
func (*Secmark) Name() string { return "SECMARK" }

func (t *Secmark) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return append(append(dst, " --selctx "...), t.Context...)
}

func (t *Secmark) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return append(append(dst, " SECMARK selctx "...), t.Context...)
}

// Check: the machine has no security module that knows contexts.
func (*Secmark) Check(c *xtables.CheckContext) syscall.Errno {
	if errno := c.WantSecurityTable(); errno != 0 || c.Elsewhere {
		return errno
	}
	return syscall.ENOENT
}

// maxSecmarkContext is the length of a context that the kernel keeps; the tool cuts the rest off.
const maxSecmarkContext = 255

var secmarkExtension = &xtables.Extension{
	Name:      "SECMARK",
	Options:   []xtables.Option{{Name: "selctx", Mandatory: true}},
	NewTarget: func() xtables.TargetParser { return &secmarkParser{} },
}

type secmarkParser struct {
	t     Secmark
	arena xtables.Arena[Secmark]
}

func (p *secmarkParser) Begin(netfilter.Family) { p.t = Secmark{} }

func (p *secmarkParser) Option(o *xtables.OptionCall) error {
	p.t.Context = string(o.Arg[:min(len(o.Arg), maxSecmarkContext)])
	return nil
}

func (p *secmarkParser) Finish(uint32) (xtables.Target, error) { return p.arena.Intern(p.t), nil }
