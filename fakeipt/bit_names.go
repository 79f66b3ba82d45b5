package fakeipt

import (
	"bytes"
	"strings"
)

// bitNames are the names of the bits of a set in the order in which options list them.
type bitNames struct {
	names []bitName
	// none names the empty set, "" if that has no name.
	none string
}

type bitName struct {
	name string
	bit  uint32
}

// namesFromBit0 are the names of the lowest bits.
func namesFromBit0(names ...string) []bitName {
	list := make([]bitName, len(names))
	for i, name := range names {
		list[i] = bitName{name, 1 << i}
	}
	return list
}

// append appends the names of the bits that are set, with a separator between them.
func (n *bitNames) append(dst []byte, set uint32, separator string) []byte {
	if set == 0 {
		return append(dst, n.none...)
	}
	between := ""
	for i := range n.names {
		if set&n.names[i].bit != 0 {
			dst = append(append(dst, between...), n.names[i].name...)
			between = separator
		}
	}
	return dst
}

// parse reads a list of names in any case, each of which may be cut short: the first that begins so is meant. bad is
// the list from the first word on that is none, nil if there is no such word.
func (n *bitNames) parse(list []byte) (set uint32, bad []byte) {
	for more := true; more; {
		left := list
		var word []byte
		word, list, more = bytes.Cut(list, []byte(","))
		bit, ok := n.beginning(word)
		if !ok {
			return 0, left
		}
		set |= bit
	}
	return set, nil
}

// beginning is the bit of the first name that begins like the word.
func (n *bitNames) beginning(word []byte) (bit uint32, ok bool) {
	if len(word) == 0 {
		return 0, false
	}
	if beginsLike(n.none, word) {
		return 0, true
	}
	for i := range n.names {
		if beginsLike(n.names[i].name, word) {
			return n.names[i].bit, true
		}
	}
	return 0, false
}

// beginsLike says that a name begins with the word, in any case.
func beginsLike(name string, word []byte) bool {
	return len(word) <= len(name) && strings.EqualFold(name[:len(word)], string(word))
}

// bit is the bit of that name, 0 if there is none.
func (n *bitNames) bit(name string) uint32 {
	for i := range n.names {
		if n.names[i].name == name {
			return n.names[i].bit
		}
	}
	return 0
}
