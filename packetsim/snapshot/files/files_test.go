package files_test

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/dumps"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/packetsim/snapshot/files"
)

// folder makes a folder of pairs of a name and a text.
func folder(pairs ...string) fstest.MapFS {
	f := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		f[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return f
}

// writer knows kube-proxy by its chain of services.
func writer(save string) (string, []string) {
	if !strings.Contains(save, "\n:KUBE-SERVICES ") {
		return "", nil
	}
	return "kube-proxy", []string{"nat", "filter"}
}

func read(t *testing.T, pairs ...string) *files.Result {
	t.Helper()
	result, err := files.Read(folder(pairs...), writer)
	require.NoError(t, err)
	_, err = snapshot.NewHost(result.Node, snapshot.HostOptions{})
	require.NoError(t, err)
	return result
}

// unread are the things that are said to be missing.
func unread(s *snapshot.NodeSnapshot) []string {
	var list []string
	for _, u := range s.Unread {
		list = append(list, u.What+": "+u.Why)
	}
	return list
}

// addr is what "ip addr" prints of a node with one address of each family.
const addr = `1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
    inet 127.0.0.1/8 scope host lo
       valid_lft forever preferred_lft forever
2: eth0@if7: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default
    link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff link-netnsid 0
    inet 192.0.2.1/24 brd 192.0.2.255 scope global eth0
       valid_lft forever preferred_lft forever
    inet6 2001:db8::1/64 scope global
       valid_lft forever preferred_lft forever
    inet6 fe80::1/64 scope link tentative
`

// TestFilesOfRecordedNodes: packets go where they go in the snapshots that were made of the same nodes.
func TestFilesOfRecordedNodes(t *testing.T) {
	for _, backend := range []string{"legacy", "nft"} {
		for _, name := range []string{"demo-control-plane", "demo-worker", "demo-worker2"} {
			sub, err := fs.Sub(dumps.Kind(), backend+"/"+name)
			require.NoError(t, err)
			result, err := files.Read(sub, writer)
			require.NoError(t, err)
			result.Node.Hostname = name
			assert.Equal(t, []string{
				`kinds of devices: bridges and tunnels are taken for plain devices: add what "ip -d -j link" prints`,
				`IPv6 policy rules: they are taken to be those that a kernel begins with: add what "ip -6 -j rule" prints`,
			}, unread(result.Node))
			assert.Equal(t, []snapshot.Unread{{What: "kube-proxy.yaml", Why: "nothing in it is of a tool that is known"}}, result.Ignored)
			f, err := dumps.Kind().Open(backend + "/" + name + ".yaml")
			require.NoError(t, err)
			shipped, err := snapshot.Read(name, f)
			require.NoError(t, err)
			assert.Equal(t, []netfilter.Dialect{netfilter.Dialect(backend)}, result.Node.Dialects())
			assert.Len(t, result.Node.Conntrack, len(shipped.Conntrack))
			for _, packet := range []string{
				"tcp 10.244.7.7:40000 > 10.96.125.22:80 in eth0", "tcp [fd00:10:244:7::7]:40000 > [fd00:10:96::2b36]:80 in eth0",
				"tcp 172.18.0.1:40000 > 172.18.0.3:30084 in eth0", "udp 10.244.7.7:40000 > 10.96.0.10:53 in eth0",
			} {
				in, err := inet.ParseInput(packet)
				require.NoError(t, err)
				got, err := result.Node.Trace(in, snapshot.HostOptions{}, packetsim.WalkOptions{})
				require.NoError(t, err)
				want, err := shipped.Trace(in, snapshot.HostOptions{}, packetsim.WalkOptions{})
				require.NoError(t, err)
				assert.Equal(t, want.Outcomes, got.Outcomes, "%s %s", name, packet)
			}
		}
	}
}

// TestFilesOfDevicesAlone: everything else is missing, and is said to be.
func TestFilesOfDevicesAlone(t *testing.T) {
	s := read(t, "addr.txt", addr).Node
	var missing []string
	for _, u := range unread(s) {
		what, _, _ := strings.Cut(u, ": ")
		missing = append(missing, what)
	}
	assert.Equal(t, []string{"address fe80::1/64 of device eth0", "kinds of devices", "IPv4 routes", "IPv6 routes", "IPv4 policy rules",
		"IPv6 policy rules", "sysctls",
		"IPv4 rules", "IPv6 rules", "conntrack entries"}, missing)
	require.Len(t, s.Devices, 2)
	assert.Equal(t, "02:00:00:00:00:01", s.Devices[1].MAC)
	assert.Equal(t, 0, *s.Devices[1].PeerNetns)
	host, err := snapshot.NewHost(s, snapshot.HostOptions{})
	require.NoError(t, err)
	assert.True(t, host.IsLocal(netip.MustParseAddr("192.0.2.1")), "the routes of the addresses are made")
	assert.True(t, host.IsLocal(netip.MustParseAddr("2001:db8::1")))
}

// TestFilesThatAreNotWhole: of a table that was cut off the whole lines are walked, a table that -t left out is missed, and both are said.
func TestFilesThatAreNotWhole(t *testing.T) {
	const kube = "# Generated by iptables-save v1.8.9 on Fri\n*nat\n:OUTPUT ACCEPT [0:0]\n:KUBE-SERVICES - [0:0]\n-A OUTPUT -j KUBE-SERVICES\n"
	const noFilter = "table filter of the IPv4 rules: none of its rules are walked, and kube-proxy has some in it: " +
		"add what the save tool prints without -t"
	for _, tc := range []struct {
		name, save string
		rules      int
		want       []string
	}{
		{"one table", kube + "COMMIT\n", 1, []string{noFilter}},
		{"both tables", kube + "COMMIT\n*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n", 1, nil},
		{"a table of no kube-proxy", "*nat\n:OUTPUT ACCEPT [0:0]\n-A OUTPUT -j ACCEPT\nCOMMIT\n", 1, nil},
		{"no end of the table", kube, 1, []string{
			"end of iptables-save: line 5 ends within the table nat, without COMMIT: what was cut off is not walked", noFilter}},
		{"no end of the line", kube + "-A KUBE-SERVICES -m addrtype --dst-type LO", 1, []string{
			"end of iptables-save: line 6 ends within the table nat, without COMMIT: what was cut off is not walked", noFilter}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := read(t, "ip-addr", addr, "iptables-save", tc.save).Node
			var got []string
			for _, u := range unread(s) {
				if strings.HasPrefix(u, "end of ") || strings.HasPrefix(u, "table ") {
					got = append(got, u)
				}
			}
			assert.Equal(t, tc.want, got)
			require.Len(t, s.IPTables, 1)
			assert.Equal(t, tc.rules, strings.Count(s.IPTables[0].Save, "\n-A "), s.IPTables[0].Save)
		})
	}
}

// TestFilesAsPeopleHandThemOn: packed, of Windows, and with what a shell or sudo says beside.
func TestFilesAsPeopleHandThemOn(t *testing.T) {
	const filter = "*filter\n:INPUT DROP [0:0]\n[1:2] -A INPUT -j ACCEPT\nCOMMIT\n"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(filter))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	for name, save := range map[string]string{
		"packed": packed.String(), "lines of Windows": strings.ReplaceAll(filter, "\n", "\r\n"), "a mark": "\xef\xbb\xbf" + filter,
		"sudo": "[sudo] password for joe: \n" + filter, "a shell": "$ iptables-save\n" + filter + "$ exit\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := read(t, "ip-addr", addr, "iptables-save", save).Node
			require.Len(t, s.IPTables, 1)
			assert.Equal(t, filter, strings.TrimLeft(s.IPTables[0].Save, "\n"))
		})
	}
	archive := strings.Repeat("\x00", 257) + "ustar\x0000"
	assert.Equal(t, []snapshot.Unread{{What: "logs.tar", Why: "it is a tar archive: unpack it, and give a file or folder of it"}},
		read(t, "ip-addr", addr, "logs.tar", archive).Ignored)
}

// noRules is a table of iptables without any rule, as iptables-save prints it.
const noRules = "*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n"

// understood are files, name by name with their texts, and what has to be read of them.
var understood = []struct {
	name  string
	files []string
	check func(t *testing.T, s *snapshot.NodeSnapshot)
}{
	{"one file of all", []string{"all", addr + "default via 192.0.2.254 dev eth0 \n10.0.0.0/8 \n\tnexthop via 192.0.2.7 dev eth0 weight 2 " +
		"\n\tnexthop via 192.0.2.8 dev eth0 weight 1 \n" +
		"0:\tfrom all lookup local\n32766:\tfrom all lookup main\n32767:\tfrom all lookup default\n0:\tfrom all lookup local\n91:\tfrom " +
		"2001:db8:7::/48 prohibit\n" +
		"net.ipv4.ip_forward = 1\nkernel.hostname = n7\nnet.ipv4.conf.eth0/7.rp_filter = 1\nvm.swappiness = 60\n" +
		"# Generated by iptables-save v1.8.9 (nf_tables) on Fri\n" + noRules + "# Generated by ip6tables-save v1.8.9 (nf_tables) on " +
		"Fri\n" + noRules +
		"udp      17 29 src=192.0.2.1 dst=192.0.2.9 sport=4 dport=53 [UNREPLIED] src=192.0.2.9 dst=192.0.2.1 sport=53 dport=4 mark=0 use=1\n" +
		"create s hash:ip family inet hashsize 1024 maxelem 65536 bucketsize 12 initval 0x1\nadd s 10.0.0.1\n"},
		func(t *testing.T, s *snapshot.NodeSnapshot) {
			assert.Equal(t, "n7", s.Hostname)
			assert.Equal(t, map[string]string{"net.ipv4.ip_forward": "1", "net.ipv4.conf.eth0.7.rp_filter": "1"}, s.Sysctls)
			assert.Len(t, s.PolicyRules, 5)
			assert.Len(t, s.Conntrack, 1)
			assert.Equal(t, []netfilter.Dialect{netfilter.NFT}, s.Dialects())
			assert.Len(t, s.IPTables, 2)
			assert.Contains(t, s.IPSets, "add s 10.0.0.1\n")
			assert.Len(t, s.Routes[len(s.Routes)-1:], 1)
			var hops int
			for _, r := range s.Routes {
				hops += len(r.NextHops)
			}
			assert.Equal(t, 2, hops)
		}},
	{"a table in a file of its own", []string{"addr", addr, "nat.txt", "*nat\n:OUTPUT ACCEPT [0:0]\n-A OUTPUT -d 10.0.0.1 -j " +
		"ACCEPT\nCOMMIT\n", "filter.txt", noRules,
		"iptables-version", "iptables v1.8.9 (nf_tables)\n"}, func(t *testing.T, s *snapshot.NodeSnapshot) {
		require.Len(t, s.IPTables, 1)
		assert.Equal(t, netfilter.NFT, s.IPTables[0].Dialect)
		assert.Equal(t, 2, strings.Count(s.IPTables[0].Save, "COMMIT"))
	}},
	{"the backend in the file's name", []string{"addr", addr, "ip6tables-nft-save", noRules, "iptables-legacy-save", noRules},
		func(t *testing.T, s *snapshot.NodeSnapshot) {
			require.Len(t, s.IPTables, 2)
			assert.Equal(t, netfilter.Legacy, s.IPTables[0].Dialect)
			assert.Equal(t, netfilter.NFT, s.IPTables[1].Dialect)
		}},
	{"empty lists of old versions", []string{"addr", addr, "ip-route.json", "[{},{}]\n", "conntrack", "", "ipset_save", "\n"},
		func(t *testing.T, s *snapshot.NodeSnapshot) {
			assert.NotContains(t, strings.Join(unread(s), "\n"), "conntrack")
			assert.NotContains(t, strings.Join(unread(s), "\n"), "IPv4 routes: ")
		}},
	{"what the tools said beside", []string{"addr", addr, "ct", "conntrack v1.4.7 (conntrack-tools): 0 flow entries have been shown.\n",
		"sysctl", "sysctl: permission denied on key 'net.core.x'\nnet.ipv4.ip_forward=1\r\n"}, func(t *testing.T, s *snapshot.NodeSnapshot) {
		assert.Equal(t, "1", s.Sysctls["net.ipv4.ip_forward"])
		assert.NotContains(t, strings.Join(unread(s), "\n"), "not understood")
		assert.NotContains(t, strings.Join(unread(s), "\n"), snapshot.UnreadConntrack)
	}},
	{"a VXLAN, a bridge and its port", []string{"d.txt", `1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00 promiscuity 0
2: br0: <BROADCAST,UP> mtu 1500 qdisc noqueue state UP
    link/ether 02:00:00:00:00:02 brd ff:ff:ff:ff:ff:ff promiscuity 0
    bridge forward_delay 1500
3: v0@if2: <BROADCAST,UP> mtu 1500 qdisc noqueue master br0 state UP
    link/ether 02:00:00:00:00:03 brd ff:ff:ff:ff:ff:ff promiscuity 1
    veth
    bridge_slave state forwarding priority 32 cost 2 hairpin on guard off
4: flannel.1: <BROADCAST,UP> mtu 1450 qdisc noqueue state UNKNOWN
    link/ether 02:00:00:00:00:04 brd ff:ff:ff:ff:ff:ff promiscuity 0
    vxlan id 1 local 192.0.2.1 dev eth0 srcport 0 0 dstport 8472 nolearning
`, "fdb", "02:00:00:00:00:44 dev flannel.1 dst 192.0.2.2 self permanent\n02:00:00:00:00:33 dev v0 master br0\n",
		"neigh", "10.1.0.0 dev flannel.1 lladdr 02:00:00:00:00:44 PERMANENT\n10.1.1.3 dev br0 lladdr 02:00:00:00:00:33 REACHABLE\n10.1.1.4 " +
			"dev br0 FAILED\n"},
		func(t *testing.T, s *snapshot.NodeSnapshot) {
			require.Len(t, s.Devices, 4)
			assert.Equal(t, "device bridge veth vxlan", strings.ReplaceAll(s.Devices[0].Kind, "loopback",
				"device")+" "+s.Devices[1].Kind+" "+s.Devices[2].Kind+" "+s.Devices[3].Kind)
			assert.True(t, s.Devices[2].Hairpin)
			assert.Equal(t, []netip.Addr{netip.MustParseAddr("10.1.1.3")}, s.Devices[2].Neighbours)
			assert.Equal(t, &snapshot.VXLAN{ID: 1, Port: 8472, Local: netip.MustParseAddr("192.0.2.1"), Remotes: []snapshot.Remote{
				{Neighbour: netip.MustParseAddr("10.1.0.0"), Remote: netip.MustParseAddr("192.0.2.2")}}}, s.Devices[3].VXLAN)
		}},
	{"accounting objects that rules name", []string{"addr", addr, "s", strings.Replace(noRules, "COMMIT",
		"-A INPUT -m nfacct --nfacct-name  ct_state_invalid_dropped_pkts -j DROP\nCOMMIT", 1)},
		func(t *testing.T, s *snapshot.NodeSnapshot) {
			assert.Equal(t, []snapshot.NFAcct{{Name: "ct_state_invalid_dropped_pkts"}}, s.NFAcct)
		}},
}

func TestFilesUnderstood(t *testing.T) {
	for _, tc := range understood {
		t.Run(tc.name, func(t *testing.T) { tc.check(t, read(t, tc.files...).Node) })
	}
}

func TestFilesNotUnderstood(t *testing.T) {
	for _, tc := range []struct {
		name, file, text, want string
	}{
		{"a route that ip prints otherwise", "r", "10.0.0.0/8 dev eth0 via-magic 7\n10.1.0.0/16 dev eth0\n",
			`line of r: not understood: "10.0.0.0/8 dev eth0 via-magic 7"`},
		{"several lines", "r", "10.1.0.0/16 dev eth0\nwhat\nis this\n", `2 lines of r: not understood, the first being "what"`},
		{"a table with a name", "r", "10.1.0.0/16 dev eth0 table blue\n", `the number of table "blue" is in /etc/iproute2/rt_tables of the ` +
			`node: take it with "ip -N"`},
		{"a route of a device that is not there", "r", "10.1.0.0/16 dev eth9\n", "route to 10.1.0.0/16: no file tells of its device eth9"},
		{"an encapsulation", "r", "10.1.0.0/16 encap ip id 7 dst 10.9.9.9 dev eth0\n", "not supported: a route with an encapsulation"},
		{"iptables -L", "f", "Chain INPUT (policy ACCEPT)\ntarget     prot opt source               destination\n",
			`file f: what "iptables -L" prints does not say all of a rule: take "iptables-save -c"`},
		{"ipset list", "i", "Name: s\nType: hash:ip\n", `file i: what "ipset list" prints is for people: take "ipset save"`},
		{"nft list ruleset with what nft does not know", "n", "table inet firewall {\n\tchain input {\n\t\tnosuch 1 drop\n\t}\n}\n",
			"nftables table inet firewall: not supported: 3:"},
		{"nft list ruleset that is cut off", "n", "table inet firewall {\n\tchain input {\n",
			"native nftables tables (n): the file ends within table inet firewall"},
		{"nft -j list ruleset", "n", `{"nftables": [{"table": {"family": "ip"}}]}`,
			"native nftables tables (n): not supported: n:1:4: Object item not found: name"},
		{"a connection of a protocol that is not known", "c", "gre 47 17 src=10.0.0.1 dst=10.0.0.2 srckey=0x0 dstkey=0x1 src=10.0.0.2 " +
			"dst=10.0.0.1 srckey=0x1 dstkey=0x0 mark=0 use=1\n" +
			"udp 17 9 src=10.0.0.1 dst=10.0.0.2 sport=1 dport=2 src=10.0.0.2 dst=10.0.0.1 sport=2 dport=1 mark=0 use=1\n",
			`line of c: not understood: "gre 47`},
		{"a rule of policy that is not held", "p", "0:\tfrom all lookup local\n9:\tfrom all uidrange 5-9 lookup 7\n32767:\tfrom all lookup " +
			"default\n", "IPv4 policy rule of priority 9 (p): not supported: selector or option uidrange, 5-9"},
		{"rules that name sets", "s", "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -m set --match-set s src -j DROP\nCOMMIT\n",
			`ipsets: rules name sets: add what "ipset save" prints`},
		{"rules of no known tool", "s", "*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n", "backend of the rules in s: no head line says it: they are " +
			"taken for those of legacy"},
		{"a table that is no one's", "s", "# Generated by iptables-save v1.8.9 (nf_tables) on Fri\n*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n# " +
			"Table `nat' is incompatible, use 'nft' tool.\n", "IPv4 rules: Table `nat' is incompatible, use 'nft' tool."},
		{"JSON that ends early", "j", `[{"dst":"10.0.0.0/8","dev":"eth0","flags":[]}] [{"dst":`, "file j: not understood to its end: "},
		{"an element of another type", "j", `[{"dst":"10.0.0.0/8","dev":"eth0","flags":[]},{"dst":"10.0.0.0/8","dev":7,"flags":[]}]`,
			"route in j: json: cannot unmarshal number"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			result, err := files.Read(folder("addr", addr, tc.file, tc.text), writer)
			require.NoError(t, err)
			assert.Contains(t, strings.Join(unread(result.Node), "\n"), tc.want)
		})
	}
}

var handles = regexp.MustCompile(` # handle \d+`)

// TestNativeTablesOfFiles reads the tables of nft as text and as JSON: they are the same, and packets are walked through them.
func TestNativeTablesOfFiles(t *testing.T) {
	const text = "table inet firewall {\n\tchain input {\n\t\ttype filter hook input priority filter; policy accept;\n" +
		"\t\ttcp dport 22 drop\n\t}\n}\n"
	const json = `{"nftables": [{"metainfo": {"version": "1.0.6"}}, {"table": {"family": "inet", "name": "firewall", "handle": 7}}, ` +
		`{"chain": {"family": "inet", "table": "firewall", "name": "input", "handle": 1, "type": "filter", "hook": "input", ` +
		`"prio": 0, "policy": "accept"}}, ` +
		`{"rule": {"family": "inet", "table": "firewall", "chain": "input", "handle": 2, "expr": [{"match": {"op": "==", "left": ` +
		`{"payload": {"protocol": "tcp", "field": "dport"}}, "right": 22}}, {"drop": null}]}}]}`
	for _, listing := range []string{text, json} {
		node := read(t, "addr", addr, "n", listing).Node
		require.Len(t, node.NFTables, 1)
		rules := node.NFTables[0].Rules
		assert.Equal(t, text, handles.ReplaceAllString(rules, ""))
		assert.Equal(t, listing == json, strings.Contains(rules, "tcp dport 22 drop # handle 2\n"))
		host, err := snapshot.NewHost(node, snapshot.HostOptions{})
		require.NoError(t, err)
		for port, want := range map[string]packetsim.Verdict{"22": packetsim.Drop, "23": packetsim.Accept} {
			in, err := inet.ParseInput("tcp 127.0.0.1:40000 > 127.0.0.1:" + port + " local")
			require.NoError(t, err)
			outcomes, err := host.Walk(in)
			require.NoError(t, err)
			require.Len(t, outcomes, 1)
			assert.Equal(t, want, outcomes[0].Verdict, port)
			isNative := func(d packetsim.Doubt) bool { return d.Kind == packetsim.DoubtNFTables }
			assert.False(t, slices.ContainsFunc(node.Doubts(host, in, outcomes), isNative))
		}
	}
}

func TestFilesOfNoNode(t *testing.T) {
	_, err := files.Read(folder("iptables-save", "*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n"), writer)
	require.ErrorIs(t, err, files.ErrNoDevices)
	_, err = files.Read(folder("a/addr", addr, "b/addr", strings.Replace(addr, "00:01", "00:02", 1)), writer)
	require.ErrorContains(t, err, "a/addr and b/addr tell different things of device eth0: give the files of one node")
	result, err := files.Read(folder("addr", addr, "twice", addr, "x.json", "{}", "y.json", "{", "z.json", "[1]", "empty", "", "k.json",
		`[{"kind":"List"}]`), writer)
	require.NoError(t, err)
	assert.Len(t, result.Node.Devices, 2)
	assert.Len(t, result.Node.Devices[1].Addresses, 2)
	assert.Len(t, result.Ignored, 5)
}

func FuzzRead(f *testing.F) {
	f.Add(addr, "10.0.0.0/8 via 10.0.0.1 dev eth0\n\tnexthop via 192.0.2.7 dev eth0\n0:\tnot from all fwmark 1/2 lookup 7")
	f.Add(`[{"ifindex":1,"ifname":"lo","flags":["UP"],"addr_info":[{"local":"10.0.0.1","prefixlen":8}],"linkinfo":{"info_kind":"vxlan"}}]`,
		`[{"dst":"default","dev":"lo","flags":[]}][{"priority":0,"src":"all","not":null}]`+
			`[{"mac":"m","ifname":"lo"}][{"dst":"10.0.0.1","lladdr":"m","dev":"lo"}]`)
	f.Add("*nat\nCOMMIT\n{ pkts = 1, bytes = 2 } = x;\nnet.ipv4.ip_forward = 1", "udp 17 9 src=10.0.0.1 dst=10.0.0.2 sport=1 dport=2 "+
		"src=10.0.0.2 dst=10.0.0.1 sport=2 dport=1")
	f.Fuzz(func(t *testing.T, one, two string) {
		result, err := files.Read(folder("addr.txt", addr, "one", one, "two", two), writer)
		if err != nil {
			return
		}
		var b strings.Builder
		if err := result.Node.Write(&b, snapshot.YAML); err != nil {
			t.Fatalf("%v\n%q\n%q", err, one, two)
		}
		if _, err := snapshot.Read("again", strings.NewReader(b.String())); err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
	})
}
