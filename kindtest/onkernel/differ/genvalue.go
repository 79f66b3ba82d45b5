package differ

import (
	"fmt"
	"math"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// valueKind draws a value of an option: most are right, some are at an edge, and some are wrong.
type valueKind func(g *textGen) string

// wordOf draws one of some values.
func wordOf(texts ...string) valueKind {
	return func(g *textGen) string { return g.oneOf(texts...) }
}

// numberTo draws numbers up to a limit, in every way in which people and programs write them.
func numberTo(limit uint64) valueKind {
	return func(g *textGen) string {
		switch g.r.IntN(10) {
		case 0:
			return fmt.Sprint(g.r.Uint64N(limit/2 + 1))
		case 1:
			return fmt.Sprintf(g.oneOf("%#x", "%#X", "%#o", "0x%08x", "0%d", "+%d", "%x"), g.r.Uint64N(min(limit, 300)+1))
		case 2:
			return fmt.Sprint(limit - g.r.Uint64N(2))
		case 3:
			return g.oneOf(fmt.Sprint(limit+1), g.oneOf(oddNumbers...))
		}
		return fmt.Sprint(g.r.Uint64N(min(limit, 70) + 1))
	}
}

// oddNumbers are at the edges of other types than the option's, or are not whole numbers.
var oddNumbers = []string{
	"-1", "-0", "0x", "0xg", "08", "5x", " 5", "5 ", "5.0", "5.9", "1e3", "", "255", "256", "65535", "65536", "2147483647",
	"2147483648", "4294967295",
	"4294967296", "4294967301", "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616",
	"99999999999999999999999", "-2147483648", "-4294967295", "-18446744073709551615", "--5", "+", "-", "0x1.8", "５",
}

// spanOf draws ranges of values: whole ones, open ones, and those that stand upside down.
func spanOf(kind valueKind, separator string) valueKind {
	return func(g *textGen) string {
		switch g.r.IntN(18) {
		case 0:
			return kind(g) + separator
		case 1:
			return separator + kind(g)
		case 2:
			return kind(g) + separator + kind(g) + separator + kind(g)
		case 3:
			return separator
		case 4:
			return "0" + separator + kind(g)
		case 5:
			return kind(g) + separator + "0"
		case 6:
			end := kind(g)
			return end + separator + end
		case 7, 8, 9, 10:
			return kind(g) + separator + kind(g)
		}
		return kind(g)
	}
}

// listOf draws one or a few values behind one another, some of them twice or empty.
func listOf(kind valueKind, separator string, most int) valueKind {
	return func(g *textGen) string {
		n := 1 + g.r.IntN(3)
		if g.chance(4) {
			n = most + g.r.IntN(2)
		}
		parts := make([]string, n)
		for i := range parts {
			parts[i] = kind(g)
			if i > 0 && g.chance(8) {
				parts[i] = g.oneOf("", parts[0])
			}
		}
		return strings.Join(parts, separator)
	}
}

// spelled has a value in other letters now and then, or cut short.
func spelled(kind valueKind) valueKind {
	return func(g *textGen) string {
		text := kind(g)
		switch g.r.IntN(16) {
		case 0:
			return strings.ToUpper(text)
		case 1:
			return strings.ToLower(text)
		case 2:
			if len(text) > 1 {
				return text[:1+g.r.IntN(len(text)-1)]
			}
		}
		return text
	}
}

// either draws from one of some kinds.
func either(kinds ...valueKind) valueKind {
	return func(g *textGen) string { return kinds[g.r.IntN(len(kinds))](g) }
}

// chained draws one value of each kind.
func chained(separator string, kinds ...valueKind) valueKind {
	return func(g *textGen) string {
		parts := make([]string, len(kinds))
		for i, kind := range kinds {
			parts[i] = kind(g)
		}
		return strings.Join(parts, separator)
	}
}

// often draws from the first kind but for some times in a hundred.
func often(kind, seldom valueKind, percent int) valueKind {
	return func(g *textGen) string {
		if g.chance(percent) {
			return seldom(g)
		}
		return kind(g)
	}
}

// masked draws a value with a mask now and then.
func masked(kind valueKind) valueKind {
	return often(kind, chained("/", kind, kind), 40)
}

var (
	byteNumber  = numberTo(math.MaxUint8)
	shortNumber = numberTo(math.MaxUint16)
	wideNumber  = numberTo(math.MaxUint32)
	longNumber  = numberTo(math.MaxUint64)
	port        = often(shortNumber, wordOf("http", "domain", "ssh", "https", "ftp", "HTTP", "nfs", "nosuch", "http-alt", "ntp",
		"zephyr-srv"), 15)
	mark         = often(wideNumber, wordOf("0x1", "0xff", "0xffffffff", "0x4000"), 40)
	protocolWord = often(wordOf("tcp", "udp", "icmp", "ipv6-icmp", "sctp", "esp", "ah", "6", "17", "all", "dccp", "udplite", "gre",
		"ipcomp"),
		either(byteNumber, wordOf("TCP", "icmpv6", "IP", "any", "ALL", "mh", "ipv6-mh", "ipv6-frag", "hopopt", "ipv6-nonxt",
			"ipv6-route", "mptcp",
			"ospf", "ICMP", "0", "tcp,udp", "255")), 20)
)

// addressWord is an address of the family, and now and then of the other one, or a host.
func addressWord(g *textGen) string {
	v4 := g.w.family == netfilter.IPv4
	if g.chance(4) {
		v4 = !v4
	}
	switch {
	case g.chance(12):
		return g.oneOf(oddAddresses...)
	case v4:
		return g.oneOf("10.1.2.3", "192.168.0.1", "127.0.0.1", "0.0.0.0", "255.255.255.255", "1.2.3.4", "224.0.0.1", "10.0.0.0")
	}
	return g.oneOf("::1", "fd00::1", "2001:db8::5", "::", "ff02::1", "::ffff:1.2.3.4", "fe80::1", "::1.2.3.4", "FD00::A",
		"2001:db8:0:0:1:0:0:1")
}

var oddAddresses = []string{
	"1", "10.1", "10.1.2", "0x7f.1", "010.0.0.1", "256.1.1.1", "1.2.3.4.5", "1.2.3.", "", "localhost", "ip6-localhost",
	"nosuch.invalid", "-host",
	"::1%lo", "fe80::1%1", "[::1]", "1::2::3", ":", ":::", "12345::", "localhost.", "LOCALHOST", "vm", "loopback", "any", "default",
	"1.2.3.4 ",
	" 1.2.3.4", "4294967295", "4294967296", "a b", "*",
}

// network draws an address with a mask or without.
func networkWord(g *textGen) string {
	if g.chance(35) {
		return addressWord(g)
	}
	if g.chance(30) {
		return addressWord(g) + "/" + g.oneOf("255.255.0.0", "255.0.255.0", "0.0.0.0", "255.255.255.255", "ffff::", "ffff:0:ffff::",
			"::", "0xff000000",
			"255", "-1", "x", "", "/", "24/8", "+8", "08", " 8", "129", "33", "1.2.3.4", "::ffff", "0x8", "8.0")
	}
	limit := 32
	if g.w.family == netfilter.IPv6 {
		limit = 128
	}
	return addressWord(g) + "/" + fmt.Sprint(g.r.IntN(limit+1))
}

// oddText draws a text that is legal in few places, or in many where nobody expects it.
func oddText(g *textGen) string {
	if g.chance(25) {
		return strings.Repeat(g.oneOf("n", "é", "x "), []int{2, 14, 15, 16, 28, 29, 30, 31, 32, 60, 63, 64, 65, 127, 128, 200, 255, 256,
			300}[g.r.IntN(19)])
	}
	return g.oneOf("", " ", "a b", " a", "a ", "-", "--", "-x", "!", "!x", `"`, "'", `\`, `a"b`, `a'b`, `a\b`, "é", "\x01", "\x7f",
		"\t", "a\tb", "%s%n", "*",
		"a*", "/", "a/b", "../x", ".", "..", ",", ":", ";", "#", "#x", "$x", "(", "[0:0]", "a=b", "=", "@", "|", "~", "+", "a+", "0",
		"-1", "COMMIT",
		"\xff", "a\nb", "A-b_C.9", "all", "none", "any", "ACCEPT", "DROP", "INPUT")
}

// plainName draws a name that most options of names take.
func plainName(g *textGen) string { return g.oneOf("a", "b", "name", "x1", "A-b_C.9", "web", "n") }

// textWord draws names, now and then odd ones.
var textWord = often(plainName, oddText, 30)

// deviceWord draws names of devices.
func deviceWord(g *textGen) string {
	return g.oneOf("eth0", "eth0", "lo", "eth+", "+", "wlan0.100", "veth-1", "eth 0", "a/b", "", "fifteen-letters", "sixteen--letters",
		"!", "-", "e+x", "++",
		"e\tt", "é", ".", "..", "eth0:1", "*", "a\"b", "fourteen-plus+", "fifteen--plus-+", "\x01", "%d", "0", "eth\n0")
}
