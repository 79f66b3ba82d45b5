package differ

import (
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// protoWord is how -p names a protocol of the generator.
func protoWord(proto string, f netfilter.Family) string {
	if proto == "icmp" && f == netfilter.IPv6 {
		return "ipv6-icmp"
	}
	return proto
}

func (g *gen) ports() string {
	return g.not(g.oneOf("--dport ", "--dport ", "--sport ")) +
		g.oneOf("80", "80", "443", "53", "8080", "1:1000", "40001", "40001:40002", "1000:")
}

// limits are the options of -m ttl and -m hl.
func (g *gen) limits(name string) string {
	if g.chance(40) {
		return g.not("--"+name+"-eq ") + g.oneOf("64", "63", "5", "1")
	}
	return "--" + name + g.oneOf("-lt ", "-gt ") + g.oneOf("64", "63", "62", "5")
}

// hops are the options of -j TTL and -j HL.
func (g *gen) hops(name string) string {
	return "--" + name + g.oneOf("-set 0", "-set 1", "-set 2", "-set 64", "-set 255", "-inc 1", "-inc 200", "-dec 1", "-dec 1", "-dec 62",
		"-dec 255")
}

func (g *gen) markMask() string {
	return g.oneOf("0x1", "0x1/0x1", "0x1/0x1", "0x2/0x2", "0x4000/0x4000", "0x0/0x3", "0x3/0xff", "0x0", routedWord+"/"+routedWord)
}

// network is an address or a network of the lab.
func (g *gen) network() string {
	if g.chance(50) {
		return g.w.networks[g.r.IntN(len(g.w.networks))].String()
	}
	return g.oneAddr(g.w.clients, g.w.servers, g.w.services, g.w.node)
}

// endpoint is where DNAT may lead; source is what SNAT may make.
func (g *gen) endpoint() string {
	return g.oneAddr(g.w.servers, g.w.servers, g.w.clients, g.w.node[:2])
}

func (g *gen) source() string { return g.oneAddr(g.w.node[:2], g.w.servers, g.w.services) }

func (g *gen) withPort(addr, port string) string {
	if strings.Contains(addr, ":") {
		return "[" + addr + "]:" + port
	}
	return addr + ":" + port
}

// set is the name of a set and the sides of the packet that are looked up.
func (g *gen) set() string {
	g.usesSets = true
	if g.w.family == netfilter.IPv4 && g.chance(20) {
		return g.oneOf("cwbits src", "cwbits dst", "cwmac src,src", "cwmac src,dst", "cwmac dst,src", "cwmac dst,dst")
	}
	if g.chance(15) {
		return "cwiface " + g.oneOf("src,src", "src,dst", "dst,src", "dst,dst")
	}
	return g.oneOf("cwip src", "cwip dst", "cwipport dst,dst", "cwipport src,src", "cwnet src", "cwnet dst",
		"cwipportip dst,dst,src", "cwipportnet src,dst,dst", "cwnetport dst,dst", "cwport dst", "cwport src")
}

// prefixes are the options of -j SNPT and -j DNPT. Checksums stay right only where the address has the first prefix and both are of one
// length.
func (g *gen) prefixes() string {
	length := g.oneOf("/64", "/64", "/48")
	from := g.oneOf("fd78:1::", "fd78:2::", "fd98:1::", "fd98:2::", "fd98::")
	to := g.oneOf("fd78:1::", "fd78:2::", "fd98:1::", "fd98:2::")
	if g.chance(15) {
		return "--src-pfx fd98::/16 --dst-pfx " + to + length
	}
	return "--src-pfx " + from + length + " --dst-pfx " + to + length
}

func (g *gen) account() string {
	g.usesAccounts = true
	return g.oneOf(accounts...)
}

var accounts = []string{"cw-one", "cw-two"}
