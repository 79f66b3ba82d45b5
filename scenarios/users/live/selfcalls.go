package live

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// selfCalls are connections of pods to a service on another node that leads them back to themselves. In mode nftables a node masquerades
// what a pod sends itself only for its own pods (the set hairpin-connections; kubernetes#135800): on the pod's own node the packet then has
// one address as source and destination, and is dropped.
type selfCalls struct {
	first errand
	count int
}

// leavesOpen says whether mode nftables promises nothing of an errand, as it ends otherwise than in mode iptables: an echo request to a
// cluster IP, which kube-proxy's rules mark or reject by its version, and a pod's connection to itself by another node, which is counted.
func (e *exam) leavesOpen(p errand, ways []oracle.Way) bool {
	a := p.attempt
	if a.Protocol == oracle.ICMP && e.clusterIPs[a.To.Addr()] {
		return e.inNFTables(e.clientNode(a)) || e.inNFTables(a.Via)
	}
	pod, called := e.pods[a.From], e.hostOf(a.To.Addr())
	if pod == nil || called == pod.Node || !e.inNFTables(called) {
		return false
	}
	lost := false
	for i := range ways {
		w := &ways[i]
		switch {
		case w.End == oracle.Delivered && w.Heard:
		case slices.ContainsFunc(pod.Addresses, func(own netip.Addr) bool { return own == w.Server.Addr() }):
			lost = true
		default:
			return false
		}
	}
	if lost {
		if e.selfCalls.count == 0 {
			e.selfCalls.first = p
		}
		e.selfCalls.count++
	}
	return lost
}

// inNFTables says whether a node runs kube-proxy in mode nftables.
func (e *premises) inNFTables(node string) bool {
	return e.proxies[node].Mode == provenance.ModeNFTables
}

// noteSelfCalls says which connections of pods to themselves are lost.
func (e *exam) noteSelfCalls() {
	if e.selfCalls.count == 0 {
		return
	}
	e.report.Notes = append(e.report.Notes, fmt.Sprintf("%s of pods to themselves by another node %s lost, such as %s: kube-proxy in mode "+
		"nftables masquerades these on the pod's own node alone (kubernetes#135800)", plural(e.selfCalls.count, "connection"),
		are(e.selfCalls.count), e.selfCalls.first))
}
