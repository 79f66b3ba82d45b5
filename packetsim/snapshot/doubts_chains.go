package snapshot

import (
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
)

// chainOrder is what becomes of the packet if the chains of one priority come in the other order at hooks where a native chain is among
// them and the snapshot does not say in which order they come.
func (d *doubter) chainOrder() {
	for _, list := range d.unknownChains(d.host.Netfilter()) {
		if !d.passed.Has(list.Family, list.Hook) || !d.mayMatter(&list) {
			continue
		}
		if turned := d.about.reversed(); turned != nil && d.endsOtherwise(turned, packetsim.WalkOptions{}) {
			d.doubt(packetsim.DoubtOrder, "nft list hooks", "packets meet the chains of one priority in another order in %s (%s)", list.Hook,
				strings.Join(list.Chains, ", "))
		}
	}
}

// mayMatter says whether the order of the chains may matter to the packet: it was stopped, changed or translated in the hook. One that
// passed all of them as it was passes them in every order.
func (d *doubter) mayMatter(list *HookChains) bool {
	for i := range d.outcomes {
		for k := range d.outcomes[i].Steps {
			s := &d.outcomes[i].Steps[k]
			if s.Hook != list.Hook {
				continue
			}
			last := k == len(d.outcomes[i].Steps)-1 && d.outcomes[i].Verdict != packetsim.Accept
			if r := s.Rule; last || r != nil && (r.Fact.Mark != nil || r.Fact.Other != "" || r.Fact.Translation.Kind != "") {
				return true
			}
		}
	}
	return false
}

// unknownChains are the chains of one priority of each hook, a native one among them, of which the snapshot does not say the order, in the
// order that they have in the namespace.
func (s *NodeSnapshot) unknownChains(n *netfilter.Namespace) []HookChains {
	if n == nil || !slices.ContainsFunc(s.NFTables, func(t NFTable) bool { return t.Rules != "" }) {
		return nil
	}
	var out []HookChains
	for _, family := range netfilter.Families() {
		for h := range netfilter.Hook(netfilter.NumHooks) {
			for _, group := range together(hookedAt(n, family, h)) {
				if list := (HookChains{family, h.String(), namesOf(group)}); !s.knowsOrder(&list) {
					out = append(out, list)
				}
			}
		}
	}
	return out
}

// knowsOrder says whether the snapshot has all these chains in one list.
func (s *NodeSnapshot) knowsOrder(list *HookChains) bool {
	return slices.ContainsFunc(s.Hooks, func(known HookChains) bool {
		return known.Family == list.Family && known.Hook == list.Hook &&
			!slices.ContainsFunc(list.Chains, func(name string) bool { return !slices.Contains(known.Chains, name) })
	})
}

// reversed is the host with these chains in the other order; nil if it cannot be made.
func (of *Doubter) reversed() *packetsim.Host {
	if of.triedReversed {
		return of.reversedHost
	}
	of.triedReversed = true
	host, err := NewHost(of.node, HostOptions{})
	if err != nil {
		return nil
	}
	lists := of.node.unknownChains(host.Netfilter())
	for i := range lists {
		slices.Reverse(lists[i].Chains)
	}
	if registerAgain(host.Netfilter(), lists) == nil {
		of.reversedHost = host
	}
	return of.reversedHost
}
