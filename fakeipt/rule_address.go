package fakeipt

import (
	"bytes"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// addressReader reads what -s and -d say; equal words give the same pointers.
type addressReader struct {
	family          netfilter.Family
	known, inverted map[string][]*AddrMatch
	slab            slab[AddrMatch]
	names           *libc.Names // of this run
}

func newAddressReader(f netfilter.Family) addressReader {
	return addressReader{family: f, known: map[string][]*AddrMatch{}, inverted: map[string][]*AddrMatch{}}
}

// list reads a list of addresses; no list is one that matches anything.
func (a *addressReader) list(list []*AddrMatch, text []byte, invert bool) ([]*AddrMatch, error) {
	if text == nil {
		return append(list, nil), nil
	}
	for text != nil {
		word, next, comma := bytes.Cut(text, []byte(","))
		matches, err := a.some(bytes.TrimLeft(word, " \t\n\v\f\r"), invert)
		if err != nil {
			return nil, err
		}
		list = append(list, matches...)
		if text = next; !comma {
			text = nil
		}
	}
	return list, nil
}

// maxHostName is the length of an address with its mask.
const maxHostName = 255

// some reads one address, or the name of a host with some; nil is one that matches anything.
func (a *addressReader) some(word []byte, invert bool) ([]*AddrMatch, error) {
	known := a.known
	if invert {
		known = a.inverted
	}
	if matches, ok := known[string(word)]; ok {
		return matches, nil
	}
	if len(word) > maxHostName {
		return nil, badParameter("Hostname too long")
	}
	addrs, mask, named, err := parseHostMask(word, a.family, a.names)
	if err != nil {
		return nil, err
	}
	matches := make([]*AddrMatch, len(addrs))
	if invert || mask != factsOf(a.family).zero {
		for i, addr := range addrs {
			matches[i] = a.slab.alloc()
			*matches[i] = AddrMatch{Addr: MaskAddr(addr, mask), Mask: mask, Invert: invert}
		}
	}
	if !named { // a name may be another address in the next run
		known[string(word)] = matches
	}
	return matches, nil
}
