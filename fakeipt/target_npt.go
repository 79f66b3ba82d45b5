package fakeipt

import (
	"strconv"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetNPT is -j SNPT or -j DNPT (IPv6): one prefix of the source or the destination becomes another one, without
// conntrack, and so that checksums stay right.
type TargetNPT struct {
	Dest bool // DNPT
	// From and To are --src-pfx and --dst-pfx. Their lengths may be those of masks that are no prefixes: then 128.
	From, To AddrMatch
}

// Name is "SNPT" or "DNPT".
func (t *TargetNPT) Name() string {
	if t.Dest {
		return "DNPT"
	}
	return "SNPT"
}

// appendSave leaves prefixes of no length out.
func (t *TargetNPT) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	for _, prefix := range [...]struct {
		word string
		addr *AddrMatch
	}{{" --src-pfx ", &t.From}, {" --dst-pfx ", &t.To}} {
		if maskBits(prefix.addr.Mask) != 0 {
			dst = appendPrefix(append(dst, prefix.word...), prefix.addr)
		}
	}
	return dst
}

func (t *TargetNPT) appendList(dst []byte, _ listStyle) []byte {
	dst = append(append(append(dst, ' '), t.Name()...), " src-pfx "...)
	return appendPrefix(append(appendPrefix(dst, &t.From), " dst-pfx "...), &t.To)
}

func appendPrefix(dst []byte, m *AddrMatch) []byte {
	return strconv.AppendInt(append(libc.AppendInetNtop(dst, m.Addr), '/'), int64(maskBits(m.Mask)), 10)
}

// maxNPTPrefix is the longest prefix: the checksum is mended behind it.
const maxNPTPrefix = 64

func (t *TargetNPT) check(c *checkContext) syscall.Errno {
	for _, m := range [...]*AddrMatch{&t.From, &t.To} {
		if maskBits(m.Mask) > maxNPTPrefix || MaskAddr(m.Addr, m.Mask) != m.Addr {
			return syscall.EINVAL
		}
	}
	return c.wantTable("mangle")
}

func (t *TargetNPT) allowedHooks(bool) hookMask {
	if t.Dest {
		return hookPrerouting | hookOutput
	}
	return hookInput | hookPostrouting
}

var snptExtension, dnptExtension = nptExtension("SNPT"), nptExtension("DNPT")

func nptExtension(name string) *extension {
	return &extension{
		name:      name,
		onlyIn:    netfilter.IPv6,
		options:   []optionSpec{{name: "src-pfx", mandatory: true}, {name: "dst-pfx", mandatory: true}},
		newTarget: func() targetParser { return &nptParser{dest: name == "DNPT"} },
	}
}

type nptParser struct {
	dest  bool
	t     TargetNPT
	arena arena[TargetNPT]
}

func (p *nptParser) begin(netfilter.Family) { p.t = TargetNPT{Dest: p.dest} }

func (p *nptParser) option(o *optionCall) (err error) {
	if o.name == "src-pfx" {
		p.t.From, err = o.resolvedHostMask()
	} else {
		p.t.To, err = o.resolvedHostMask()
	}
	return err
}

func (p *nptParser) finish(uint32) (Target, error) { return p.arena.intern(p.t), nil }
