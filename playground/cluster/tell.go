package cluster

import (
	"net/netip"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/playground/rules"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// tellRules tells the rules of a node, and for which object each was written.
func (t *Tab) tellRules(taken *snapshot.NodeSnapshot, objects []manifest.Object, out *Read) error {
	var text strings.Builder
	for i := range taken.IPTables {
		r := &taken.IPTables[i]
		lines, err := fakekernel.Lines("rules", r.Save, r.Family, r.Dialect)
		if err != nil {
			return err
		}
		for _, line := range lines {
			owner, shown := "", line.Text
			if line.Fact != nil {
				owner = t.book.Rule(line.Table, line.Chain, line.Fact)
				if at := strings.Index(shown, "-A"); at > 0 {
					shown = shown[at:] // without the counters, which are 0
				}
			}
			text.WriteString(shown + "\n")
			out.Owners = append(out.Owners, owner)
		}
	}
	for i := range taken.NFTables {
		if err := t.tellNative(taken.NFTables[i].Rules, &text, out); err != nil {
			return err
		}
	}
	out.Rules = text.String()
	for i := range objects {
		own := Object{Name: objects[i].Ref().String(), Line: objects[i].Pos.Line, Rules: []int{}}
		for line, owner := range out.Owners {
			if owns(&objects[i], owner) {
				own.Rules = append(own.Rules, line+1)
			}
		}
		out.Objects = append(out.Objects, own)
	}
	return nil
}

// tellNative tells a table as nft lists it.
func (t *Tab) tellNative(listing string, text *strings.Builder, out *Read) error {
	saved, err := snapshot.ReadSaved("rules", strings.NewReader(listing), snapshot.RulesOptions{})
	if err != nil {
		return err
	}
	host, err := saved.Host(inet.Input{})
	if err != nil {
		return err
	}
	owners := map[int]string{} // by line, from 1
	for _, at := range saved.NativePlaces() {
		table := nftables.In(host.Netfilter()).State().Table(at.Table.Family, at.Table.Name)
		fact := packetsim.FactOf(table, table.Chain(at.Chain).Rules[at.Number-1])
		owners[at.Line] = t.book.Rule(at.Table.Name, at.Chain, &fact)
	}
	number := 0
	for line := range strings.Lines(listing) {
		number++
		text.WriteString(strings.TrimRight(line, "\n") + "\n")
		out.Owners = append(out.Owners, owners[number])
	}
	return nil
}

// owns says whether a rule was written for an object: a service has rules for each of its ports, a slice has the rules of its service.
func owns(o *manifest.Object, owner string) bool {
	name := o.Ref().String()
	if slice, is := o.Object.(*discoveryv1.EndpointSlice); is {
		name = "service " + slice.Namespace + "/" + slice.Labels[discoveryv1.LabelServiceName]
	}
	return owner == name || strings.HasPrefix(owner, name+":")
}

// tellPackets tells the packets that the objects are about: of every port of a service from a pod, from the node and from outside.
func (t *Tab) tellPackets(objects []manifest.Object, out *Read) {
	pod := t.client(objects)
	for _, service := range manifest.Of[*corev1.Service](objects) {
		for i := range service.Spec.Ports {
			port := &service.Spec.Ports[i]
			of := service.Namespace + "/" + service.Name
			if port.Name != "" {
				of += ":" + port.Name
			}
			for _, ip := range service.Spec.ClusterIPs {
				if pod.IsValid() {
					out.packet(port, pod, ip, port.Port, of+", from a pod")
				}
			}
			for _, ip := range service.Spec.ExternalIPs {
				out.packet(port, outside(ip), ip, port.Port, of+", external IP from outside")
			}
			for _, ingress := range service.Status.LoadBalancer.Ingress {
				out.packet(port, outside(ingress.IP), ingress.IP, port.Port, of+", load balancer from outside")
			}
			for _, node := range manifest.Of[*corev1.Node](objects) {
				if node.Name != t.node || port.NodePort == 0 {
					continue
				}
				for _, a := range node.Status.Addresses {
					if a.Type == corev1.NodeInternalIP {
						out.packet(port, outside(a.Address), a.Address, port.NodePort, of+", node port from outside")
					}
				}
			}
			out.Names = append(out.Names, "svc/"+service.Namespace+"/"+service.Name+":"+portName(port))
		}
	}
	for _, p := range manifest.Of[*corev1.Pod](objects) {
		out.Names = append(out.Names, "pod/"+p.Namespace+"/"+p.Name+":40000")
	}
	for _, node := range out.Nodes {
		out.Names = append(out.Names, "node/"+node+":40000")
	}
}

func portName(port *corev1.ServicePort) string {
	if port.Name != "" {
		return port.Name
	}
	return strconv.Itoa(int(port.Port))
}

// packet adds a packet between two addresses of one family.
func (r *Read) packet(port *corev1.ServicePort, from netip.Addr, to string, number int32, of string) {
	dst, err := netip.ParseAddr(to)
	if err != nil || dst.Is6() != from.Is6() {
		return
	}
	text := strings.ToLower(string(port.Protocol)) + " " + netip.AddrPortFrom(from, 40000).String() + " > " +
		netip.AddrPortFrom(dst, uint16(number)).String()
	r.Packets = append(r.Packets, rules.About{Packet: text, Of: of})
}

// client is a pod on the node, or on any: the last endpoint, which other endpoints are then called by.
func (t *Tab) client(objects []manifest.Object) netip.Addr {
	var here, anywhere netip.Addr
	note := func(node, text string) {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return
		}
		anywhere = a
		if node == t.node {
			here = a
		}
	}
	for _, slice := range manifest.Of[*discoveryv1.EndpointSlice](objects) {
		for i := range slice.Endpoints {
			if e := &slice.Endpoints[i]; e.NodeName != nil && len(e.Addresses) > 0 {
				note(*e.NodeName, e.Addresses[0])
			}
		}
	}
	for _, p := range manifest.Of[*corev1.Pod](objects) {
		if !p.Spec.HostNetwork {
			note(p.Spec.NodeName, p.Status.PodIP)
		}
	}
	if here.IsValid() {
		return here
	}
	return anywhere
}

// outside is a client outside of the cluster, of the family of an address.
func outside(to string) netip.Addr {
	if strings.Contains(to, ":") {
		return netip.MustParseAddr("2001:db8::10")
	}
	return netip.MustParseAddr("198.51.100.10")
}
