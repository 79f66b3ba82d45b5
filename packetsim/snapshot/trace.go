package snapshot

import (
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Trace walks a packet through a Host built from the snapshot. The doubts of the result say what this packet met that was not
// walked or read.
func (s *NodeSnapshot) Trace(in inet.Input, options HostOptions, walk packetsim.WalkOptions) (packetsim.TraceResult, error) {
	host, err := NewHost(s, options)
	if err != nil {
		return packetsim.TraceResult{}, err
	}
	result, err := host.Trace(in, walk)
	if err != nil {
		return packetsim.TraceResult{}, err
	}
	d := newDoubter(s, host, in, result.Outcomes)
	result.Doubts = s.Doubts(host, in, result.Outcomes)
	result.Notes = append(d.unreadNotes(), s.leftOutNote(options)...)
	return result, nil
}

// leftOutNote names the backend whose rules were chosen not to be walked.
func (s *NodeSnapshot) leftOutNote(o HostOptions) []string {
	for _, backend := range s.Dialects() {
		if o.Dialect != "" && backend != o.Dialect {
			return []string{fmt.Sprintf("the rules of iptables-%s, which the kernel runs too, are left out", backend)}
		}
	}
	return nil
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
