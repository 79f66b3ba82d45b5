package live

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/explain/whynot"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// call is a connection that is asked about.
type call struct {
	oracle.Attempt
	service *corev1.Service
	port    *corev1.ServicePort // nil for what is no service's
	lacks   *cause.Cause        // what the objects lack: there is nothing to call, or nobody to serve it
}

// errNoFamily says that one of two ends has IPv4 addresses alone, and the other IPv6.
var errNoFamily = errors.New("no address of one family")

// calls are the connections by which a client would call a server.
func (q *questions) calls(client, server *names.End) ([]call, error) {
	var out []call
	var err error
	if server.Service != nil {
		out, err = q.serviceCalls(client, server)
	} else {
		out, err = q.plainCalls(client, server)
	}
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("%s and %s have %w", client.Name, server.Name, errNoFamily)
	}
	return out, err
}

// serviceCalls are those to the ports of a service: at its cluster IPs from inside, at its other addresses and node ports from outside.
func (q *questions) serviceCalls(client, server *names.End) ([]call, error) {
	s := server.Service
	ports := server.Ports()
	if len(ports) == 0 {
		lacks := whynot.NoPort(s, cmp.Or(server.Port, "at all"))
		return []call{{service: s, lacks: &lacks}}, nil
	}
	var out []call
	for i := range ports {
		p := &ports[i]
		for _, to := range q.addresses(client, server, p) {
			from := q.clientName(client, to.addr.Addr())
			if from == "" {
				continue
			}
			made := call{service: s, port: p, Attempt: oracle.Attempt{
				From: from, Protocol: protocolOf(p), To: to.addr, Via: to.via,
			}}
			if lacks, ok := whynot.Lacks(q.exam.cluster.Objects, s, p); ok {
				made.lacks = &lacks
			}
			out = append(out, made)
		}
	}
	if len(out) == 0 && len(server.Addresses) == 0 && !client.IsOutside() {
		for i := range ports {
			if lacks, ok := whynot.Lacks(q.exam.cluster.Objects, s, &ports[i]); ok {
				return []call{{service: s, port: &ports[i], lacks: &lacks}}, nil
			}
		}
	}
	if len(out) == 0 && client.IsOutside() {
		lacks := cause.Cause{Code: cause.NoService, What: "service " + s.Namespace + "/" + s.Name,
			Says: fmt.Sprintf("%s/%s has no address for clients outside: it is of type %s.", s.Namespace, s.Name,
				cmp.Or(s.Spec.Type, "ClusterIP")),
			Remedy: "spec.type: NodePort or LoadBalancer, or spec.externalIPs"}
		return []call{{service: s, lacks: &lacks}}, nil
	}
	return out, nil
}

func protocolOf(p *corev1.ServicePort) corev1.Protocol { return cmp.Or(p.Protocol, corev1.ProtocolTCP) }

// destination is an address to call, and the node by which a packet from outside comes to it.
type destination struct {
	addr netip.AddrPort
	via  string
}

// addresses are those at which a client finds a port of a service. A headless service is found at its endpoints.
func (q *questions) addresses(client, server *names.End, p *corev1.ServicePort) []destination {
	s := server.Service
	var out []destination
	if !client.IsOutside() {
		for _, a := range server.Addresses {
			out = append(out, destination{addr: netip.AddrPortFrom(a, uint16(p.Port))})
		}
		if len(server.Addresses) == 0 {
			for _, at := range whynot.EndpointsOf(q.exam.cluster.Objects, s, p) {
				out = append(out, destination{addr: at})
			}
		}
		return out
	}
	for _, via := range q.entrances() {
		for _, text := range externalAddresses(s) {
			if a, ok := parse(text); ok {
				out = append(out, destination{netip.AddrPortFrom(a, uint16(p.Port)), via})
			}
		}
		if p.NodePort == 0 {
			continue
		}
		for _, a := range q.exam.topology.Node(via).Addresses {
			if isServed(server, a) {
				out = append(out, destination{netip.AddrPortFrom(a, uint16(p.NodePort)), via})
			}
		}
	}
	return out
}

// entrances are the nodes by which packets from outside come in: those with a snapshot, or the first node if none has one.
func (q *questions) entrances() []string {
	var out []string
	for _, node := range q.exam.cluster.Snapshots {
		out = append(out, node.Hostname)
	}
	if len(out) == 0 {
		return []string{q.exam.topology.Nodes[0].Name}
	}
	return out
}

// isServed says whether a service is of the family of an address.
func isServed(server *names.End, a netip.Addr) bool {
	return len(server.Addresses) == 0 || server.Address(a.Is6()).IsValid()
}

// externalAddresses are the addresses of a service for clients outside. Those of a load balancer that is a proxy of its own lead to no
// node.
func externalAddresses(s *corev1.Service) []string {
	out := slices.Clone(s.Spec.ExternalIPs)
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
		for _, ingress := range s.Status.LoadBalancer.Ingress {
			if ingress.IP != "" && ptr.Deref(ingress.IPMode, corev1.LoadBalancerIPModeVIP) == corev1.LoadBalancerIPModeVIP {
				out = append(out, ingress.IP)
			}
		}
	}
	return out
}

// clientName is the host of the network that a client is; empty if it has no address of the family.
func (q *questions) clientName(client *names.End, to netip.Addr) string {
	if client.IsOutside() {
		for i := range q.exam.topology.Outside {
			m := &q.exam.topology.Outside[i]
			if m.Name == names.Outside && slices.ContainsFunc(m.Addresses, func(a netip.Addr) bool { return a.Is6() == to.Is6() }) {
				return m.Name
			}
		}
		return ""
	}
	a := client.Address(to.Is6())
	if !a.IsValid() {
		return ""
	}
	if client.Host && client.Node != "" {
		return client.Node
	}
	for i := range q.exam.topology.Outside {
		if m := &q.exam.topology.Outside[i]; slices.Contains(m.Addresses, a) {
			return m.Name
		}
	}
	return q.exam.clientOf(cmp.Or(client.Node, q.exam.topology.Nodes[0].Name), a)
}

// plainCalls are those to a pod, a node or an address: TCP to the port, or an echo request where none is given.
func (q *questions) plainCalls(client, server *names.End) ([]call, error) {
	var out []call
	for _, a := range server.Addresses {
		from := q.clientName(client, a)
		if from == "" {
			continue
		}
		made := call{Attempt: oracle.Attempt{From: from, Protocol: oracle.ICMP, To: netip.AddrPortFrom(a, 0)}}
		if server.Port != "" {
			port, err := strconv.ParseUint(server.Port, 10, 16)
			if err != nil {
				return nil, fmt.Errorf("%s: a port is a number from 1 to 65535", server.Name)
			}
			made.Protocol, made.To = corev1.ProtocolTCP, netip.AddrPortFrom(a, uint16(port))
		}
		if q.exam.topology.Pod(from) == nil && q.exam.topology.Node(from) == nil {
			made.Via = q.entrances()[0]
		}
		made.lacks = q.exam.lacks(made.Attempt)
		out = append(out, made)
	}
	return out, nil
}
