package nft

import (
	"bytes"
	"cmp"
	"net/netip"

	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/proxier/internal/changes"
	"github.com/chainwalk/chainwalk/proxier/internal/model"
)

// container is a set or a map in which all service ports may have elements.
type container uint8

const (
	clusterIPs container = iota
	hairpinConnections
	serviceIPs
	firewallIPs
	noEndpointServices
	serviceNodePorts
	noEndpointNodePorts
	containers
)

// What keys are made of, and "ADDR" stands for the family's type of addresses.
const (
	atService = "ADDR . inet_proto . inet_service"
	atPort    = "inet_proto . inet_service"
)

// containerTexts has the name of each container, whether it is a map, what its keys are made of, and its comment.
var containerTexts = [containers]struct {
	name    string
	isMap   bool
	keys    string
	comment string
}{
	clusterIPs:          {"cluster-ips", false, "ADDR", "Active ClusterIPs"},
	hairpinConnections:  {"hairpin-connections", false, "ADDR . " + atService, "service hairpin connections"},
	serviceIPs:          {"service-ips", true, atService, "ClusterIP, ExternalIP and LoadBalancer IP traffic"},
	firewallIPs:         {"firewall-ips", true, atService, "destinations that are subject to LoadBalancerSourceRanges"},
	noEndpointServices:  {"no-endpoint-services", true, atService, "vmap to drop or reject packets to services with no endpoints"},
	serviceNodePorts:    {"service-nodeports", true, atPort, "NodePort traffic"},
	noEndpointNodePorts: {"no-endpoint-nodeports", true, atPort, "vmap to drop or reject packets to service nodeports with no endpoints"},
}

func (c container) name() string { return containerTexts[c].name }

// kind is what nft calls the container.
func (c container) kind() string {
	if containerTexts[c].isMap {
		return "map "
	}
	return "set "
}

// key is the key of an element in its container. What the container's keys have not is zero.
type key struct {
	address   [16]byte
	port      uint16
	protocol  protocol
	container container
}

// protocol is that of a service port.
type protocol uint8

const (
	noProtocol protocol = iota
	tcp
	udp
	sctp
)

func protocolOf(name v1.Protocol) protocol {
	switch changes.LowerProtocol(name) {
	case "udp":
		return udp
	case "sctp":
		return sctp
	default:
		return tcp
	}
}

func (p protocol) String() string { return [...]string{"", "tcp", "udp", "sctp"}[p] }

// compareKeys sorts keys by container, address, protocol and port.
func compareKeys(a, b key) int {
	return cmp.Or(
		cmp.Compare(a.container, b.container),
		bytes.Compare(a.address[:], b.address[:]),
		cmp.Compare(a.protocol, b.protocol),
		cmp.Compare(a.port, b.port),
	)
}

// verdict is the value of an element.
type verdict uint8

const (
	noVerdict verdict = iota // of a set
	gotoExternal
	gotoFirewall
	gotoCluster
	gotoLocal
	gotoReject
	drop
)

// claim is an element that a service port wants.
type claim struct {
	key     key
	verdict verdict
}

// appendClaims appends the elements that the service port wants, in an order that depends on nothing else.
func appendClaims(dst []claim, s *model.Service) []claim {
	port := s.Port
	c := claims{list: dst, protocol: protocolOf(port.Name.Protocol)}
	c.addAddress(clusterIPs, port.ClusterIP, noVerdict)
	if s.Internal.Handling == model.Route {
		c.addService(serviceIPs, port.ClusterIP, port.Port, chainOf(s.Internal))
	} else {
		c.addService(noEndpointServices, port.ClusterIP, port.Port, refusal(s.Internal))
	}
	for _, ip := range port.ExternalIPs {
		c.addExternal(s, serviceIPs, noEndpointServices, ip, port.Port)
	}
	for _, ip := range port.LoadBalancerVIPs {
		c.addExternal(s, serviceIPs, noEndpointServices, ip, port.Port)
		if s.Firewall != nil {
			c.addService(firewallIPs, ip, port.Port, gotoFirewall)
		}
	}
	if port.NodePort != 0 {
		c.addExternal(s, serviceNodePorts, noEndpointNodePorts, netip.Addr{}, port.NodePort)
	}
	for i := range s.Endpoints.Reachable {
		if e := &s.Endpoints.Reachable[i]; masqueradedHairpin(e) {
			c.addService(hairpinConnections, e.IP, e.Port, noVerdict)
		}
	}
	return c.list
}

// masqueradedHairpin says whether the endpoint may be a pod of this node, and so may reach itself here. Packets of pods on other nodes
// that reach themselves are not seen here.
func masqueradedHairpin(e *changes.Endpoint) bool { return e.Local || e.Unplaced }

// claims collects those of one service port.
type claims struct {
	list     []claim
	protocol protocol
}

func (c *claims) addAddress(in container, ip netip.Addr, verdict verdict) {
	c.list = append(c.list, claim{key{container: in, address: ip.As16()}, verdict})
}

// addService adds an element whose key has a protocol and a port. An address that is not valid is left out, as in maps of node ports.
func (c *claims) addService(in container, ip netip.Addr, port uint16, verdict verdict) {
	k := key{container: in, protocol: c.protocol, port: port}
	if ip.IsValid() {
		k.address = ip.As16()
	}
	c.list = append(c.list, claim{k, verdict})
}

// addExternal leads an external destination to the service port's chain, if that is there, and says what happens to what is not
// translated. Both may be so: pods and the node itself are served while other clients are dropped.
func (c *claims) addExternal(s *model.Service, served, refused container, ip netip.Addr, port uint16) {
	if s.EntersExternal {
		c.addService(served, ip, port, gotoExternal)
	}
	if s.External.Handling != model.Route {
		c.addService(refused, ip, port, refusal(s.External))
	}
}

// chainOf leads to the endpoints of the traffic's policy.
func chainOf(traffic model.Traffic) verdict {
	if traffic.Local {
		return gotoLocal
	}
	return gotoCluster
}

func refusal(traffic model.Traffic) verdict {
	if traffic.Handling == model.Drop {
		return drop
	}
	return gotoReject
}

// appendKeyText spells the key.
func (s *speller) appendKeyText(dst []byte, k key) []byte {
	if k.container == clusterIPs {
		return s.appendAddress(dst, k)
	}
	switch k.container {
	case serviceNodePorts, noEndpointNodePorts:
	case hairpinConnections:
		dst = append(s.appendAddress(dst, k), " . "...)
		dst = append(s.appendAddress(dst, k), " . "...)
	default:
		dst = append(s.appendAddress(dst, k), " . "...)
	}
	dst = append(append(dst, k.protocol.String()...), " . "...)
	return appendUint(dst, k.port)
}

func (s *speller) appendAddress(dst []byte, k key) []byte {
	return netip.AddrFrom16(k.address).Unmap().AppendTo(dst)
}

// appendElement spells the element of a service port. base ends the names of its chains.
func (s *speller) appendElement(dst []byte, c claim, name *changes.ServicePortName, base []byte) []byte {
	dst = s.appendKeyText(dst, c.key)
	switch c.verdict {
	case noVerdict:
		return dst
	case gotoReject:
		return append(appendComment(dst, name), " : goto "+rejectChain...)
	case drop:
		return append(appendComment(dst, name), " : drop"...)
	}
	dst = append(dst, " : goto "...)
	kind := [...]chainKind{
		gotoExternal: externalChain, gotoFirewall: firewallChain, gotoCluster: clusterChain, gotoLocal: localChain,
	}[c.verdict]
	return append(append(dst, kind.prefix()...), base...)
}
