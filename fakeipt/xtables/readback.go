package xtables

import "github.com/chainwalk/chainwalk/netfilter"

// native is a match that the nft tools may write as expressions of nftables. The kernel holds the packet against each of them, but the
// tools read all of a rule's back into one match: what comes later takes the place of what came before, and an inversion stays.
type native interface {
	Match
	// NativeInNFT says that the nft tools write the match as expressions, so that the kernel's match is not asked.
	NativeInNFT() bool
	// ReadsOtherwise says that the tools read another match back than they have written.
	ReadsOtherwise() bool
	// ReadInto reads the match's expressions into what was read of earlier matches of its name in the rule, which is nil if there were
	// none, and returns that. It is nil where there are no expressions yet.
	ReadInto(before Match) Match
}

// MatchesReadBack is the matches of a rule as the tools of the dialect read them back from the kernel.
func MatchesReadBack(matches []Match, d netfilter.Dialect) []Match {
	if d == netfilter.Legacy || !readDifferently(matches) {
		return matches
	}
	out := make([]Match, 0, len(matches))
	var read []Match // those that expressions are read into
	for _, m := range matches {
		n, ok := m.(native)
		if !ok || !n.NativeInNFT() {
			out = append(out, m)
			continue
		}
		before := ofName(read, m.Name())
		if after := n.ReadInto(before); before == nil && after != nil {
			out, read = append(out, after), append(read, after)
		}
	}
	return out
}

// ofName is the match of that name, nil if there is none.
func ofName(matches []Match, name string) Match {
	for _, m := range matches {
		if m.Name() == name {
			return m
		}
	}
	return nil
}

// readDifferently says that a rule is not read back as it was written.
func readDifferently(matches []Match) bool {
	natives := 0
	for _, m := range matches {
		n, ok := m.(native)
		if !ok || !n.NativeInNFT() {
			continue
		}
		if natives++; natives > 1 || n.ReadsOtherwise() {
			return true
		}
	}
	return false
}

// ReadInto puts the expression of a range of ports into a match. A range that begins with port 0 is written as a
// comparison, which says one end only.
func (r PortRange) ReadInto(to *PortRange, toInvert *bool, invert bool) {
	switch {
	case r.IsAny():
	case r.Min == 0 && r.Max != 0 && invert:
		to.Min = r.Max + 1
	case r.Min == 0 && r.Max != 0:
		to.Max = r.Max
	default:
		*to, *toInvert = r, *toInvert || invert
	}
}
