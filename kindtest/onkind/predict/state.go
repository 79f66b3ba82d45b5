package predict

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/world/lab"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// State is a cluster at one moment, in its own names and addresses.
type State struct {
	// Cluster is what is around the nodes: the pods and machines with their addresses and listeners, the networks between the nodes and
	// their gateways. A machine that is on the nodes' own network has one of its addresses in Cluster.Underlay. Tool is the nodes' own
	// variant of iptables; packets are walked through the rules of both. Objects and Configs are not looked at.
	Cluster *scenarios.Cluster
	// Snapshots are one of each node. The name of a node is the host name of its snapshot.
	Snapshots []*snapshot.NodeSnapshot
	// Remembered are the clients in the nodes' lists of the match recent, which a snapshot does not have. Of a node that is not in it nobody
	// knows them.
	Remembered map[string][]Client
}

// Client is one that a list of the match recent has: it was remembered so lately that every rule that looks for it finds it.
type Client struct {
	List string
	Addr netip.Addr
}

// network is a State as packets walk it.
type network struct {
	sim.Observer
	ports      map[portOf]bool // that nodes remember connections from
	remembered []string        // the lists of the match recent that hold unknown addresses, NODE: LIST
	// turned is the same with the rules of iptables-legacy first; nil where nodes say which ones packets meet first, or have only one of them.
	turned *network
}

// portOf is a client's port.
type portOf struct {
	proto inet.Proto
	port  uint16
}

// build joins the hosts of a state.
func (s *State) build() (*network, error) {
	n, err := s.join(netfilter.NFT)
	for _, taken := range s.Snapshots {
		if err != nil || n.turned != nil {
			break
		}
		var open bool
		if open, err = s.orderOpen(taken); open {
			n.turned, err = s.join(netfilter.Legacy)
		}
	}
	return n, err
}

// join joins the hosts. If the order of both variants of iptables is not known, the chains of first go first.
func (s *State) join(first netfilter.Dialect) (*network, error) {
	n := &network{ports: map[portOf]bool{}}
	cluster := s.Cluster.With(s.Cluster.Dialect)
	for i := range cluster.Pods {
		cluster.Pods[i].Place = i + 1
	}
	nodes, hosts := map[string]*lab.Attached{}, map[string]*packetsim.Host{}
	for _, taken := range s.Snapshots {
		if s.Cluster.Node(taken.Hostname) == nil {
			return nil, fmt.Errorf("predict: there is a snapshot of %s, which is no node of the cluster", taken.Hostname)
		}
		node := lab.Attach(taken, cluster.Pods, func(*snapshot.Connection) bool { return true })
		host, err := snapshot.NewHost(node.NodeSnapshot, snapshot.HostOptions{First: first})
		if err != nil {
			return nil, fmt.Errorf("predict: %w", err)
		}
		nodes[taken.Hostname], hosts[taken.Hostname] = node, host
		n.remember(taken)
		clients, known := s.Remembered[taken.Hostname]
		for _, c := range clients {
			host.Remember(c.List, c.Addr)
		}
		if !known {
			n.remembered = append(n.remembered, UnreadLists(taken)...)
		}
	}
	for i := range s.Cluster.Nodes {
		if name := s.Cluster.Nodes[i].Name; hosts[name] == nil {
			return nil, fmt.Errorf("predict: there is no snapshot of node %s", name)
		}
	}
	joined, err := lab.New(cluster, nodes, hosts)
	if err != nil {
		return nil, fmt.Errorf("predict: %w", err)
	}
	n.Observer = sim.Observer{Network: joined.Network, Plan: joined.Plan, Pods: joined.Pods}
	return n, nil
}

// orderOpen reports whether a node has rules of both variants of iptables that matter, and does not say which of them packets meet first.
func (s *State) orderOpen(taken *snapshot.NodeSnapshot) (bool, error) {
	others := func(r snapshot.Rules) bool { return r.Dialect != s.Cluster.Dialect }
	if len(taken.Order) > 0 || !slices.ContainsFunc(taken.IPTables, others) {
		return false, nil
	}
	rulesets, err := taken.Rulesets()
	if err != nil {
		return false, fmt.Errorf("predict: %w", err)
	}
	return slices.ContainsFunc(rulesets, func(r netfilter.RulesetView) bool { return r.Dialect != s.Cluster.Dialect && decides(&r) }), nil
}

// decides reports whether a ruleset has a rule or a policy that can stop or change a packet of ours. The rules that Docker has for its
// name server are in the tables of the host's iptables, whatever the node's own is.
func decides(rules *netfilter.RulesetView) bool {
	for _, table := range rules.Tables {
		for chain := range table.Chains() {
			if chain.Policy == netfilter.Drop {
				return true
			}
			for _, fact := range chain.Facts() {
				if !provenance.IsOfNameServer(chain.Name) && !provenance.IsOfNameServer(fact.Jump) {
					return true
				}
			}
		}
	}
	return false
}

// remember notes what a node knows of earlier connections.
func (n *network) remember(taken *snapshot.NodeSnapshot) {
	for i := range taken.Conntrack {
		c := &taken.Conntrack[i]
		n.ports[portOf{c.Original.Proto, c.Original.SrcPort}] = true
		n.ports[portOf{c.Original.Proto, c.Original.ICMPID}] = true
	}
}

// UnreadLists are the lists of the match recent that hold addresses which a snapshot does not have, NODE: LIST.
func UnreadLists(taken *snapshot.NodeSnapshot) []string {
	var out []string
	for _, u := range taken.Unread {
		if strings.HasPrefix(u.What, "recent list") {
			out = append(out, taken.Hostname+": "+u.What)
		}
	}
	return out
}

// firstPort is the client's port where it does not matter, and no node remembers it.
const firstPort = 40000

// freePort is a port for a client that leaves it to its kernel.
func (n *network) freePort(proto inet.Proto) uint16 {
	port := uint16(firstPort)
	for n.ports[portOf{proto, port}] {
		port++
	}
	return port
}
