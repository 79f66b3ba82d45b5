package anonymise

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// TestSetsBecomeOthers holds that elements of sets are renamed by their types, and that what a set is made of stays.
func TestSetsBecomeOthers(t *testing.T) {
	const save = `create acme hash:ip,port family inet hashsize 1024 maxelem 65536 comment bucketsize 12 initval 0x1a2b3c4d
create KUBE-CLUSTER-IP hash:net family inet hashsize 1024 maxelem 65536 bucketsize 12 initval 0x1a2b3c4d
create all list:set size 8
create range bitmap:ip range 10.1.0.0-10.1.0.255
add acme 10.1.2.3,tcp:80 comment "of acme only"
add KUBE-CLUSTER-IP 10.1.0.0/16
add all acme
`
	out, r, err := renamedNode(t, &snapshot.NodeSnapshot{IPSets: save, IPTables: []snapshot.Rules{{Dialect: netfilter.NFT,
		Family: netfilter.IPv4, Save: "*filter\n:FORWARD ACCEPT [1:2]\n-A FORWARD -m set --match-set acme dst,dst -j DROP\nCOMMIT\n"}}})
	require.NoError(t, err)
	assert.Equal(t, `create set1 hash:ip,port family inet hashsize 1024 maxelem 65536 comment bucketsize 12 initval 0x1a2b3c4d
create KUBE-CLUSTER-IP hash:net family inet hashsize 1024 maxelem 65536 bucketsize 12 initval 0x1a2b3c4d
create set2 list:set size 8
create set3 bitmap:ip range `+r.Text("10.1.0.0")+"-"+r.Text("10.1.0.255")+`
add set1 `+r.Text("10.1.2.3")+`,tcp:80 comment "comment1"
add KUBE-CLUSTER-IP `+r.Text("10.1.0.0/16")+`
add set2 set1
`, out.IPSets)
	assert.Contains(t, out.IPTables[0].Save, "-A FORWARD -m set --match-set set1 dst,dst -j DROP\n")
	for line, want := range map[string]string{
		"create acme hash:acme":                    `a set of "acme" is not known`,
		"create acme hash:ip like acme":            `option "like" of a set is not known`,
		"flush acme now":                           "want \"create SET TYPE\"",
		"create acme hash:ip\nadd acme acme":       "unable to parse IP",
		"create acme hash:ip\nadd acme 10.0.0.1,x": `"10.0.0.1,x" is no element`,
	} {
		if strings.HasPrefix(line, "create acme hash:acme") {
			line += "\nadd acme x"
		}
		_, _, err := renamedNode(t, &snapshot.NodeSnapshot{IPSets: line + "\n"})
		require.ErrorContains(t, err, want, line)
		require.ErrorContains(t, err, "n.yaml: ipsets: line ", line)
	}
}

// TestANodeBecomesAnother holds what becomes of all else that a snapshot has.
func TestANodeBecomesAnother(t *testing.T) {
	addr, pfx := netip.MustParseAddr, netip.MustParsePrefix
	old := &snapshot.NodeSnapshot{
		Taken: time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC),
		Devices: []snapshot.Device{
			{Name: "acme.7", Index: 1, Kind: "vxlan", MAC: "02:42:ac:12:00:03", Up: true, Neighbours: []netip.Addr{addr("10.9.0.9")},
				Addresses: []snapshot.Address{{Prefix: pfx("10.20.0.5/16"), Broadcast: addr("10.20.255.255")}},
				VXLAN: &snapshot.VXLAN{ID: 1, Local: addr("10.9.0.1"), Remotes: []snapshot.Remote{{Neighbour: addr("10.9.0.9"),
					Remote: addr("10.9.0.2")}}}},
		},
		Routes:      []snapshot.Route{{Dst: pfx("0.0.0.0/0"), Via: addr("10.20.0.1"), Dev: "acme.7", Table: 254, Protocol: "acme"}},
		PolicyRules: []snapshot.PolicyRule{{Family: 4, Priority: 1, From: pfx("10.20.0.0/16"), In: "acme.7", Table: 254}},
		Sysctls: map[string]string{
			"net.ipv4.conf.acme/7.rp_filter": "1", "net.ipv4.ip_forward": "1", "net.ipv4.acme": "1", "net.ipv4.ip_default_ttl": "acme",
		},
		NFTables: []snapshot.NFTable{{Family: "inet", Name: "acme", Chains: []snapshot.NFChain{
			{Name: "acme-in", Hook: "input", Type: "filter", Only: []snapshot.NFMatch{{Src: pfx("10.20.0.0/16"), In: "acme.7"}}},
			{Name: "prerouting", Hook: "prerouting"}}}},
		NFAcct: []snapshot.NFAcct{{Name: "acme"}, {Name: "ct_state_invalid_dropped_pkts"}},
		Unread: []snapshot.Unread{
			{What: "IPv4 rules", Why: "acme says no"}, {What: "route to 10.20.0.0/16", Why: "acme"}, {What: "hairpin mode of acme.7", Why: "acme"},
			{What: "chain acme-in of nftables table inet acme", Why: "acme"}, {What: "recent list acme", Why: "acme"}, {What: "acme", Why: "acme"},
			{What: "sysctl net.ipv4.conf.acme.7.rp_filter", Why: "acme"}, {What: "file acme", Why: "acme"},
		},
	}
	out, r, err := renamedNode(t, old)
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, out.Write(&text, snapshot.YAML))
	for _, secret := range []string{"acme", "10.20.", "10.9.", "02:42", "2026"} {
		assert.NotContains(t, text.String(), secret)
	}
	device := r.Device("acme.7")
	d := out.Devices[0]
	assert.Equal(t, device, d.Name)
	last, _ := netip.AddrFromSlice([]byte{d.Addresses[0].Prefix.Addr().As4()[0], d.Addresses[0].Prefix.Addr().As4()[1], 255, 255})
	assert.Equal(t, last, d.Addresses[0].Broadcast, "the last address of the network")
	assert.Equal(t, d.Neighbours[0], d.VXLAN.Remotes[0].Neighbour)
	assert.Equal(t, pfx("0.0.0.0/0"), out.Routes[0].Dst)
	assert.True(t, d.Addresses[0].Prefix.Contains(out.Routes[0].Via))
	assert.Equal(t, device, out.Routes[0].Dev)
	assert.Equal(t, map[string]string{"net.ipv4.conf." + strings.ReplaceAll(device, ".", "/") + ".rp_filter": "1", "net.ipv4.ip_forward": "1"},
		out.Sysctls)
	assert.Equal(t, device, out.PolicyRules[0].In)
	assert.Equal(t, "prerouting", out.NFTables[0].Chains[1].Name)
	var unread []string
	for _, u := range out.Unread {
		unread = append(unread, u.What)
		assert.Equal(t, leftOut, u.Why)
	}
	assert.Equal(t, []string{"IPv4 rules", "route to " + out.PolicyRules[0].From.String(), "hairpin mode of " + device,
		"chain " + out.NFTables[0].Chains[0].Name + " of nftables table inet " + out.NFTables[0].Name, "recent list list1", "something1",
		"sysctl net.ipv4.conf." + device + ".rp_filter", "file something1"}, unread)
}

// TestReasonsOfSilence: those that name nothing stay.
func TestReasonsOfSilence(t *testing.T) {
	r := &Renamer{disguise: disguise{key: Key{1}}}
	assert.Equal(t, "it runs windows", r.why("it runs windows"))
	assert.Equal(t, leftOut, r.why("the pod chainwalk-1 on acme could not be made"))
	assert.Regexp(t, `^its kubelet has been silent since 20(0|1|2)\S+Z \(NodeStatusUnknown\)$`,
		r.why("its kubelet has been silent since 2026-11-24T13:00:00Z (NodeStatusUnknown)"))
}
