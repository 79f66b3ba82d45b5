package fakeipt

import "github.com/chainwalk/chainwalk/netfilter"

// The nft tools write most of -m tcp and -m udp as expressions of nftables. The kernel holds the packet against each
// of them, but the tools read all of a rule's back into one match: what comes later takes the place of what came
// before, and an inversion stays.

// matchesReadBack is the matches of a rule as the tools of the dialect read them back from the kernel.
func matchesReadBack(matches []Match, d netfilter.Dialect) []Match {
	if d == netfilter.Legacy || !readDifferently(matches) {
		return matches
	}
	b := nativeMatches{out: make([]Match, 0, len(matches))}
	for _, m := range matches {
		b.add(m)
	}
	return b.out
}

// readDifferently says that a rule is not read back as it was written.
func readDifferently(matches []Match) bool {
	natives := 0
	for _, m := range matches {
		switch m := m.(type) {
		case *MatchTCP:
			if !m.nativeInNFT() {
				continue
			}
			if natives++; m.InvSrc || m.InvDst || m.FlagMask == 0 && (m.InvFlags || m.FlagComp != 0) {
				return true
			}
		case *MatchUDP:
			if !m.nativeInNFT() {
				continue
			}
			if natives++; m.InvSrc || m.InvDst {
				return true
			}
		}
	}
	return natives > 1
}

// nativeMatches puts the matches of a rule together again.
type nativeMatches struct {
	out []Match
	tcp *MatchTCP // the one that expressions are read into
	udp *MatchUDP
}

func (b *nativeMatches) add(m Match) {
	switch m := m.(type) {
	case *MatchTCP:
		if m.nativeInNFT() {
			b.addTCP(m)
			return
		}
	case *MatchUDP:
		if m.nativeInNFT() {
			b.addUDP(m)
			return
		}
	}
	b.out = append(b.out, m)
}

func (b *nativeMatches) addTCP(m *MatchTCP) {
	if m.FlagMask == 0 && m.SrcPorts.isAny() && m.DstPorts.isAny() {
		return
	}
	if b.tcp == nil {
		b.tcp = &MatchTCP{SrcPorts: anyPort, DstPorts: anyPort}
		b.out = append(b.out, b.tcp)
	}
	if m.FlagMask != 0 {
		b.tcp.FlagMask, b.tcp.FlagComp = m.FlagMask, m.FlagComp
		b.tcp.InvFlags = b.tcp.InvFlags || m.InvFlags
	}
	m.SrcPorts.readInto(&b.tcp.SrcPorts, &b.tcp.InvSrc, m.InvSrc)
	m.DstPorts.readInto(&b.tcp.DstPorts, &b.tcp.InvDst, m.InvDst)
}

func (b *nativeMatches) addUDP(m *MatchUDP) {
	if m.SrcPorts.isAny() && m.DstPorts.isAny() {
		return
	}
	if b.udp == nil {
		b.udp = &MatchUDP{SrcPorts: anyPort, DstPorts: anyPort}
		b.out = append(b.out, b.udp)
	}
	m.SrcPorts.readInto(&b.udp.SrcPorts, &b.udp.InvSrc, m.InvSrc)
	m.DstPorts.readInto(&b.udp.DstPorts, &b.udp.InvDst, m.InvDst)
}

// readInto puts the expression of a range of ports into a match. A range that begins with port 0 is written as a
// comparison, which says one end only.
func (r PortRange) readInto(to *PortRange, toInvert *bool, invert bool) {
	switch {
	case r.isAny():
	case r.Min == 0 && r.Max != 0 && invert:
		to.Min = r.Max + 1
	case r.Min == 0 && r.Max != 0:
		to.Max = r.Max
	default:
		*to, *toInvert = r, *toInvert || invert
	}
}
