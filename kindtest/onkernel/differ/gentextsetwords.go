package differ

import (
	"fmt"
	"strings"
)

// option is an option of create with a value, as the help has it: "timeout VALUE".
func (g *setsGen) option(form, family string) string {
	return strings.Join(g.optionWords(form, family), " ")
}

// optionWords is an option with its value.
func (g *setsGen) optionWords(form, family string) []string {
	word, value, _ := strings.Cut(form, " ")
	if strings.Contains(word, "|") {
		word = g.oneOf(strings.Split(word, "|")...) // "-4|-6", "before|after NAME"
	}
	if value == "" {
		return []string{word}
	}
	return []string{word, g.value(word, value, family)}
}

// value is a value of an option; most fit.
func (g *setsGen) value(word, form, family string) string {
	if g.chance(5) {
		return g.oneOf("", "x", "-1", "1.5", "0x", "08", "+3", " 3", "18446744073709551615", "18446744073709551616", "-18446744073709551615",
			"1e3", "3 ")
	}
	fit, odd := "", ""
	switch word {
	case "hashsize":
		fit, odd = "1 64 65 128 1024 2048 4096 0x100 0100", "0 4294967295 4294967296"
	case "maxelem":
		fit, odd = "3 5 30 100 65536", "0 1 2 4294967296"
	case "netmask":
		fit, odd = "8 16 24 28 30 31", "0 1 32 33 64 112 128 129 255 256"
	case "bitmask":
		fit, odd = "255.0.255.0 255.255.255.255 255.255.255.0", "0.0.0.0 ::1 x 255.255.0.0/16"
		if family == "inet6" {
			fit, odd = "ffff::ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff::", ":: 1.2.3.4"
		}
	case "timeout":
		fit, odd = "0 300 4000 2147483", "2147484 4294967295"
	case "bucketsize":
		fit, odd = "0 1 2 3 4 11 12 13 14 64 255", "256"
	case "size":
		fit, odd = "0 1 3 4 5 8 100 4294967295", "4294967296"
	case "packets", "bytes":
		fit, odd = "0 1 500 4294967296 18446744073709551614 0x10", "18446744073709551615"
	case "skbmark":
		fit, odd = "0x1 0x10/0xff 0x0/0x0 0x0 0xffffffff 0x1/0x0", "0x1ffffffff 0x1/ 0x1/5 0x1/0x 5 0x 0x-1 0x0x3 0X4"
	case "skbprio":
		fit, odd = "1:2 0:0 ffff:ffff 10000:1", "1:10000 0x1:0x2 :1 1: 1 -1:2 1:2:3 g:1"
	case "skbqueue":
		fit, odd = "0 1 65535", "65536"
	case "comment":
		return g.oneOf("c", "c", "two words", "two words", "", `"`, "it's", "\x01", "\xc3\xbc", "\xff", `\`, "#", strings.Repeat("c", 255),
			strings.Repeat("c", 256),
			"a,b", "timeout 5")
	case "before", "after":
		return g.setName()
	}
	if fit != "" {
		if g.chance(20) {
			fit = odd
		}
		return g.oneOf(strings.Fields(fit)...)
	}
	if strings.Contains(form, "|") {
		return g.oneOf(strings.Split(form, "|")...)
	}
	return g.oneOf("0", "1", "2", "100", "4294967295", "4294967296")
}

// rangeOf is the value of "range" of create.
func (g *setsGen) rangeOf(form string) string {
	if strings.Contains(form, "PORT") {
		return g.oneOf("0-100", "0-100", "1-65535", "0-65535", "80", "100-1", "1-65536", "tcp:1-90", "udp:53-80", "ftp-http", "x", "1-",
			"[1]-[90]", "sctp:1-5")
	}
	if g.chance(70) {
		return g.oneOf("10.0.0.0/24", "10.0.0.0/24", "10.0.0.0-10.0.0.99", "10.0.0.99-10.0.0.0", "10.0.0.0/16", "10.0.0.0/23",
			"10.0.0.0-10.0.1.6")
	}
	return g.oneOf("10.0.0.0/15", "0.0.0.0/0", "10.0.0.4/32",
		"10.0.0.4/31", "10.0.0.1", "fd00::/120", "[10.0.0.0]-[10.0.0.9]", "10.0.0.0-10.0.0.47", "10.0.0.0-10.0.0.6", "10.0.0.0/0x18", "x")
}

// part is one part of an element, as the help has it. nets says that the type is one of nets, of which an element may be a large one.
func (g *setsGen) part(form, family string, nets bool) string {
	switch {
	case strings.Contains(form, "PORT"):
		return g.port(family, strings.Contains(form, "PROTO"))
	case strings.Contains(form, "IFACE"):
		return g.iface()
	case strings.Contains(form, "MAC"):
		if g.chance(60) {
			return g.oneOf("1:2:3:4:5:6", "00:11:22:33:44:55")
		}
		return g.oneOf("1:2:3:4:5:6", "1:2:3:4:5:6", "00:11:22:33:44:55", "0A:bb:cC:dd:ee:FF", ":::::", "1:2:3:4:5", "1:2:3:4:5:100",
			"-1:2:3:4:5:6", "x",
			"0x1:2:3:4:5:6", " 1:2:3:4:5:6", "00:00:00:00:00:00", "1:2:3:4:5:6:7", "001:2:3:4:5:6")
	case strings.Contains(form, "MARK"):
		return g.oneOf("1", "0x10")
	case strings.Contains(form, "NAME"):
		return g.oneOf(g.setName(), g.setName(), g.setName(), g.setName(), g.setName()+",before,"+g.setName(), g.setName()+",after,"+g.setName(),
			"a,b,c")
	}
	return g.address(form, family, nets)
}

// address is an address, or a net or a range where one may be.
func (g *setsGen) address(form, family string, nets bool) string {
	if g.chance(4) {
		family = g.oneOf("", "inet6")
	}
	host := func() string { return fmt.Sprintf("10.0.%d.%d", g.r.IntN(2), g.r.IntN(12)) }
	length := g.oneOf("24", "28", "30", "31", "32", "0x1c", "33")
	if nets || g.chance(5) {
		length = g.oneOf("8", "16", "24", "28", "30", "31", "32", "0", "33")
	}
	if family == "inet6" {
		host = func() string { return fmt.Sprintf("fd00::%d:%d", g.r.IntN(2), g.r.IntN(12)) }
		length = g.oneOf("16", "64", "112", "124", "127", "128", "0", "129")
	}
	if g.chance(3) {
		return g.oneOf("255.255.255.255", "255.255.255.254-255.255.255.255", "255.255.255.252/30", "0.0.0.0-0.0.0.3", "0.0.0.0/31", "128.0.0.0/1",
			"127.255.255.255-128.0.0.1", "0.0.0.1-255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::1", "8000::/1")
	}
	switch n := g.r.IntN(100); {
	case n < 70 || n < 78 && strings.HasPrefix(form, "IP") && !strings.ContainsAny(form, "/-"):
		return host()
	case n < 86:
		return host() + "/" + length
	case n < 95:
		return host() + "-" + host()
	case n == 99:
		return g.oneOf("0.0.0.0/0", "10.0.0.0-200.0.0.0", "0.0.0.0-255.255.255.255", "10.0.0.0/12")
	}
	return g.oneOf("0.0.0.0", "::", "::/0", "255.255.255.255", "10.0.0.0-10.0.0.255",
		"["+host()+"]", "["+host()+"]-["+host()+"]", "["+host()+"]/31", "10.1", "0x0a000001", "10.0.0.01", "no.such.host", "1.2.3.4.5", "x",
		"10.0.0.1/", "/24", "10.0.0.1-", "-10.0.0.1", "["+host(), "10.0.0.1/255.255.255.0", "::ffff:10.0.0.1", "fd00::1%lo")
}

// port is a port, a range of ports, a service or a type of ICMP.
func (g *setsGen) port(family string, proto bool) string {
	if g.chance(60) {
		plain := g.oneOf("80", "80", "53", "5-9", "http")
		if proto {
			plain = g.oneOf("", "", "tcp:", "udp:") + plain
		}
		return plain
	}
	plain := g.oneOf("80", "80", "53", "0", "65535", "5-9", "9-5", "65536", "http", "ssh-http", "nope", "[80]", "[5]-[9]", "-1", "0x50", "080",
		"80-")
	if !proto || g.chance(40) {
		return plain
	}
	if g.chance(50) {
		return g.oneOf("tcp:", "udp:", "sctp:", "udplite:", "TCP:", "6:", "17:", "Tcp:") + plain
	}
	icmp := "icmp:"
	if family == "inet6" {
		icmp = "icmpv6:"
	}
	if g.chance(8) {
		icmp = g.oneOf("icmp:", "icmpv6:", "ICMPv6:", "ipv6-icmp:", "58:", "1:")
	}
	return g.oneOf(icmp+"8/0", icmp+"ping", icmp+"echo-request", icmp+"p", icmp+"256/0", icmp+"3", icmp+"1/2/3", icmp+"redirect", icmp+"0/255",
		"gre:0", "gre:1",
		"vrrp:0", "0:0", "99:0", "300:0", "nope:0", "all:0", "ip:0", ":80", "esp:0", "esp:00")
}

// iface is the name of a device.
func (g *setsGen) iface() string {
	return g.oneOf("", "", "", "", "", "physdev:", "physdev:", "physdev:physdev:") +
		g.oneOf("eth0", "eth0", "eth1", "eth12", "eth", "e", "lo", "wlan0", "e h", ",", "é", strings.Repeat("i", 15), strings.Repeat("i", 16),
			"", "eth0/1", "*")
}
