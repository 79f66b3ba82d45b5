package packetsim

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

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/internal/dumps"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dumpSnapshot makes a snapshot from what ip, sysctl, conntrack and iptables-save said on a node.
func dumpSnapshot(t *testing.T, backend, node string) *NodeSnapshot {
	d := &dumpReader{t: t, folder: backend + "/" + node, snapshot: &NodeSnapshot{Version: SnapshotVersion, Hostname: node}}
	d.devices()
	d.routes()
	d.policyRules()
	d.sysctls()
	d.snapshot.IPTables = []SnapshotRules{
		{Backend: backend, Family: fakeipt.IPv4, Save: d.read("iptables-save.txt")},
		{Backend: backend, Family: fakeipt.IPv6, Save: d.read("ip6tables-save.txt")},
	}
	connections, err := ParseConntrack("conntrack.txt", strings.NewReader(d.read("conntrack.txt")))
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
			Scope     Scope
			Broadcast netip.Addr
		} `json:"addr_info"`
	}
	d.json("ip-addr.json", &links)
	for _, link := range links {
		device := SnapshotDevice{Name: link.IfName, Index: link.IfIndex, MTU: link.MTU, MAC: link.Address, Up: strings.Contains(strings.Join(link.Flags, ","), "UP")}
		for _, a := range link.Addrs {
			device.Addresses = append(device.Addresses, SnapshotAddress{Prefix: netip.PrefixFrom(a.Local, a.PrefixLen), Scope: a.Scope, Broadcast: a.Broadcast})
		}
		d.snapshot.Devices = append(d.snapshot.Devices, device)
	}
}

func (d *dumpReader) routes() {
	var routes []struct {
		Type             RouteType
		Dst, Dev, Table  string
		Gateway, PrefSrc netip.Addr
		Scope            Scope
		Metric           uint32
		Protocol         string
	}
	d.json("ip-route.json", &routes) // holds both families
	for _, r := range routes {
		route := SnapshotRoute{Type: r.Type, Dev: r.Dev, Via: r.Gateway, Src: r.PrefSrc, Scope: r.Scope, Metric: r.Metric, Protocol: r.Protocol, Table: tableOf(d.t, r.Table)}
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

func tableOf(t *testing.T, name string) RouteTable {
	table, ok := map[string]RouteTable{"": TableMain, "main": TableMain, "local": TableLocal, "default": TableDefault}[name]
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
		d.snapshot.PolicyRules = append(d.snapshot.PolicyRules, SnapshotPolicyRule{
			Family: fakeipt.IPv4, Priority: r.Priority, Action: RuleLookup, Table: tableOf(d.t, r.Table),
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

// dumpNetwork is the cluster of the dumps: its nodes, a pod behind each veth, and the machine
// that the cluster runs on as the outside (172.18.0.1).
func dumpNetwork(t *testing.T, backend string) *Network {
	l := &netLab{t, NewNetwork()}
	lan := []Port{{"outside", "eth0"}}
	l.add(HostConfig{
		Name:    "outside",
		Devices: []Device{{Name: "eth0", Up: true, Addresses: []Address{{Prefix: netip.MustParsePrefix("172.18.0.1/16")}}}},
	})
	for _, node := range []string{"demo-control-plane", "demo-worker", "demo-worker2"} {
		s := dumpSnapshot(t, backend, node)
		// What the dumps' own connections did is not to decide where new ones go.
		s.Conntrack = nil
		h, err := HostFromSnapshot(s, SnapshotOptions{})
		require.NoError(t, err)
		require.NoError(t, l.AddHost(h))
		lan = append(lan, Port{node, "eth0"})
		for _, r := range s.Routes {
			if strings.HasPrefix(r.Dev, "veth") && r.Type == "" && r.Dst.Addr().Is4() {
				l.addDumpPod(node, r.Dev, r.Dst)
			}
		}
	}
	require.NoError(t, l.Segment("kind", lan...))
	return l.Network
}

func (l *netLab) addDumpPod(node, veth string, address netip.Prefix) {
	name := "pod-" + address.Addr().String()
	l.add(HostConfig{
		Name:    name,
		Devices: []Device{{Name: "eth0", Up: true, Addresses: []Address{{Prefix: address}}}},
		Routes:  []Route{{Dst: netip.MustParsePrefix("0.0.0.0/0"), Dev: "eth0"}},
	}, Listener{})
	require.NoError(l.t, l.Link(Port{node, veth}, Port{name, "eth0"}))
}

// TestDumpsBehaveAsSeen holds the walks against the traffic that was seen while the dumps were
// taken (their README).
func TestDumpsBehaveAsSeen(t *testing.T) {
	for _, backend := range []string{"nft", "legacy"} {
		l := &netLab{t, dumpNetwork(t, backend)}
		for _, tc := range []struct {
			name string
			from string
			to   string
			want string // one of the ways
			ways int
		}{
			{"a node to the cluster IP web, answered by a pod of the other node", "demo-worker", "10.96.125.22:80", "pod-10.244.1.2 at 10.244.1.2:8080 sees 172.18.0.3", 3},
			{"a node to itp-local, answered by the pod of the same node", "demo-worker", "10.96.233.187:80", "pod-10.244.2.2 at 10.244.2.2:8080 sees 10.244.2.1", 1},
			{"a node port of localhost", "demo-worker", "127.0.0.1:30086", "pod-10.244.1.2 at 10.244.1.2:8080 sees 172.18.0.3", 3},
			{"outside to lb-local with an endpoint on that node", "outside", "172.18.0.3:30081", "pod-10.244.2.2 at 10.244.2.2:8080 sees 172.18.0.1", 1},
			{"outside to lb-local without one", "outside", "172.18.0.2:30081", "the first packet was dropped at demo-worker2", 1},
			{"outside to a service without endpoints", "outside", "172.18.0.2:30084", "refused by 172.18.0.2 with icmp 3/3", 1},
		} {
			t.Run(fmt.Sprintf("%s/%s", backend, tc.name), func(t *testing.T) {
				lines := l.connect(tc.from, TCP, tc.to)
				assert.Contains(t, strings.Join(lines, "\n"), tc.want)
				assert.Len(t, lines, tc.ways)
			})
		}
	}
}

// TestDumpsConnectionsAreWalked checks that the nodes' own connections, as conntrack listed them,
// are recognized.
func TestDumpsConnectionsAreWalked(t *testing.T) {
	for _, backend := range []string{"nft", "legacy"} {
		for _, node := range []string{"demo-worker", "demo-worker2"} {
			s := dumpSnapshot(t, backend, node)
			h, err := HostFromSnapshot(s, SnapshotOptions{})
			require.NoError(t, err)
			walked := 0
			for _, c := range s.Conntrack {
				if c.State != "ESTABLISHED" || !h.IsLocal(c.Original.Src) {
					continue
				}
				outcomes, err := h.Walk(Input{Local: true, Packet: Packet{
					Proto: TCP, Src: c.Original.Src, Dst: c.Original.Dst, SrcPort: c.Original.SrcPort, DstPort: c.Original.DstPort, TCPFlags: ACK,
				}})
				require.NoError(t, err)
				require.Len(t, outcomes, 1)
				assert.Equal(t, Accept, outcomes[0].Verdict)
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
				d.snapshot.NFAcct = append(d.snapshot.NFAcct, SnapshotNFAcct{Name: match[1]})
			}
			known[match[1]] = true
		}
	}
}

// TestShippedSnapshotIsThatOfTheDump holds the example that the README walks a packet through. With
// CHAINWALK_REWRITE=1 it is written anew.
func TestShippedSnapshotIsThatOfTheDump(t *testing.T) {
	var want strings.Builder
	require.NoError(t, dumpSnapshot(t, "legacy", "demo-worker").Write(&want, SnapshotYAML))
	if os.Getenv("CHAINWALK_REWRITE") == "1" {
		require.NoError(t, os.WriteFile("../internal/dumps/kind-v1.34/legacy/demo-worker.yaml", []byte(want.String()), 0o644))
		return // what is embedded here is the old one
	}
	got, err := fs.ReadFile(dumps.Kind(), "legacy/demo-worker.yaml")
	require.NoError(t, err)
	assert.Equal(t, want.String(), string(got))
}
