package ipset

import (
	"fmt"
	"math"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/internal/icmp"
	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
)

// element is an element as it is given: ranges stand for many keys.
type element struct {
	addr, addr2 addrSpan
	proto       uint8
	port, last  uint16
	ports       bool // a range was given
	set         string
}

// addrSpan is an address, a net or a range.
type addrSpan struct {
	text     string     // of the address as it was given, "" if there is none
	given    netip.Addr // before a length cuts it
	min, max netip.Addr
	bits     uint8
	ranged   bool // "ADDRESS-ADDRESS"
	cidr     bool // "ADDRESS/LENGTH"
}

// Words for the number of separators in an element.
var separatorWords = [...]struct{ have, want string }{{"Elem separator", "none"}, {"Two elem separators", "one"}, {"Three elem separators", "two"}}

// parseElement reads an element of the set for a command.
func (s *Set) parseElement(command, text string) (element, error) {
	var e element
	if s.kind == listSet {
		if len(text) > MaxName {
			return e, errNameLong(text)
		}
		if _, _, ok := cutAt(text, ','); ok {
			return e, errorf("you must specify elements as setname,[before|after],setname")
		}
		e.set = text
		return e, nil
	}
	words := splitElement(text)
	if have, want := len(words), len(s.kind.parts); have > want {
		w := separatorWords[min(want-1, 2)]
		return e, errorf("Syntax error: %s in %s, but settype %s supports %s.", w.have, text, s.kind.name, w.want)
	} else if have < want {
		return e, errorf("Syntax error: %s element is missing from %s.", [...]string{"", "Second", "Third"}[have], text)
	}
	for i, part := range s.kind.parts {
		var err error
		switch {
		case part == partPort:
			err = e.parsePort(command, words[i], s.options.family)
		case i == 0:
			e.addr, err = parseSpan(words[i], s.options.family, part == partNet, true)
		default:
			e.addr2, err = parseSpan(words[i], s.options.family, part == partNet, part == partNet)
		}
		if err != nil {
			return e, err
		}
	}
	return e, nil
}

// cutAt cuts a text at the first separator. One that begins or ends the text makes the tool see none.
func cutAt(text string, separator byte) (before, after string, found bool) {
	if text == "" || text[0] == separator || text[len(text)-1] == separator {
		return text, "", false
	}
	return strings.Cut(text, string(separator))
}

// splitElement cuts an element into its parts.
func splitElement(text string) []string {
	var parts []string
	for {
		part, rest, found := cutAt(text, ',')
		parts = append(parts, part)
		if !found {
			return parts
		}
		text = rest
	}
}

func errNameLong(name string) error {
	return errorf("Syntax error: setname '%s' is longer than %d characters", name, MaxName)
}

// parseNumber reads a number as the tool does.
func parseNumber(text string, low, high uint64) (uint64, error) {
	digits, negative := strings.CutPrefix(text, "-")
	n, rest, ok := libc.CutNumber([]byte(digits))
	if negative {
		n = -n // strtoull counts down from the greatest number
	}
	switch {
	case len(rest) > 0 || text == "" || !ok && n == 0:
		return 0, errorf("Syntax error: '%s' is invalid as number", text)
	case !ok || n < low || n > high:
		return 0, errorf("Syntax error: '%s' is out of range %d-%d", text, low, high)
	}
	return n, nil
}

// parseSpan reads an address. Where a net is asked for, or many addresses are taken, it may be "ADDRESS/LENGTH",
// and with IPv4 "ADDRESS-ADDRESS".
func parseSpan(text string, f Family, net, many bool) (addrSpan, error) {
	width := f.bits()
	host, length, slash := cutAt(text, '/')
	first, last, dash := cutAt(text, '-')
	plainOnly := !many || !net && f == IPv6
	switch {
	case plainOnly && (dash || slash && length != strconv.Itoa(width)):
		return addrSpan{}, errorf("Syntax error: plain IP address must be supplied: %s", text)
	case dash && f == IPv6:
		return addrSpan{}, errorf("Syntax error: IP address or IP/cidr must be specified: %s", text)
	case slash:
		n, err := parseNumber(length, 0, math.MaxUint8)
		if err == nil {
			n, err = parseNumber(length, 0, uint64(width))
		}
		if err != nil {
			return addrSpan{}, err
		}
		a, err := parseAddr(host, f)
		if err != nil {
			return addrSpan{}, err
		}
		p := netip.PrefixFrom(a, int(n)).Masked()
		return addrSpan{text: host, given: a, min: p.Addr(), max: lastAddr(p), bits: uint8(n), cidr: true}, nil
	case dash:
		a, err := parseAddr(first, f)
		if err != nil {
			return addrSpan{}, err
		}
		b, err := parseAddr(last, f)
		if err == nil && b.Less(a) {
			a, b = b, a
		}
		return addrSpan{text: text, given: a, min: a, max: b, bits: uint8(width), ranged: true}, err
	}
	a, err := parseAddr(text, f)
	return addrSpan{text: text, given: a, min: a, max: a, bits: uint8(width)}, err
}

// parseAddr reads an address, which may stand in brackets.
func parseAddr(text string, f Family) (netip.Addr, error) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); !ok {
			return netip.Addr{}, errorf("Syntax error: cannot find closing escape character ']' in %s", text)
		}
		text = inner
	}
	a, err := libc.GetAddrInfo([]byte(text), f.bits())
	if err != nil {
		return a, errorf("Syntax error: cannot parse %s: resolving to IPv%d address failed", text, f)
	}
	return a, nil
}

// lastAddr is the last address of a prefix.
func lastAddr(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < 8*len(b); i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// parsePort reads "[PROTO:]PORT[-PORT]".
func (e *element) parsePort(command, text string, f Family) error {
	e.proto = libc.ProtoTCP
	protoName, port, colon := cutAt(text, ':')
	if !colon {
		protoName, port = "tcp", text
	} else {
		n, ok := libc.Protocol(libc.Lower([]byte(protoName)))
		switch {
		case !ok:
			return errorf("Syntax error: cannot parse '%s' as a protocol", protoName)
		case n == 0:
			return errorf("Invalid protocol specified")
		}
		e.proto = n
	}
	if f == 0 && e.proto != libc.ProtoTCP && e.proto != libc.ProtoUDP {
		// bitmap:port, which does not keep the protocol.
		return errorf("Syntax error: Only protocols TCP and UDP are valid")
	}
	switch e.proto {
	case libc.ProtoTCP, libc.ProtoUDP, libc.ProtoSCTP, libc.ProtoUDPLite:
		return e.parsePorts(port, libc.ProtocolName(e.proto))
	case libc.ProtoICMP:
		if f == IPv6 {
			return errorf("Syntax error: Protocol ICMP can be used with family inet only\nInvalid %s command: missing setname", command)
		}
		return e.parseICMP(port, icmp.V4Names, "ICMP")
	case libc.ProtoICMPv6:
		if f == IPv4 {
			return errorf("Syntax error: Protocol ICMPv6 can be used with family inet6 only\nInvalid %s command: missing setname", command)
		}
		return e.parseICMP(port, icmp.V6Names, "ICMPv6")
	}
	if n, err := parseNumber(port, 0, 65535); err != nil || n != 0 {
		return errorf("Syntax error: Protocol %s can be used with pseudo port value 0 only.", protoName)
	}
	return nil
}

func (e *element) parsePorts(text, proto string) error {
	first, last, dash := cutAt(text, '-')
	var end uint16
	var err error
	if dash {
		// The tool begins with the last one.
		if end, err = parsePort(last, proto); err != nil {
			return err
		}
	}
	if e.port, err = parsePort(first, proto); err != nil {
		return err
	}
	if e.last, e.ports = e.port, dash; dash {
		e.last = end
	}
	if e.last < e.port {
		e.port, e.last = e.last, e.port
	}
	return nil
}

func parsePort(text, proto string) (uint16, error) {
	n, err := parseNumber(text, 0, 65535)
	if err == nil {
		return uint16(n), nil
	}
	number, _ := libc.Protocol([]byte(proto))
	if p, ok := libc.Service([]byte(text), number); ok {
		return p, nil
	}
	return 0, errorf("%v\nSyntax error: '%s' is invalid as number\ncannot parse '%s' as a %s port", err, proto, text, proto)
}

// parseICMP reads the beginning of a type's name or "TYPE/CODE".
func (e *element) parseICMP(text string, names []icmp.TypeName, word string) error {
	number, code, slash := cutAt(text, '/')
	if slash {
		t, err := parseNumber(number, 0, 255)
		if err != nil {
			return err
		}
		c, err := parseNumber(code, 0, 255)
		e.port = uint16(t<<8 | c)
		e.last = e.port
		return err
	}
	for _, n := range names {
		if text != "" && strings.HasPrefix(n.Name, strings.ToLower(text)) && oneCode(n, names) {
			e.port = uint16(n.Type)<<8 | uint16(n.CodeMin)
			e.last = e.port
			return nil
		}
	}
	return errorf("Cannot parse %s as an %s type/code.", text, word)
}

// oneCode says that the name stands for one code, and not for a whole type with several codes.
func oneCode(n icmp.TypeName, names []icmp.TypeName) bool {
	if n.CodeMin == n.CodeMax || n.Name == "any" {
		return n.Name != "any"
	}
	for _, other := range names {
		if other.Type == n.Type && other.CodeMin == other.CodeMax {
			return false
		}
	}
	return true
}

// keys calls f for each key that the element stands for, until f returns an error.
func (s *Set) keys(e *element, f func(key) error) error {
	if s.kind == listSet {
		return f(key{set: e.set})
	}
	return s.spans(e.addr, s.kind.parts[0], func(a netip.Addr, n uint8) error {
		return s.spans(e.addr2, s.kind.parts[len(s.kind.parts)-1], func(b netip.Addr, m uint8) error {
			for port := uint32(e.port); port <= uint32(e.last); port++ {
				k := key{addr: a, bits: n, addr2: b, bits2: m, proto: e.proto, port: uint16(port)}
				if s.kind == bitmapPort {
					k.proto = 0
				}
				if err := f(k); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// spans calls f for each address of a span, or for each net that it is made of.
func (s *Set) spans(a addrSpan, of part, f func(netip.Addr, uint8) error) error {
	if !a.min.IsValid() {
		return f(netip.Addr{}, 0)
	}
	width := uint8(a.min.BitLen())
	step := width
	switch {
	case of == partNet && !a.ranged:
		return f(a.min, a.bits)
	case of == partNet:
	case len(s.kind.parts) > 1:
		a = s.cutStart(a)
	case s.options.netMask != 0:
		step = s.options.netMask
	}
	for at := cutAddr(a.min, step); ; {
		n := step
		if of == partNet {
			n = netOfRange(at, a.max)
		}
		bitsOfKey := n
		if of != partNet {
			bitsOfKey = width
		}
		if err := f(at, bitsOfKey); err != nil {
			return err
		}
		end := lastAddr(netip.PrefixFrom(at, int(n)))
		if !end.Less(a.max) {
			return nil
		}
		at = end.Next()
	}
}

// cutStart puts the start of a span under the set's netmask. The kernel does not so with the other addresses of sets that have
// more than addresses (hash_ipport4_uadt): a net begins there, and a range goes on to where it was said to end.
func (s *Set) cutStart(a addrSpan) addrSpan {
	start := s.cut(a.min)
	switch {
	case a.cidr:
		a.max = lastAddr(netip.PrefixFrom(start, int(a.bits)))
	case !a.ranged:
		a.max = start
	}
	a.min = start
	return a
}

// netOfRange is the length of the greatest IPv4 net that begins at an address and does not go beyond another.
func netOfRange(at, last netip.Addr) uint8 {
	a, b := at.As4(), last.As4()
	from := uint32(a[0])<<24 | uint32(a[1])<<16 | uint32(a[2])<<8 | uint32(a[3])
	to := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	free := bits.TrailingZeros32(from)
	for free > 0 && uint64(from)+1<<free-1 > uint64(to) {
		free--
	}
	return uint8(32 - free)
}

// appendKey appends a key as it is listed.
func (s *Set) appendKey(dst []byte, k key) []byte {
	for i, part := range s.kind.parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch {
		case part == partSet:
			dst = append(dst, k.set...)
		case part == partPort && s.kind == bitmapPort:
			dst = strconv.AppendUint(dst, uint64(k.port), 10)
		case part == partPort:
			dst = appendPort(dst, k.proto, k.port)
		case i == 0:
			dst = appendNet(dst, k.addr, k.bits)
		default:
			dst = appendNet(dst, k.addr2, k.bits2)
		}
	}
	return dst
}

func appendNet(dst []byte, a netip.Addr, n uint8) []byte {
	dst = a.AppendTo(dst)
	if int(n) == a.BitLen() {
		return dst
	}
	return strconv.AppendUint(append(dst, '/'), uint64(n), 10)
}

func appendPort(dst []byte, proto uint8, port uint16) []byte {
	dst = append(libc.AppendProtocol(dst, proto), ':')
	names := icmp.V4Names
	switch proto {
	case libc.ProtoICMP:
	case libc.ProtoICMPv6:
		names = icmp.V6Names
	default:
		return strconv.AppendUint(dst, uint64(port), 10)
	}
	for _, n := range names {
		if n.Type == uint8(port>>8) && n.CodeMin == uint8(port) && oneCode(n, names) {
			return append(dst, n.Name...)
		}
	}
	return fmt.Appendf(dst, "%d/%d", port>>8, port&255)
}

// appendElement appends an element as "ipset test" names it.
func (s *Set) appendElement(dst []byte, e *element) []byte {
	if s.kind == listSet {
		return append(dst, e.set...)
	}
	for i, part := range s.kind.parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		span := &e.addr
		if i > 0 {
			span = &e.addr2
		}
		switch {
		case part == partPort:
			if s.kind == bitmapPort {
				dst = strconv.AppendUint(dst, uint64(e.port), 10)
			} else {
				dst = appendPort(dst, e.proto, e.port)
			}
			if e.last != e.port {
				dst = strconv.AppendUint(append(dst, '-'), uint64(e.last), 10)
			}
		case int(span.bits) == span.min.BitLen():
			dst = append(dst, span.text...)
		default:
			dst = strconv.AppendUint(append(append(dst, span.text...), '/'), uint64(span.bits), 10)
		}
	}
	return dst
}
