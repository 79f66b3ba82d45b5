//go:build linux

package packetsim

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// mixedRules are the rules of one dialect's tools on a node that has both: every built-in chain begins with a rule that reports, in
// the words of TRACE, which chain the packet is in. N is 1 in those of legacy and 2 in those of nft.
func mixedRules(d netfilter.Dialect, f netfilter.Family) string {
	letter, rules := "l", mixedRules4
	if d == netfilter.NFT {
		letter = "n"
	}
	if f == netfilter.IPv6 {
		rules = mixedRules6
	}
	var text strings.Builder
	table := ""
	for line := range strings.Lines(rules[d]) {
		text.WriteString(line)
		if name, is := strings.CutPrefix(line, "*"); is {
			table = strings.TrimSpace(name)
		}
		if words := strings.Fields(line); strings.HasPrefix(line, ":") {
			fmt.Fprintf(&text, "-A %s -j NFLOG --nflog-prefix \"TRACE: %s:%s:%s \"\n", words[0][1:], letter, table, words[0][1:])
		}
	}
	return text.String()
}

var mixedRules4 = map[netfilter.Dialect]string{
	netfilter.Legacy: `*raw
:PREROUTING ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A PREROUTING -p udp -m udp --dport 7001 -j NOTRACK
-A PREROUTING -p udp -m udp --dport 7002 -j DROP
COMMIT
*mangle
:PREROUTING ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A PREROUTING -p udp -m udp --dport 7003 -m mark --mark 0x2 -j DROP
-A PREROUTING -p udp -m udp --dport 7003 -j MARK --set-xmark 0x1/0xffffffff
-A OUTPUT -p udp -m udp --dport 7004 -j MARK --set-xmark 0x5f/0xffffffff
-A OUTPUT -p udp -m udp --dport 7005 -m mark --mark 0x5f -j MARK --set-xmark 0x0/0xffffffff
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
-A PREROUTING -p udp -m udp --dport 7010 -j DNAT --to-destination 10.77.2.2:8001
-A PREROUTING -p udp -m udp --dport 7011 -j DNAT --to-destination 10.77.2.2:8002
-A PREROUTING -p udp -m udp --dport 7013 -j ACCEPT
-A POSTROUTING -p udp -m udp --dport 7014 -j SNAT --to-source 10.77.2.1:41051
-A POSTROUTING -p udp -m udp --dport 7015 -j SNAT --to-source 10.77.2.1:41053
-A OUTPUT -p udp -m udp --dport 7016 -j DNAT --to-destination 10.77.2.2:8001
COMMIT
*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A FORWARD -p udp -m udp --dport 7020 -j DROP
-A FORWARD -p udp -m udp --dport 7021 -j ACCEPT
-A FORWARD -p udp -m udp --dport 8004 -j DROP
-A FORWARD -p udp -m udp --dport 7023 -j REJECT --reject-with icmp-port-unreachable
-A FORWARD -p udp -m udp --dport 7024 -m limit --limit 1/hour --limit-burst 1 -j ACCEPT
-A INPUT -p udp -m udp --dport 7025 -j DROP
-A OUTPUT -p icmp -j ACCEPT
COMMIT
`,
	netfilter.NFT: `*raw
:PREROUTING ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A PREROUTING -p udp -m udp --dport 7002
COMMIT
*mangle
:PREROUTING ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A PREROUTING -p udp -m udp --dport 7003 -m mark --mark 0x1 -j DROP
-A PREROUTING -p udp -m udp --dport 7003 -j MARK --set-xmark 0x2/0xffffffff
-A OUTPUT -p udp -m udp --dport 7005 -j MARK --set-xmark 0x5f/0xffffffff
-A OUTPUT -p udp -m udp --dport 7004 -m mark --mark 0x5f -j MARK --set-xmark 0x0/0xffffffff
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
-A PREROUTING -p udp -m udp --dport 7010 -j DNAT --to-destination 10.77.2.2:8003
-A PREROUTING -p udp -m udp --dport 7012 -j DNAT --to-destination 10.77.2.2:8004
-A PREROUTING -p udp -m udp --dport 7013 -j DNAT --to-destination 10.77.2.2:8005
-A POSTROUTING -p udp -m udp --dport 7014 -j SNAT --to-source 10.77.2.1:41052
-A POSTROUTING -p udp -m udp --dport 8001 -j SNAT --to-source 10.77.2.1:41054
-A OUTPUT -p udp -m udp --dport 7016 -j DNAT --to-destination 10.77.1.2:8003
COMMIT
*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A FORWARD -p udp -m udp --dport 7021 -j DROP
-A FORWARD -p udp -m udp --dport 8002 -j DROP
-A FORWARD -p udp -m udp --dport 7022 -m conntrack --ctstate NEW -j DROP
-A FORWARD -p udp -m udp --dport 7023 -j DROP
-A FORWARD -p udp -m udp --dport 7024 -j ACCEPT
-A INPUT -p udp -m udp --dport 7026 -j REJECT --reject-with icmp-port-unreachable
COMMIT
`,
}

var mixedRules6 = map[netfilter.Dialect]string{
	netfilter.Legacy: `*mangle
:PREROUTING ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A PREROUTING -p udp -m udp --dport 7003 -m mark --mark 0x2 -j DROP
-A PREROUTING -p udp -m udp --dport 7003 -j MARK --set-xmark 0x1/0xffffffff
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
-A PREROUTING -p udp -m udp --dport 7010 -j DNAT --to-destination [fd77:2::2]:8001
COMMIT
*filter
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A FORWARD -p udp -m udp --dport 7020 -j DROP
-A FORWARD -p udp -m udp --dport 8002 -j DROP
COMMIT
`,
	netfilter.NFT: `*mangle
:PREROUTING ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A PREROUTING -p udp -m udp --dport 7003 -m mark --mark 0x1 -j DROP
-A PREROUTING -p udp -m udp --dport 7003 -j MARK --set-xmark 0x2/0xffffffff
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
-A PREROUTING -p udp -m udp --dport 7010 -j DNAT --to-destination [fd77:2::2]:8003
-A PREROUTING -p udp -m udp --dport 7011 -j DNAT --to-destination [fd77:2::2]:8002
-A POSTROUTING -p udp -m udp --dport 8001 -j MASQUERADE
COMMIT
*filter
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A FORWARD -p udp -m udp --dport 7021 -j DROP
COMMIT
`,
}

// mixedPackets are sent one after the other to one node.
var mixedPackets = map[netfilter.Family][]kernelPacket{
	netfilter.IPv4: {
		{place: "client", packet: "tcp 10.77.1.2:41001 > 10.77.2.2:80"},
		{place: "server", packet: "tcp 10.77.2.2:80 > 10.77.1.2:41001 flags SYN,ACK"},
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7001"},
		{place: "client", packet: "udp 10.77.1.2:41002 > 10.77.2.2:7002"},
		{place: "client", packet: "udp 10.77.1.2:41003 > 10.77.2.2:7003"},
		{place: "node", packet: "udp 10.77.2.1:41004 > 10.95.0.2:7004"},
		{place: "node", packet: "udp 10.77.2.1:41005 > 10.95.0.2:7005"},
		{place: "client", packet: "udp 10.77.1.2:41010 > 10.99.0.1:7010"},
		{place: "client", packet: "udp 10.77.1.2:41010 > 10.99.0.1:7010"},
		{place: "client", packet: "udp 10.77.1.2:41011 > 10.99.0.1:7011"},
		{place: "client", packet: "udp 10.77.1.2:41012 > 10.99.0.1:7012"},
		{place: "client", packet: "udp 10.77.1.2:41013 > 10.99.0.1:7013"},
		{place: "client", packet: "udp 10.77.1.2:41014 > 10.77.2.2:7014"},
		{place: "client", packet: "udp 10.77.1.2:41015 > 10.77.2.2:7015"},
		{place: "node", packet: "udp 10.77.2.1:41016 > 10.99.0.1:7016"},
		{place: "client", packet: "udp 10.77.1.2:41020 > 10.77.2.2:7020"},
		{place: "client", packet: "udp 10.77.1.2:41021 > 10.77.2.2:7021"},
		{place: "client", packet: "udp 10.77.1.2:41022 > 10.77.2.2:7022"},
		{place: "client", packet: "udp 10.77.1.2:41023 > 10.77.2.2:7023"},
		{place: "client", packet: "udp 10.77.1.2:41024 > 10.77.2.2:7024"},
		{place: "client", packet: "udp 10.77.1.2:41024 > 10.77.2.2:7024"},
		{place: "client", packet: "udp 10.77.1.2:41025 > 10.77.1.1:7025"},
		{place: "client", packet: "udp 10.77.1.2:41026 > 10.77.1.1:7026"},
	},
	netfilter.IPv6: {
		{place: "client", packet: "udp [fd77:1::2]:41003 > [fd77:2::2]:7003"},
		{place: "client", packet: "udp [fd77:1::2]:41010 > [fd99::1]:7010"},
		{place: "client", packet: "udp [fd77:1::2]:41010 > [fd99::1]:7010"},
		{place: "client", packet: "udp [fd77:1::2]:41011 > [fd99::1]:7011"},
		{place: "client", packet: "udp [fd77:1::2]:41020 > [fd77:2::2]:7020"},
		{place: "client", packet: "udp [fd77:1::2]:41021 > [fd77:2::2]:7021"},
	},
}

// mixedOrders are orders in which the tools of a node came to their chains. Words are "legacy" or "nft" for a restore of all of their
// rules, "nft again" for one that makes nothing anew.
var mixedOrders = [][]string{
	{"legacy", "nft"},
	{"nft", "legacy"},
	{"nft", "legacy", "nft"},
	{"legacy", "nft", "legacy"},
	{"nft", "legacy", "nft again"},
}

// TestKernelWalksBothBackends sends packets through a node that has rules of iptables-legacy and of iptables-nft, and through a Host with
// the same: which chains they meet in which order, the connections, and what every rule has counted.
func TestKernelWalksBothBackends(t *testing.T) {
	kerneltest.Need(t, "iptables-nft", "ip6tables-nft", "iptables-nft-restore", "ip6tables-nft-restore")
	packets := 0
	for i, order := range mixedOrders {
		t.Run(strings.Join(order, ", "), func(t *testing.T) {
			lab := newKernelLab(t)
			legacy := fakeipt.New(fakeipt.Options{})
			nft := fakeipt.New(fakeipt.Options{Dialect: netfilter.NFT, Namespace: legacy.Namespace()})
			host := labHost(t, nil, legacy)
			for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
				for _, tools := range order {
					if strings.HasPrefix(tools, "legacy") {
						lab.restoreBoth(legacy, family)
					} else {
						lab.restoreBoth(nft, family, strings.Fields(tools)[1:]...)
					}
				}
				for j, p := range mixedPackets[family] {
					lab.compareMixed(host, p, uint16(0x2000+i*0x100+int(family)*0x1000+j))
					packets++
				}
				known := slices.DeleteFunc(hostConnections(host, false), func(line string) bool {
					return strings.Contains(line, "fd77") != (family == netfilter.IPv6)
				})
				assert.Equal(t, lab.connections(kernelGroup{family: family}), known)
			}
			for _, k := range []*fakeipt.Kernel{legacy, nft} {
				f := netfilter.IPv4 // IPv6 sends messages of its own
				assert.Equal(t, ruleCounts(lab.saveOf(k.Dialect(), f)), ruleCounts(fakeSave(t, k, f)), "%s IPv%d", k.Dialect(), f)
			}
		})
	}
	t.Logf("%d packets through both backends, in %d orders", packets, len(mixedOrders))
}

// restoreBoth gives the node and the fake kernel the dialect's rules. With "again" nothing that is there is made anew.
func (lab *kernelLab) restoreBoth(k *fakeipt.Kernel, family netfilter.Family, again ...string) {
	lab.t.Helper()
	tool := toolOf(k.Dialect(), family) + "-restore"
	argv := []string{tool}
	if len(again) > 0 {
		argv = append(argv, "--noflush")
	}
	rules := mixedRules(k.Dialect(), family)
	lab.places["node"].In(lab.t).Feed(rules, argv...)
	var stderr strings.Builder
	require.Zero(lab.t, k.Run(argv, strings.NewReader(rules), &stderr, &stderr), stderr.String())
}

func toolOf(d netfilter.Dialect, family netfilter.Family) string {
	if family == netfilter.IPv6 {
		return "ip6tables-" + string(d)
	}
	return "iptables-" + string(d)
}

// compareMixed sends one packet both ways.
func (lab *kernelLab) compareMixed(host *Host, p kernelPacket, id uint16) {
	lab.t.Helper()
	in, err := inet.ParseInput(p.packet)
	require.NoError(lab.t, err)
	switch p.place {
	case "node":
		in.Local, in.Socket = true, &inet.Socket{} // of root
	case "client":
		in.In = "cwpsc"
	case "server":
		in.In = "cwpss"
	}
	o, err := host.Step(in, &fixedChance{n: 1})
	require.NoError(lab.t, err)
	want := loggedChains(&o)
	lab.send(p.place, in.Packet, id)
	real := lab.trace(len(want), id)
	if o.To == ToLocal { // what the sockets of the node answer is not the walk's
		real = slices.DeleteFunc(real, func(line string) bool { return strings.HasPrefix(line, "reply ") })
	}
	assert.Equal(lab.t, real, want, p.packet)
}

// loggedChains is what the rules with NFLOG report of an outcome.
func loggedChains(o *Outcome) []string {
	var lines []string
	for i := range o.Steps {
		s := &o.Steps[i]
		if _, words, is := strings.Cut(s.Text(), " -j NFLOG --nflog-prefix "); is {
			prefix, _, _ := strings.Cut(strings.TrimPrefix(words, `"TRACE: `), `"`)
			lines = append(lines, strings.TrimSpace(prefix))
		}
	}
	for i := range o.Replies {
		for _, line := range loggedChains(&o.Replies[i].Outcome) {
			lines = append(lines, "reply "+line)
		}
	}
	return lines
}

func (lab *kernelLab) saveOf(d netfilter.Dialect, family netfilter.Family) string {
	return lab.run("node", toolOf(d, family)+"-save", "-c")
}

func fakeSave(t *testing.T, k *fakeipt.Kernel, family netfilter.Family) string {
	var stdout, stderr strings.Builder
	require.Zero(t, k.Run([]string{toolOf(k.Dialect(), family) + "-save", "-c"}, nil, &stdout, &stderr), stderr.String())
	return stdout.String()
}

var mixedCount = regexp.MustCompile(`(?m)^(\[\d+):\d+\] (-A .*)$`)

// ruleCounts is the rules of a dump with the packets that they counted, in the order of the text's tables.
func ruleCounts(save string) []string {
	var lines []string
	table := ""
	for line := range strings.Lines(save) {
		if strings.HasPrefix(line, "*") {
			table = strings.TrimSpace(line)
		}
		if m := mixedCount.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			lines = append(lines, table+" "+m[1]+"] "+m[2])
		}
	}
	slices.Sort(lines)
	return lines
}
