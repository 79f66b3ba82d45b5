package files_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// twoSides are a node with the wire at eth0 and pods at pod0.
const twoSides = `1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN
    inet 127.0.0.1/8 scope host lo
2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP
    inet 192.0.2.1/24 brd 192.0.2.255 scope global eth0
3: pod0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP
    inet 10.244.0.1/24 brd 10.244.0.255 scope global pod0
`

// settings are a list of settings that have a value, each with the words before it.
func settings(value string, words ...string) string {
	var b strings.Builder
	for _, word := range words {
		b.WriteString("net.ipv4." + word + " = " + value + "\n")
	}
	return b.String()
}

// TestSettingsThatAFileDoesNotHave: a list of some settings says nothing of the others, and what decides this packet is a doubt.
func TestSettingsThatAFileDoesNotHave(t *testing.T) {
	const (
		forwarded = "tcp 192.0.2.9:1000 > 10.244.0.5:80 in eth0"
		turned    = "tcp 10.244.0.9:1000 > 10.244.0.5:80 in eth0" // the way back is by pod0
		toNode    = "tcp 192.0.2.9:1000 > 192.0.2.1:22 in eth0"
	)
	all := settings("0", "conf.all.rp_filter", "conf.all.accept_local", "conf.all.route_localnet")
	own := settings("1", "ip_forward", "conf.eth0.forwarding") + settings("0", "conf.eth0.rp_filter")
	for _, row := range []struct {
		name, list, packet string
		verdict            packetsim.Verdict
		doubts             []string
	}{
		{"another setting", all, forwarded, packetsim.Accept, []string{"net.ipv4.ip_forward is 0"}},
		{"which does not matter", all, toNode, packetsim.Accept, nil},
		{"the name of the node alone", "kernel.hostname = n1\n", forwarded, packetsim.Accept, []string{"net.ipv4.ip_forward is 0"}},
		{"the value for all devices", "net.ipv4.ip_forward = 1\n", forwarded, packetsim.Accept,
			[]string{"net.ipv4.conf.*.forwarding is 0 for one of its devices"}},
		{"off for all devices", "net.ipv4.ip_forward = 0\n", forwarded, packetsim.Drop,
			[]string{"net.ipv4.conf.*.forwarding is 1 for one of its devices"}},
		{"of the devices that count", own + all, forwarded, packetsim.Accept, nil},
		{"the reverse path", own, turned, packetsim.Accept, []string{"net.ipv4.conf.all.rp_filter is 1"}},
		{"the reverse path of the device", settings("1", "ip_forward", "conf.eth0.forwarding") + all, turned, packetsim.Accept,
			[]string{"net.ipv4.conf.*.rp_filter is 1 for one of its devices"}},
		{"loose for the device alone", settings("1", "ip_forward", "conf.eth0.forwarding", "conf.all.rp_filter", "conf.pod0.rp_filter"), turned,
			packetsim.Drop, []string{"net.ipv4.conf.eth0.rp_filter is 2"}},
		{"loose for all", settings("1", "ip_forward", "conf.eth0.forwarding") + settings("2", "conf.all.rp_filter"), turned, packetsim.Accept,
			nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			node := read(t, "addr", twoSides, "sysctl.txt", row.list).Node
			in, err := inet.ParseInput(row.packet)
			require.NoError(t, err)
			result, err := node.Trace(in, snapshot.HostOptions{}, packetsim.WalkOptions{})
			require.NoError(t, err)
			assert.Equal(t, row.verdict, result.Outcomes[0].Verdict, result.Outcomes[0].Why)
			var doubts []string
			for _, d := range result.Doubts {
				if d.See == "sysctl -a > sysctl" {
					doubts = append(doubts, d.Unless)
				}
			}
			assert.Equal(t, row.doubts, doubts)
		})
	}
}

// TestSettingsOfModules: a whole list lacks what this kernel does not have; a part may lack anything.
func TestSettingsOfModules(t *testing.T) {
	const bridge = `sysctl net.bridge.bridge-nf-call-iptables: sysctl.txt does not have it: add what "sysctl -a" prints`
	list := settings("1", "ip_forward")
	for _, device := range []string{"all", "default", "eth0", "pod0", "lo"} {
		list += settings("0", "conf."+device+".rp_filter", "conf."+device+".accept_local", "conf."+device+".route_localnet") +
			settings("1", "conf."+device+".forwarding")
	}
	const beside = "net.core.somaxconn = 4096\nnet.unix.max_dgram_qlen = 10\n"
	for _, row := range []struct {
		name, list string
		unknown    bool
	}{
		{"a whole list", beside + list, false},
		{"what grep ipv4 leaves", list, true},
		{"a whole list without one line", beside + strings.Replace(list, settings("0", "conf.eth0.rp_filter"), "", 1), true},
	} {
		t.Run(row.name, func(t *testing.T) {
			found := unread(read(t, "addr", twoSides, "sysctl.txt", row.list).Node)
			assert.Equal(t, row.unknown, slices.Contains(found, bridge), strings.Join(found, "\n"))
		})
	}
	found := strings.Join(unread(read(t, "addr", twoSides, "sysctl.txt", beside+list).Node), "\n")
	assert.NotContains(t, found, "sysctl")
}
