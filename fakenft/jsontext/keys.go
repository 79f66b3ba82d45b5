package jsontext

import (
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

var bases = map[string]expr.PayloadBase{
	"ll": expr.LinkHeader, "nh": expr.NetworkHeader, "th": expr.TransportHeader, "ih": expr.InnerHeader,
}

func (r *exprReader) payload(_ string, v *value) syntax.Expr {
	var base, protocol, name string
	var offset, length int64
	if is(v, "{s:s, s:i, s:i}", "base", &base, "offset", &offset, "len", &length) {
		of, ok := bases[base]
		if !ok {
			return r.none("Invalid payload base '%s'.", base)
		}
		e := &syntax.Payload{Common: here(), Base: of, Offset: int(offset), Raw: true}
		e.Type, e.Order, e.Bits = syntax.TypeInteger, syntax.BigEndian, int(length)
		return e
	}
	if !is(v, "{s:s, s:s}", "protocol", &protocol, "field", &name) {
		return r.none("Invalid payload expression properties.")
	}
	h := syntax.HeaderNamed(protocol)
	if h == nil {
		return r.none("Unknown payload protocol '%s'.", protocol)
	}
	f := h.Field(name)
	if f == nil {
		return r.none("Unknown %s field '%s'.", protocol, name)
	}
	return &syntax.Payload{Common: here(), Header: h, Field: f}
}

func (r *exprReader) tcpOption(_ string, v *value) syntax.Expr {
	var number, offset, length int64
	var name, fieldName string
	if is(v, "{s:i, s:i, s:i}", "base", &number, "offset", &offset, "len", &length) {
		if number < 0 || number > 255 {
			return nil
		}
		e := &syntax.Exthdr{Common: here(), Op: expr.ExthdrTCPOption, RawType: uint8(number), Offset: int(offset)}
		e.Type, e.Order, e.Bits = syntax.TypeInteger, syntax.BigEndian, int(length)
		e.Present = offset == 0 && length == 8
		return e
	}
	if !is(v, "{s:s}", "name", &name) {
		return r.none("Invalid tcp option expression properties.")
	}
	h := syntax.TCPOptionNamed(name)
	if h == nil {
		return r.none("Unknown tcp option name '%s'.", name)
	}
	e := &syntax.Exthdr{Common: here(), Op: expr.ExthdrTCPOption, Header: h}
	if !is(v, "{s:s}", "field", &fieldName) {
		e.Present = true
		return e
	}
	if e.Field = h.Field(fieldName); e.Field == nil {
		return r.none("Unknown tcp option field '%s'.", fieldName)
	}
	return e
}

// optional reads an optional header, or a field of it.
func (r *exprReader) optional(v *value, op expr.ExthdrOp, find func(string) *syntax.Header, noName, noField string) syntax.Expr {
	var name, fieldName string
	if !r.unpack(v, "{s:s}", "name", &name) {
		return nil
	}
	h := find(name)
	if h == nil {
		return r.none(noName, name)
	}
	e := &syntax.Exthdr{Common: here(), Op: op, Header: h}
	if !is(v, "{s:s}", "field", &fieldName) {
		e.Present = true
		return e
	}
	if e.Field = h.Field(fieldName); e.Field == nil {
		if strings.Count(noField, "%s") == 2 {
			return r.none(noField, name, fieldName)
		}
		return r.none(noField, fieldName)
	}
	return e
}

func (r *exprReader) ipOption(_ string, v *value) syntax.Expr {
	return r.optional(v, expr.ExthdrIPv4, syntax.IPOptionNamed, "Unknown ip option name '%s'.", "Unknown ip option field '%s'.")
}

func (r *exprReader) sctpChunk(_ string, v *value) syntax.Expr {
	return r.optional(v, expr.ExthdrSCTP, syntax.SCTPChunkNamed, "Unknown sctp chunk name '%s'.", "Unknown sctp chunk field '%s'.")
}

func (r *exprReader) exthdr(_ string, v *value) syntax.Expr {
	return r.optional(v, expr.ExthdrIPv6, syntax.ExtensionNamed, "Invalid exthdr protocol '%s'.", "Unknown %s field %s.")
}

func (r *exprReader) meta(_ string, v *value) syntax.Expr {
	var name string
	if !r.unpack(v, "{s:s}", "key", &name) {
		return nil
	}
	key, ok := syntax.MetaNamed(name)
	if !ok {
		return r.none("syntax error, unexpected %s, known keys are %s", name, metaWords())
	}
	return &syntax.Meta{Common: here(), Key: key}
}

// metaWords are all keys of meta, for the message about one that is none of them.
func metaWords() string {
	var words []string
	for key := expr.MetaKey(0); key <= expr.MetaBroute; key++ {
		if word := syntax.MetaName(key); word != "" {
			words = append(words, word)
		}
	}
	return strings.Join(words, ", ")
}

var osfTTLs = map[string]uint8{"loose": 1, "skip": 2}

func (r *exprReader) osf(_ string, v *value) syntax.Expr {
	var key, ttl string
	if !r.unpack(v, "{s:s}", "key", &key) {
		return nil
	}
	e := &syntax.Osf{Common: here()}
	if is(v, "{s:s}", "ttl", &ttl) {
		n, ok := osfTTLs[ttl]
		if !ok {
			return r.none("Invalid osf ttl option '%s'.", ttl)
		}
		e.TTL = n
	}
	if key != "name" && key != "version" {
		return r.none("Invalid osf key value.")
	}
	e.Version = key == "version"
	return e
}

func (r *exprReader) socket(_ string, v *value) syntax.Expr {
	var name string
	if !r.unpack(v, "{s:s}", "key", &name) {
		return nil
	}
	key, ok := syntax.SocketNamed(name)
	if !ok {
		return r.none("Invalid socket key value.")
	}
	return &syntax.Socket{Common: here(), Key: key}
}

func (r *exprReader) rt(_ string, v *value) syntax.Expr {
	var name, family string
	if !r.unpack(v, "{s:s}", "key", &name) {
		return nil
	}
	var proto uint8
	if is(v, "{s:s}", "family", &family) {
		f, ok := familyNamed(family)
		if !ok {
			return r.none("Invalid family '%s'.", family)
		}
		proto = uint8(f)
	}
	key, ok := syntax.RTNamed(name)
	if !ok {
		return r.none("Unknown rt key '%s'.", name)
	}
	e := &syntax.RT{Common: here(), Key: key, NFProto: proto}
	if key == syntax.RTNexthop4 {
		if proto == protoIPv6 {
			e.Key = syntax.RTNexthop6
		}
		e.Invalid = proto == 0
	}
	return e
}

// NFPROTO_IPV4 and NFPROTO_IPV6.
const (
	protoIPv4 = 2
	protoIPv6 = 10
)

// ctNamed is a key of ct: one of text, with a family before it for addresses.
func ctNamed(name string) (expr.CTKey, bool) {
	switch name {
	case "ip saddr":
		return expr.CTSrcIP, true
	case "ip daddr":
		return expr.CTDstIP, true
	case "ip6 saddr":
		return expr.CTSrcIP6, true
	case "ip6 daddr":
		return expr.CTDstIP6, true
	}
	return syntax.CTNamed(name)
}

// hasDirection says whether a key of ct may have a direction.
func hasDirection(key expr.CTKey) bool {
	switch key {
	case expr.CTL3Protocol, expr.CTSrc, expr.CTDst, expr.CTProtocol, expr.CTProtoSrc, expr.CTProtoDst, expr.CTPkts, expr.CTBytes,
		expr.CTAvgpkt, expr.CTZone, expr.CTSrcIP, expr.CTDstIP, expr.CTSrcIP6, expr.CTDstIP6:
		return true
	}
	return false
}

func (r *exprReader) ct(_ string, v *value) syntax.Expr {
	var name, dir string
	if !r.unpack(v, "{s:s}", "key", &name) {
		return nil
	}
	key, ok := ctNamed(name)
	if !ok {
		return r.none("Unknown ct key '%s'.", name)
	}
	e := &syntax.CT{Common: here(), Key: key}
	if !is(v, "{s:s}", "dir", &dir) {
		return e
	}
	var n uint8
	switch dir {
	case "original":
	case "reply":
		n = 1
	default:
		return r.none("Invalid direction '%s'.", dir)
	}
	if !hasDirection(key) {
		return r.none("Direction not supported by CT key '%s'.", name)
	}
	e.Dir = &n
	return e
}

func (r *exprReader) numgen(_ string, v *value) syntax.Expr {
	var mode string
	var mod, offset int64
	if !r.unpack(v, "{s:s, s:i}", "mode", &mode, "mod", &mod) {
		return nil
	}
	is(v, "{s:i}", "offset", &offset)
	if mode != "inc" && mode != "random" {
		return r.none("Unknown numgen mode '%s'.", mode)
	}
	return &syntax.Numgen{Common: here(), Random: mode == "random", Modulus: uint32(mod), Offset: uint32(offset)}
}

func (r *exprReader) hash(word string, v *value) syntax.Expr {
	var mod, offset, seed int64
	if !r.unpack(v, "{s:i}", "mod", &mod) {
		return nil
	}
	is(v, "{s:i}", "offset", &offset)
	e := &syntax.Hash{Common: here(), Modulus: uint32(mod), Offset: uint32(offset), Symmetric: word == "symhash"}
	if e.Symmetric {
		return e
	}
	var of *value
	if !r.unpack(v, "{s:o}", "expr", &of) {
		return nil
	}
	if e.Of = r.expr(of); e.Of == nil {
		return r.none("Invalid jhash expression.")
	}
	if is(v, "{s:i}", "seed", &seed) {
		e.HasSeed, e.Seed = true, uint32(seed)
	}
	return e
}

var (
	fibResults = map[string]expr.FibResult{"oif": expr.FibOif, "oifname": expr.FibOifname, "type": expr.FibType}
	fibFlags   = map[string]expr.FibFlags{
		"saddr": expr.FibSaddr, "daddr": expr.FibDaddr, "mark": expr.FibMark, "iif": expr.FibIif, "oif": expr.FibOifFlag,
	}
)

func (r *exprReader) fib(_ string, v *value) syntax.Expr {
	var result string
	if !r.unpack(v, "{s:s}", "result", &result) {
		return nil
	}
	e := &syntax.Fib{Common: here()}
	var ok bool
	if e.Result, ok = fibResults[result]; !ok {
		return r.none("Invalid fib result '%s'.", result)
	}
	if flags := v.get("flags"); flags != nil {
		switch flags.kind {
		case text:
			if !r.fibFlag(flags, e) {
				return nil
			}
		case array:
			for i := range flags.items {
				if flags.items[i].kind != text {
					return r.none("Unexpected object type in fib flags array at index %d.", i)
				}
				if !r.fibFlag(&flags.items[i], e) {
					return nil
				}
			}
		default:
			return r.none("Unexpected object type in fib tuple.")
		}
	}
	switch addrs := e.Flags & (expr.FibSaddr | expr.FibDaddr); {
	case addrs == 0:
		return r.none("fib: need either saddr or daddr")
	case addrs == expr.FibSaddr|expr.FibDaddr:
		return r.none("fib: saddr and daddr are mutually exclusive")
	case e.Flags&(expr.FibIif|expr.FibOifFlag) == expr.FibIif|expr.FibOifFlag:
		return r.none("fib: iif and oif are mutually exclusive")
	}
	return e
}

func (r *exprReader) fibFlag(v *value, e *syntax.Fib) bool {
	flag, ok := fibFlags[v.text]
	if !ok {
		return r.wrong("Invalid fib flag '%s'.", v.text)
	}
	e.Flags |= flag
	return true
}

var xfrmKeys = map[string]uint32{
	"reqid": syntax.XFRMReqid, "spi": syntax.XFRMSPI, "saddr": syntax.XFRMSaddr4, "daddr": syntax.XFRMDaddr4,
}

func (r *exprReader) xfrm(_ string, v *value) syntax.Expr {
	var name, dir, family string
	var spnum int64
	if !r.unpack(v, "{s:s}", "key", &name) {
		return nil
	}
	key, ok := xfrmKeys[name]
	if !ok {
		return r.none("Unknown xfrm key '%s'.", name)
	}
	if key == syntax.XFRMSaddr4 || key == syntax.XFRMDaddr4 {
		if is(v, "{s:s}", "family", &family) {
			f, ok := familyNamed(family)
			switch {
			case !ok:
				return r.none("Unknown family '%s'.", family)
			case f == nftables.IPv6:
				key++
			}
		}
	}
	e := &syntax.XFRM{Common: here(), Key: key}
	if is(v, "{s:s}", "dir", &dir) {
		switch dir {
		case "in":
		case "out":
			e.Dir = 1
		default:
			return r.none("Invalid direction '%s'.", dir)
		}
	}
	if is(v, "{s:i}", "spnum", &spnum) {
		if spnum < 0 || spnum > 255 {
			return r.none("Invalid spnum'%d'.", spnum)
		}
		e.SPNum = uint32(spnum)
	}
	return e
}

// dump is a value as jansson writes it, for a message.
func dump(v *value) string {
	if v.kind != object && v.kind != array {
		return "(null)"
	}
	var b strings.Builder
	write(&b, v)
	return b.String()
}

func write(b *strings.Builder, v *value) {
	switch v.kind {
	case object, array:
		ends := "{}"
		if v.kind == array {
			ends = "[]"
		}
		b.WriteByte(ends[0])
		for i := range v.items {
			if i > 0 {
				b.WriteString(", ")
			}
			if v.kind == object {
				b.WriteString(strconv.Quote(v.items[i].key) + ": ")
			}
			write(b, &v.items[i])
		}
		b.WriteByte(ends[1])
	case text:
		b.WriteString(strconv.Quote(v.text))
	case integer, float:
		b.WriteString(v.text)
	default:
		b.WriteString(v.kind.String())
	}
}
