package xtables

import (
	"bytes"
	"strings"
)

// BitNames are the names of the bits of a set in the order in which options list them.
type BitNames struct {
	Names []BitName
	// None names the empty set, "" if that has no name.
	None string
}

// BitName is the name of a bit.
type BitName struct {
	Name string
	Bit  uint32
}

// NamesFromBit0 are the names of the lowest bits.
func NamesFromBit0(names ...string) []BitName {
	list := make([]BitName, len(names))
	for i, name := range names {
		list[i] = BitName{name, 1 << i}
	}
	return list
}

// Append appends the names of the bits that are set, with a separator between them.
func (n *BitNames) Append(dst []byte, set uint32, separator string) []byte {
	if set == 0 {
		return append(dst, n.None...)
	}
	between := ""
	for i := range n.Names {
		if set&n.Names[i].Bit != 0 {
			dst = append(append(dst, between...), n.Names[i].Name...)
			between = separator
		}
	}
	return dst
}

// Parse reads a list of names in any case, each of which may be cut short: the first that begins so is meant. bad is
// the list from the first word on that is none, nil if there is no such word.
func (n *BitNames) Parse(list []byte) (set uint32, bad []byte) {
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
func (n *BitNames) beginning(word []byte) (bit uint32, ok bool) {
	if len(word) == 0 {
		return 0, false
	}
	if BeginsLike(n.None, word) {
		return 0, true
	}
	for i := range n.Names {
		if BeginsLike(n.Names[i].Name, word) {
			return n.Names[i].Bit, true
		}
	}
	return 0, false
}

// BeginsLike says that a name begins with the word, in any case.
func BeginsLike(name string, word []byte) bool {
	return len(word) <= len(name) && strings.EqualFold(name[:len(word)], string(word))
}

// Bit is the bit of that name, 0 if there is none.
func (n *BitNames) Bit(name string) uint32 {
	for i := range n.Names {
		if n.Names[i].Name == name {
			return n.Names[i].Bit
		}
	}
	return 0
}
