package ipt

import (
	"bytes"
	"maps"
	"slices"
)

// leftover is a set of chains in the kernel that no rule leads to any longer.
type leftover map[chainKey]struct{}

func (l leftover) addAll(entries []*entry) {
	for _, e := range entries {
		e.chains(l.add)
	}
}

// removeAll keeps chains that are in use again.
func (l leftover) removeAll(entries []*entry) {
	if len(l) == 0 {
		return
	}
	for _, e := range entries {
		e.chains(l.remove)
	}
}

func (l leftover) add(prefix string, hash hashText)    { l[ownChain(prefix, hash)] = struct{}{} }
func (l leftover) remove(prefix string, hash hashText) { delete(l, ownChain(prefix, hash)) }

func (l leftover) has(prefix string, hash hashText) bool {
	_, ok := l[ownChain(prefix, hash)]
	return ok
}

// take returns the sorted names and empties the set.
func (l leftover) take() []string {
	if len(l) == 0 {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(l), func(a, b chainKey) int { return bytes.Compare(a[:], b[:]) })
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.String()
	}
	clear(l)
	return names
}
