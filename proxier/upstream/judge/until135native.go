package judge

import (
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
)

// hairpinSet is the set of endpoints that are masqueraded when they reach themselves.
const hairpinSet = "set hairpin-connections"

// writtenOtherwise says whether a part of the table is one that kube-proxy until v1.35 writes otherwise.
func writtenOtherwise(part string) bool {
	return slices.Contains([]string{"chain mark-for-masquerade", "chain masquerading", "chain services", hairpinSet}, part) ||
		slices.ContainsFunc([]string{"endpoint", "external", "service", "local"}, func(kind string) bool {
			return strings.HasPrefix(part, "chain "+kind+"-") && strings.Contains(part, "/")
		})
}

// alike is what was found of all packets of a family: on our host as it was after a step, and on another one.
type alike struct {
	step   int
	family v1.IPFamily
	other  *packetsim.Host
}

// treatedAlike says whether all first packets of a family have the same fates on our host and on that of the kube-proxy that the rules are
// compared with, but for those of which an explanation says that kube-proxy treats them otherwise.
func (r *run) treatedAlike(family v1.IPFamily) bool {
	asked := alike{r.step, family, r.theirs.host}
	if r.fresh != nil {
		asked.other = r.fresh
	}
	found, known := r.alike[asked]
	if !known {
		found = r.compareFates(family, asked.other)
		r.alike[asked] = found
	}
	return found
}

func (r *run) compareFates(family v1.IPFamily, other *packetsim.Host) bool {
	options := forall.Options{Families: []netfilter.Family{peers.KernelFamily(family)}}
	ours, err := forall.Of(r.ours.host, options)
	if err != nil {
		return false
	}
	options.Against = ours
	theirs, err := forall.Of(other, options)
	if err != nil {
		return false
	}
	for d := range ours.Diff(theirs) {
		if !r.fatesExplained(&d, family) {
			return false
		}
	}
	return true
}

// besideFresh has the fates of packets be compared with those of a kube-proxy that starts now, until the function that it returns is
// called.
func (r *run) besideFresh(fresh peers.Peer) (end func(), err error) {
	host, err := newHost(fresh)
	if err != nil {
		return nil, err
	}
	r.fresh = host
	return func() { r.fresh = nil }, setSysctls(host, fresh)
}

// fatesExplained says whether an explanation says of a kind of packets that kube-proxy treats it otherwise: packets without ports to
// cluster IPs, to what several services claim, to a load balancer without endpoints, and of endpoints of other nodes that come back to
// themselves.
func (r *run) fatesExplained(d *forall.Difference, family v1.IPFamily) bool {
	p := &d.Witness.Packet
	if p.Proto != inet.TCP && p.Proto != inet.UDP && p.Proto != inet.SCTP { // what is behind extension headers of IPv6 is not modelled
		return allEnd(d.There, packetsim.Reject) || !d.Here.Known() || !d.There.Known()
	}
	_, claimed := destinationsOf(r.objects, family)
	if claimed[destination{p.Proto, p.Dst, p.DstPort}] > 1 {
		return true
	}
	return allEnd(d.Here, packetsim.Reject) && allEnd(d.There, packetsim.Drop) || r.elsewhere(p.Src) && sameButReturns(d.Here, d.There, p.Src)
}

func allEnd(fates forall.Distribution, verdict packetsim.Verdict) bool {
	return !slices.ContainsFunc(fates, func(s forall.Share) bool { return s.Fate.Verdict != verdict })
}

// sameButReturns says whether two distributions are the same but for the source of what comes back to its sender, which keeps it here, and
// is masqueraded there.
func sameButReturns(here, there forall.Distribution, sender netip.Addr) bool {
	returns := 0
	same := slices.EqualFunc(here, there, func(h, t forall.Share) bool {
		if t.Fate.Dst == sender && t.Fate.Src.IsValid() && !h.Fate.Src.IsValid() {
			returns++
			h.Fate.Src = t.Fate.Src
		}
		return h == t
	})
	return same && returns > 0
}

// elsewhere says whether an address is that of an endpoint of another node.
func (r *run) elsewhere(address netip.Addr) bool {
	return slices.ContainsFunc(r.objects.SortedSlices(), func(s *discovery.EndpointSlice) bool {
		return slices.ContainsFunc(s.Endpoints, func(e discovery.Endpoint) bool {
			return e.NodeName != nil && *e.NodeName != peers.NodeName && parse(e.Addresses[0]) == address
		})
	})
}

// returnsElsewhere says whether a packet of an endpoint of another node may come back to it, and has the same fates on both hosts but for
// its source then.
func (r *run) returnsElsewhere(in inet.Input) bool {
	if !r.elsewhere(in.Packet.Src) {
		return false
	}
	return sameButSource(r.ours.host, r.theirs.host, in)
}

func sameButSource(ours, theirs *packetsim.Host, in inet.Input) bool {
	a, errA := ends(ours, in)
	b, errB := ends(theirs, in)
	return errA == nil && errB == nil && sameEnds(withoutSource(a, in.Packet.Src), withoutSource(b, in.Packet.Src))
}

// withoutSource are ends that do not say from where a packet comes that is back at its sender.
func withoutSource(all map[end]float64, sender netip.Addr) map[end]float64 {
	out := make(map[end]float64, len(all))
	for e, p := range all {
		if e.final.Dst == sender {
			e.masquerade, e.final.Src, e.final.SrcPort = false, netip.Addr{}, 0
		}
		out[e] += p
	}
	return out
}

// sameButMark says whether a packet has the same fates on both hosts but for the mark that it has when it is refused.
func (r *run) sameButMark(in inet.Input) bool {
	ours, errOurs := ends(r.ours.host, in)
	theirs, errTheirs := ends(r.theirs.host, in)
	return errOurs == nil && errTheirs == nil && sameEnds(withoutMark(ours), withoutMark(theirs))
}

func withoutMark(all map[end]float64) map[end]float64 {
	out := make(map[end]float64, len(all))
	for e, p := range all {
		if e.verdict != packetsim.Accept {
			e.final.Mark = 0
		}
		out[e] += p
	}
	return out
}

// takenForWritten says of a difference between a kube-proxy of v1.35 that starts after ours, in mode nftables, and one on an empty kernel
// that it comes of what that version takes for its own: it does not write the chain of an endpoint again that is there, though the rule by
// which it masquerades the endpoint is not, and does not know the set hairpin-connections. So would it be after kube-proxy v1.36 or v1.37.
func takenForWritten(d *Difference) bool {
	if peers.Minor >= 36 || d.Kind != "rules" {
		return false
	}
	own := slices.DeleteFunc(slices.Clone(d.theirs), func(line string) bool { return strings.HasSuffix(line, " jump mark-for-masquerade") })
	return d.where == hairpinSet && d.theirs == nil || strings.HasPrefix(d.where, "chain endpoint-") && slices.Equal(d.ours, own)
}

// returnsOtherwise says the same of a packet: it comes back to its sender with another source.
func returnsOtherwise(d *Difference, sides [2]side) bool {
	return peers.Minor <= 35 && sameButSource(sides[0].host, sides[1].host, d.packet)
}
