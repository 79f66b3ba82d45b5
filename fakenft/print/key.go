package print

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// baseNames are where raw bytes of a packet are counted from.
var baseNames = [...]string{expr.LinkHeader: "ll", expr.NetworkHeader: "nh", expr.TransportHeader: "th", expr.InnerHeader: "ih"}

func isKnown(e *syntax.Payload) bool { return e.Field != nil && e.Header != nil && !e.Raw }

func (p *exprPrinter) payload(e *syntax.Payload) {
	if isKnown(e) {
		p.str(e.Header.Name)
		p.b = append(p.b, ' ')
		p.str(e.Field.Name)
		return
	}
	p.b = append(p.b, '@')
	p.str(baseNames[e.Base])
	p.b = append(p.b, ',')
	p.int(int64(e.Offset))
	p.b = append(p.b, ',')
	p.int(int64(e.Bits))
}

// bareMeta are the keys of meta that stand without the word meta.
func bareMeta(key expr.MetaKey) bool {
	switch key {
	case expr.MetaIif, expr.MetaOif, expr.MetaIifname, expr.MetaOifname, expr.MetaIifgroup, expr.MetaOifgroup:
		return true
	}
	return false
}

func metaName(key expr.MetaKey) string {
	name := syntax.MetaName(key)
	if name == "" {
		unsupported("the key %d of meta", key)
	}
	return name
}

func (p *exprPrinter) meta(e *syntax.Meta) { p.metaKey(e.Key) }

func (p *exprPrinter) metaKey(key expr.MetaKey) {
	if !bareMeta(key) {
		p.str("meta ")
	}
	p.str(metaName(key))
}

var directions = [...]string{"original", "reply"}

func (p *exprPrinter) ct(e *syntax.CT) { p.ctKey(e.Key, e.Dir, e.NFProto) }

func ctName(key expr.CTKey) string {
	name := syntax.CTName(key)
	if name == "" {
		unsupported("the key %d of ct", key)
	}
	return name
}

// familyWords are the words of NFPROTO_* in expressions and statements.
func familyWord(nfproto uint8) string {
	switch nfproto {
	case 2:
		return "ip"
	case 10:
		return "ip6"
	}
	return ""
}

// ctFamily is the family that a key of ct has in itself.
func ctFamily(key expr.CTKey) string {
	switch key {
	case expr.CTSrcIP, expr.CTDstIP:
		return "ip"
	case expr.CTSrcIP6, expr.CTDstIP6:
		return "ip6"
	}
	return ""
}

func (p *exprPrinter) ctKey(key expr.CTKey, dir *uint8, nfproto uint8) {
	p.str("ct ")
	if dir != nil && *dir < 2 {
		p.str(directions[*dir])
		p.b = append(p.b, ' ')
	}
	word := ctFamily(key)
	if word == "" && (key == expr.CTSrc || key == expr.CTDst) {
		word = familyWord(nfproto)
	}
	if word != "" {
		p.str(word)
		p.b = append(p.b, ' ')
	}
	p.str(ctName(key))
}

func (p *exprPrinter) exthdr(e *syntax.Exthdr) {
	switch e.Op {
	case expr.ExthdrTCPOption:
		p.str("tcp option ")
		if e.Header == nil {
			p.rawOption(e)
			return
		}
	case expr.ExthdrIPv4:
		p.str("ip option ")
	case expr.ExthdrSCTP:
		p.str("sctp chunk ")
	case expr.ExthdrIPv6:
		if e.Present {
			p.str("exthdr ")
		}
	}
	if e.Header == nil {
		unsupported("the optional header %d", e.RawType)
	}
	p.str(e.Header.Name)
	if !e.Present && e.Field != nil {
		p.b = append(p.b, ' ')
		p.str(e.Field.Name)
	}
}

func (p *exprPrinter) rawOption(e *syntax.Exthdr) {
	if e.Present {
		p.uint(uint64(e.RawType))
		return
	}
	p.b = append(p.b, '@')
	p.uint(uint64(e.RawType))
	p.b = append(p.b, ',')
	p.int(int64(e.Offset))
	p.b = append(p.b, ',')
	p.int(int64(e.Bits))
}

// fibFlags are the words of FibFlags in their order.
var fibFlags = [...]string{"saddr", "daddr", "mark", "iif", "oif"}

func fibResult(e *syntax.Fib) string {
	switch e.Result {
	case expr.FibOif:
		return "oif"
	case expr.FibOifname:
		return "oifname"
	case expr.FibType:
		return "type"
	}
	unsupported("the result %d of fib", e.Result)
	return ""
}

func (p *exprPrinter) fib(e *syntax.Fib) {
	p.str("fib ")
	first := true
	for i, word := range fibFlags {
		if e.Flags&(1<<i) != 0 {
			if !first {
				p.str(" . ")
			}
			first = false
			p.str(word)
		}
	}
	p.b = append(p.b, ' ')
	p.str(fibResult(e))
}

func (p *exprPrinter) numgen(e *syntax.Numgen) {
	p.str("numgen ")
	p.str(numgenMode(e))
	p.str(" mod ")
	p.uint(uint64(e.Modulus))
	p.offset(e.Offset)
}

func numgenMode(e *syntax.Numgen) string {
	if e.Random {
		return "random"
	}
	return "inc"
}

func (p *exprPrinter) offset(n uint32) {
	if n != 0 {
		p.str(" offset ")
		p.uint(uint64(n))
	}
}

func (p *exprPrinter) hash(e *syntax.Hash) {
	if e.Symmetric {
		p.str("symhash")
	} else {
		p.str("jhash ")
		p.expr(e.Of)
	}
	p.str(" mod ")
	p.uint(uint64(e.Modulus))
	if e.HasSeed {
		p.str(" seed ")
		p.hex(syntax.Num{Lo: uint64(e.Seed)}, 1)
	}
	p.offset(e.Offset)
}

// rtName is the word of a key of rt, and its family.
func rtName(key uint32) (name, family string) {
	k := syntax.RTKeyOf(key)
	if k == nil {
		unsupported("the key %d of rt", key)
	}
	switch key {
	case syntax.RTNexthop4:
		family = "ip"
	case syntax.RTNexthop6:
		family = "ip6"
	}
	return k.Name, family
}

func (p *exprPrinter) rt(e *syntax.RT) {
	name, family := rtName(e.Key)
	p.str("rt ")
	if family != "" {
		p.str(family)
		p.b = append(p.b, ' ')
	}
	p.str(name)
}

func (p *exprPrinter) socket(e *syntax.Socket) {
	k := syntax.SocketKeyOf(e.Key)
	if k == nil {
		unsupported("the key %d of socket", e.Key)
	}
	p.str("socket ")
	p.str(k.Name)
	if e.Key == syntax.SocketCgroupv2 {
		p.str(" level ")
		p.uint(uint64(e.Level))
	}
}

// osfTTL are the words of how osf compares the time to live.
var osfTTL = [...]string{"", "loose", "skip"}

func osfKey(e *syntax.Osf) string {
	if e.Version {
		return "version"
	}
	return "name"
}

func (p *exprPrinter) osf(e *syntax.Osf) {
	p.str("osf ")
	if int(e.TTL) < len(osfTTL) && e.TTL != 0 {
		p.str("ttl ")
		p.str(osfTTL[e.TTL])
		p.b = append(p.b, ' ')
	}
	p.str(osfKey(e))
}

var xfrmDirs = [...]string{"in", "out"}

// xfrmName is the word of a key of ipsec, and its family.
func xfrmName(key uint32) (name, family string) {
	k := syntax.XFRMKeyOf(key)
	if k == nil {
		unsupported("the key %d of ipsec", key)
	}
	switch key {
	case syntax.XFRMDaddr4, syntax.XFRMSaddr4:
		family = "ip"
	case syntax.XFRMDaddr6, syntax.XFRMSaddr6:
		family = "ip6"
	}
	return k.Name, family
}

func (p *exprPrinter) xfrm(e *syntax.XFRM) {
	name, family := xfrmName(e.Key)
	p.str("ipsec ")
	p.str(xfrmDirs[e.Dir&1])
	if e.SPNum != 0 {
		p.str(" spnum ")
		p.uint(uint64(e.SPNum))
	}
	if family != "" {
		p.b = append(p.b, ' ')
		p.str(family)
	}
	p.b = append(p.b, ' ')
	p.str(name)
}
