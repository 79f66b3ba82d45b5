package snapshot

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
	kjson "sigs.k8s.io/json"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// TestASnapshotWithoutSettings says that they are not known: no kernel is without them.
func TestASnapshotWithoutSettings(t *testing.T) {
	s, err := Read("node1.yaml", strings.NewReader("version: 1\nhostname: node1\n"))
	require.NoError(t, err)
	assert.Equal(t, []Unread{{What: UnreadSysctls, Why: "the snapshot has none"}}, s.Unread)
	s, err = Read("node1.yaml", strings.NewReader("version: 1\nhostname: node1\nunread: [{what: sysctls, why: sandbox}]\n"))
	require.NoError(t, err)
	assert.Equal(t, []Unread{{What: UnreadSysctls, Why: "sandbox"}}, s.Unread)
	s, err = Read("node1.yaml", strings.NewReader("version: 1\nhostname: node1\nsysctls: {net.ipv4.ip_forward: \"0\"}\n"))
	require.NoError(t, err)
	assert.Empty(t, s.Unread)
}

// sample has something in every field.
func sample() *NodeSnapshot {
	peer := 0
	addr := netip.MustParseAddr
	return &NodeSnapshot{
		Version:  1,
		Hostname: "node1",
		Taken:    time.Date(2026, 11, 22, 7, 0, 0, 0, time.UTC),
		Devices: []Device{
			{Name: "lo", Index: 1, Kind: "loopback", MTU: 65536, Up: true,
				Addresses: []Address{{Prefix: netip.MustParsePrefix("127.0.0.1/8"), Scope: packetsim.ScopeHost}}},
			{Name: "br0", Index: 2, Kind: "bridge", MTU: 1500, MAC: "02:00:00:00:00:01", Up: true},
			{Name: "vx0", Index: 4, Kind: "vxlan", VXLAN: &VXLAN{ID: 7, Port: 4789, Local: addr("10.0.0.1"), Remotes: []Remote{
				{addr("10.244.1.0"), addr("10.0.0.2")}, {addr("fd44::"), addr("10.0.0.2")},
			}}},
			{Name: "eth0", Index: 3, Kind: "veth", MTU: 1500, MAC: "02:00:00:00:00:02", Up: true, Master: "br0", PeerNetns: &peer,
				Group: 5, Hairpin: true, Neighbours: []netip.Addr{addr("10.0.0.7"), addr("fd00::7")},
				Addresses: []Address{
					{Prefix: netip.MustParsePrefix("10.0.0.1/24"), Scope: packetsim.ScopeGlobal, Broadcast: addr("10.0.0.255"), Secondary: true},
					{Prefix: netip.MustParsePrefix("fd00::1/64"), Deprecated: true},
				}},
		},
		Routes: []Route{
			{Dst: netip.MustParsePrefix("0.0.0.0/0"), Type: packetsim.RouteUnicast, Via: addr("10.0.0.254"), Dev: "eth0", Src: addr("10.0.0.1"),
				Table: packetsim.TableMain, Metric: 100, Scope: packetsim.ScopeGlobal, Protocol: "static"},
			{Dst: netip.MustParsePrefix("fd01::/64"), Table: 100,
				NextHops: []NextHop{{Via: addr("fd00::2"), Dev: "eth0", Weight: 2}, {Dev: "br0", Weight: 1}}},
			{Dst: netip.MustParsePrefix("10.9.0.0/16"), Type: packetsim.RouteBlackhole, Table: packetsim.TableMain},
		},
		PolicyRules: []PolicyRule{
			{Family: netfilter.IPv4, Priority: 0, Action: packetsim.RuleLookup, Table: packetsim.TableLocal},
			{Family: netfilter.IPv4, Priority: 100, Invert: true, From: netip.MustParsePrefix("10.0.0.0/8"),
				To:   netip.MustParsePrefix("10.1.0.0/16"),
				Mark: 0x10, MarkMask: 0xff, In: "eth0", Out: "br0", Action: packetsim.RuleProhibit},
		},
		Sysctls: map[string]string{"net.ipv4.ip_forward": "1", "net.ipv4.conf.eth0.rp_filter": "2"},
		IPTables: []Rules{{Dialect: "nft", Family: netfilter.IPv4,
			Save: "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n[1:60] -A INPUT -j ACCEPT\nCOMMIT\n"}},
		Conntrack: []Connection{{
			Original: Tuple{Proto: inet.TCP, Src: addr("10.0.0.2"), Dst: addr("10.96.0.1"), SrcPort: 40000, DstPort: 443},
			Reply:    Tuple{Proto: inet.TCP, Src: addr("10.0.0.3"), Dst: addr("10.0.0.1"), SrcPort: 6443, DstPort: 1025},
			State:    "ESTABLISHED", Timeout: 86400, Replied: true, Assured: true, Mark: 7, Zone: 3,
		}, {
			Original: Tuple{Proto: inet.ICMP, Src: addr("10.0.0.2"), Dst: addr("10.0.0.1"), ICMPType: 8, ICMPCode: 0, ICMPID: 9},
			Reply:    Tuple{Proto: inet.ICMP, Src: addr("10.0.0.1"), Dst: addr("10.0.0.2"), ICMPType: 0, ICMPCode: 1, ICMPID: 9},
			Timeout:  29,
		}},
		IPSets: "create s hash:ip family inet hashsize 1024 maxelem 65536 bucketsize 12 initval 0x00000001\nadd s 10.0.0.1\n",
		NFAcct: []NFAcct{{Name: "ct_state_invalid_dropped_pkts", Packets: 3, Bytes: 180}, {Name: "q", Mode: "packet", Quota: 7, Over: true}},
		Unread: []Unread{{What: "recent list KUBE-SEP-X", Why: "not supported"}},
	}
}

func TestReadReadsWhatWriteWrites(t *testing.T) {
	for _, format := range []Format{YAML, JSON} {
		t.Run(string(format), func(t *testing.T) {
			want := sample()
			var b bytes.Buffer
			require.NoError(t, want.Write(&b, format))
			got, err := Read("node.yaml", bytes.NewReader(b.Bytes()))
			require.NoError(t, err, b.String())
			assert.Equal(t, want, got)

			var again bytes.Buffer
			require.NoError(t, got.Write(&again, format))
			assert.Equal(t, b.String(), again.String(), "equal snapshots give equal bytes")
		})
	}
}

// TestJSONHasAllFields: a program that has a snapshot from another one may leave the document aside.
func TestJSONHasAllFields(t *testing.T) {
	want := sample()
	text, err := json.Marshal(want)
	require.NoError(t, err)
	got := &NodeSnapshot{}
	wrong, err := kjson.UnmarshalStrict(text, got)
	require.NoError(t, err)
	assert.Empty(t, wrong)
	assert.Equal(t, want, got)
}

func TestWriteYAML(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sample().Write(&b, YAML))
	const file = "testdata/node.yaml"
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), b.String())
}

func TestReadKeepsAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := sample()
		want.IPTables[0].Save = rapid.String().Draw(t, "save")
		want.Hostname = rapid.String().Draw(t, "hostname")
		want.IPSets = rapid.SampledFrom([]string{"", " \n", "\n\n", "a\n ", "\ta\r\n", "# x\n", "\u0085\u2028\ufeff", "\x7f\u0080",
			"---\n", "|\n"}).Draw(t, "ipsets")
		format := rapid.SampledFrom([]Format{YAML, JSON}).Draw(t, "format")
		var b bytes.Buffer
		require.NoError(t, want.Write(&b, format))
		got, err := Read("node.yaml", bytes.NewReader(b.Bytes()))
		require.NoError(t, err, b.String())
		require.Equal(t, want, got, b.String())
	})
}

func TestReadRefuses(t *testing.T) {
	const lo = "devices:\n- {name: lo, index: 1, up: true}\n"
	for _, tc := range []struct {
		name string
		text string
		want string
	}{
		{"an empty document", "", "n:1:1: the document is empty"},
		{"a tab that indents", "version: 1\n\tx: 2\n", "n:2:1: not YAML: a tab (lines are indented with blanks"},
		{"an error in the first line", "a: b: c\n", "n:1:1: not YAML: mapping values are not allowed"},
		{"a string that does not end", "version: 1\n  hostname: \"a\n", "n:2:3: not YAML: "},
		{"bytes that are not UTF-8", "version: 1\nhostname: ä\xff\n", "n:2:12: not YAML: byte 0xff is not UTF-8"},
		{"a control character", "version: 1\nhostname: \x01\n", "n:2:11: not YAML: control character U+0001"},
		{"an alias to nothing", "version: 1\nhostname: *x\n", "n:1:1: not YAML: unknown anchor 'x' referenced"},
		{"a second document that is not YAML", "version: 1\n---\n}\n", "n:2:1: not YAML: did not find expected node content"},
		{"a list", "- version: 1\n", "n:1:1: not a NodeSnapshot"},
		{"no version", "hostname: a\n", "n:1:1: version: the version is missing: write version: 1"},
		{"another version, even with fields of its own", "hostname: a\nfuture: 1\nversion: 2\n",
			`n:3:10: version: version "2" is not supported: this program reads version 1`},
		{"two documents", "version: 1\n---\nversion: 1\n", "n:2:1: a second document"},
		{"an unknown field", "version: 1\nhostnam: a\n", `n:2:1: unknown field "hostnam": write one of version, hostname, taken, devices`},
		{"an unknown field deep inside", "version: 1\ndevices:\n- name: lo\n  adresses: []\n", `n:4:3: devices[0]: unknown field "adresses"`},
		{"an unknown field in JSON", `{"version": 1, "routes": [{"destination": "0.0.0.0/0"}]}`,
			`n:1:28: routes[0]: unknown field "destination"`},
		{"a field twice", "version: 1\nhostname: a\nhostname: b\n", `n:3:1: field "hostname" is given twice`},
		{"an alias", "version: 1\nhostname: &a b\n", "n:2:11: hostname: anchors and aliases are not supported"},
		{"a list where a string belongs", "version: 1\nhostname: [a]\n", "n:2:11: hostname: \"\" is not a string"},
		{"null", "version: 1\nhostname:\n", "n:2:10: hostname: \"\" is not a string"},
		{"a word where a number belongs", "version: 1\ndevices:\n- {name: lo, index: one}\n",
			`n:3:21: devices[0].index: "one" is not a whole number`},
		{"a metric beyond 32 bits", "version: 1\n" + lo + "routes:\n- {dst: 0.0.0.0/0, dev: lo, table: 254, metric: 4294967296}\n",
			`n:5:49: routes[0].metric: "4294967296" is not a whole number from 0 to 4294967295`},
		{"a truth value that is none", "version: 1\ndevices:\n- {name: lo, up: 1}\n", `devices[0].up: "1" is not true or false`},
		{"an address without length", "version: 1\ndevices:\n- name: lo\n  addresses:\n  - address: 127.0.0.1\n",
			"n:5:14: devices[0].addresses[0].address: "},
		{"an unknown protocol", "version: 1\nconntrack:\n- original: {proto: tpc}\n", "n:3:21: conntrack[0].original.proto: unknown protocol"},
		{"an unknown table", "version: 1\nroutes:\n- {dst: 0.0.0.0/0, table: main}\n",
			"n:3:27: routes[0].table: \"main\" is not a whole number from 0 to 4294967295"},
		{"a device twice", "version: 1\n" + lo + "- {name: lo, index: 2, up: true}\n", `n:4:10: devices[1].name: device "lo" is given twice`},
		{"an index twice", "version: 1\n" + lo + "- {name: eth0, index: 1, up: true}\n",
			"n:4:23: devices[1].index: index 1: every device has its own"},
		{"a hardware address that is none", "version: 1\ndevices:\n- {name: lo, mac: 02-xx}\n",
			"devices[0].mac: \"02-xx\" is not a hardware address"},
		{"a master that is not there", "version: 1\ndevices:\n- {name: a, master: br0}\n", `n:3:21: devices[0].master: there is no device "br0"`},
		{"an unknown scope", "version: 1\ndevices:\n- name: lo\n  addresses:\n  - {address: 127.0.0.1/8, scope: universe}\n",
			"is not known: write one of global, site, link, host, nowhere"},
		{"a route with host bits", "version: 1\n" + lo + "routes:\n- {dst: 10.0.0.1/24, dev: lo, table: 254}\n",
			"n:5:9: routes[0].dst: 10.0.0.1/24 has bits set beyond its length: write 10.0.0.0/24"},
		{"a route by a device that is not there", "version: 1\nroutes:\n- {dst: 10.0.0.0/24, dev: eth9, table: 254}\n",
			`n:3:27: routes[0].dev: there is no device "eth9"`},
		{"a route to nowhere", "version: 1\nroutes:\n- {dst: 10.0.0.0/24, table: 254}\n",
			"n:3:3: routes[0]: the route to 10.0.0.0/24 has no dev and no nexthops"},
		{"a route with dev and next hops",
			"version: 1\n" + lo + "routes:\n- {dst: 10.0.0.0/24, dev: lo, table: 254, nexthops: [{dev: lo, weight: 1}]}\n",
			"write one or the other"},
		{"a next hop without weight", "version: 1\n" + lo + "routes:\n- {dst: 10.0.0.0/24, table: 254, nexthops: [{dev: lo}]}\n",
			"0 is not a weight"},
		{"a gateway of the other family", "version: 1\n" + lo + "routes:\n- {dst: 10.0.0.0/24, dev: lo, table: 254, via: \"fd00::1\"}\n",
			"routes[0].via: fd00::1 is not IPv4"},
		{"a policy rule without family", "version: 1\npolicyRules:\n- {priority: 0, table: 255}\n",
			"n:3:3: policyRules[0].family: 0 is not a family"},
		{"a lookup without table", "version: 1\npolicyRules:\n- {family: 4, priority: 0}\n", "a rule that looks up needs a table"},
		{"a sysctl outside net", "version: 1\nsysctls:\n  kernel.hostname: a\n",
			`n:3:20: sysctls.kernel.hostname: "kernel.hostname" is not a key under net.`},
		{"rules of an unknown backend", "version: 1\niptables:\n- {backend: nftables, family: 4, save: \"\"}\n",
			`n:3:13: iptables[0].backend: "nftables" is not known: write one of legacy, nft`},
		{"the same rules twice", "version: 1\niptables:\n- {backend: nft, family: 4, save: \"\"}\n- {backend: nft, family: 4, save: \"\"}\n",
			"n:4:3: iptables[1]: the rules of backend nft, IPv4 are given twice"},
		{"a connection without reply tuple", "version: 1\nconntrack:\n- {original: {proto: udp, src: 10.0.0.1, dst: 10.0.0.2}, timeout: 1}\n",
			"conntrack[0].reply.src: the address is missing"},
		{"a TCP state that is none",
			"version: 1\nconntrack:\n- {original: {proto: tcp, src: 10.0.0.1, dst: 10.0.0.2}, " +
				"reply: {proto: tcp, src: 10.0.0.2, dst: 10.0.0.1}, state: OPEN, timeout: 1}\n",
			`conntrack[0].state: "OPEN" is not a state of tcp`},
		{"a UDP connection with a state",
			"version: 1\nconntrack:\n- {original: {proto: udp, src: 10.0.0.1, dst: 10.0.0.2}, " +
				"reply: {proto: udp, src: 10.0.0.2, dst: 10.0.0.1}, state: ESTABLISHED, timeout: 1}\n",
			`"ESTABLISHED" is not a state of udp`},
		{"a quota of an unknown kind", "version: 1\nnfacct:\n- {name: a, packets: 0, bytes: 0, mode: bit}\n",
			`n:3:41: nfacct[0].mode: "bit" is not known: write one of byte, packet`},
		{"a quota without a mode", "version: 1\nnfacct:\n- {name: a, packets: 0, bytes: 0, quota: 5}\n",
			"n:3:42: nfacct[0].quota: an object without a mode has no quota"},
		{"a neighbour with a zone", "version: 1\ndevices:\n- {name: a, neighbours: [fe80::1%a]}\n",
			"devices[0].neighbours[0]: fe80::1%a: addresses with a zone"},
		{"a network identifier beyond 24 bits", "version: 1\ndevices:\n- {name: a, vxlan: {id: 16777216}}\n",
			"n:3:25: devices[0].vxlan.id: 16777216 is not a network identifier"},
		{"a tunnel's neighbour twice",
			"version: 1\ndevices:\n- {name: a, vxlan: {id: 1, remotes: " +
				"[{neighbour: 10.0.0.1, remote: 10.0.0.2}, {neighbour: 10.0.0.1, remote: 10.0.0.3}]}}\n",
			"devices[0].vxlan.remotes[1].neighbour: neighbour 10.0.0.1 is given twice"},
		{"a tunnel's remote that is missing", "version: 1\ndevices:\n- {name: a, vxlan: {id: 1, remotes: [{neighbour: 10.0.0.1}]}}\n",
			"devices[0].vxlan.remotes[0].remote: the address is missing"},
		{"an accounting object twice", "version: 1\nnfacct:\n- {name: a, packets: 0, bytes: 0}\n- {name: a, packets: 0, bytes: 0}\n",
			`n:4:10: nfacct[1].name: object "a" is given twice`},
		{"something unread without a reason", "version: 1\nunread:\n- what: routes\n", "n:3:3: unread[0]: write what could not be read and why"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Read("n", strings.NewReader(tc.text))
			var se *documentError
			require.ErrorAs(t, err, &se)
			assert.Contains(t, err.Error(), tc.want)
			assert.Positive(t, se.Line)
		})
	}
}

func TestReadNamesTheLineOfBadYAML(t *testing.T) {
	_, err := Read("node.yaml", strings.NewReader("version: 1\nhostname: [a\n"))
	require.Error(t, err)
	assert.Contains(t, err.Error(), "node.yaml:1:1: not YAML: did not find expected")
}

func TestWriteRefusesWhatCannotBeRead(t *testing.T) {
	s := sample()
	s.Routes[0].Dev = "eth9"
	err := s.Write(&bytes.Buffer{}, YAML)
	require.EqualError(t, err, `routes[0].dev: there is no device "eth9" in this snapshot`)
	require.EqualError(t, sample().Write(&bytes.Buffer{}, "xml"), `unknown snapshot format "xml": write yaml or json`)
}

func FuzzRead(f *testing.F) {
	for _, format := range []Format{YAML, JSON} {
		var b bytes.Buffer
		if err := sample().Write(&b, format); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte("version: 1\nhostname: !!binary aGk=\n"))
	f.Add([]byte("version: 1\nsysctls: {net.a: 1}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Read("f", bytes.NewReader(data))
		if err != nil {
			var place *documentError
			require.ErrorAs(t, err, &place)
			require.Positive(t, place.Line)
			require.Positive(t, place.Column)
			return
		}
		var b bytes.Buffer
		require.NoError(t, s.Write(&b, YAML))
		again, err := Read("f", &b)
		require.NoError(t, err)
		require.Equal(t, s, again)
	})
}
