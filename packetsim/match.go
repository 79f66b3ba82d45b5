package packetsim

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// errNoWalk says that a match or target is not evaluated.
var errNoWalk = errors.New("not supported")

// matcher says whether the matches of rules hold.
type matcher struct {
	*course
	host   string // its name
	memory *memory
	conns  *conntrack.Tracker
	routes *routing
	tally  *tally
	ruleState
	hotdrop bool // a match drops the packet
}

// ruleState names the rule that is being looked at, whose matches and target may remember something of their own.
type ruleState struct {
	rules *ruleset.Ruleset
	table *ruleset.Table
	rule  *xtables.Rule
	place int // of the match in the rule
}

// ruleMatches says whether every condition of the rule holds, in the kernel's order: the rule's own first, then its matches.
func (mt *matcher) ruleMatches(s *skb, r *xtables.Rule) bool {
	if !addrMatches(r.Src, s.Src) || !addrMatches(r.Dst, s.Dst) || !deviceMatches(r.In, s.in) || !deviceMatches(r.Out, s.out) {
		return false
	}
	if r.Proto.Number != 0 && (r.Proto.Number == uint16(s.Proto)) == r.Proto.Invert {
		return false
	}
	if r.Fragment == xtables.FragmentOnly {
		return false // no packet here is a second fragment
	}
	return mt.matchesFrom(s, r, 0)
}

// matchesFrom says whether the rule's matches hold from the one of that number on.
func (mt *matcher) matchesFrom(s *skb, r *xtables.Rule, from int) bool {
	for i := from; i < len(r.Matches); i++ {
		mt.place = i
		if !mt.matches(s, r.Matches[i]) {
			return false
		}
	}
	return true
}

// rulePart is a condition of a rule: one of the following, and from partMatch on the matches.
type rulePart int

const (
	partSrc rulePart = iota
	partDst
	partIn
	partOut
	partProto
	partFragment
	partMatch
)

// failedPart is the condition of a rule that did not hold a moment ago.
func (mt *matcher) failedPart(s *skb, r *xtables.Rule) rulePart {
	switch {
	case !addrMatches(r.Src, s.Src):
		return partSrc
	case !addrMatches(r.Dst, s.Dst):
		return partDst
	case !deviceMatches(r.In, s.in):
		return partIn
	case !deviceMatches(r.Out, s.out):
		return partOut
	case r.Proto.Number != 0 && (r.Proto.Number == uint16(s.Proto)) == r.Proto.Invert:
		return partProto
	case r.Fragment == xtables.FragmentOnly:
		return partFragment
	}
	return partMatch + rulePart(mt.place)
}

// of is the condition of a rule as a rule of its own.
func (p rulePart) of(r *xtables.Rule) xtables.Rule {
	switch p {
	case partSrc:
		return xtables.Rule{Src: r.Src}
	case partDst:
		return xtables.Rule{Dst: r.Dst}
	case partIn:
		return xtables.Rule{In: r.In}
	case partOut:
		return xtables.Rule{Out: r.Out}
	case partProto:
		return xtables.Rule{Proto: r.Proto}
	case partFragment:
		return xtables.Rule{Fragment: r.Fragment}
	}
	place := int(p - partMatch)
	return xtables.Rule{Matches: r.Matches[place : place+1]}
}

// matches evaluates one match. This function has the matches that most rules consist of, and the next two have the others.
func (mt *matcher) matches(s *skb, m xtables.Match) bool {
	switch m := m.(type) {
	case *match.Comment:
		return true
	case *match.TCP:
		return mt.matchTCP(s, m)
	case *match.UDP:
		return matchPorts(s, inet.UDP, m.SrcPorts, m.InvSrc, m.DstPorts, m.InvDst)
	case *match.SCTP:
		return mt.matchSCTP(s, m)
	case *match.ICMP:
		return matchICMP(s, m)
	case *match.Conntrack:
		return mt.matchConntrack(s, m)
	case *match.State:
		return matchState(s, m)
	case *match.Mark:
		return (s.Mark&m.Mask == m.Value) != m.Invert
	case *match.Addrtype:
		return mt.matchAddrtype(s, m)
	case *match.Statistic:
		return mt.matchStatistic(s, m)
	case *match.Recent:
		return mt.matchRecent(s, m)
	case *match.NFAcct:
		return mt.matchNFAcct(s, m)
	case *match.Multiport:
		return matchMultiport(s, m)
	case *match.Connmark:
		return matchConnmark(s, m)
	case *match.Limit:
		return mt.matchLimit(s, m)
	case *match.Hashlimit:
		return mt.matchHashlimit(s, m)
	case *match.IPRange:
		return matchIPRange(s, m)
	case *match.Owner:
		return mt.matchOwner(s, m)
	case *match.Physdev:
		return matchPhysdev(s, m)
	case *match.PktType:
		return mt.matchPktType(s, m)
	case *match.RPFilter:
		return mt.matchRPFilter(s, m)
	case *match.Set:
		return mt.matchSet(s, m)
	case *match.Socket:
		return mt.matchSocket(s, m)
	case *xtables.OpaqueMatch:
		return mt.matchOpaque(s, m)
	}
	return mt.matchesHeaders(s, m)
}

// matchesHeaders is matches for what looks at the bytes of a packet beside its addresses and ports.
func (mt *matcher) matchesHeaders(s *skb, m xtables.Match) bool {
	switch m := m.(type) {
	case *match.Length:
		return matchLength(s, m)
	case *match.MAC:
		return mt.matchMAC(s, m)
	case *match.TTL:
		return matchTTL(s, m)
	case *match.TOS:
		return matchTOS(s, m)
	case *match.DSCP:
		return matchDSCP(s, m)
	case *match.ECN:
		return matchECN(s, m)
	case *match.TCPMSS:
		return mt.matchTCPMSS(s, m)
	case *match.AH:
		return mt.matchAH(s, m)
	case *match.ESP:
		return mt.matchSPI(s, m.SPI)
	case *match.IPComp:
		return mt.matchSPI(s, m.CPI)
	case *match.Frag, *match.IPv6Opts, *match.RT, *match.SRH:
		mt.lacksHeaders(s)
		return false
	case *match.IPv6Header:
		return mt.lacksHeaders(s) && matchIPv6Header(s, m)
	case *match.MH:
		mt.fail(errNoMHType)
		return false
	case *match.DCCP:
		mt.fail(errNoDCCP)
		return false
	case *match.U32:
		return mt.matchU32(s, m)
	case *match.String:
		return mt.matchString(s, m)
	case *match.BPF:
		return mt.matchBPF(s, m)
	case *match.EUI64:
		return mt.matchEUI64(s)
	}
	return mt.matchesMore(s, m)
}

// matchesMore is matches for what few rules have. Of a match that nobody evaluates it fails with the match's name.
func (mt *matcher) matchesMore(s *skb, m xtables.Match) bool {
	switch m := m.(type) {
	case *match.Policy:
		return matchPolicy(m)
	case *match.Cgroup:
		return mt.matchCgroup(s, m)
	case *match.Realm:
		return (s.path.realms&m.Mask == m.Value) != m.Invert // xt_realm.c
	case *match.Cluster:
		return matchCluster(s, m)
	case *match.Connbytes:
		return mt.matchConnbytes(s, m)
	case *match.Connlabel:
		return mt.matchConnlabel(s, m)
	case *match.Connlimit:
		return mt.matchConnlimit(s, m)
	case *match.Devgroup:
		return matchDevgroup(s, m)
	case *match.Helper:
		return matchHelper(m)
	case *match.Quota:
		return mt.matchQuota(s, m)
	case *match.Time:
		return mt.matchTime(m)
	}
	mt.fail(fmt.Errorf("%w: match %s", errNoWalk, m.Name()))
	return false
}

func addrMatches(m *xtables.AddrMatch, addr netip.Addr) bool {
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
func deviceMatches(m *xtables.IfaceMatch, dev *device) bool {
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
