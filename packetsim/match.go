package packetsim

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
)

// errNoWalk says that a match or target is not evaluated.
var errNoWalk = errors.New("not supported")

// ruleMatches says whether every condition of the rule holds, in the kernel's order: the rule's own first, then its matches.
func (w *walk) ruleMatches(s *skb, r *xtables.Rule) bool {
	if !addrMatches(r.Src, s.Src) || !addrMatches(r.Dst, s.Dst) || !deviceMatches(r.In, s.in) || !deviceMatches(r.Out, s.out) {
		return false
	}
	if r.Proto.Number != 0 && (r.Proto.Number == uint16(s.Proto)) == r.Proto.Invert {
		return false
	}
	if r.Fragment == xtables.FragmentOnly {
		return false // no packet here is a second fragment
	}
	return w.matchesFrom(s, r, 0)
}

// matchesFrom says whether the rule's matches hold from the one of that number on.
func (w *walk) matchesFrom(s *skb, r *xtables.Rule, from int) bool {
	for i := from; i < len(r.Matches); i++ {
		w.rule.place = i
		if !w.matches(s, r.Matches[i]) {
			return false
		}
	}
	return true
}

// failedCondition is the part of a rule that did not hold a moment ago, as a rule of its own.
func (w *walk) failedCondition(s *skb, r *xtables.Rule) xtables.Rule {
	switch {
	case !addrMatches(r.Src, s.Src):
		return xtables.Rule{Src: r.Src}
	case !addrMatches(r.Dst, s.Dst):
		return xtables.Rule{Dst: r.Dst}
	case !deviceMatches(r.In, s.in):
		return xtables.Rule{In: r.In}
	case !deviceMatches(r.Out, s.out):
		return xtables.Rule{Out: r.Out}
	case r.Proto.Number != 0 && (r.Proto.Number == uint16(s.Proto)) == r.Proto.Invert:
		return xtables.Rule{Proto: r.Proto}
	case r.Fragment == xtables.FragmentOnly:
		return xtables.Rule{Fragment: r.Fragment}
	}
	return xtables.Rule{Matches: r.Matches[w.rule.place : w.rule.place+1]}
}

// matches evaluates one match. This is the list of those that are supported.
func (w *walk) matches(s *skb, m xtables.Match) bool {
	switch m := m.(type) {
	case *match.Comment:
		return true
	case *match.TCP:
		return w.matchTCP(s, m)
	case *match.UDP:
		return matchPorts(s, UDP, m.SrcPorts, m.InvSrc, m.DstPorts, m.InvDst)
	case *match.SCTP:
		return w.matchSCTP(s, m)
	case *match.ICMP:
		return matchICMP(s, m)
	case *match.Conntrack:
		return w.matchConntrack(s, m)
	case *match.State:
		return matchState(s, m)
	case *match.Mark:
		return (s.Mark&m.Mask == m.Value) != m.Invert
	case *match.Addrtype:
		return w.matchAddrtype(s, m)
	case *match.Statistic:
		return w.matchStatistic(s, m)
	case *match.Recent:
		return w.matchRecent(s, m)
	case *match.NFAcct:
		return w.matchNFAcct(s, m)
	case *match.Multiport:
		return matchMultiport(s, m)
	case *match.Connmark:
		return matchConnmark(s, m)
	case *match.Limit:
		return w.matchLimit(s, m)
	case *match.Hashlimit:
		return w.matchHashlimit(s, m)
	case *match.IPRange:
		return matchIPRange(s, m)
	case *match.Length:
		return matchLength(s, m)
	case *match.MAC:
		return w.matchMAC(s, m)
	case *match.Owner:
		return w.matchOwner(s, m)
	case *match.Physdev:
		return matchPhysdev(s, m)
	case *match.PktType:
		return w.matchPktType(s, m)
	case *match.RPFilter:
		return w.matchRPFilter(s, m)
	case *match.Set:
		return w.matchSet(s, m)
	case *match.Socket:
		return w.matchSocket(s, m)
	case *xtables.OpaqueMatch:
		return w.matchOpaque(s, m)
	case *match.TTL:
		return matchTTL(s, m)
	case *match.TOS:
		return matchTOS(s, m)
	case *match.DSCP:
		return matchDSCP(s, m)
	case *match.ECN:
		return matchECN(s, m)
	case *match.TCPMSS:
		return w.matchTCPMSS(s, m)
	case *match.Policy:
		return matchPolicy(m)
	case *match.AH:
		return w.matchAH(s, m)
	case *match.ESP:
		return w.matchSPI(s, m.SPI)
	case *match.IPComp:
		return w.matchSPI(s, m.CPI)
	case *match.Frag, *match.IPv6Opts, *match.RT, *match.SRH:
		w.lacksHeaders(s)
		return false
	case *match.IPv6Header:
		return w.lacksHeaders(s) && matchIPv6Header(s, m)
	case *match.MH:
		w.fail(errNoMHType)
		return false
	case *match.DCCP:
		w.fail(errNoDCCP)
		return false
	case *match.U32:
		return w.matchU32(s, m)
	case *match.String:
		return w.matchString(s, m)
	case *match.BPF:
		return w.matchBPF(s, m)
	case *match.EUI64:
		return w.matchEUI64(s)
	}
	return w.matchesMore(s, m)
}

// matchesMore is matches for what few rules have.
func (w *walk) matchesMore(s *skb, m xtables.Match) bool {
	switch m := m.(type) {
	case *match.Cgroup:
		return w.matchCgroup(s, m)
	case *match.Realm:
		return (s.path.realms&m.Mask == m.Value) != m.Invert // xt_realm.c
	case *match.Cluster:
		return matchCluster(s, m)
	case *match.Connbytes:
		return w.matchConnbytes(s, m)
	case *match.Connlabel:
		return w.matchConnlabel(s, m)
	case *match.Connlimit:
		return w.matchConnlimit(s, m)
	case *match.Devgroup:
		return matchDevgroup(s, m)
	case *match.Helper:
		return matchHelper(m)
	case *match.Quota:
		return w.matchQuota(s, m)
	case *match.Time:
		return w.matchTime(m)
	}
	w.fail(fmt.Errorf("%w: match %s", errNoWalk, m.Name()))
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
