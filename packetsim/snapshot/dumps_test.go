package snapshot

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/dumps"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/network"
)

// dumpNode makes a snapshot from what ip, sysctl, conntrack and iptables-save said on a node.
func dumpNode(t *testing.T, backend, node string) *NodeSnapshot {
	d := &dumpReader{t: t, folder: backend + "/" + node, snapshot: &NodeSnapshot{Version: Version, Hostname: node}}
	d.devices()
	d.routes()
	d.policyRules()
	d.sysctls()
	d.snapshot.IPTables = []Rules{
		{Dialect: netfilter.Dialect(backend), Family: netfilter.IPv4, Save: d.read("iptables-save.txt")},
		{Dialect: netfilter.Dialect(backend), Family: netfilter.IPv6, Save: d.read("ip6tables-save.txt")},
	}
	connections, err := parseConntrack("conntrack.txt", strings.NewReader(d.read("conntrack.txt")))
	require.NoError(t, err)
	d.snapshot.Conntrack = connections
	d.nfacct()
	require.NoError(t, d.snapshot.check())
	return d.snapshot
}

type dumpReader struct {
	t        *testing.T
	folder   string
	snapshot *NodeSnapshot
}

func (d *dumpReader) read(name string) string {
	data, err := fs.ReadFile(dumps.Kind(), d.folder+"/"+name)
	require.NoError(d.t, err)
	return string(data)
}

func (d *dumpReader) json(name string, into any) {
	require.NoError(d.t, json.Unmarshal([]byte(d.read(name)), into), name)
}

func (d *dumpReader) devices() {
	var links []struct {
		IfIndex int
		IfName  string
		Flags   []string
		MTU     int
		Address string
		Addrs   []struct {
			Local     netip.Addr
			PrefixLen int
			Scope     packetsim.Scope
			Broadcast netip.Addr
		} `json:"addr_info"`
	}
	d.json("ip-addr.json", &links)
	for _, link := range links {
		device := Device{Name: link.IfName, Index: link.IfIndex, MTU: link.MTU, MAC: link.Address,
			Up: strings.Contains(strings.Join(link.Flags, ","), "UP")}
		for _, a := range link.Addrs {
			device.Addresses = append(device.Addresses, Address{Prefix: netip.PrefixFrom(a.Local, a.PrefixLen), Scope: a.Scope,
				Broadcast: a.Broadcast})
		}
		d.snapshot.Devices = append(d.snapshot.Devices, device)
	}
}

func (d *dumpReader) routes() {
	var routes []struct {
		Type             packetsim.RouteType
		Dst, Dev, Table  string
		Gateway, PrefSrc netip.Addr
		Scope            packetsim.Scope
		Metric           uint32
		Protocol         string
	}
	d.json("ip-route.json", &routes) // holds both families
	for _, r := range routes {
		route := Route{Type: r.Type, Dev: r.Dev, Via: r.Gateway, Src: r.PrefSrc, Scope: r.Scope, Metric: r.Metric, Protocol: r.Protocol,
			Table: tableOf(d.t, r.Table)}
		switch {
		case r.Dst == "default" && r.Gateway.Is6():
			route.Dst = netip.MustParsePrefix("::/0")
		case r.Dst == "default":
			route.Dst = netip.MustParsePrefix("0.0.0.0/0")
		case strings.Contains(r.Dst, "/"):
			route.Dst = netip.MustParsePrefix(r.Dst)
		default:
			addr := netip.MustParseAddr(r.Dst)
			route.Dst = netip.PrefixFrom(addr, addr.BitLen())
		}
		d.snapshot.Routes = append(d.snapshot.Routes, route)
	}
}

func tableOf(t *testing.T, name string) packetsim.RouteTable {
	table, ok := map[string]packetsim.RouteTable{"": packetsim.TableMain, "main": packetsim.TableMain, "local": packetsim.TableLocal,
		"default": packetsim.TableDefault}[name]
	require.True(t, ok, "table %s", name)
	return table
}

func (d *dumpReader) policyRules() {
	var rules []struct {
		Priority   uint32
		Src, Table string
	}
	d.json("ip-rule.json", &rules)
	for _, r := range rules {
		require.Equal(d.t, "all", r.Src)
		d.snapshot.PolicyRules = append(d.snapshot.PolicyRules, PolicyRule{
			Family: netfilter.IPv4, Priority: r.Priority, Action: packetsim.RuleLookup, Table: tableOf(d.t, r.Table),
		})
	}
}

func (d *dumpReader) sysctls() {
	d.snapshot.Sysctls = map[string]string{}
	scanner := bufio.NewScanner(strings.NewReader(d.read("sysctl.txt")))
	for scanner.Scan() {
		key, value, ok := strings.Cut(scanner.Text(), " = ")
		require.True(d.t, ok, scanner.Text())
		d.snapshot.Sysctls[key] = value
	}
}

// dumpCluster is the cluster of the dumps: its nodes, a pod behind each veth, and the machine
// that the cluster runs on as the outside (172.18.0.1).
type dumpCluster struct {
	t       *testing.T
	network *network.Network
}

func newDumpCluster(t *testing.T, backend string) *dumpCluster {
	c := &dumpCluster{t, network.New()}
	lan := []network.Port{{Host: "outside", Device: "eth0"}}
	c.add(packetsim.HostConfig{
		Name:    "outside",
		Devices: []packetsim.Device{{Name: "eth0", Up: true, Addresses: []packetsim.Address{{Prefix: netip.MustParsePrefix("172.18.0.1/16")}}}},
	})
	for _, node := range []string{"demo-control-plane", "demo-worker", "demo-worker2"} {
		s := dumpNode(t, backend, node)
		// What the dumps' own connections did is not to decide where new ones go.
		s.Conntrack = nil
		h, err := NewHost(s, HostOptions{})
		require.NoError(t, err)
		require.NoError(t, c.network.AddHost(h))
		lan = append(lan, network.Port{Host: node, Device: "eth0"})
		for _, r := range s.Routes {
			if strings.HasPrefix(r.Dev, "veth") && r.Type == "" && r.Dst.Addr().Is4() {
				c.addPod(node, r.Dev, r.Dst)
			}
		}
	}
	require.NoError(t, c.network.Segment("kind", lan...))
	return c
}

func (c *dumpCluster) add(config packetsim.HostConfig, listeners ...network.Listener) {
	h, err := packetsim.NewHost(config)
	require.NoError(c.t, err)
	require.NoError(c.t, c.network.AddHost(h, listeners...))
}

func (c *dumpCluster) addPod(node, veth string, address netip.Prefix) {
	name := "pod-" + address.Addr().String()
	c.add(packetsim.HostConfig{
		Name:    name,
		Devices: []packetsim.Device{{Name: "eth0", Up: true, Addresses: []packetsim.Address{{Prefix: address}}}},
		Routes:  []packetsim.Route{{Dst: netip.MustParsePrefix("0.0.0.0/0"), Dev: "eth0"}},
	}, network.Listener{})
	require.NoError(c.t, c.network.Link(network.Port{Host: node, Device: veth}, network.Port{Host: name, Device: "eth0"}))
}

// connect prints what comes of a TCP connection, one line for each way.
func (c *dumpCluster) connect(from, to string) []string {
	ways, err := c.network.Connect(network.Connect{From: from, Proto: inet.TCP, To: netip.MustParseAddrPort(to)})
	require.NoError(c.t, err)
	var lines []string
	for _, way := range ways {
		switch {
		case way.Made:
			lines = append(lines, fmt.Sprintf("%s at %s sees %s", way.Server, way.Asked, way.Client.Addr()))
		case way.Refused:
			lines = append(lines, fmt.Sprintf("refused by %s with %s", way.RefusedBy, way.RefusedWith))
		default:
			lines = append(lines, way.Why)
		}
	}
	return lines
}

// TestDumpsBehaveAsSeen holds the walks against the traffic that was seen while the dumps were
// taken (their README).
func TestDumpsBehaveAsSeen(t *testing.T) {
	for _, backend := range []string{"nft", "legacy"} {
		cluster := newDumpCluster(t, backend)
		for _, tc := range []struct {
			name string
			from string
			to   string
			want string // one of the ways
			ways int
		}{
			{"a node to the cluster IP web, answered by a pod of the other node", "demo-worker", "10.96.125.22:80",
				"pod-10.244.1.2 at 10.244.1.2:8080 sees 172.18.0.3", 3},
			{"a node to itp-local, answered by the pod of the same node", "demo-worker", "10.96.233.187:80",
				"pod-10.244.2.2 at 10.244.2.2:8080 sees 10.244.2.1", 1},
			{"a node port of localhost", "demo-worker", "127.0.0.1:30086", "pod-10.244.1.2 at 10.244.1.2:8080 sees 172.18.0.3", 3},
			{"outside to lb-local with an endpoint on that node", "outside", "172.18.0.3:30081",
				"pod-10.244.2.2 at 10.244.2.2:8080 sees 172.18.0.1", 1},
			{"outside to lb-local without one", "outside", "172.18.0.2:30081", "the first packet was dropped at demo-worker2", 1},
			{"outside to a service without endpoints", "outside", "172.18.0.2:30084", "refused by 172.18.0.2 with icmp 3/3", 1},
		} {
			t.Run(fmt.Sprintf("%s/%s", backend, tc.name), func(t *testing.T) {
				lines := cluster.connect(tc.from, tc.to)
				assert.Contains(t, strings.Join(lines, "\n"), tc.want)
				assert.Len(t, lines, tc.ways)
			})
		}
	}
}

var servicePort = regexp.MustCompile(`-d (\S+)/32 -p (tcp|udp|sctp) .*--dport (\d+)`)

// TestDumpsReachIsConnectWithoutText asks for every service of the recorded rules from every host.
func TestDumpsReachIsConnectWithoutText(t *testing.T) {
	for _, backend := range []string{"nft", "legacy"} {
		cluster, asked := newDumpCluster(t, backend), 0
		rules := (&dumpReader{t: t, folder: backend + "/demo-worker"}).read("iptables-save.txt")
		for _, service := range servicePort.FindAllStringSubmatch(rules, -1) {
			proto := map[string]inet.Proto{"tcp": inet.TCP, "udp": inet.UDP, "sctp": inet.SCTP}[service[2]]
			for _, from := range cluster.network.Hosts() {
				c := network.Connect{From: from, Proto: proto, To: netip.MustParseAddrPort(service[1] + ":" + service[3])}
				connections, err := cluster.network.Connect(c)
				require.NoError(t, err)
				reached, err := cluster.network.Reach(c, nil)
				require.NoError(t, err)
				require.Len(t, reached, len(connections))
				for i, conn := range connections {
					r := reached[i]
					if len(conn.Forward.Hops) == 0 { // the client has no address to send from
						conn.Forward.End, conn.Forward.At = network.EndLost, from
					}
					require.Equal(t, fmt.Sprintln(conn.Probability, conn.Made, conn.Refused, conn.Forward.End, conn.Forward.At, conn.Socket),
						fmt.Sprintln(r.Probability, r.Made, r.Refused, r.End, r.At, r.Socket), "%+v", c)
					if conn.Server != "" {
						require.Equal(t, []netip.AddrPort{conn.Asked, conn.Client}, []netip.AddrPort{r.Asked, r.Client}, "%+v", c)
					}
				}
				asked++
			}
		}
		require.Greater(t, asked, 300)
		for _, name := range cluster.network.Hosts() {
			require.Empty(t, cluster.network.Host(name).Conntrack(), "%s remembers a connection", name)
		}
	}
}

// TestDumpsConnectionsAreWalked checks that the nodes' own connections, as conntrack listed them,
// are recognized.
func TestDumpsConnectionsAreWalked(t *testing.T) {
	for _, backend := range []string{"nft", "legacy"} {
		for _, node := range []string{"demo-worker", "demo-worker2"} {
			s := dumpNode(t, backend, node)
			h, err := NewHost(s, HostOptions{})
			require.NoError(t, err)
			walked := 0
			for _, c := range s.Conntrack {
				if c.State != "ESTABLISHED" || !h.IsLocal(c.Original.Src) {
					continue
				}
				outcomes, err := h.Walk(inet.Input{Local: true, Packet: inet.Packet{
					Proto: inet.TCP, TCPFlags: inet.ACK,
					Src: c.Original.Src, Dst: c.Original.Dst, SrcPort: c.Original.SrcPort, DstPort: c.Original.DstPort,
				}})
				require.NoError(t, err)
				require.Len(t, outcomes, 1)
				assert.Equal(t, packetsim.Accept, outcomes[0].Verdict)
				assert.Equal(t, c.Reply.Src, outcomes[0].Packet.Dst, "the connection's own server")
				for _, step := range outcomes[0].Steps {
					assert.NotEqual(t, "nat", step.Table, "nat sees a connection's first packet only")
				}
				walked++
			}
			assert.Positive(t, walked, "%s %s has live connections", backend, node)
		}
	}
}

// nfacct adds the objects that the rules name; the dumps have no list of them.
func (d *dumpReader) nfacct() {
	known := map[string]bool{}
	for _, rules := range d.snapshot.IPTables {
		for _, match := range regexp.MustCompile(`--nfacct-name +(\S+)`).FindAllStringSubmatch(rules.Save, -1) {
			if !known[match[1]] {
				d.snapshot.NFAcct = append(d.snapshot.NFAcct, NFAcct{Name: match[1]})
			}
			known[match[1]] = true
		}
	}
}

// TestShippedSnapshotsAreThoseOfTheDumps holds the documents that the README and the tests of other packages walk packets
// through. With CHAINWALK_REWRITE=1 they are written anew.
func TestShippedSnapshotsAreThoseOfTheDumps(t *testing.T) {
	for _, backend := range []string{"legacy", "nft"} {
		for _, node := range []string{"demo-control-plane", "demo-worker", "demo-worker2"} {
			file := backend + "/" + node + ".yaml"
			var want strings.Builder
			require.NoError(t, dumpNode(t, backend, node).Write(&want, YAML))
			if os.Getenv("CHAINWALK_REWRITE") == "1" {
				require.NoError(t, os.WriteFile("../../internal/dumps/kind-v1.34/"+file, []byte(want.String()), 0o644))
				continue // what is embedded here is the old one
			}
			got, err := fs.ReadFile(dumps.Kind(), file)
			require.NoError(t, err)
			assert.Equal(t, want.String(), string(got), file)
		}
	}
}
