package snapshot

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// hostSample is sample without what a Host does not keep.
func hostSample() *NodeSnapshot {
	s := sample()
	s.Conntrack[0].Zone = 0
	return s
}

func TestOfHostBuildsTheSameHost(t *testing.T) {
	h, err := NewHost(hostSample(), HostOptions{})
	require.NoError(t, err)
	first, err := Of(h)
	require.NoError(t, err)

	var b bytes.Buffer
	require.NoError(t, first.Write(&b, YAML))
	read, err := Read("node.yaml", &b)
	require.NoError(t, err)
	again, err := NewHost(read, HostOptions{})
	require.NoError(t, err)
	second, err := Of(again)
	require.NoError(t, err)
	assert.Equal(t, first, second)
}

func TestOfHostKeepsWhatItWasBuiltFrom(t *testing.T) {
	s := hostSample()
	h, err := NewHost(s, HostOptions{})
	require.NoError(t, err)
	got, err := Of(h)
	require.NoError(t, err)

	assert.Equal(t, s.Hostname, got.Hostname)
	s.Devices[3].PeerNetns = nil // a Host does not keep it
	assert.Equal(t, s.Devices, got.Devices)
	assert.Equal(t, s.IPTables, got.IPTables)
	assert.Equal(t, s.NFAcct, got.NFAcct)
	assert.Equal(t, s.IPSets, got.IPSets)
	assert.Contains(t, got.Routes, s.Routes[1])
	assert.Subset(t, got.PolicyRules, s.PolicyRules)
	assert.ElementsMatch(t, s.Conntrack, got.Conntrack)
	assert.Len(t, got.Routes, len(s.Routes))
	assert.Equal(t, "2", got.Sysctls["net.ipv4.conf.eth0.rp_filter"])
}

func TestOfHostKeepsZones(t *testing.T) {
	s := hostSample()
	s.Conntrack[0].Zone, s.Conntrack[1].OrigZone = 3, 4
	h, err := NewHost(s, HostOptions{})
	require.NoError(t, err)
	again, err := Of(h)
	require.NoError(t, err)
	assert.ElementsMatch(t, s.Conntrack, again.Conntrack)

	s.Conntrack[1].Zone = 5
	_, err = NewHost(s, HostOptions{})
	assert.ErrorContains(t, err, "a connection has one zone")
}

func TestNewHostChoosesTheBackend(t *testing.T) {
	const (
		accept = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\nCOMMIT\n"
		drop   = "*filter\n:INPUT DROP [3:180]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\nCOMMIT\n"
		rule   = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n[0:0] -A INPUT -p tcp -j DROP\nCOMMIT\n"
	)
	for _, tc := range []struct {
		name        string
		legacy, nft string
		choose      string
		want        netfilter.Dialect
		beside      bool
		err         string
	}{
		{name: "only legacy holds rules", legacy: rule, want: netfilter.Legacy},
		{name: "only nft holds rules", nft: rule, want: netfilter.NFT},
		{name: "legacy has empty tables", legacy: accept, nft: rule, want: netfilter.NFT},
		{name: "nft has empty tables", legacy: rule, nft: accept, want: netfilter.Legacy},
		{name: "only empty tables, of nft", nft: accept, want: netfilter.NFT},
		{name: "no table at all", want: netfilter.Legacy},
		{name: "a policy that drops is a rule", legacy: drop, nft: rule, want: netfilter.Legacy, beside: true},
		{name: "both hold rules", legacy: rule, nft: rule, want: netfilter.Legacy, beside: true},
		{name: "both hold rules and one is chosen", legacy: rule, nft: rule, choose: "nft", want: netfilter.NFT},
		{name: "the chosen one has no rules", legacy: rule, choose: "nft", err: "backend: the snapshot has no rules of nft"},
		{name: "one is chosen where there is no rule at all", choose: "nft", want: netfilter.NFT},
		{name: "an unknown backend", choose: "ebtables", err: `backend: "ebtables" is not known: write one of legacy, nft`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := hostSample()
			s.IPTables = nil
			for backend, save := range map[netfilter.Dialect]string{netfilter.Legacy: tc.legacy, netfilter.NFT: tc.nft} {
				if save != "" {
					s.IPTables = append(s.IPTables, Rules{Dialect: backend, Family: netfilter.IPv4, Save: save})
				}
			}
			h, err := NewHost(s, HostOptions{Dialect: netfilter.Dialect(tc.choose)})
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, fakeipt.First(h.Netfilter()).Dialect())
			assert.Equal(t, tc.beside, len(fakeipt.Kernels(h.Netfilter())) > 1)
		})
	}
}

func TestNewHostRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*NodeSnapshot)
		want   string
	}{
		{"a set that a host cannot hold and a rule names", func(s *NodeSnapshot) {
			s.IPSets += "create other hash:mac\n"
			s.IPTables[0].Save = "*filter\n-A INPUT -m set --match-set s src -j DROP\nCOMMIT\n"
		}, "snapshot of node1: ipsets:3"},
		{"rules that are none", func(s *NodeSnapshot) {
			s.IPTables[0].Save = "*filter\n-A INPUT --frob\nCOMMIT\n"
		}, "snapshot of node1: IPv4 rules of the nft backend: iptables[0].save:2"},
		{"a value that no document could hold", func(s *NodeSnapshot) { s.Version = 7 }, "version 7 is not supported"},
		{"a sysctl that is no number", func(s *NodeSnapshot) {
			s.Sysctls["net.ipv4.ip_forward"] = "yes"
		}, `"yes" is not a number`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := hostSample()
			tc.change(s)
			_, err := NewHost(s, HostOptions{})
			assert.ErrorContains(t, err, tc.want)
		})
	}
}

func ExampleNewHost() {
	snapshot, err := Read("node.yaml", strings.NewReader(`version: 1
hostname: node1
devices:
- {name: eth0, index: 2, up: true, addresses: [{address: 10.0.0.1/24}]}
routes:
- {dst: 10.0.0.1/32, type: local, dev: eth0, table: 255, scope: host}
- {dst: 10.0.0.0/24, dev: eth0, table: 254, scope: link}
iptables:
- backend: legacy
  family: 4
  save: |
    *filter
    :INPUT DROP [0:0]
    :FORWARD ACCEPT [0:0]
    :OUTPUT ACCEPT [0:0]
    -A INPUT -p tcp -m tcp --dport 22 -j ACCEPT
    COMMIT
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	host, err := NewHost(snapshot, HostOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	in, err := inet.ParseInput("tcp 10.0.0.9:40000 > 10.0.0.1:23 in eth0")
	if err != nil {
		fmt.Println(err)
		return
	}
	outcomes, err := host.Walk(in)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range outcomes {
		fmt.Println(o.Summary(), o.Steps)
	}
	// Output:
	// drop [filter:INPUT:policy:2]
}

func walkOne(t *testing.T, h *packetsim.Host, packet string) packetsim.Outcome {
	t.Helper()
	in, err := inet.ParseInput(packet)
	require.NoError(t, err)
	outcomes, err := h.Walk(in)
	require.NoError(t, err)
	require.Len(t, outcomes, 1)
	return outcomes[0]
}

func TestNewHostWalksALiveConnection(t *testing.T) {
	text := `version: 1
hostname: node1
devices:
- {name: eth0, index: 2, up: true, addresses: [{address: 10.0.0.1/24}]}
- {name: veth1, index: 3, up: true, addresses: [{address: 10.244.0.1/32}]}
routes:
- {dst: 10.244.0.2/32, dev: veth1, table: 254, scope: host}
- {dst: 10.0.0.0/24, dev: eth0, table: 254, scope: link}
- {dst: 10.0.0.1/32, type: local, dev: eth0, table: 255, scope: host}
- {dst: 10.244.0.1/32, type: local, dev: veth1, table: 255, scope: host}
sysctls: {net.ipv4.ip_forward: 1}
iptables:
- backend: nft
  family: 4
  save: |
    *filter
    :INPUT ACCEPT [0:0]
    :FORWARD DROP [0:0]
    :OUTPUT ACCEPT [0:0]
    [0:0] -A FORWARD -m conntrack --ctstate ESTABLISHED -j ACCEPT
    COMMIT
    *nat
    :PREROUTING ACCEPT [0:0]
    :INPUT ACCEPT [0:0]
    :OUTPUT ACCEPT [0:0]
    :POSTROUTING ACCEPT [0:0]
    COMMIT
conntrack:
- original: {proto: tcp, src: 10.0.0.9, dst: 10.96.0.1, sport: 40000, dport: 80}
  reply: {proto: tcp, src: 10.244.0.2, dst: 10.0.0.9, sport: 8080, dport: 40000}
  state: ESTABLISHED
  timeout: 86400
  replied: true
  assured: true
`
	s, err := Read("node1.yaml", strings.NewReader(text))
	require.NoError(t, err)
	h, err := NewHost(s, HostOptions{})
	require.NoError(t, err)
	o := walkOne(t, h, "tcp 10.0.0.9:40000 > 10.96.0.1:80 in eth0 flags ACK")
	assert.Equal(t, packetsim.Accept, o.Verdict, o.Why)
	assert.Equal(t, "10.244.0.2:8080", o.DNAT)
	assert.Equal(t, "veth1", o.Out)
	back := walkOne(t, h, "tcp 10.244.0.2:8080 > 10.0.0.9:40000 in veth1 flags ACK")
	assert.Equal(t, netip.MustParseAddr("10.96.0.1"), back.Packet.Src)
	assert.Equal(t, packetsim.Drop, walkOne(t, h, "tcp 10.0.0.9:40001 > 10.244.0.2:80 in eth0").Verdict)
}
