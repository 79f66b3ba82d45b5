package judge

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	netutils "k8s.io/utils/net"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
)

// destination is something that a packet may be sent to.
type destination struct {
	proto inet.Proto
	addr  netip.Addr
	port  uint16
}

// claims counts the service ports that want packets to a destination.
type claims map[destination]int

var protocols = map[v1.Protocol]inet.Proto{
	v1.ProtocolTCP: inet.TCP, v1.ProtocolUDP: inet.UDP, v1.ProtocolSCTP: inet.SCTP,
}

// unusedPort is a port that no service has.
const unusedPort = 4444

// destinationsOf are all that the objects name in a family, sorted, with the number of service ports that claim each, and some
// that nobody claims: unused ports, node ports at the other node, the endpoints themselves.
func destinationsOf(objects *cases.Objects, family v1.IPFamily) ([]destination, claims) {
	c := claims{}
	for _, service := range objects.SortedServices() {
		for i := range service.Spec.Ports {
			c.addPort(service, &service.Spec.Ports[i], family)
		}
	}
	for _, slice := range objects.SortedSlices() {
		if v1.IPFamily(slice.AddressType) != family || len(slice.Endpoints) == 0 {
			continue
		}
		if addr := parse(slice.Endpoints[0].Addresses[0]); addr.IsValid() {
			c[destination{inet.TCP, addr, 8080}] += 0
		}
	}
	all := slices.SortedFunc(maps.Keys(c), func(a, b destination) int {
		if n := a.addr.Compare(b.addr); n != 0 {
			return n
		}
		return int(a.port)*256 + int(a.proto) - int(b.port)*256 - int(b.proto)
	})
	return all, c
}

// addPort adds what one port of a service is reached at. An address that the service names twice counts once.
func (c claims) addPort(service *v1.Service, port *v1.ServicePort, family v1.IPFamily) {
	proto := protocols[port.Protocol]
	addresses := map[netip.Addr]bool{}
	texts := append(slices.Clone(service.Spec.ClusterIPs), service.Spec.ExternalIPs...)
	for i := range service.Status.LoadBalancer.Ingress {
		if ingress := &service.Status.LoadBalancer.Ingress[i]; isVIP(ingress) {
			texts = append(texts, ingress.IP)
		}
	}
	for _, at := range balancersOf(service, port, family) {
		c[destination{proto, at.Addr(), at.Port()}] += 0
	}
	for _, text := range texts {
		if addr := parse(text); addr.IsValid() && addr.Is6() == (family == v1.IPv6Protocol) {
			addresses[addr] = true
		}
	}
	for addr := range addresses {
		c[destination{proto, addr, uint16(port.Port)}]++
		c[destination{proto, addr, unusedPort}] += 0
	}
	for _, addr := range nodeAddresses(family) {
		if port.NodePort != 0 {
			c[destination{proto, addr, uint16(port.NodePort)}]++
		}
		if service.Spec.HealthCheckNodePort != 0 {
			c[destination{inet.TCP, addr, uint16(service.Spec.HealthCheckNodePort)}] += 0
		}
	}
}

func parse(text string) netip.Addr {
	addr, _ := netip.AddrFromSlice(netutils.ParseIPSloppy(text))
	return addr.Unmap()
}

// end is what became of a packet, but for its probability.
type end struct {
	verdict    packetsim.Verdict
	rejectWith string
	to         packetsim.Destination
	out        string
	final      packetsim.Final
	masquerade bool
	dnat       string
	reason     string
	replies    int
}

// ends are the outcomes of a walk. Outcomes that differ only in the way to them are one.
func ends(host *packetsim.Host, in inet.Input) (map[end]float64, error) {
	outcomes, err := host.Verdicts(in)
	if err != nil {
		return nil, err
	}
	all := make(map[end]float64, len(outcomes))
	for i := range outcomes {
		o := &outcomes[i]
		all[end{o.Verdict, o.RejectWith, o.To, o.Out, o.Final, o.Masqueraded, o.DNAT, o.Why, len(o.Replies)}] += o.Probability
	}
	return all, nil
}

// tolerance is for sums of the same probabilities in another order.
const tolerance = 1e-12

func sameEnds(a, b map[end]float64) bool {
	if len(a) != len(b) {
		return false
	}
	for e, p := range a {
		if q, ok := b[e]; !ok || math.Abs(p-q) > tolerance {
			return false
		}
	}
	return true
}

// comparePackets walks a packet of each client to each destination, at most so many, through both hosts.
func comparePackets(
	ours, theirs *packetsim.Host, objects *cases.Objects, family v1.IPFamily, most int,
) (packets int, differences []*Difference) {
	destinations, claimed := destinationsOf(objects, family)
	clients := clients[family]
	// A step that has no divisor in common with the number of clients meets all of them.
	step := 1 + len(destinations)*len(clients)/most
	if step > 1 && step%len(clients) == 0 {
		step++
	}
	for n := 0; n < len(destinations)*len(clients); n += step {
		d, client := destinations[n/len(clients)], &clients[n%len(clients)]
		in, ok := client.packetTo(d)
		if !ok {
			continue
		}
		packets++
		if difference := comparePacket(ours, theirs, in, client.name); difference != nil {
			difference.contested = claimed[d] > 1
			differences = append(differences, difference)
		}
	}
	return packets, differences
}

func comparePacket(ours, theirs *packetsim.Host, in inet.Input, client string) *Difference {
	a, errA := ends(ours, in)
	b, errB := ends(theirs, in)
	if errA == nil && errB == nil && sameEnds(a, b) {
		return nil
	}
	where := client + ": " + in.String()
	return &Difference{Kind: "packets", where: where, packet: in, ours: endLines(a, errA), theirs: endLines(b, errB)}
}

func endLines(all map[end]float64, err error) []string {
	if err != nil {
		return []string{"error: " + err.Error()}
	}
	var lines []string
	for e, p := range all {
		words := []string{string(e.verdict), e.rejectWith, string(e.to), e.out, e.dnat, e.reason}
		if e.masquerade {
			words = append(words, "masqueraded")
		}
		words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
		lines = append(lines, fmt.Sprintf("%.10f %s %+v", p, strings.Join(words, " "), e.final))
	}
	slices.Sort(lines)
	return lines
}
