package expr

import (
	"encoding/binary"
	"strconv"
	"strings"
	"time"
)

// Text is an expression as libnftnl writes it, and so `nft --debug=netlink`: "[ meta load l4proto => reg 1 ]".
func Text(e Expr) string {
	w := &textWriter{}
	w.expr(e)
	return w.String()
}

// DataText is data in libnftnl's form: numbers of four bytes as this machine holds them, or a verdict.
func DataText(d *Data) string {
	w := &textWriter{}
	w.data(d)
	return strings.TrimSuffix(w.String(), " ")
}

// textWriter writes words, each with a blank behind it.
type textWriter struct{ strings.Builder }

func (w *textWriter) words(words ...string) {
	for _, word := range words {
		w.WriteString(word)
		w.WriteByte(' ')
	}
}

func (w *textWriter) number(name string, n uint64) { w.words(name, strconv.FormatUint(n, 10)) }

func (w *textWriter) hex(name string, n uint64) { w.words(name, "0x"+strconv.FormatUint(n, 16)) }

func (w *textWriter) reg(name string, r Register) { w.number(name, uint64(r)) }

// given is a register that is written if it is given.
func (w *textWriter) given(name string, r Register) {
	if r != 0 {
		w.reg(name, r)
	}
}

func (w *textWriter) flag(set bool, word string) {
	if set {
		w.words(word)
	}
}

func (w *textWriter) bytes(b []byte) {
	for i := 0; i < len(b); i += 4 {
		var word [4]byte
		copy(word[:], b[i:])
		digits := strconv.FormatUint(uint64(binary.LittleEndian.Uint32(word[:])), 16)
		w.words("0x" + "00000000"[len(digits):] + digits)
	}
}

func (w *textWriter) data(d *Data) {
	if d.Verdict == nil {
		w.bytes(d.Bytes)
		return
	}
	w.words(codeName(d.Verdict.Code))
	if d.Verdict.Chain != "" {
		w.words("->", d.Verdict.Chain)
	}
}

func codeName(c Code) string {
	switch c {
	case Accept:
		return "accept"
	case Drop:
		return "drop"
	case Queue:
		return "queue"
	case Continue:
		return "continue"
	case Break:
		return "break"
	case Jump:
		return "jump"
	case Goto:
		return "goto"
	case Return:
		return "return"
	}
	return "unknown"
}

func (w *textWriter) expr(e Expr) {
	w.words("[", e.Name())
	switch e := e.(type) {
	case *Immediate:
		w.reg("reg", e.Dreg)
		w.data(&e.Data)
	case *Cmp:
		w.words(nameAt(cmpNames, uint32(e.Op)))
		w.reg("reg", e.Sreg)
		w.bytes(e.Data)
	case *Range:
		w.words(nameAt(cmpNames, uint32(e.Op)))
		w.reg("reg", e.Sreg)
		w.bytes(e.From)
		w.bytes(e.To)
	case *Bitwise:
		w.bitwise(e)
	case *Byteorder:
		w.byteorder(e)
	case *Payload:
		w.payload(e)
	case *Exthdr:
		w.exthdr(e)
	default:
		if !w.load(e) && !w.statement(e) {
			w.nat(e)
		}
	}
	w.WriteByte(']')
}

var cmpNames = []string{Eq: "eq", Neq: "neq", Lt: "lt", Lte: "lte", Gt: "gt", Gte: "gte"}

func nameAt(names []string, i uint32) string {
	if int(i) < len(names) {
		return names[i]
	}
	return "unknown"
}

func (w *textWriter) bitwise(e *Bitwise) {
	w.reg("reg", e.Dreg)
	w.words("=", "(")
	w.reg("reg", e.Sreg)
	switch e.Op {
	case Bool:
		w.words("&")
		w.bytes(e.Mask)
		w.words(")", "^")
		w.bytes(e.Xor)
		return
	case LeftShift:
		w.words("<<")
	case RightShift:
		w.words(">>")
	}
	w.bytes(binary.LittleEndian.AppendUint32(nil, e.Shift))
	w.words(")")
}

func (w *textWriter) byteorder(e *Byteorder) {
	op := "hton"
	if e.ToHost {
		op = "ntoh"
	}
	w.reg("reg", e.Dreg)
	w.words("=", op+"(reg", strconv.Itoa(int(e.Sreg))+",", strconv.Itoa(e.Size)+",", strconv.Itoa(e.Len)+")")
}

var baseNames = []string{LinkHeader: "link", NetworkHeader: "network", TransportHeader: "transport", InnerHeader: "inner"}

func (w *textWriter) payload(e *Payload) {
	place := []string{strconv.Itoa(int(e.Len)) + "b", "@", nameAt(baseNames, uint32(e.Base)), "header", "+", strconv.Itoa(int(e.Offset))}
	if !e.Writes {
		w.words("load")
		w.words(place...)
		w.reg("=> reg", e.Dreg)
		return
	}
	w.reg("write reg", e.Sreg)
	w.words("=>")
	w.words(place...)
	w.number("csum_type", uint64(e.CsumType))
	w.number("csum_off", uint64(e.CsumOffset))
	w.hex("csum_flags", uint64(e.CsumFlags))
}

var exthdrNames = []string{ExthdrIPv6: "ipv6 ", ExthdrTCPOption: "tcpopt ", ExthdrIPv4: "ipv4 ", ExthdrSCTP: ""}

func (w *textWriter) exthdr(e *Exthdr) {
	kind := nameAt(exthdrNames, uint32(e.Op))
	place := []string{strconv.Itoa(int(e.Len)) + "b", "@", strconv.Itoa(int(e.Type)), "+", strconv.Itoa(int(e.Offset))}
	switch {
	case e.Writes && e.Sreg != 0:
		w.reg("write "+kind+"reg", e.Sreg)
		w.words("=>")
		w.words(place...)
	case e.Dreg != 0:
		w.WriteString("load " + kind)
		w.words(place...)
		w.flag(e.Present, "present")
		w.reg("=> reg", e.Dreg)
	default:
		w.words("reset", kind+strconv.Itoa(int(e.Type)))
	}
}

var (
	metaNames = []string{"len", "protocol", "priority", "mark", "iif", "oif", "iifname", "oifname", "iiftype", "oiftype", "skuid", "skgid",
		"nftrace", "rtclassid", "secmark", "nfproto", "l4proto", "bri_iifname", "bri_oifname", "pkttype", "cpu", "iifgroup", "oifgroup",
		"cgroup", "prandom", "secpath", "iifkind", "oifkind", "bri_iifpvid", "bri_iifvproto", "time", "day", "hour", "sdif", "sdifname"}
	ctNames = []string{"state", "direction", "status", "mark", "secmark", "expiration", "helper", "l3protocol", "src", "dst", "protocol",
		"proto_src", "proto_dst", "label", "packets", "bytes", "avgpkt", "zone", "event", "src_ip", "dst_ip", "src_ip6", "dst_ip6"}
	rtNames     = []string{"classid", "nexthop4", "nexthop6", "tcpmss", "ipsec"}
	socketNames = []string{"transparent", "mark", "wildcard", "cgroupv2"}
	xfrmNames   = []string{"unknown", "daddr4", "daddr6", "saddr4", "saddr6", "reqid", "spi"}
)

// load writes what loads a value of the packet, or of its surroundings; false for what is not of those.
func (w *textWriter) load(e Expr) bool {
	switch e := e.(type) {
	case *Meta:
		w.key(nameAt(metaNames, uint32(e.Key)), e.Writes, e.Sreg, e.Dreg)
	case *CT:
		w.key(nameAt(ctNames, uint32(e.Key)), e.Writes, e.Sreg, e.Dreg)
		if e.Dir != nil {
			w.words(", dir", nameAt([]string{"original", "reply"}, uint32(*e.Dir)))
		}
	case *RT:
		w.key(nameAt(rtNames, e.Key), false, 0, e.Dreg)
	case *Socket:
		w.key(nameAt(socketNames, e.Key), false, 0, e.Dreg)
		if e.Level != 0 {
			w.number("level", uint64(e.Level))
		}
	case *Osf:
		w.reg("dreg", e.Dreg)
	case *XFRM:
		w.words("load", nameAt([]string{"in", "out"}, uint32(e.Dir)), strconv.Itoa(int(e.SPNum)), nameAt(xfrmNames, e.Key))
		w.reg("=> reg", e.Dreg)
	case *Fib:
		w.fib(e)
	case *Numgen:
		w.reg("reg", e.Dreg)
		w.words("=", map[bool]string{false: "inc", true: "random"}[e.Random])
		w.modulus("mod", e.Modulus, e.Offset)
	case *Hash:
		w.reg("reg", e.Dreg)
		if e.Symmetric {
			w.words("=", "symhash()")
		} else {
			w.words("=", "jhash(reg", strconv.Itoa(int(e.Sreg))+",", strconv.Itoa(e.Len)+",", "0x"+strconv.FormatUint(uint64(e.Seed), 16)+")")
		}
		w.modulus("% mod", e.Modulus, e.Offset)
	default:
		return false
	}
	return true
}

func (w *textWriter) key(name string, writes bool, sreg, dreg Register) {
	if writes {
		w.words("set", name)
		w.reg("with reg", sreg)
		return
	}
	w.words("load", name)
	w.reg("=> reg", dreg)
}

func (w *textWriter) modulus(word string, modulus, offset uint32) {
	w.number(word, uint64(modulus))
	if offset != 0 {
		w.number("offset", uint64(offset))
	}
}

func (w *textWriter) fib(e *Fib) {
	var from []string
	for i, name := range []string{"saddr", "daddr", "mark", "iif", "oif"} {
		if e.Flags&(1<<i) != 0 {
			from = append(from, name)
		}
	}
	w.words(strings.Join(from, " . "), nameAt([]string{"unknown", "oif", "oifname", "type"}, uint32(e.Result)))
	w.flag(e.Flags&FibPresent != 0, "present")
	w.reg("=> reg", e.Dreg)
}

// unitName is the name of a limit's time in libnftnl.
func unitName(d time.Duration) string {
	switch d {
	case time.Second:
		return "second"
	case time.Minute:
		return "minute"
	case time.Hour:
		return "hour"
	case 24 * time.Hour:
		return "day"
	case 7 * 24 * time.Hour:
		return "week"
	}
	return "error"
}
