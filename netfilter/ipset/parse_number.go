package ipset

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/internal/libc"
)

// number reads a number of a range, and says how bad it is if it is none.
func (p *parser) number(text string, low, high uint64, how severity) (uint64, error) {
	n, mistake := parseNumber(text, low, high)
	if mistake != "" {
		p.note(how, "Syntax error: %s", mistake)
		return 0, errReported
	}
	return n, nil
}

// parseNumber reads a number as the tool does. mistake is what is wrong with it.
func parseNumber(text string, low, high uint64) (n uint64, mistake string) {
	digits := []byte(strings.TrimLeft(text, " \t\n\v\f\r"))
	negative := len(digits) > 0 && digits[0] == '-'
	if negative {
		digits = digits[1:]
		if len(digits) > 0 && strings.IndexByte("+- \t\n\v\f\r", digits[0]) >= 0 {
			digits = nil
		}
	}
	n, rest, ok := libc.CutNumber(digits)
	if negative && ok {
		n = -n // strtoull counts down from the greatest number
	}
	switch {
	case len(rest) > 0 || text == "" || !ok && n == 0:
		return 0, fmt.Sprintf("'%s' is invalid as number", text)
	case !ok || n < low || n > high:
		return 0, fmt.Sprintf("'%s' is out of range %d-%d", text, low, high)
	}
	return n, ""
}

// parseNumberOf is the parser of a number up to a limit.
func parseNumberOf(high uint64, set func(m *message, n uint64)) func(*parser, option, string) error {
	return func(p *parser, o option, word string) error {
		n, err := p.number(word, 0, high, sevError)
		if err == nil {
			set(&p.message, n)
			p.message.set(o)
		}
		return err
	}
}

// parseFlag sets a flag. That it is set does not show in the message's options, but that some flag is.
func (p *parser) parseFlag(o option, _ string) error {
	f := &p.message.flags
	switch o {
	case optForceAdd:
		f.forceAdd = true
	case optNomatch:
		f.nomatch = true
	case optWildcard:
		f.wildcard = true
	case optCounters:
		f.counters = true
	case optComment:
		f.comment = true
	case optSKBInfo:
		f.skbInfo = true
	}
	p.message.set(optFlags)
	return nil
}

// ignore takes an option of older versions, of which the tool speaks once.
func (p *parser) ignore(o option, word string) error {
	if m := &p.message; !m.ignored.has(o) {
		m.ignored |= optionsOf(o)
		name := map[option]string{optProbes: "probes", optResize: "resize", optGC: "gc", optIP: "from", optIPTo: "to"}[o]
		p.note(sevWarning, "Option '--%s %s' is ignored. Please upgrade your syntax.", name, word)
	}
	return nil
}

func (p *parser) parseFamily(o option, word string) error {
	m := &p.message
	switch word {
	case "inet", "ipv4", "-4":
		m.family = inet
	case "inet6", "ipv6", "-6":
		m.family = inet6
	case "any", "unspec":
		m.family = 0
	default:
		return p.syntaxError("unknown inet family %s", word)
	}
	m.set(o)
	m.ignored &^= optionsOf(o)
	return nil
}

// familyOr4 is the family of the message, which is IPv4 from now on if there was none.
func (p *parser) familyOr4() Family {
	m := &p.message
	if m.family == 0 {
		m.family = inet
		m.set(optFamily)
	}
	return m.family
}

func (p *parser) parseNetMask(o option, word string) error {
	if p.message.has(optBitMask) {
		return p.syntaxError("bitmask and netmask are mutually exclusive, provide only one")
	}
	bits := p.familyOr4().bits()
	n, err := p.length(word, 1, bits)
	if err != nil {
		return p.syntaxError("netmask is out of the inclusive range of 1-%d", bits)
	}
	p.message.netMask = n
	p.message.set(o)
	return nil
}

// length reads the length of a prefix.
func (p *parser) length(word string, low, high int) (uint8, error) {
	n, err := p.number(word, 0, math.MaxUint8, sevError)
	if err == nil && (n < uint64(low) || n > uint64(high)) {
		err = p.syntaxError("'%s' is out of range %d-%d", word, low, high)
	}
	return uint8(n), err
}

func (p *parser) parseBitMask(o option, word string) error {
	if p.message.has(optNetMask) {
		return p.syntaxError("bitmask and netmask are mutually exclusive, provide only one")
	}
	family := p.familyOr4()
	if p.parseAddress(o, word, family) != nil {
		return p.syntaxError("bitmask is not valid for family = %s", map[Family]string{inet: "inet", inet6: "inet6"}[family])
	}
	return nil
}

// maxComment is the length of an entry's comment.
const maxComment = 255

func (p *parser) parseComment(o option, word string) error {
	switch {
	case strings.Contains(word, `"`):
		return p.syntaxError(`" character is not permitted in comments`)
	case len(word) > maxComment:
		return p.syntaxError("Comment is longer than the maximum allowed %d characters", maxComment)
	}
	p.message.comment = word
	p.message.set(o)
	return nil
}

func (p *parser) parseSKBMark(o option, word string) error {
	digits, ok := strings.CutPrefix(word, "0x")
	mark, rest, isNumber := libc.ScanHex([]byte(digits))
	if !ok || !isNumber {
		return p.syntaxError("Invalid skbmark format, it should be:  MARK/MASK or MARK (see manpage)")
	}
	b := &p.message.skb
	b.mark, b.mask = mark, math.MaxUint32
	if digits, ok = strings.CutPrefix(string(rest), "/0x"); ok {
		if mask, _, isNumber := libc.ScanHex([]byte(digits)); isNumber {
			b.mask = mask
		}
	}
	p.message.set(o)
	return nil
}

func (p *parser) parseSKBPrio(o option, word string) error {
	major, rest, ok := libc.ScanHex([]byte(word))
	if ok {
		ok = len(rest) > 0 && rest[0] == ':'
	}
	var minor uint32
	if ok {
		minor, _, ok = libc.ScanHex(rest[1:])
	}
	if !ok {
		return p.syntaxError("Invalid skbprio format, it should be:MAJOR:MINOR (see manpage)")
	}
	p.message.skb.major, p.message.skb.minor = uint16(major), uint16(minor)
	p.message.set(o)
	return nil
}

// maxIface is the length of the name of a device.
const maxIface = 15

func (p *parser) parseIface(o option, word string) error {
	m := &p.message
	name, physdev := strings.CutPrefix(word, physdevPrefix)
	if physdev {
		m.flags.physdev = true
		m.set(optFlags)
	}
	if len(name) > maxIface {
		return p.syntaxError("interface name '%s' is longer than %d characters", name, maxIface)
	}
	m.iface = name
	m.set(o)
	return nil
}

// parseMAC reads six hexadecimal numbers, any of which may be left out.
func (p *parser) parseMAC(o option, word string) error {
	var mac [6]byte
	rest := word
	wrong := len(word) > 3*len(mac)-1 // as much as two digits for each take
	for i := 0; i < len(mac) && !wrong; i++ {
		n, behind := cutHex(rest)
		last := i == len(mac)-1
		wrong = n < 0 || n > math.MaxUint8 || last != (len(behind) == 0) || !last && behind[0] != ':'
		if mac[i] = byte(n); !wrong && !last {
			rest = behind[1:]
		}
	}
	if wrong {
		return p.syntaxError("cannot parse '%s' as ethernet address", word)
	}
	p.message.mac = mac
	p.message.set(o)
	return nil
}

// cutHex reads the hexadecimal number at the beginning of s (strtol), and returns what stands behind it: all of s if there is none.
func cutHex(s string) (n int64, rest string) {
	digits := strings.TrimLeft(s, " \t\n\v\f\r")
	negative := strings.HasPrefix(digits, "-")
	if negative || strings.HasPrefix(digits, "+") {
		digits = digits[1:]
	}
	if len(digits) > 2 && digits[0] == '0' && digits[1]|0x20 == 'x' && libc.Digit(digits[2]) < 16 {
		digits = digits[2:]
	}
	end := strings.IndexFunc(digits, func(c rune) bool { return c > math.MaxInt8 || libc.Digit(byte(c)) > 15 })
	if end < 0 {
		end = len(digits)
	}
	if end == 0 {
		return 0, s
	}
	n, err := strconv.ParseInt(digits[:end], 16, 64)
	if negative {
		n = -n
		if err != nil {
			n = math.MinInt64
		}
	}
	return n, digits[end:]
}
