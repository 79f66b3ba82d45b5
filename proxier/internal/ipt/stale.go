package ipt

import (
	"bytes"
	"iter"
)

// chainKey is a chain name filled up with zeros. A name that does not fit is
// longer than the kernel allows and cannot be there.
type chainKey [28]byte

// staleChains returns the chains of service ports that are in savedNAT but not
// among the declared ones, in the order of savedNAT.
func staleChains(savedNAT, declared []byte, count int) []string {
	if len(savedNAT) == 0 {
		return nil
	}
	used := make(map[chainKey]struct{}, count)
	for name := range chainNames(declared) {
		used[keyOf(name)] = struct{}{}
	}
	var stale []string
	for name := range chainNames(savedNAT) {
		if _, ok := used[keyOf(name)]; !ok && isServiceChain(name) {
			stale = append(stale, string(name))
		}
	}
	return stale
}

// appendDeletions deletes the chains. A chain can be deleted if it is empty and
// no rule jumps to it. Chain lines for all of them must come before: these
// empty the chains, so that stale chains may jump to each other.
func appendDeletions(dst []byte, stale []string) []byte {
	for _, name := range stale {
		dst = append(dst, "-X "...)
		dst = append(dst, name...)
		dst = append(dst, '\n')
	}
	return dst
}

// String returns the name.
func (k chainKey) String() string { return string(bytes.TrimRight(k[:], "\x00")) }

// ownChain returns the key of a service port's chain.
func ownChain(prefix string, hash hashText) chainKey {
	var key chainKey
	copy(key[copy(key[:], prefix):], hash[:])
	return key
}

func keyOf(name []byte) chainKey {
	var key chainKey
	copy(key[:], name)
	return key
}

// chainNames yields the names of the chain lines of one table, in their order.
// It does not look at what follows the first rule: the tool prints all chain
// lines before.
func chainNames(save []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for line := range bytes.Lines(save) {
			if line[0] == '-' || line[0] == '[' {
				return
			}
			if line[0] != ':' {
				continue
			}
			name, _, _ := bytes.Cut(line[1:], []byte(" "))
			if !yield(bytes.TrimRight(name, "\n")) {
				return
			}
		}
	}
}
