package translate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// finding is what is known of the translation of a match or target.
type finding uint8

const (
	unknown      finding = iota // whether there is one is not known here
	untranslated                // libxtables has none
	translated
)

// words are the translation of a match or target.
func (p *program) words(e any) (string, finding) {
	switch e := e.(type) {
	case *match.Comment:
		return "", translated // nft has them aside, where these tools do not put them
	case *match.Conntrack:
		return p.conntrack(e), translated
	case *match.State:
		return "ct state" + states(e.States, e.Invert), translated
	case *match.TCP:
		return tcp(e), translated
	case *match.UDP:
		return strings.Join(ports("udp", e.SrcPorts, e.DstPorts, e.InvSrc, e.InvDst), " "), translated
	case *match.SCTP:
		return sctp(e)
	case *match.Multiport:
		return p.multiport(e), translated
	case *match.ICMP:
		return icmp(e)
	case *match.Addrtype:
		return addrtype(e), translated
	case *match.Statistic:
		return statistic(e), translated
	case *match.Connmark:
		return connmark(e), translated
	case *match.PktType:
		return "pkttype " + not(e.Invert) + strings.TrimSpace(strings.TrimPrefix(option(e), "--pkt-type")), translated
	case *match.IPRange:
		return p.ranges(e), translated
	case *match.Length:
		return "meta length " + not(e.Invert) + numbers(e.Min, e.Max), translated
	case *match.TCPMSS:
		return "tcp option maxseg size " + not(e.Invert) + numbers(e.Min, e.Max), translated
	case *match.MAC:
		return "ether saddr " + not(e.Invert) + strings.ToLower(strings.TrimPrefix(option(e), "--mac-source ")), translated
	case *match.Recent, *match.Set, *match.Physdev, *match.NFAcct, *match.Socket, *match.String, *match.U32, *match.BPF, *match.Connlimit:
		return "", untranslated
	}
	return p.targetWords(e)
}

// option is what iptables-save prints of a match behind its name, without "!".
func option(m xtables.Match) string {
	return strings.TrimPrefix(strings.TrimSpace(string(m.AppendSave(nil, netfilter.IPv4, netfilter.NFT))), "! ")
}

// not is nft's word for the opposite, or nothing.
func not(invert bool) string {
	if invert {
		return "!= "
	}
	return ""
}

func states(s match.CTState, invert bool) string {
	return list(invert, uint32(s), "invalid", "new", "related", "established", "untracked")
}

// list is the names of bits behind "!" or nothing.
func list(invert bool, bits uint32, names ...string) string {
	text := ""
	if invert {
		text = " !"
	}
	separator := " "
	for i, name := range names {
		if bits&(1<<i) != 0 {
			text += separator + name
			separator = ","
		}
	}
	return text
}

// conntrack forgets --ctstate beside SNAT and DNAT, and that it was inverted.
func (p *program) conntrack(m *match.Conntrack) string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if m.Direction != match.CTDirAny {
		add("ct direction %s", [...]string{match.CTDirOriginal: "original", match.CTDirReply: "reply"}[m.Direction])
	}
	if m.Proto != nil {
		add("ct original protocol %s%d", not(m.Proto.Invert), m.Proto.Number)
	}
	switch {
	case m.States&match.CTSNAT != 0:
		add("ct status snat")
	case m.States&match.CTDNAT != 0:
		add("ct status dnat")
	case m.States != 0:
		add("ct state%s", states(m.States, m.InvStates))
	}
	if m.Status != nil {
		add("ct status%s", list(m.Status.Invert, uint32(m.Status.Status), "expected", "seen-reply", "assured", "confirmed"))
	}
	if m.Expire != nil {
		add("ct expiration %s%s", not(m.Expire.Invert), numbers(m.Expire.Min, m.Expire.Max))
	}
	for _, a := range []struct {
		words string
		match *xtables.AddrMatch
	}{{"original saddr", m.OrigSrc}, {"original daddr", m.OrigDst}, {"reply saddr", m.ReplSrc}, {"reply daddr", m.ReplDst}} {
		if a.match != nil {
			add("ct %s %s%s", a.words, not(a.match.Invert), network(a.match))
		}
	}
	for _, r := range []struct {
		words string
		match *match.PortRangeInv
	}{{"original proto-src", m.OrigSrcPort}, {"original proto-dst", m.OrigDstPort}, {"reply proto-src", m.ReplSrcPort},
		{"reply proto-dst", m.ReplDstPort}} {
		if r.match != nil {
			add("ct %s %s%s", r.words, not(r.match.Invert), numbers(r.match.Min, r.match.Max))
		}
	}
	return strings.Join(all, " ")
}

// network is an address with its prefix; a mask that is none is left out.
func network(m *xtables.AddrMatch) string {
	text := string(libc.AppendInetNtop(nil, m.Addr))
	if bits := xtables.MaskBits(m.Mask); bits >= 0 && bits < m.Mask.BitLen() {
		text += "/" + strconv.Itoa(bits)
	}
	return text
}

func (p *program) ranges(m *match.IPRange) string {
	proto := "ip"
	if p.family == netfilter.IPv6 {
		proto = "ip6"
	}
	var all []string
	add := func(word string, r *match.AddrRange) {
		if r != nil {
			text := libc.AppendInetNtop(append(libc.AppendInetNtop(nil, r.Min), '-'), r.Max)
			all = append(all, proto+" "+word+" "+not(r.Invert)+string(text))
		}
	}
	add("saddr", m.Src)
	add("daddr", m.Dst)
	return strings.Join(all, " ")
}

// numbers is a number or a range of them.
func numbers[N uint8 | uint16 | uint32](least, most N) string {
	if least == most {
		return strconv.FormatUint(uint64(least), 10)
	}
	return fmt.Sprintf("%d-%d", least, most)
}

// ports are the ports of a match of a protocol.
func ports(proto string, source, destination xtables.PortRange, notSource, notDestination bool) []string {
	var all []string
	add := func(word string, r xtables.PortRange, invert bool) {
		if !r.IsAny() {
			all = append(all, proto+" "+word+" "+not(invert)+numbers(r.Min, r.Max))
		}
	}
	add("sport", source, notSource)
	add("dport", destination, notDestination)
	return all
}

// sctp says of any port what was given. What is asked about chunks was not compared with the tools.
func sctp(m *match.SCTP) (string, finding) {
	switch {
	case m.Chunks != nil:
		return "", unknown
	case !m.SrcGiven && !m.DstGiven:
		return "", untranslated
	}
	var all []string
	if m.SrcGiven {
		all = append(all, "sctp sport "+not(m.InvSrc)+numbers(m.SrcPorts.Min, m.SrcPorts.Max))
	}
	if m.DstGiven {
		all = append(all, "sctp dport "+not(m.InvDst)+numbers(m.DstPorts.Min, m.DstPorts.Max))
	}
	return strings.Join(all, " "), translated
}

func tcp(m *match.TCP) string {
	all := ports("tcp", m.SrcPorts, m.DstPorts, m.InvSrc, m.InvDst)
	if m.Option != 0 {
		word := "exists"
		if m.InvOption {
			word = "missing"
		}
		all = append(all, fmt.Sprintf("tcp option %d %s", m.Option, word))
	}
	if m.FlagMask != 0 || m.InvFlags {
		sign := "=="
		if m.InvFlags {
			sign = "!="
		}
		all = append(all, tcpFlags(m, sign))
	}
	return strings.Join(all, " ")
}

// tcpFlags is as nft prints a comparison of flags under a mask.
func tcpFlags(m *match.TCP, sign string) string {
	names := []string{"fin", "syn", "rst", "psh", "ack", "urg"}
	comp, mask := strings.TrimSpace(list(false, uint32(m.FlagComp), names...)), strings.TrimSpace(list(false, uint32(m.FlagMask), names...))
	if comp == "" {
		comp = "0x0"
	}
	if sign == "==" {
		return fmt.Sprintf("tcp flags %s / %s", comp, mask)
	}
	return fmt.Sprintf("tcp flags != %s / %s", comp, mask)
}

// multiport is a set unless it is one port or range. Of --ports it names the ends of ranges alone, and forgets an inversion.
func (p *program) multiport(m *match.Multiport) string {
	proto := string(libc.AppendProtocol(nil, p.rule.Proto.Number))
	if m.Side == match.MultiportEither {
		var all []string
		add := func(n uint16) { all = append(all, fmt.Sprintf("0-65535 . %d, %d . 0-65535", n, n)) }
		for _, r := range m.Ports {
			if add(r.Min); r.Max != r.Min {
				add(r.Max)
			}
		}
		return fmt.Sprintf("%s sport . %s dport { %s }", proto, proto, strings.Join(all, ", "))
	}
	word := [...]string{match.MultiportSource: "sport", match.MultiportDest: "dport"}[m.Side]
	var all []string
	for _, r := range m.Ports {
		all = append(all, numbers(r.Min, r.Max))
	}
	text := strings.Join(all, ", ")
	if len(all) > 1 {
		text = "{ " + text + " }"
	}
	return proto + " " + word + " " + not(m.Invert) + text
}

// icmpNames are the types that have a translation, if all codes are meant.
var icmpNames = [2]map[uint8]string{
	{0: "echo-reply", 3: "destination-unreachable", 4: "source-quench", 5: "redirect", 8: "echo-request", 9: "router-advertisement",
		10: "router-solicitation", 11: "time-exceeded", 12: "parameter-problem", 13: "timestamp-request", 14: "timestamp-reply",
		17: "address-mask-request", 18: "address-mask-reply"},
	{1: "destination-unreachable", 2: "packet-too-big", 3: "time-exceeded", 4: "parameter-problem", 128: "echo-request", 129: "echo-reply",
		133: "nd-router-solicit", 134: "nd-router-advert", 135: "nd-neighbor-solicit", 136: "nd-neighbor-advert", 137: "nd-redirect"},
}

func icmp(m *match.ICMP) (string, finding) {
	word, names := "icmp", icmpNames[0]
	if m.V6 {
		word, names = "icmpv6", icmpNames[1]
	}
	if m.Any {
		return "ip protocol icmp", translated
	}
	name, known := names[m.Type]
	if !known || m.CodeMin != 0 || m.CodeMax != 255 {
		return "", untranslated
	}
	return word + " type " + not(m.Invert) + name, translated
}

// addrtype has the source alone if both are asked for, with the inversion of either, and no name for the last types.
func addrtype(m *match.Addrtype) string {
	side, types, invert := "daddr", m.DstTypes, m.InvDst
	if m.SrcTypes != 0 {
		side, types, invert = "saddr", m.SrcTypes, m.InvSrc || m.InvDst
	}
	text := "fib " + side
	if m.LimitIfaceIn {
		text += " . iif"
	}
	if m.LimitIfaceOut {
		text += " . oif"
	}
	text += " type"
	if invert {
		text += " !="
	}
	names := strings.TrimSpace(list(false, uint32(types), "unspec", "unicast", "local", "broadcast", "anycast", "multicast", "blackhole",
		"unreachable", "prohibit"))
	switch {
	case strings.Contains(names, ","):
		text += " { " + strings.ReplaceAll(names, ",", ", ") + " }"
	case names != "":
		text += " " + names
	}
	return text
}

func statistic(m *match.Statistic) string {
	if m.Mode == match.StatisticRandom {
		sign := "<"
		if m.Invert {
			sign = ">="
		}
		return fmt.Sprintf("meta random & 2147483647 %s %d", sign, m.Probability)
	}
	return fmt.Sprintf("numgen inc mod %d %s%d", m.Every, not(m.Invert), m.Packet)
}

func connmark(m *match.Connmark) string {
	if m.Mask == 0xffffffff {
		return fmt.Sprintf("ct mark %s%#x", not(m.Invert), m.Value)
	}
	sign := "=="
	if m.Invert {
		sign = "!="
	}
	return fmt.Sprintf("ct mark and %#x %s %#x", m.Mask, sign, m.Value)
}

// targetWords are the translation of a target.
func (p *program) targetWords(e any) (string, finding) {
	switch e := e.(type) {
	case *target.Masquerade:
		return "masquerade" + nat(&e.Range), translated
	case *target.Redirect:
		return "redirect" + nat(&e.Range), translated
	case *target.SNAT:
		return "snat" + nat(&e.Range), translated
	case *target.DNAT:
		if e.Range.Shifted || e.BasePort != 0 {
			return "", untranslated
		}
		return "dnat" + nat(&e.Range), translated
	case *target.Reject:
		return p.reject(e.With), translated
	case *target.Mark:
		return "meta mark set " + operation("mark", e.Value, e.Mask, "mark and %#x xor %#x"), translated
	case *target.Connmark:
		return changedConnmark(e)
	case *target.Log:
		return logged(e), translated
	case *target.Notrack:
		return "notrack", translated
	case *target.CT:
		if e.Notrack {
			return "notrack", translated
		}
		return "", untranslated
	case *target.TCPMSS:
		if e.ClampToPMTU {
			return "tcp option maxseg size set rt mtu", translated
		}
		return fmt.Sprintf("tcp option maxseg size set %d", e.MSS), translated
	case *target.NFQUEUE:
		return queue(e), translated
	case *target.Set, *target.Checksum, *target.TPROXY, *target.Netmap:
		return "", untranslated
	}
	return "", unknown
}
