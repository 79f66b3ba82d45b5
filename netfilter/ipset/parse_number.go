package ipset

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/internal/libc"
)

// number reads a number of a range, and says how bad it is if it is none.
func (r *run) number(text string, low, high uint64, how severity) (uint64, error) {
	n, mistake := parseNumber(text, low, high)
	if mistake != "" {
		r.note(how, "Syntax error: %s", mistake)
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
func parseNumberOf(high uint64, set func(m *message, n uint64)) func(*run, option, string) error {
	return func(r *run, o option, word string) error {
		n, err := r.number(word, 0, high, sevError)
		if err == nil {
			set(&r.message, n)
			r.message.set(o)
		}
		return err
	}
}

// parseFlag sets a flag. That it is set does not show in the message's options, but that some flag is.
func (r *run) parseFlag(o option, _ string) error {
	f := &r.message.flags
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
	r.message.set(optFlags)
	return nil
}

// ignore takes an option of older versions, of which the tool speaks once.
func (r *run) ignore(o option, word string) error {
	if m := &r.message; !m.ignored.has(o) {
		m.ignored |= optionsOf(o)
		name := map[option]string{optProbes: "probes", optResize: "resize", optGC: "gc", optIP: "from", optIPTo: "to"}[o]
		r.note(sevWarning, "Option '--%s %s' is ignored. Please upgrade your syntax.", name, word)
	}
	return nil
}

func (r *run) parseFamily(o option, word string) error {
	m := &r.message
	switch word {
	case "inet", "ipv4", "-4":
		m.family = inet
	case "inet6", "ipv6", "-6":
		m.family = inet6
	case "any", "unspec":
		m.family = 0
	default:
		return r.syntaxError("unknown inet family %s", word)
	}
	m.set(o)
	m.ignored &^= optionsOf(o)
	return nil
}

// familyOr4 is the family of the message, which is IPv4 from now on if there was none.
func (r *run) familyOr4() Family {
	m := &r.message
	if m.family == 0 {
		m.family = inet
		m.set(optFamily)
	}
	return m.family
}

func (r *run) parseNetMask(o option, word string) error {
	if r.message.has(optBitMask) {
		return r.syntaxError("bitmask and netmask are mutually exclusive, provide only one")
	}
	bits := r.familyOr4().bits()
	n, err := r.length(word, 1, bits)
	if err != nil {
		return r.syntaxError("netmask is out of the inclusive range of 1-%d", bits)
	}
	r.message.netMask = n
	r.message.set(o)
	return nil
}

// length reads the length of a prefix.
func (r *run) length(word string, low, high int) (uint8, error) {
	n, err := r.number(word, 0, math.MaxUint8, sevError)
	if err == nil && (n < uint64(low) || n > uint64(high)) {
		err = r.syntaxError("'%s' is out of range %d-%d", word, low, high)
	}
	return uint8(n), err
}

func (r *run) parseBitMask(o option, word string) error {
	if r.message.has(optNetMask) {
		return r.syntaxError("bitmask and netmask are mutually exclusive, provide only one")
	}
	family := r.familyOr4()
	if r.parseAddress(o, word, family) != nil {
		return r.syntaxError("bitmask is not valid for family = %s", map[Family]string{inet: "inet", inet6: "inet6"}[family])
	}
	return nil
}

// maxComment is the length of an entry's comment.
const maxComment = 255

func (r *run) parseComment(o option, word string) error {
	switch {
	case strings.Contains(word, `"`):
		return r.syntaxError(`" character is not permitted in comments`)
	case len(word) > maxComment:
		return r.syntaxError("Comment is longer than the maximum allowed %d characters", maxComment)
	}
	r.message.comment = word
	r.message.set(o)
	return nil
}

func (r *run) parseSKBMark(o option, word string) error {
	digits, ok := strings.CutPrefix(word, "0x")
	mark, rest, isNumber := libc.ScanHex([]byte(digits))
	if !ok || !isNumber {
		return r.syntaxError("Invalid skbmark format, it should be:  MARK/MASK or MARK (see manpage)")
	}
	b := &r.message.skb
	b.mark, b.mask = mark, math.MaxUint32
	if digits, ok = strings.CutPrefix(string(rest), "/0x"); ok {
		if mask, _, isNumber := libc.ScanHex([]byte(digits)); isNumber {
			b.mask = mask
		}
	}
	r.message.set(o)
	return nil
}

func (r *run) parseSKBPrio(o option, word string) error {
	major, rest, ok := libc.ScanHex([]byte(word))
	if ok {
		ok = len(rest) > 0 && rest[0] == ':'
	}
	var minor uint32
	if ok {
		minor, _, ok = libc.ScanHex(rest[1:])
	}
	if !ok {
		return r.syntaxError("Invalid skbprio format, it should be:MAJOR:MINOR (see manpage)")
	}
	r.message.skb.major, r.message.skb.minor = uint16(major), uint16(minor)
	r.message.set(o)
	return nil
}

// maxIface is the length of the name of a device.
const maxIface = 15

func (r *run) parseIface(o option, word string) error {
	m := &r.message
	name, physdev := strings.CutPrefix(word, physdevPrefix)
	if physdev {
		m.flags.physdev = true
		m.set(optFlags)
	}
	if len(name) > maxIface {
		return r.syntaxError("interface name '%s' is longer than %d characters", name, maxIface)
	}
	m.iface = name
	m.set(o)
	return nil
}

// parseMAC reads six hexadecimal numbers, any of which may be left out.
func (r *run) parseMAC(o option, word string) error {
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
		return r.syntaxError("cannot parse '%s' as ethernet address", word)
	}
	r.message.mac = mac
	r.message.set(o)
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
