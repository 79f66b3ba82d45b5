package match

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// IPv6Headers is a set of the headers that a packet has behind the IPv6 header.
type IPv6Headers uint8

// The headers, with the kernel's values.
const (
	IPv6Protocol     IPv6Headers = 1 << iota // the one of a protocol above
	IPv6NoNextHeader                         // there is nothing
	IPv6ESP
	IPv6AH
	IPv6Fragment
	IPv6Route
	IPv6DestinationOptions
	IPv6HopByHop
)

// IPv6Header is -m ipv6header (IPv6 only): the headers that the packet has.
type IPv6Header struct {
	Headers IPv6Headers
	Soft    bool // the packet may have other headers too
	Invert  bool
}

// ipv6HeaderNames are the headers from bit 7 on, with the names that are printed and taken, and their numbers.
var ipv6HeaderNames = [...]struct {
	name, short string
	number      uint8
	header      IPv6Headers
}{
	{"hop-by-hop", "hop", 0, IPv6HopByHop}, {"ipv6-opts", "dst", 60, IPv6DestinationOptions}, {"ipv6-route", "route", 43, IPv6Route},
	{"ipv6-frag", "frag", 44, IPv6Fragment}, {"ah", "auth", 51, IPv6AH}, {"esp", "esp", 50, IPv6ESP},
	{"ipv6-nonxt", "none", 59, IPv6NoNextHeader},
	{"protocol", "prot", 255, IPv6Protocol},
}

// Name is "ipv6header".
func (*IPv6Header) Name() string { return "ipv6header" }

func (m *IPv6Header) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = m.Headers.append(append(xtables.AppendOption(dst, "--header", m.Invert), ' '))
	return xtables.AppendFlags(dst, " --", xtables.WordIf("soft", m.Soft))
}

func (m *IPv6Header) AppendList(dst []byte, style xtables.ListStyle) []byte {
	dst = append(append(dst, " ipv6header flags:"...), xtables.Bang(m.Invert)...)
	if style.Numeric {
		dst = fmt.Appendf(dst, "0x%02X", uint8(m.Headers))
	} else {
		dst = m.Headers.append(dst)
	}
	return xtables.AppendFlags(dst, " ", xtables.WordIf("soft", m.Soft))
}

func (h IPv6Headers) append(dst []byte) []byte {
	between := ""
	for _, n := range ipv6HeaderNames {
		if h&n.header != 0 {
			dst = append(append(dst, between...), n.name...)
			between = ","
		}
	}
	return dst
}

var ipv6headerExtension = &xtables.Extension{
	Name:     "ipv6header",
	OnlyIn:   netfilter.IPv6,
	Options:  []xtables.Option{{Name: "header", Invert: true, Mandatory: true}, {Name: "soft", Flag: true}},
	NewMatch: xtables.MatchOf(xtables.ValueParser[IPv6Header]{Read: (*IPv6Header).read}),
}

func (m *IPv6Header) read(o *xtables.OptionCall) error {
	if o.Name == "soft" {
		m.Soft = true
		return nil
	}
	m.Invert = o.Invert
	for word := range bytes.FieldsFuncSeq(o.Arg, func(r rune) bool { return r == ',' }) {
		header, err := parseIPv6Header(string(word))
		if err != nil {
			return err
		}
		m.Headers |= header
	}
	if m.Headers == 0 {
		return xtables.BadParameter("ip6t_ipv6header: cannot parse header names")
	}
	return nil
}

// parseIPv6Header reads a name, or a number without zeros before it. The tools know the names of /etc/protocols too, as their
// numbers.
func parseIPv6Header(word string) (IPv6Headers, error) {
	if word[0] < '0' || word[0] > '9' {
		if number, ok := libc.ListedProtocol([]byte(word)); ok {
			word = strconv.Itoa(int(number))
		}
	}
	i := slices.IndexFunc(ipv6HeaderNames[:], func(n struct {
		name, short string
		number      uint8
		header      IPv6Headers
	}) bool {
		return word == n.name || word == n.short || word == strconv.Itoa(int(n.number))
	})
	if i < 0 {
		return 0, xtables.BadParameter("unknown header `%s' specified", word)
	}
	return ipv6HeaderNames[i].header, nil
}
