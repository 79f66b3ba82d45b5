package snapshot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Trace walks a packet through a Host built from the snapshot. The notes of the result say what the walk could not see.
func (s *NodeSnapshot) Trace(in inet.Input, options HostOptions, walk packetsim.WalkOptions) (packetsim.TraceResult, error) {
	host, err := NewHost(s, options)
	if err != nil {
		return packetsim.TraceResult{}, err
	}
	result, err := host.Trace(in, walk)
	if err != nil {
		return packetsim.TraceResult{}, err
	}
	outcomes := result.Outcomes
	note, err := s.orderNote(host, in, outcomes, options)
	if err != nil {
		return packetsim.TraceResult{}, err
	}
	for _, note := range []string{note, s.leftOutNote(options), s.unseenNote(host, in, &result)} {
		if note != "" {
			result.Notes = append(result.Notes, note)
		}
	}
	return result, nil
}

// orderNote is about chains of both backends of which nobody knows which one packets meet first: what becomes of the packet the other way
// round.
func (s *NodeSnapshot) orderNote(host *packetsim.Host, in inet.Input, outcomes []packetsim.Outcome, o HostOptions) (string, error) {
	unknown := s.unknownOrder(host, outcomes)
	if len(unknown) == 0 {
		return "", nil
	}
	taken, other := netfilter.NFT, netfilter.Legacy
	if o.First == other {
		taken, other = other, taken
	}
	o.First = other
	again, err := NewHost(s, o)
	if err != nil {
		return "", err
	}
	note := fmt.Sprintf("which backend packets meet first in %s is not known: %s is taken to be", strings.Join(unknown, ", "), taken)
	result, err := again.Trace(in, packetsim.WalkOptions{})
	turned := result.Outcomes
	switch {
	case err != nil:
		return fmt.Sprintf("%s; with %s first: %v", note, other, err), nil
	case slices.EqualFunc(outcomes, turned, sameEnd):
		return fmt.Sprintf("%s; with %s first the packet ends the same", note, other), nil
	}
	var ends []string
	for i := range turned {
		if end := turned[i].Summary(); !slices.Contains(ends, end) {
			ends = append(ends, end)
		}
	}
	return fmt.Sprintf("%s; with %s first the packet ends OTHERWISE: %s", note, other, strings.Join(ends, "; or ")), nil
}

// unknownOrder are the hooks and tables that the packet came to, where both backends have chains that are not empty in an order that is
// not known.
func (s *NodeSnapshot) unknownOrder(host *packetsim.Host, outcomes []packetsim.Outcome) []string {
	kernels := fakeipt.Kernels(host.Netfilter())
	var unknown []string
	passed, known := passedBy(outcomes), s.knownOrder()
	decides := func(k *fakeipt.Kernel, at place) bool {
		chain := k.Ruleset(at.family).Table(at.table).Chain(at.hook)
		return len(chain.Rules) > 0 || chain.Policy == ruleset.PolicyDrop
	}
	for _, at := range bothHave(kernels) {
		if known[at] == "" && passed.Has(at.family, at.hook) && decides(kernels[0], at) && decides(kernels[1], at) {
			unknown = append(unknown, at.table+" "+at.hook)
		}
	}
	return unknown
}

// passedBy are the hooks that packets came to, answers included.
func passedBy(outcomes []packetsim.Outcome) packetsim.Hooks {
	var passed packetsim.Hooks
	for i := range outcomes {
		passed |= outcomes[i].Passed
		for j := range outcomes[i].Replies {
			passed |= passedBy([]packetsim.Outcome{outcomes[i].Replies[j].Outcome})
		}
	}
	return passed
}

// sameEnd says whether packets end in the same way, whatever rules they met.
func sameEnd(a, b packetsim.Outcome) bool {
	return a.Probability == b.Probability && a.Summary() == b.Summary() && a.Final == b.Final && a.DNAT == b.DNAT &&
		a.Masqueraded == b.Masqueraded
}

// leftOutNote names the backend whose rules were chosen not to be walked.
func (s *NodeSnapshot) leftOutNote(o HostOptions) string {
	for _, backend := range s.Dialects() {
		if o.Dialect != "" && backend != o.Dialect {
			return fmt.Sprintf("the rules of iptables-%s, which the kernel runs too, are left out", backend)
		}
	}
	return ""
}

// unseenNote is the line about what no packet is walked through, and whether this one came near it.
func (s *NodeSnapshot) unseenNote(host *packetsim.Host, in inet.Input, result *packetsim.TraceResult) string {
	var unseen []string
	for i := range s.NFTables {
		t := &s.NFTables[i]
		where := "the packet does not come near it"
		if near := s.nearChains(t, in, result.Outcomes); len(near) > 0 {
			where = "the packet passes it: " + strings.Join(near, ", ")
		}
		unseen = append(unseen, fmt.Sprintf("nftables table %s %s (%s)", t.Family, t.Name, where))
	}
	if n := opaqueRules(host.Netfilter()); n > 0 {
		where := "the packet meets none"
		if result.Opaque != nil {
			where = "the packet MEETS " + metOpaque(result.Outcomes)
		}
		unseen = append(unseen, fmt.Sprintf("%d rules with extensions that are not known (%s)", n, where))
	}
	for _, u := range s.Unread {
		if !strings.HasPrefix(u.What, nftTableUnread) && u.What != orderUnread {
			unseen = append(unseen, u.What+" (unread, and the packet may depend on it)")
		}
	}
	if len(unseen) == 0 {
		return ""
	}
	return "not walked: " + strings.Join(unseen, "; ")
}

// metOpaque are the places of the rules that nobody knows and that the packet met, answers to it included.
func metOpaque(outcomes []packetsim.Outcome) string {
	var met []string
	var look func([]packetsim.Outcome)
	look = func(outcomes []packetsim.Outcome) {
		for i := range outcomes {
			for _, e := range outcomes[i].Events {
				if at := e.Rule; e.Kind == packetsim.EventOpaque && !slices.Contains(met, at.String()) {
					met = append(met, at.String())
				}
			}
			for j := range outcomes[i].Replies {
				look([]packetsim.Outcome{outcomes[i].Replies[j].Outcome})
			}
		}
	}
	look(outcomes)
	return strings.Join(met, ", ")
}

// NotWalked is a line about what packets of a Host, which is built from the snapshot, are not walked through, or that is not known for
// sure; empty if there is nothing.
func (s *NodeSnapshot) NotWalked(host *packetsim.Host) string {
	var unseen []string
	for i := range s.NFTables {
		t := &s.NFTables[i]
		var chains []string
		for _, c := range t.Chains {
			chains = append(chains, c.String())
		}
		text := fmt.Sprintf("nftables table %s %s", t.Family, t.Name)
		if len(chains) > 0 {
			text += " (" + strings.Join(chains, ", ") + ": packets are judged as if it let them by)"
		}
		unseen = append(unseen, text)
	}
	if n := opaqueRules(host.Netfilter()); n > 0 {
		unseen = append(unseen, fmt.Sprintf("%d rules with extensions that are not known", n))
	}
	if len(fakeipt.Kernels(host.Netfilter())) > 1 && len(s.knownOrder()) == 0 {
		unseen = append(unseen, "the order of both backends' chains, which the snapshot does not say (nft is taken to be first)")
	}
	if len(unseen) == 0 {
		return ""
	}
	return "not walked: " + strings.Join(unseen, "; ")
}

// String is the chain and its hook in words.
func (c NFChain) String() string {
	return fmt.Sprintf("chain %s in %s, priority %d", c.Name, c.Hook, c.Priority)
}

// nearChains are the chains of a table whose hooks the packet came to.
func (s *NodeSnapshot) nearChains(t *NFTable, in inet.Input, outcomes []packetsim.Outcome) []string {
	var near []string
	passed := passedBy(outcomes)
	for _, c := range t.Chains {
		hook := strings.ToUpper(c.Hook)
		comes := t.Family != "ip6" && passed.Has(netfilter.IPv4, hook) || t.Family != "ip" && passed.Has(netfilter.IPv6, hook)
		switch {
		case t.Family == "arp":
			comes = false
		case t.Family == "bridge":
			comes = s.isPort(in.In) || slices.ContainsFunc(outcomes, func(o packetsim.Outcome) bool { return o.Port != "" })
		case c.Hook == "ingress":
			comes = !in.Local && (c.Device == "" || c.Device == in.In)
		case c.Hook == "egress":
			comes = slices.ContainsFunc(outcomes, func(o packetsim.Outcome) bool { return o.Out != "" && (c.Device == "" || c.Device == o.Out) })
		}
		if comes {
			near = append(near, c.String())
		}
	}
	return near
}

// isPort says whether a device is a port of a bridge.
func (s *NodeSnapshot) isPort(device string) bool {
	return slices.ContainsFunc(s.Devices, func(d Device) bool { return d.Name == device && d.Master != "" })
}

// opaqueRules is the number of rules with extensions that nobody knows, of both backends.
func opaqueRules(namespace *netfilter.Namespace) int {
	n := 0
	for _, k := range fakeipt.Kernels(namespace) {
		for _, family := range netfilter.Families() {
			for _, table := range k.Ruleset(family).Tables() {
				for chain := range table.Unsorted() {
					for _, rule := range chain.Rules {
						if rule.Opaque() != nil {
							n++
						}
					}
				}
			}
		}
	}
	return n
}
