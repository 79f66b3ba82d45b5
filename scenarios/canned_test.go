package scenarios

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// canned is a Backend whose packets go where the port that they are sent to says.
type canned struct {
	cluster *Cluster
	calls   []string
	watch   func(context.Context, Point)
}

func (c *canned) Name() string { return BackendSim }

func (c *canned) Start(_ context.Context, cluster *Cluster) (Session, error) {
	c.call("start %s", cluster.Dialect)
	c.cluster = cluster
	if cluster.Node("broken") != nil {
		return nil, errors.New("no such luck")
	}
	return c, nil
}

func (c *canned) call(format string, args ...any) {
	c.calls = append(c.calls, fmt.Sprintf(format, args...))
}

func (c *canned) Apply(_ context.Context, objects []manifest.Object) error {
	for _, o := range objects {
		c.call("apply %s %v", o.Ref(), o.Meta().GetLabels())
	}
	return nil
}

func (c *canned) Delete(_ context.Context, refs []manifest.Ref) error {
	c.call("delete %v", refs)
	if refs[0].Name == "nothing" {
		return errors.New("services \"nothing\" not found")
	}
	return nil
}

func (c *canned) Sync(ctx context.Context, nodes []string) error {
	c.call("sync %v", nodes)
	for _, node := range nodes {
		for _, after := range []bool{false, true} {
			if c.watch != nil {
				c.watch(ctx, Point{Node: node, After: after, Command: CommandIPTablesRestore, Nth: 1})
				c.watch(ctx, Point{Node: node, After: after, Command: CommandIPTablesRestore, Table: "nat", Nth: 1})
			}
		}
	}
	if len(nodes) == 1 && nodes[0] == "node2" {
		return errors.New("node2: iptables-restore: exit status 4")
	}
	return nil
}

func (c *canned) Restart(_ context.Context, nodes []string) error {
	c.call("restart %v with masqueradeAll %v", nodes, c.cluster.Configs[nodes[0]].IPTables.MasqueradeAll)
	return nil
}

func (c *canned) Advance(_ context.Context, d time.Duration) error {
	c.call("advance %s", d)
	return nil
}

func (c *canned) Save(_ context.Context, node string, family IPFamily) (string, error) {
	c.call("save %s %s", node, family)
	return "*filter\n:INPUT ACCEPT [0:0]\n:KUBE-FORWARD - [0:0]\n[7:420] -A KUBE-FORWARD -j DROP\nCOMMIT\n" +
		"*nat\n:KUBE-SVC-X - [0:0]\n[0:0] -A KUBE-SVC-X -j KUBE-SEP-Y\nCOMMIT\n", nil
}

func (c *canned) Accounting(context.Context, string) (map[string]int, error) {
	return map[string]int{"dropped": 3}, nil
}

func (c *canned) Health(context.Context, string) (map[string]int, error) {
	return map[string]int{"default/web": 1}, nil
}

func (c *canned) Fault(_ context.Context, f Fault) error {
	c.call("fault %s flush %v run %q restoreFails %d", f.Node, f.Flush, f.Run, f.RestoreFails)
	return nil
}

func (c *canned) Hold(_ context.Context, nodes []string) error {
	c.call("hold %v", nodes)
	return nil
}

func (c *canned) Deliver(_ context.Context, d Delivery) error {
	c.call("deliver %v kinds %v count %d twice %v relist %v", d.Nodes, d.Kinds, d.Count, d.Twice, d.Relist)
	return nil
}

func (c *canned) StartPods(_ context.Context, pods []Pod) error {
	err := c.cluster.StartPods(pods)
	c.call("start %v", c.cluster.podNames())
	return err
}

func (c *canned) StopPods(_ context.Context, names []string) error {
	err := c.cluster.StopPods(names)
	c.call("stop %v: %v", names, c.cluster.podNames())
	return err
}

func (c *canned) SetAddresses(_ context.Context, node string, addresses []netip.Addr) error {
	c.call("addresses %s %v", node, addresses)
	return c.cluster.SetAddresses(node, addresses)
}

func (c *canned) Conntrack(_ context.Context, node string) ([]Tracked, error) {
	c.call("conntrack %s", node)
	return []Tracked{{
		Proto: "udp", Src: cannedClient, Dst: netip.MustParseAddrPort("172.30.0.10:53"),
		To: netip.MustParseAddrPort("10.244.1.2:53"), From: cannedClient,
	}}, nil
}

func (c *canned) Writes(_ context.Context, node string) (Written, error) {
	c.call("writes %s", node)
	return Written{Restores: 1, Bytes: 1234}, nil
}

func (c *canned) Healthz(_ context.Context, node string) (bool, error) {
	c.call("healthz %s", node)
	return node == "node1", nil
}

func (c *canned) During(_ context.Context, watch func(context.Context, Point)) error {
	c.call("during %v", watch != nil)
	c.watch = watch
	return nil
}

func (c *canned) Close() error {
	c.call("close")
	return nil
}

func (c *canned) Connect(_ context.Context, a Attempt) (*Observed, error) {
	c.call("connect %s bind %s %d to %s via %s keep %q", a.From, a.Bind.Addr, a.Bind.Port, a.To, a.Via, a.Keep)
	return c.ways(a.To.AddrPort)
}

func (c *canned) Follow(_ context.Context, p FlowPacket) (*Observed, error) {
	c.call("follow %s from %s send %s", p.Of, p.From, p.Send)
	seen, err := c.ways(netip.MustParseAddrPort("172.30.0.1:80"))
	seen.Ways = seen.Ways[:1]
	return seen, err
}

func (c *canned) Send(_ context.Context, node string, in inet.Input) (*Observed, error) {
	c.call("send %s %s", node, in)
	return c.ways(netip.AddrPortFrom(in.Dst, in.DstPort))
}

func (c *canned) ways(to netip.AddrPort) (*Observed, error) {
	hops := []Hop{{Host: "node1", Packet: "tcp 10.244.1.100:40000 > " + to.String() + " in veth1", Result: "forwarded by veth2",
		Steps: []TraceStep{{At: "nat:KUBE-SERVICES:rule:1", Rule: "-A KUBE-SERVICES -j KUBE-SVC-X"}, {At: "filter:FORWARD:policy:1"}}}}
	way := Way{Probability: 1, End: Delivered, Host: "node1", Sender: cannedClient, Client: cannedClient, Server: to, Heard: true,
		Masqueraded: No, Rule: "-A KUBE-SVC-X -j KUBE-SEP-Y", Forward: hops, Out: "veth2"}
	switch to.Port() {
	case 80:
		second := way
		way.Server, second.Server = cannedFirst, cannedSecond
		way.Probability, second.Probability = 0.5+1e-10, 0.5-1e-10
		return &Observed{Ways: []Way{way, second}}, nil
	case 81:
		way.End, way.With = Rejected, "icmp-port-unreachable"
	case 82:
		way.End, way.Heard = Dropped, false
	case 83:
		way.End, way.Heard, way.Rule, way.Reason = Lost, false, "", "martian source"
	case 84:
		way.End = Refused
	case 85:
		way.Heard, way.Why = false, "the reply came from 10.244.1.2:8080, the client called 172.30.0.1:85"
		way.Back = []Hop{{Host: "node1", Packet: "tcp 10.244.1.2:8080 > 10.244.1.100:40000 in veth2 flags SYN,ACK", Result: "forwarded by veth1"}}
	case 86:
		way.Server, way.Masqueraded, way.Client = cannedFirst, Yes, netip.MustParseAddrPort("192.168.0.2:1024")
	case 87:
		panic("the walk has no end")
	case 88:
		return nil, errors.New("not supported: a target")
	case 90:
		return &Observed{}, nil
	}
	return &Observed{Ways: []Way{way}}, nil
}
