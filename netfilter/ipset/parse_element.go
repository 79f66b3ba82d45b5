package ipset

import (
	"slices"
	"strconv"

	"github.com/chainwalk/chainwalk/internal/libc"
)

// separatorWords are words for the number of separators in an element.
var separatorWords = [...]struct{ have, want string }{
	{"Elem separator", "none"}, {"Two elem separators", "one"}, {"Three elem separators", "two"},
}

// parseElement reads an element of a set. Where a part has emptied the message, those behind it are read all the same.
func (p *parser) parseElement(kind *setType, text string) error {
	if kind == listSet {
		return p.parseMember(text)
	}
	words := splitElement(text)
	if have, want := len(words), len(kind.parts); have > want {
		w := separatorWords[min(want-1, 2)]
		return p.syntaxError("%s in %s, but settype %s supports %s.", w.have, text, kind.name, w.want)
	} else if have < want && kind != bitmapIPMAC {
		return p.syntaxError("%s element is missing from %s.", [...]string{"", "Second", "Third"}[have], text)
	}
	for i, word := range words {
		if err := p.parsePart(kind, i, word); err != nil {
			return err
		}
	}
	return nil
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

// parsePart reads one part of an element.
func (p *parser) parsePart(kind *setType, i int, word string) error {
	switch kind.parts[i] {
	case partPort:
		if kind == bitmapPort {
			return p.parseTCPOrUDPPort(optPort, word)
		}
		return p.parseProtocolPort(optPort, word)
	case partMAC:
		return p.parseMAC(optMAC, word)
	case partIface:
		return p.parseIface(optIface, word)
	case partNet:
		return p.parseIPOrNet([]option{optIP, optIP2, optIP2}[i], word)
	}
	switch {
	case i > 0:
		return p.parseSingleIP(optIP2, word)
	case kind == bitmapIPMAC:
		return p.parseSingleIP(optIP, word)
	}
	return p.parseIP(optIP, word)
}

// parseMember reads the name of a set, or "NAME,before|after,NAME" as in older versions.
func (p *parser) parseMember(text string) error {
	name, rest, found := cutAt(text, ',')
	if !found {
		return p.parseName(optMember, text)
	}
	// A line of the shell has left a reference in the message. The tool says so, and reads on in the message that this has emptied.
	if p.message.has(optReference) {
		_ = p.syntaxError("mixed syntax, before|after option already used")
	}
	word, ref, found := cutAt(rest, ',')
	if !found || !slices.Contains([]string{"before", "after"}, word) {
		return p.fail("you must specify elements as setname,[before|after],setname")
	}
	if err := p.parseName(optMember, name); err != nil {
		return err
	}
	if word == "before" {
		return p.parseBefore(optReference, ref)
	}
	return p.parseName(optReference, ref)
}

// parseBefore reads the set that another is to stand before.
func (p *parser) parseBefore(o option, word string) error {
	err := p.parseName(o, word)
	if err == nil {
		p.message.flags.before = true
		p.message.set(optFlags)
	}
	return err
}

// appendElement appends an element as "ipset test" names it.
func (m *message) appendElement(dst []byte) []byte {
	for i, part := range m.kind.parts {
		if part == partMAC && !m.has(optMAC) {
			continue
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		switch part {
		case partSet:
			dst = append(dst, m.member...)
			if m.has(optReference) {
				// The tool looks in the wrong place for the word.
				dst = append(append(dst, " after "...), m.reference...)
			}
		case partMAC:
			dst = appendMAC(dst, m.mac)
		case partIface:
			dst = append(dst, m.iface...)
		case partPort:
			dst = m.appendPort(dst)
		default:
			dst = m.appendAddress(dst, i)
		}
	}
	return dst
}

func (m *message) appendPort(dst []byte) []byte {
	switch {
	case m.kind == bitmapPort:
		dst = strconv.AppendUint(dst, uint64(m.port), 10)
	default:
		dst = appendPort(dst, m.proto, m.port)
	}
	if m.has(optPortTo) {
		dst = strconv.AppendUint(append(dst, '-'), uint64(m.portTo), 10)
	}
	return dst
}

// appendAddress appends the first or the second address. The end of the first one's range stands behind either.
func (m *message) appendAddress(dst []byte, i int) []byte {
	addr, length, given := m.addr, m.cidr, m.has(optCIDR)
	if i > 0 {
		addr, length, given = m.addr2, m.cidr2, m.has(optCIDR2)
	}
	bits := uint8(addr.BitLen())
	if !given {
		length = bits
	}
	append1 := func() {
		if dst = libc.AppendInetNtop(dst, addr); length != bits {
			dst = strconv.AppendUint(append(dst, '/'), uint64(length), 10)
		}
	}
	append1()
	if m.has(optIPTo) {
		dst, addr = append(dst, '-'), m.addrTo
		append1()
	}
	return dst
}
