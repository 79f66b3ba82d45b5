package fakeipt

import (
	"bytes"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// addressReader reads what -s and -d say; equal words give the same pointers.
type addressReader struct {
	family          netfilter.Family
	known, inverted map[string][]*xtables.AddrMatch
	slab            xtables.Slab[xtables.AddrMatch]
	names           *libc.Names // of this run
}

func newAddressReader(f netfilter.Family) addressReader {
	return addressReader{family: f, known: map[string][]*xtables.AddrMatch{}, inverted: map[string][]*xtables.AddrMatch{}}
}

// list reads a list of addresses; no list is one that matches anything.
func (a *addressReader) list(list []*xtables.AddrMatch, text []byte, invert bool) ([]*xtables.AddrMatch, error) {
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
func (a *addressReader) some(word []byte, invert bool) ([]*xtables.AddrMatch, error) {
	known := a.known
	if invert {
		known = a.inverted
	}
	if matches, ok := known[string(word)]; ok {
		return matches, nil
	}
	if len(word) > maxHostName {
		return nil, xtables.BadParameter("Hostname too long")
	}
	addrs, mask, named, err := xtables.ParseHostMask(word, a.family, a.names)
	if err != nil {
		return nil, err
	}
	matches := make([]*xtables.AddrMatch, len(addrs))
	if invert || mask != xtables.FactsOf(a.family).Zero {
		for i, addr := range addrs {
			matches[i] = a.slab.Alloc()
			*matches[i] = xtables.AddrMatch{Addr: xtables.MaskAddr(addr, mask), Mask: mask, Invert: invert}
		}
	}
	if !named { // a name may be another address in the next run
		known[string(word)] = matches
	}
	return matches, nil
}
