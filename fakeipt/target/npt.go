package target

import (
	"strconv"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// NPT is -j SNPT or -j DNPT (IPv6): one prefix of the source or the destination becomes another one, without
// conntrack, and so that checksums stay right.
type NPT struct {
	Dest bool // DNPT
	// From and To are --src-pfx and --dst-pfx. Their lengths may be those of masks that are no prefixes: then 128.
	From, To xtables.AddrMatch
}

// Name is "SNPT" or "DNPT".
func (t *NPT) Name() string {
	if t.Dest {
		return "DNPT"
	}
	return "SNPT"
}

// AppendSave leaves prefixes of no length out.
func (t *NPT) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	for _, prefix := range [...]struct {
		word string
		addr *xtables.AddrMatch
	}{{" --src-pfx ", &t.From}, {" --dst-pfx ", &t.To}} {
		if xtables.MaskBits(prefix.addr.Mask) != 0 {
			dst = appendPrefix(append(dst, prefix.word...), prefix.addr)
		}
	}
	return dst
}

func (t *NPT) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	dst = append(append(append(dst, ' '), t.Name()...), " src-pfx "...)
	return appendPrefix(append(appendPrefix(dst, &t.From), " dst-pfx "...), &t.To)
}

func appendPrefix(dst []byte, m *xtables.AddrMatch) []byte {
	return strconv.AppendInt(append(libc.AppendInetNtop(dst, m.Addr), '/'), int64(xtables.MaskBits(m.Mask)), 10)
}

// maxNPTPrefix is the longest prefix: the target corrects the checksum behind it.
const maxNPTPrefix = 64

func (t *NPT) Check(c *xtables.CheckContext) syscall.Errno {
	for _, m := range [...]*xtables.AddrMatch{&t.From, &t.To} {
		if xtables.MaskBits(m.Mask) > maxNPTPrefix || xtables.MaskAddr(m.Addr, m.Mask) != m.Addr {
			return syscall.EINVAL
		}
	}
	return c.WantTable("mangle")
}

func (t *NPT) AllowedHooks(bool) xtables.HookMask {
	if t.Dest {
		return xtables.HookPrerouting | xtables.HookOutput
	}
	return xtables.HookInput | xtables.HookPostrouting
}

var snptExtension, dnptExtension = nptExtension("SNPT"), nptExtension("DNPT")

func nptExtension(name string) *xtables.Extension {
	return &xtables.Extension{
		Name:      name,
		OnlyIn:    netfilter.IPv6,
		Options:   []xtables.Option{{Name: "src-pfx", Mandatory: true}, {Name: "dst-pfx", Mandatory: true}},
		NewTarget: func() xtables.TargetParser { return &nptParser{dest: name == "DNPT"} },
	}
}

type nptParser struct {
	dest  bool
	t     NPT
	arena xtables.Arena[NPT]
}

func (p *nptParser) Begin(netfilter.Family) { p.t = NPT{Dest: p.dest} }

func (p *nptParser) Option(o *xtables.OptionCall) (err error) {
	if o.Name == "src-pfx" {
		p.t.From, err = o.ResolvedHostMask()
	} else {
		p.t.To, err = o.ResolvedHostMask()
	}
	return err
}

func (p *nptParser) Finish(uint32) (xtables.Target, error) { return p.arena.Intern(p.t), nil }
