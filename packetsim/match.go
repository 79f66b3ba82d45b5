package packetsim

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// errNoWalk says that a match or target is not evaluated.
var errNoWalk = errors.New("not supported")

// matcher says whether the matches of rules hold.
type matcher struct {
	*course
	host   string // its name
	memory *memory
	conns  *tracker
	routes *routing
	tally  *tally
	ruleState
	hotdrop bool // a match drops the packet
}

// ruleState names the rule that is being looked at, whose matches and target may remember something of their own.
type ruleState struct {
	rules *fakeipt.Ruleset
	table *fakeipt.Table
	rule  *fakeipt.Rule
	place int // of the match in the rule
}

// ruleMatches says whether every condition of the rule holds, in the kernel's order: the rule's own first, then its matches.
func (mt *matcher) ruleMatches(s *skb, r *fakeipt.Rule) bool {
	if !addrMatches(r.Src, s.Src) || !addrMatches(r.Dst, s.Dst) || !deviceMatches(r.In, s.in) || !deviceMatches(r.Out, s.out) {
		return false
	}
	if r.Proto.Number != 0 && (r.Proto.Number == uint16(s.Proto)) == r.Proto.Invert {
		return false
	}
	if r.Fragment == fakeipt.FragmentOnly {
		return false // no packet here is a second fragment
	}
	return mt.matchesFrom(s, r, 0)
}

// matchesFrom says whether the rule's matches hold from the one of that number on.
func (mt *matcher) matchesFrom(s *skb, r *fakeipt.Rule, from int) bool {
	for i := from; i < len(r.Matches); i++ {
		mt.place = i
		if !mt.matches(s, r.Matches[i]) {
			return false
		}
	}
	return true
}

// failedCondition is the part of a rule that did not hold a moment ago, as a rule of its own.
func (mt *matcher) failedCondition(s *skb, r *fakeipt.Rule) fakeipt.Rule {
	switch {
	case !addrMatches(r.Src, s.Src):
		return fakeipt.Rule{Src: r.Src}
	case !addrMatches(r.Dst, s.Dst):
		return fakeipt.Rule{Dst: r.Dst}
	case !deviceMatches(r.In, s.in):
		return fakeipt.Rule{In: r.In}
	case !deviceMatches(r.Out, s.out):
		return fakeipt.Rule{Out: r.Out}
	case r.Proto.Number != 0 && (r.Proto.Number == uint16(s.Proto)) == r.Proto.Invert:
		return fakeipt.Rule{Proto: r.Proto}
	case r.Fragment == fakeipt.FragmentOnly:
		return fakeipt.Rule{Fragment: r.Fragment}
	}
	return fakeipt.Rule{Matches: r.Matches[mt.place : mt.place+1]}
}

// matches evaluates one match. This is the list of those that are supported.
func (mt *matcher) matches(s *skb, m fakeipt.Match) bool {
	switch m := m.(type) {
	case *fakeipt.MatchComment:
		return true
	case *fakeipt.MatchTCP:
		return mt.matchTCP(s, m)
	case *fakeipt.MatchUDP:
		return matchPorts(s, inet.UDP, m.SrcPorts, m.InvSrc, m.DstPorts, m.InvDst)
	case *fakeipt.MatchSCTP:
		return mt.matchSCTP(s, m)
	case *fakeipt.MatchICMP:
		return matchICMP(s, m)
	case *fakeipt.MatchConntrack:
		return mt.matchConntrack(s, m)
	case *fakeipt.MatchState:
		return matchState(s, m)
	case *fakeipt.MatchMark:
		return (s.Mark&m.Mask == m.Value) != m.Invert
	case *fakeipt.MatchAddrtype:
		return mt.matchAddrtype(s, m)
	case *fakeipt.MatchStatistic:
		return mt.matchStatistic(s, m)
	case *fakeipt.MatchRecent:
		return mt.matchRecent(s, m)
	case *fakeipt.MatchNFAcct:
		return mt.matchNFAcct(s, m)
	case *fakeipt.MatchMultiport:
		return matchMultiport(s, m)
	case *fakeipt.MatchConnmark:
		return matchConnmark(s, m)
	case *fakeipt.MatchLimit:
		return mt.matchLimit(s, m)
	case *fakeipt.MatchHashlimit:
		return mt.matchHashlimit(s, m)
	case *fakeipt.MatchIPRange:
		return matchIPRange(s, m)
	case *fakeipt.MatchLength:
		return matchLength(s, m)
	case *fakeipt.MatchMAC:
		return mt.matchMAC(s, m)
	case *fakeipt.MatchOwner:
		return mt.matchOwner(s, m)
	case *fakeipt.MatchPhysdev:
		return matchPhysdev(s, m)
	case *fakeipt.MatchPktType:
		return mt.matchPktType(s, m)
	case *fakeipt.MatchRPFilter:
		return mt.matchRPFilter(s, m)
	case *fakeipt.MatchSet:
		return mt.matchSet(s, m)
	case *fakeipt.MatchSocket:
		return mt.matchSocket(s, m)
	case *fakeipt.MatchOpaque:
		return mt.matchOpaque(s, m)
	case *fakeipt.MatchTTL:
		return matchTTL(s, m)
	case *fakeipt.MatchTOS:
		return matchTOS(s, m)
	case *fakeipt.MatchDSCP:
		return matchDSCP(s, m)
	case *fakeipt.MatchECN:
		return matchECN(s, m)
	case *fakeipt.MatchTCPMSS:
		return mt.matchTCPMSS(s, m)
	case *fakeipt.MatchPolicy:
		return matchPolicy(m)
	case *fakeipt.MatchAH:
		return mt.matchAH(s, m)
	case *fakeipt.MatchESP:
		return mt.matchSPI(s, m.SPI)
	case *fakeipt.MatchIPComp:
		return mt.matchSPI(s, m.CPI)
	case *fakeipt.MatchFrag, *fakeipt.MatchIPv6Opts, *fakeipt.MatchRT, *fakeipt.MatchSRH:
		mt.lacksHeaders(s)
		return false
	case *fakeipt.MatchIPv6Header:
		return mt.lacksHeaders(s) && matchIPv6Header(s, m)
	case *fakeipt.MatchMH:
		mt.fail(errNoMHType)
		return false
	case *fakeipt.MatchDCCP:
		mt.fail(errNoDCCP)
		return false
	case *fakeipt.MatchU32:
		return mt.matchU32(s, m)
	case *fakeipt.MatchString:
		return mt.matchString(s, m)
	case *fakeipt.MatchBPF:
		return mt.matchBPF(s, m)
	case *fakeipt.MatchEUI64:
		return mt.matchEUI64(s)
	}
	return mt.matchesMore(s, m)
}

// matchesMore is matches for what few rules have.
func (mt *matcher) matchesMore(s *skb, m fakeipt.Match) bool {
	switch m := m.(type) {
	case *fakeipt.MatchCgroup:
		return mt.matchCgroup(s, m)
	case *fakeipt.MatchRealm:
		return (s.path.realms&m.Mask == m.Value) != m.Invert // xt_realm.c
	case *fakeipt.MatchCluster:
		return matchCluster(s, m)
	case *fakeipt.MatchConnbytes:
		return mt.matchConnbytes(s, m)
	case *fakeipt.MatchConnlabel:
		return mt.matchConnlabel(s, m)
	case *fakeipt.MatchConnlimit:
		return mt.matchConnlimit(s, m)
	case *fakeipt.MatchDevgroup:
		return matchDevgroup(s, m)
	case *fakeipt.MatchHelper:
		return matchHelper(m)
	case *fakeipt.MatchQuota:
		return mt.matchQuota(s, m)
	case *fakeipt.MatchTime:
		return mt.matchTime(m)
	}
	mt.fail(fmt.Errorf("%w: match %s", errNoWalk, m.Name()))
	return false
}

func addrMatches(m *fakeipt.AddrMatch, addr netip.Addr) bool {
	return m == nil || maskedEqual(addr, m.Addr, m.Mask) != m.Invert
}

// maskedEqual compares addresses under a mask that need not be a prefix.
func maskedEqual(addr, want, mask netip.Addr) bool {
	if addr.Is4() != want.Is4() {
		return false
	}
	if addr.Is4() {
		a, w, m := addr.As4(), want.As4(), mask.As4()
		for i := range a {
			if a[i]&m[i] != w[i] {
				return false
			}
		}
		return true
	}
	a, w, m := addr.As16(), want.As16(), mask.As16()
	for i := range a {
		if a[i]&m[i] != w[i] {
			return false
		}
	}
	return true
}

// deviceMatches compares a device; a hook without one has the empty name.
func deviceMatches(m *fakeipt.IfaceMatch, dev *device) bool {
	if m == nil {
		return true
	}
	name := deviceName(dev)
	equal := name == m.Name
	if m.Prefix {
		equal = len(name) >= len(m.Name) && name[:len(m.Name)] == m.Name
	}
	return equal != m.Invert
}

func deviceName(dev *device) string {
	if dev == nil {
		return ""
	}
	return dev.Name
}
