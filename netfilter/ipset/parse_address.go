package ipset

import (
	"math"
	"net/netip"
	"strings"

	"github.com/chainwalk/chainwalk/internal/libc"
)

// cutAt cuts a text at the first separator. One that begins or ends the text makes the tool see none.
func cutAt(text string, separator byte) (before, after string, found bool) {
	if text == "" || text[0] == separator || text[len(text)-1] == separator {
		return text, "", false
	}
	return strings.Cut(text, string(separator))
}

// isRange says that the text has a dash behind what stands in brackets.
func isRange(text string) bool {
	if strings.HasPrefix(text, "[") {
		i := strings.IndexByte(text, ']')
		if i < 0 {
			return false
		}
		text = text[i:]
	}
	_, _, dash := cutAt(text, '-')
	return dash
}

func isNet(text string) bool {
	_, _, slash := cutAt(text, '/')
	return slash
}

// parseSingleIP reads one address; its whole length may stand behind it.
func (p *parser) parseSingleIP(o option, word string) error {
	family := p.familyOr4()
	_, length, slash := cutAt(word, '/')
	whole := map[Family]string{inet: "32", inet6: "128"}[family]
	if isRange(word) || slash && length != whole {
		return p.syntaxError("plain IP address must be supplied: %s", word)
	}
	return p.parseAddress(o, word, family)
}

func (p *parser) parseNet(o option, word string) error {
	family := p.familyOr4()
	if !isNet(word) || isRange(word) {
		return p.syntaxError("IP/netblock must be supplied: %s", word)
	}
	return p.parseAddress(o, word, family)
}

func (p *parser) parseNetOrRange(o option, word string) error {
	if !isRange(word) && !isNet(word) {
		return p.syntaxError("IP/cidr or IP-IP range must be specified: %s", word)
	}
	return p.parseAddress(o, word, p.familyOr4())
}

// parseIP reads an address, a net or a range; of IPv6 an address.
func (p *parser) parseIP(o option, word string) error {
	if family := p.familyOr4(); family == inet {
		return p.parseAddress(o, word, family)
	}
	return p.parseSingleIP(o, word)
}

// parseIPOrNet reads an address, a net or a range; of IPv6 no range.
func (p *parser) parseIPOrNet(o option, word string) error {
	family := p.familyOr4()
	if family == inet6 && isRange(word) {
		return p.syntaxError("IP address or IP/cidr must be specified: %s", word)
	}
	return p.parseAddress(o, word, family)
}

// parseAddress reads an address, which may be a net or a range. Names are not looked up.
func (p *parser) parseAddress(o option, word string, family Family) error {
	length, end := optCIDR2, optIP2To
	if o == optIP {
		length, end = optCIDR, optIPTo
	}
	var host, last string
	ranged := false
	if before, text, slash := cutAt(word, '/'); slash {
		n, err := p.length(text, 0, family.bits())
		if err != nil {
			return err
		}
		host = before
		p.setAddress(length, netip.Addr{}, n)
	} else {
		var err error
		if host, last, ranged, err = p.cutRange(word); err != nil {
			return err
		}
	}
	if err := p.resolve(o, host, family); err != nil || !ranged {
		return err
	}
	return p.resolve(end, last, family)
}

// cutRange cuts a range into its ends. Either may stand in brackets.
func (p *parser) cutRange(word string) (first, last string, ranged bool, err error) {
	if !strings.HasPrefix(word, "[") {
		first, last, ranged = cutAt(word, '-')
		return first, last, ranged, nil
	}
	i := strings.IndexByte(word, ']')
	if i < 0 {
		return word, "", false, p.syntaxError("cannot find closing escape character ']' in %s", word)
	}
	first, last = word[:i+1], word[i+1:]
	if last == "" {
		return first, "", false, nil
	}
	if last[0] != '-' {
		return first, "", false, p.syntaxError("range separator expected after '%s'", first)
	}
	return first, last[1:], true, nil
}

// unescape takes the brackets away.
func (p *parser) unescape(text string) (string, error) {
	inner, ok := strings.CutPrefix(text, "[")
	if !ok {
		return text, nil
	}
	if inner, ok = strings.CutSuffix(inner, "]"); !ok {
		return "", p.syntaxError("cannot find closing escape character ']' in %s", text)
	}
	return inner, nil
}

// resolve sets an address. A name is looked up as on a host without a resolver.
func (p *parser) resolve(o option, text string, family Family) error {
	text, err := p.unescape(text)
	if err != nil {
		return err
	}
	a, ok := libc.GetHostByName(text, family.bits())
	if !ok {
		return p.syntaxError("cannot parse %s: resolving to IPv%d address failed", text, family)
	}
	p.setAddress(o, a, 0)
	return nil
}

// setAddress sets an address, or the length of a net.
func (p *parser) setAddress(o option, a netip.Addr, length uint8) {
	m := &p.message
	switch o {
	case optIP:
		m.addr = a
	case optIPTo:
		m.addrTo = a
	case optIP2:
		m.addr2 = a
	case optIP2To:
		m.addr2To = a
	case optBitMask:
		m.bitMask = a
	case optCIDR:
		m.cidr = length
	case optCIDR2:
		m.cidr2 = length
		// The tool keeps both in one place: the length behind a bitmask changes an initval that stands before it.
		m.initVal = m.initVal&^math.MaxUint8 | uint32(length)
	}
	m.set(o)
}
