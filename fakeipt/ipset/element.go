package ipset

import (
	"net/netip"
	"strconv"
)

// element is an element as it is given: ranges stand for many keys.
type element struct {
	addr, addr2 addrSpan
	proto       uint8
	port, last  uint16
	ports       bool // a range was given
	set         string
}

// Words for the number of separators in an element.
var separatorWords = [...]struct{ have, want string }{
	{"Elem separator", "none"}, {"Two elem separators", "one"}, {"Three elem separators", "two"},
}

// parseElement reads an element of the set for a command.
func (s *set) parseElement(command, text string) (element, error) {
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

// appendElement appends an element as "ipset test" names it.
func (s *set) appendElement(dst []byte, e *element) []byte {
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
			dst = span.appendGiven(dst)
		default:
			dst = strconv.AppendUint(append(span.appendGiven(dst), '/'), uint64(span.bits), 10)
		}
	}
	return dst
}

// keys calls f for each key that the element stands for, until f returns an error.
func (s *set) keys(e *element, f func(key) error) error {
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
