package beside

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/kindtest/onkind/kind"
	"github.com/chainwalk/chainwalk/kindtest/onkind/predict"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// translation is between a scenario's names and addresses and those of the cluster.
type translation struct {
	facts    *kind.Facts
	mapping  *kind.Mapping
	scenario *scenarios.Cluster
}

// cluster is what is around the nodes: the pods that the scenario has in the pool, and the container outside with all of its machines. On
// the nodes their proxies listen for the health checks of services.
func (t *translation) cluster(objects []manifest.Object) *scenarios.Cluster {
	c := &scenarios.Cluster{IPFamily: scenarios.FamilyDual, Dialect: t.facts.Dialect, Underlay: slices.Clone(t.facts.Networks)}
	for _, network := range c.Underlay {
		c.Router = append(c.Router, network.Masked().Addr().Next())
	}
	for i := range t.facts.Nodes {
		real := &t.facts.Nodes[i]
		node := scenarios.Node{Name: real.Name, Addresses: real.Addresses, PodCIDRs: real.PodCIDRs}
		if own := t.node(real.Name); own != nil {
			node.Listen = append(t.listeners(own.Listen), t.healthChecks(own.Name, objects)...)
		}
		c.Nodes = append(c.Nodes, node)
	}
	c.Pods = t.pods()
	c.Outside = []scenarios.Machine{t.outside()}
	return c
}

// healthChecks are where a node's proxy listens for the health checks of services. With nodePortAddresses it does so on these only, and
// the scenario has to say where.
func (t *translation) healthChecks(node string, objects []manifest.Object) []scenarios.Listener {
	if config := t.scenario.Configs[node]; config != nil && len(config.NodePortAddresses) > 0 {
		return nil
	}
	var out []scenarios.Listener
	for _, o := range objects {
		if service, ok := o.Object.(*corev1.Service); ok && service.Spec.HealthCheckNodePort > 0 {
			out = append(out, scenarios.Listener{Proto: "tcp", Port: uint16(service.Spec.HealthCheckNodePort)})
		}
	}
	return out
}

// node is the scenario's node that a node of the cluster stands for, nil if there is none.
func (t *translation) node(real string) *scenarios.Node {
	for i := range t.scenario.Nodes {
		if n := &t.scenario.Nodes[i]; t.mapping.Node(n.Name) == real {
			return n
		}
	}
	return nil
}

// listeners are sockets with the cluster's addresses. All ports stay all ports.
func (t *translation) listeners(given []scenarios.Listener) []scenarios.Listener {
	out := slices.Clone(given)
	for i := range out {
		out[i].Addr = t.mapping.To(out[i].Addr)
	}
	return out
}

// pods are the pods of the pool that stand for pods of the scenario. One that stands for several has the addresses and sockets of all.
func (t *translation) pods() []scenarios.Pod {
	var out []scenarios.Pod
	for i := range t.scenario.Pods {
		pod := &t.scenario.Pods[i]
		host, ok := t.mapping.Host(pod.Name)
		if !ok {
			continue
		}
		at := slices.IndexFunc(out, func(p scenarios.Pod) bool { return p.Name == host.Agent })
		if at < 0 {
			out = append(out,
				scenarios.Pod{Name: host.Agent, Node: host.Machine, Addresses: slices.Clone(host.Addresses), Listen: t.listeners(pod.Listen)})
			continue
		}
		first := &out[at]
		first.Listen = slices.Concat(socketsAt(first.Listen, first.Addresses), socketsAt(t.listeners(pod.Listen), host.Addresses))
		first.Addresses = append(first.Addresses, host.Addresses...)
	}
	return out
}

// socketsAt are the sockets of one of several hosts that share a place. Who has none given listens on every port of its own addresses.
func socketsAt(given []scenarios.Listener, own []netip.Addr) []scenarios.Listener {
	if given != nil {
		return given
	}
	var out []scenarios.Listener
	for _, a := range own {
		for _, proto := range []string{"tcp", "udp", "sctp"} {
			out = append(out, scenarios.Listener{Proto: proto, Addr: a})
		}
	}
	return out
}

// outside is the container outside.
func (t *translation) outside() scenarios.Machine {
	m := scenarios.Machine{Name: t.facts.Outside.Name, Addresses: slices.Clone(t.facts.Outside.Addresses), Listen: []scenarios.Listener{}}
	for i := range t.scenario.Outside {
		one := &t.scenario.Outside[i]
		var own []netip.Addr
		for _, a := range one.Addresses {
			own = append(own, t.mapping.To(a))
		}
		m.Addresses = append(m.Addresses, own...)
		m.Listen = append(m.Listen, socketsAt(t.listeners(one.Listen), own)...)
	}
	return m
}

// keptPort is the port of a client whose connection is kept, where it does not say it (docs/scenarios.md).
const keptPort = 40000

// attempt is a connection as it is made in the cluster. A machine that shares its host with others calls from its own address.
func (t *translation) attempt(a scenarios.Attempt) scenarios.Attempt {
	host, known := t.mapping.Host(a.From)
	if known {
		a.From = host.Agent
	}
	a.To.AddrPort = t.mapping.ToPort(a.To.AddrPort)
	a.Pick = t.mapping.ToPort(a.Pick)
	a.Via = t.mapping.Node(a.Via)
	if a.Keep != "" && a.Bind.Port == 0 {
		a.Bind.Port = keptPort
	}
	isNode := known && host.Agent == host.Machine && host.Machine != t.facts.Outside.Name
	switch {
	case a.Bind.Addr.IsValid():
		a.Bind.Addr = t.mapping.To(a.Bind.Addr)
	case known && !isNode:
		at := slices.IndexFunc(host.Addresses, func(own netip.Addr) bool { return own.Is6() == a.To.Addr().Is6() })
		if at >= 0 {
			a.Bind.Addr = host.Addresses[at]
		}
	}
	return a
}

// input is a packet as a node of the cluster gets it. The pod whose device it comes by has another name there.
func (t *translation) input(in inet.Input) inet.Input {
	in.Src, in.Dst = t.mapping.To(in.Src), t.mapping.To(in.Dst)
	if host, ok := t.mapping.Host(in.In); ok {
		in.In = host.Agent
	}
	return in
}

// wayTo is a way with the cluster's addresses, as far as the ends of a connection know it.
func (t *translation) wayTo(w scenarios.Way) scenarios.Way {
	if host, ok := t.mapping.Host(w.Host); ok {
		w.Host = host.Agent
	}
	w.Sender, w.Server, w.Client = t.mapping.ToPort(w.Sender), t.mapping.ToPort(w.Server), t.mapping.ToPort(w.Client)
	return w
}

// against judges what the scenario has seen.
func (t *translation) against(f *predict.Forecast, seen *scenarios.Observed) *scenarios.Prediction {
	tries := *seen
	tries.Samples = max(seen.Samples, 1) // what happens once is no exact probability
	return f.Told(t.wayBack).Against(&tries)
}

// rulesIn are the rules of a state by the scenario's names of nodes, as iptables-save prints them without counters, with the scenario's
// addresses.
func (t *translation) rulesIn(v *predict.State) func(node string) []string {
	return func(node string) []string {
		var out []string
		for _, taken := range v.Snapshots {
			if taken.Hostname != t.mapping.Node(node) {
				continue
			}
			for i := range taken.IPTables {
				for line := range strings.Lines(taken.IPTables[i].Save) {
					if at := strings.Index(line, "-A "); at >= 0 {
						out = append(out, t.mapping.BackText(strings.TrimSpace(line[at:])))
					}
				}
			}
		}
		return out
	}
}

// wayBack is a predicted way in the scenario's words.
func (t *translation) wayBack(w scenarios.Way) scenarios.Way {
	w.Sender, w.Server, w.Client = t.mapping.BackPort(w.Sender), t.mapping.BackPort(w.Server), t.mapping.BackPort(w.Client)
	if w.Out != "" { // of a packet that was given to one node, which is all of its way
		w.Host = t.nameBack(w.Host)
	} else {
		w.Host = t.hostBack(w.Host, w.Server.Addr(), w.End)
	}
	w.Rule, w.Reason, w.Why, w.Out = t.mapping.BackText(w.Rule), t.mapping.BackText(w.Reason), t.mapping.BackText(w.Why), t.nameBack(w.Out)
	w.Forward, w.Back = t.hopsBack(w.Forward), t.hopsBack(w.Back)
	return w
}

func (t *translation) hopsBack(hops []scenarios.Hop) []scenarios.Hop {
	out := slices.Clone(hops)
	for i := range out {
		h := &out[i]
		h.Host, h.Packet, h.Result = t.nameBack(h.Host), t.mapping.BackText(h.Packet), t.mapping.BackText(h.Result)
		h.Steps = slices.Clone(h.Steps)
		for j := range h.Steps {
			h.Steps[j].Rule = t.mapping.BackText(h.Steps[j].Rule)
		}
	}
	return out
}

// hostBack is where a way ends. Of several machines in one place it is the one that was called; what came to the container outside and
// was for none of its machines has come to the router.
func (t *translation) hostBack(name string, server netip.Addr, end scenarios.End) string {
	if end == scenarios.Delivered || end == scenarios.Refused {
		if owner := t.mapping.Owner(server); owner != "" {
			return owner
		}
	}
	if name == t.facts.Outside.Name {
		return scenarios.RouterName
	}
	return t.nameBack(name)
}

// nameBack is the scenario's name for a host of the cluster: where that stands for several the first one's. Others are as they are.
func (t *translation) nameBack(name string) string {
	if n := t.node(name); n != nil {
		return n.Name
	}
	for i := range t.scenario.Pods {
		if host, ok := t.mapping.Host(t.scenario.Pods[i].Name); ok && host.Agent == name {
			return t.scenario.Pods[i].Name
		}
	}
	return name
}
