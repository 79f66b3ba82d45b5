package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/manifest"
	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Step is one thing that happens. Exactly one of the fields from Apply to Fault
// is given, or Sync alone.
type Step struct {
	document.Located
	Name string `json:"name" doc:"What the step is for."`

	Apply     Objects          `json:"apply" doc:"Kubernetes objects to create or replace."`
	Delete    []Ref            `json:"delete" doc:"Objects to delete: KIND NAMESPACE/NAME."`
	Node      *NodeChange      `json:"node" doc:"Changes a node's labels."`
	Advance   *metav1.Duration `json:"advance" doc:"Moves the clock, such as 10800s."`
	Restart   *NodeSet         `json:"restart" doc:"Restarts kube-proxy; the rules stay: true for every node, or a list of nodes."`
	Configure *KubeProxy       `json:"kubeProxy" doc:"With restart: KubeProxyConfiguration fields that are other than before."`
	Connect   *Connect         `json:"connect" doc:"A connection there and back."`
	Cases     []Connect        `json:"cases" doc:"Several connections, each of them from the same state."`
	Flow      *FlowPacket      `json:"flow" doc:"A later packet of a connection that was kept with \"as\"."`
	Send      *Send            `json:"send" doc:"One packet at a node."`
	Rules     *RulesCheck      `json:"rules" doc:"What the rules on the nodes hold."`
	Health    *HealthCheck     `json:"health" doc:"What kube-proxy answers to a load balancer's health check."`
	Fault     *Fault           `json:"fault" doc:"What goes wrong behind kube-proxy's back. Not followed by a sync unless \"sync\" says so."`

	Sync      *NodeSet `json:"sync" doc:"Which nodes sync after the step: true, false or a list of nodes. Every node syncs after apply, delete, node and restart, if not given."`
	SyncError string   `json:"syncError" doc:"The sync must fail with an error that contains this."`
}

// actions are the step's actions that are given, by name.
func (s *Step) actions() []string {
	var out []string
	for _, a := range []struct {
		name  string
		given bool
	}{
		{"apply", s.Apply != nil}, {"delete", s.Delete != nil}, {"node", s.Node != nil}, {"advance", s.Advance != nil},
		{"restart", s.Restart != nil}, {"connect", s.Connect != nil}, {"cases", s.Cases != nil}, {"flow", s.Flow != nil},
		{"send", s.Send != nil}, {"rules", s.Rules != nil}, {"health", s.Health != nil}, {"fault", s.Fault != nil},
	} {
		if a.given {
			out = append(out, a.name)
		}
	}
	return out
}

// Action is the name of the step's one action; "sync" for a step that only syncs.
func (s *Step) Action() string {
	if actions := s.actions(); len(actions) > 0 {
		return actions[0]
	}
	return "sync"
}

// changes reports whether a sync follows the step if the file does not say.
func (s *Step) changes() bool {
	return slices.Contains([]string{"apply", "delete", "node", "restart"}, s.Action())
}

// NodeSet is every node, none, or some by name. In a file: true, false, a list.
type NodeSet struct {
	document.Located
	All   bool
	Names []string
}

// UnmarshalDocument reads true, false or a list of names.
func (s *NodeSet) UnmarshalDocument(d *document.Decoder, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" {
		s.All = strings.EqualFold(n.Value, "true")
		return
	}
	if n.Kind != yaml.SequenceNode {
		d.Errorf(n, "want true, false or a list of nodes")
		return
	}
	d.Decode(n, &s.Names)
}

// Ref names an object in a file: "service ns/name".
type Ref struct {
	document.Located
	manifest.Ref
}

// UnmarshalDocument reads the text of a reference.
func (r *Ref) UnmarshalDocument(d *document.Decoder, n *yaml.Node) {
	text, ok := d.Scalar(n, "KIND NAMESPACE/NAME")
	if !ok {
		return
	}
	ref, err := manifest.ParseRef(text)
	if err != nil {
		d.Errorf(n, "%v", err)
	}
	r.Ref = ref
}

// NodeChange changes a Node object.
type NodeChange struct {
	document.Located
	Name   string             `json:"name" required:"true" doc:"The node."`
	Labels map[string]*string `json:"labels" required:"true" doc:"Labels to set; null takes one away."`
}

// Connect is one connection: a first packet, and the answer to it.
type Connect struct {
	document.Located
	Name   string         `json:"name" doc:"What the connection is for."`
	From   string         `json:"from" required:"true" doc:"The client: a pod, a node, a machine outside, or an address."`
	Bind   Bind           `json:"bind" doc:"The client's own address and port: ADDRESS, ADDRESS:PORT or :PORT. Chosen as a client would if not given."`
	To     Target         `json:"to" required:"true" doc:"Where it connects to: tcp|udp|sctp ADDRESS:PORT, or icmp ADDRESS for an echo request."`
	Via    string         `json:"via" doc:"The node that the router hands the packet to, for addresses that no node has. The first node if not given."`
	As     string         `json:"as" doc:"Keeps the connection under this name, with what it left behind on the way. Without it nothing is left behind."`
	Pick   netip.AddrPort `json:"pick" doc:"With \"as\", the endpoint of the connection to keep, where there are several."`
	Expect Expect         `json:"expect" required:"true" doc:"What must come of it."`
}

// protoICMP is an echo request of either family.
const protoICMP = "icmp"

// Target is a protocol, an address and a port, which is 0 for icmp.
type Target struct {
	Proto string
	netip.AddrPort
}

// UnmarshalText reads "tcp 172.30.0.41:80", "icmp 172.30.0.41".
func (t *Target) UnmarshalText(text []byte) error {
	proto, rest, _ := strings.Cut(string(text), " ")
	if proto == protoICMP {
		addr, err := netip.ParseAddr(rest)
		t.Proto, t.AddrPort = proto, netip.AddrPortFrom(addr, 0)
		return err
	}
	if err := checkProto(proto); err != nil {
		return err
	}
	ap, err := netip.ParseAddrPort(rest)
	if err != nil || ap.Port() == 0 {
		return errors.New("want PROTOCOL ADDRESS:PORT, such as \"tcp 172.30.0.41:80\" (an IPv6 address in brackets)")
	}
	t.Proto, t.AddrPort = proto, ap
	return nil
}

// String prints the target as it is read.
func (t Target) String() string {
	if t.Proto == protoICMP {
		return t.Proto + " " + t.Addr().String()
	}
	return t.Proto + " " + t.AddrPort.String()
}

// Bind is the client's side of a connection, as far as it is chosen.
type Bind struct {
	Addr netip.Addr // invalid: chosen by routing
	Port uint16     // 0: any
}

// UnmarshalText reads ADDRESS, ADDRESS:PORT or :PORT.
func (b *Bind) UnmarshalText(text []byte) error {
	s := string(text)
	if addr, err := netip.ParseAddr(s); err == nil {
		b.Addr = addr
		return nil
	}
	if ap, err := netip.ParseAddrPort(s); err == nil && ap.Port() > 0 {
		b.Addr, b.Port = ap.Addr(), ap.Port()
		return nil
	}
	if port, err := strconv.ParseUint(strings.TrimPrefix(s, ":"), 10, 16); err == nil && port > 0 && s[0] == ':' {
		b.Port = uint16(port)
		return nil
	}
	return errors.New("want ADDRESS, ADDRESS:PORT or :PORT")
}

// Side is an end of a connection.
type Side string

// The sides.
const (
	SideClient Side = "client"
	SideServer Side = "server"
)

// PacketKind is a kind of packet of a connection that is made.
type PacketKind string

// The kinds of packets.
const (
	PacketData        PacketKind = "data"
	PacketFIN         PacketKind = "fin"
	PacketRST         PacketKind = "rst"
	PacketOutOfWindow PacketKind = "outOfWindow"
)

// FlowPacket is a later packet of a kept connection.
type FlowPacket struct {
	document.Located
	Of     string     `json:"of" required:"true" doc:"The name that the connection was kept under."`
	From   Side       `json:"from" enum:"client server" doc:"Who sends it: client (if not given) or server."`
	Send   PacketKind `json:"send" enum:"data fin rst outOfWindow" doc:"data (if not given), fin, rst, or outOfWindow: a TCP segment outside of the window that conntrack tracks."`
	Expect Expect     `json:"expect" required:"true" doc:"What must come of it."`
}

// Send is one packet given to a node.
type Send struct {
	document.Located
	Name   string      `json:"name" doc:"What the packet is for."`
	Node   string      `json:"node" required:"true" doc:"The node."`
	Packet PacketInput `json:"packet" required:"true" doc:"The packet: PROTO SRC[:PORT] > DST[:PORT] in DEV|local [flags SYN,ACK] [type T/C] [mark N] [ttl N] [len N]. DEV is eth0, lo, or the name of a pod on the node for the device of that pod."`
	Expect Expect      `json:"expect" required:"true" doc:"What must come of it."`
}

// PacketInput is a packet in the PACKET syntax.
type PacketInput struct{ packetsim.Input }

// UnmarshalText reads the PACKET syntax.
func (p *PacketInput) UnmarshalText(text []byte) error {
	in, err := packetsim.ParseInput(string(text))
	if err == nil && in.In == "" && !in.Local {
		err = errors.New("say where it comes from: \"in DEV\" or \"local\"")
	}
	p.Input = in
	return err
}

// RulesCheck looks at the rules that are on nodes.
type RulesCheck struct {
	document.Located
	Name     string         `json:"name" doc:"What is looked at."`
	Nodes    []string       `json:"nodes" doc:"The nodes to look at; all if not given."`
	Family   IPFamily       `json:"family" enum:"ipv4 ipv6" doc:"ipv4 or ipv6; the cluster's first family if not given."`
	Table    string         `json:"table" enum:"raw mangle nat filter security" doc:"Only the rules of this table."`
	Chain    string         `json:"chain" doc:"Only the rules of this chain."`
	Contains []string       `json:"contains" doc:"Each of these texts is part of a rule, as iptables-save prints it."`
	Absent   []string       `json:"absent" doc:"None of these texts is part of a rule."`
	Counters map[string]int `json:"counters" doc:"Texts of rules, and how many packets the first rule with each of them has counted."`
	NFAcct   map[string]int `json:"nfacct" doc:"Accounting objects by name, and how many packets they have counted."`
	Chains   []string       `json:"chains" doc:"Chains that exist, by name."`
	NoChains []string       `json:"noChains" doc:"Chains that do not exist, by name."`
}

// HealthCheck is what kube-proxy says of a service with externalTrafficPolicy
// Local by its healthCheckNodePort.
type HealthCheck struct {
	document.Located
	Nodes          []string `json:"nodes" doc:"The nodes to ask; all if not given."`
	Service        string   `json:"service" required:"true" doc:"NAMESPACE/NAME."`
	LocalEndpoints *int     `json:"localEndpoints" doc:"How many ready endpoints the node has; if not given, no health check is served."`
}

// Fault is something that goes wrong on a node without kube-proxy's doing.
type Fault struct {
	document.Located
	Node         string   `json:"node" doc:"The node; every node if not given."`
	Flush        []string `json:"flush" doc:"Tables whose rules and chains are all removed, in every family that the cluster has."`
	Run          []string `json:"run" doc:"Command lines run on the node, such as: iptables -t nat -F KUBE-SERVICES."`
	RestoreFails int      `json:"restoreFails" doc:"The next N calls of iptables-restore and ip6tables-restore fail."`
}

// caseName is the name of a connection of the step: "step: case" where both have one, since a table can be used in several steps.
func (s *Step) caseName(c *Connect, packet string) string {
	if s.Name != "" && c.Name != "" {
		return s.Name + ": " + c.Name
	}
	return cmp.Or(c.Name, s.Name, packet)
}

// describe says in a few words what a step does, for reports.
func (s *Step) describe() string {
	if s.Name != "" {
		return s.Name
	}
	switch s.Action() {
	case "apply":
		return "apply " + listOf(s.Apply, func(o manifest.Object) string { return o.Ref().String() })
	case "delete":
		return "delete " + listOf(s.Delete, func(r Ref) string { return r.String() })
	case "node":
		return "change node " + s.Node.Name
	case "advance":
		return fmt.Sprintf("advance %s", s.Advance.Duration)
	}
	return s.Action()
}

func listOf[T any](items []T, name func(T) string) string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = name(item)
	}
	return strings.Join(out, ", ")
}
