package fakeipt

import (
	"bytes"
	"strings"
)

// bitNames are the names of the bits of a set, from bit 0, as options list them.
type bitNames struct {
	names []string
	// none names the empty set, "" if that has no name.
	none string
}

// append appends the names of the bits that are set, with commas between them.
func (n *bitNames) append(dst []byte, set uint16) []byte {
	if set == 0 {
		return append(dst, n.none...)
	}
	first := true
	for i, name := range n.names {
		if set&(1<<i) == 0 {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		dst, first = append(dst, name...), false
	}
	return dst
}

// parse reads a list of names in any case, each of which may be cut short: the first that begins so is meant. bad is
// the list from the first word on that is none, nil if there is no such word.
func (n *bitNames) parse(list []byte) (set uint16, bad []byte) {
	for more := true; more; {
		left := list
		var word []byte
		word, list, more = bytes.Cut(list, []byte(","))
		bit, ok := n.find(word)
		if !ok {
			return 0, left
		}
		set |= bit
	}
	return set, nil
}

func (n *bitNames) find(word []byte) (bit uint16, ok bool) {
	if len(word) == 0 {
		return 0, false
	}
	if beginsLike(n.none, word) {
		return 0, true
	}
	for i, name := range n.names {
		if beginsLike(name, word) {
			return 1 << i, true
		}
	}
	return 0, false
}

// beginsLike says that a name begins with the word, in any case.
func beginsLike(name string, word []byte) bool {
	return len(word) <= len(name) && strings.EqualFold(name[:len(word)], string(word))
}
