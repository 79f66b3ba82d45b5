package fakeipt

import "bytes"

// addressReader reads what -s and -d say; equal words give the same pointer.
type addressReader struct {
	family          Family
	known, inverted map[string]*AddrMatch
	slab            slab[AddrMatch]
}

func newAddressReader(f Family) addressReader {
	return addressReader{family: f, known: map[string]*AddrMatch{}, inverted: map[string]*AddrMatch{}}
}

// list reads a list of addresses; no list is one that matches anything.
func (a *addressReader) list(list []*AddrMatch, text []byte, invert bool) ([]*AddrMatch, error) {
	if text == nil {
		return append(list, nil), nil
	}
	for text != nil {
		word, next, comma := bytes.Cut(text, []byte(","))
		m, err := a.one(bytes.TrimLeft(word, " "), invert)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
		if text = next; !comma {
			text = nil
		}
	}
	return list, nil
}

// maxHostName is the length of an address with its mask.
const maxHostName = 255

// one reads one address, nil for one that matches anything.
func (a *addressReader) one(word []byte, invert bool) (*AddrMatch, error) {
	known := a.known
	if invert {
		known = a.inverted
	}
	if m, ok := known[string(word)]; ok {
		return m, nil
	}
	if len(word) > maxHostName {
		return nil, badParameter("Hostname too long")
	}
	m, err := parseHostMask(word, a.family)
	if err != nil {
		return nil, err
	}
	m.Addr, m.Invert = MaskAddr(m.Addr, m.Mask), invert
	var result *AddrMatch
	if invert || m.Mask != a.family.facts().zero {
		result = a.slab.alloc()
		*result = m
	}
	known[string(word)] = result
	return result, nil
}
