package translate

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// program collects the expressions of a rule.
type program struct {
	family netfilter.Family
	rule   *xtables.Rule
	exprs  []expr.Expr
}

// Rule is the expressions of a rule. Its counter is the rule's own.
func Rule(r *xtables.Rule, f netfilter.Family) []expr.Expr {
	p := &program{family: f, rule: r}
	p.device(r.In, expr.MetaIifname)
	p.device(r.Out, expr.MetaOifname)
	if r.Proto.Number != 0 {
		p.add(&expr.Meta{Key: expr.MetaL4proto, Dreg: expr.Reg1})
		p.compare(opOf(r.Proto.Invert), []byte{byte(r.Proto.Number)})
	}
	source, destination := uint32(12), uint32(16)
	if f == netfilter.IPv6 {
		source, destination = 8, 24
	}
	p.address(r.Src, source)
	p.address(r.Dst, destination)
	if r.Fragment != xtables.FragmentAny {
		p.payload(expr.NetworkHeader, 6, 2)
		p.mask([]byte{0x1f, 0xff})
		p.compare(opOf(r.Fragment == xtables.FragmentOnly), []byte{0, 0})
	}
	for _, m := range r.Matches {
		p.match(m)
	}
	p.add(&expr.Counter{Counters: r.Counters})
	p.target(r.Target)
	return p.exprs
}

func (p *program) add(e expr.Expr) { p.exprs = append(p.exprs, e) }

func opOf(invert bool) expr.CmpOp {
	if invert {
		return expr.Neq
	}
	return expr.Eq
}

func (p *program) compare(op expr.CmpOp, data []byte) {
	p.add(&expr.Cmp{Sreg: expr.Reg1, Op: op, Data: data})
}

func (p *program) mask(mask []byte) {
	p.add(&expr.Bitwise{Sreg: expr.Reg1, Dreg: expr.Reg1, Len: len(mask), Mask: mask, Xor: make([]byte, len(mask))})
}

func (p *program) payload(base expr.PayloadBase, offset, size uint32) {
	p.add(&expr.Payload{Base: base, Offset: offset, Len: size, Dreg: expr.Reg1})
}

// device is -i or -o. The name of any device need not be compared; a name that no device has stands for none.
func (p *program) device(m *xtables.IfaceMatch, key expr.MetaKey) {
	if m == nil {
		return
	}
	p.add(&expr.Meta{Key: key, Dreg: expr.Reg1})
	switch {
	case m.Name == "" && m.Invert:
		p.compare(expr.Eq, []byte("INVAL/D\x00"))
	case m.Name == "":
	case m.Prefix:
		p.compare(opOf(m.Invert), []byte(m.Name))
	default:
		p.compare(opOf(m.Invert), append([]byte(m.Name), 0))
	}
}

// address is -s or -d: of a prefix of whole bytes no more than those are loaded.
func (p *program) address(m *xtables.AddrMatch, offset uint32) {
	if m == nil {
		return
	}
	value := m.Addr.AsSlice()
	switch bits := xtables.MaskBits(m.Mask); {
	case bits == 0:
	case bits > 0 && bits%8 == 0:
		p.payload(expr.NetworkHeader, offset, uint32(bits/8))
		p.compare(opOf(m.Invert), value[:bits/8])
	default:
		p.payload(expr.NetworkHeader, offset, uint32(len(value)))
		p.mask(m.Mask.AsSlice())
		p.compare(opOf(m.Invert), masked(m.Addr, m.Mask))
	}
}

func masked(a, mask netip.Addr) []byte {
	value, bits := a.AsSlice(), mask.AsSlice()
	for i := range value {
		value[i] &= bits[i]
	}
	return value
}

// native is a match that the tools may write as expressions of nf_tables.
type native interface{ NativeInNFT() bool }

func (p *program) match(m xtables.Match) {
	if n, is := m.(native); is && n.NativeInNFT() {
		switch m := m.(type) {
		case *match.TCP:
			p.tcpFlags(m)
			p.ports(m.SrcPorts, m.DstPorts, m.InvSrc, m.InvDst)
			return
		case *match.UDP:
			p.ports(m.SrcPorts, m.DstPorts, m.InvSrc, m.InvDst)
			return
		}
	}
	switch m := m.(type) {
	case *match.Mark:
		p.add(&expr.Meta{Key: expr.MetaMark, Dreg: expr.Reg1})
		if m.Mask != 0xffffffff {
			p.mask(binary.NativeEndian.AppendUint32(nil, m.Mask))
		}
		p.compare(opOf(m.Invert), binary.NativeEndian.AppendUint32(nil, m.Value))
	case *match.Limit:
		packets, seconds := m.Rate()
		p.add(&expr.Limit{Rate: packets, Unit: time.Duration(seconds) * time.Second, Burst: m.Burst})
	case *match.State:
		p.extension(false, "conntrack", m)
	default:
		p.extension(false, m.Name(), m)
	}
}

func (p *program) tcpFlags(m *match.TCP) {
	if m.FlagMask == 0 {
		return
	}
	p.payload(expr.TransportHeader, 13, 1)
	p.mask([]byte{m.FlagMask})
	p.compare(opOf(m.InvFlags), []byte{m.FlagComp})
}

// ports are compared together if both are one port, which is not 0.
func (p *program) ports(source, destination xtables.PortRange, notSource, notDestination bool) {
	if one(source) && one(destination) && !notSource && !notDestination {
		p.payload(expr.TransportHeader, 0, 4)
		p.compare(expr.Eq, append(port(source.Min), port(destination.Min)...))
		return
	}
	p.port(source, notSource, 0)
	p.port(destination, notDestination, 2)
}

func one(r xtables.PortRange) bool { return r.Min == r.Max && r.Min != 0 }

func port(n uint16) []byte { return binary.BigEndian.AppendUint16(nil, n) }

func (p *program) port(r xtables.PortRange, invert bool, offset uint32) {
	if r.IsAny() {
		return
	}
	p.payload(expr.TransportHeader, offset, 2)
	switch {
	case r.Min == r.Max:
		p.compare(opOf(invert), port(r.Min))
	case r.Min == 0 && invert:
		p.compare(expr.Gt, port(r.Max))
	case r.Min == 0:
		p.compare(expr.Lte, port(r.Max))
	default:
		p.add(&expr.Range{Sreg: expr.Reg1, Op: opOf(invert), From: port(r.Min), To: port(r.Max)})
	}
}

var verdictCodes = map[xtables.VerdictKind]expr.Code{
	xtables.VerdictAccept: expr.Accept, xtables.VerdictDrop: expr.Drop, xtables.VerdictReturn: expr.Return,
}

func (p *program) verdict(v *expr.Verdict) { p.add(&expr.Immediate{Data: expr.Data{Verdict: v}}) }

func (p *program) target(t xtables.Target) {
	switch t := t.(type) {
	case nil:
	case *xtables.TargetVerdict:
		p.verdict(&expr.Verdict{Code: verdictCodes[t.Kind]})
	case *xtables.Jump:
		code := expr.Jump
		if t.Goto {
			code = expr.Goto
		}
		p.verdict(&expr.Verdict{Code: code, Chain: t.Chain})
	case *target.NFLOG:
		p.add(&expr.Log{Prefix: t.Prefix, HasGroup: true, Group: t.Group, HasSnaplen: t.HasSize, Snaplen: t.Size,
			HasQueueThreshold: t.Threshold != 0, QueueThreshold: t.Threshold})
	case *target.Trace:
		p.add(&expr.Immediate{Dreg: expr.Reg32 + 1, Data: expr.Data{Bytes: []byte{1}}})
		p.add(&expr.Meta{Key: expr.MetaNftrace, Writes: true, Sreg: expr.Reg32 + 1})
	case *target.Notrack:
		p.extension(true, "CT", t)
	default:
		p.extension(true, t.Name(), t)
	}
}

// extension is a match or a target of x_tables, by the name that it has in the kernel.
func (p *program) extension(isTarget bool, name string, e any) {
	x := &expr.Xt{Target: isTarget, Ext: name}
	words, found := p.words(e)
	switch found {
	case translated:
		x.Words = &words
	case unknown:
		x.Unspelled = true
	}
	p.add(x)
}
