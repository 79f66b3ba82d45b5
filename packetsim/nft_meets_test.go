package packetsim

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TestNFTMeets: which rule "b" of a table meets, as the real kernel's packets showed (kube-proxy's own conditions among them).
func TestNFTMeets(t *testing.T) {
	const udp, ping = "udp 10.244.0.11:1000 > 8.8.8.8:53 in veth1", "icmp 10.244.0.11 > 8.8.8.8 in veth1"
	const tracked = "chain conn { ct state new; }; "
	for name, c := range map[string]struct {
		rules  string // in a table of the family inet
		packet string
		way    []string
	}{
		"a first packet is new": {"chain b { type filter hook forward priority 0; ct state new drop; };", toServer, []string{"t b drop"}},
		"an INVALID one is not": {"chain b { type filter hook forward priority 0; ct state new drop; };", toServer + " flags RST",
			[]string{"t b accept"}},
		"an INVALID one is invalid": {"chain b { type filter hook forward priority 0; ct state invalid drop; };", toServer + " flags RST",
			[]string{"t b drop"}},
		"nor is an untracked one": {"chain r { type filter hook prerouting priority -300; notrack; }; " +
			"chain b { type filter hook forward priority 0; ct state new drop; };", toServer, []string{"t r continue", "t r accept", "t b accept"}},
		"INVALID meets no nat chain": {tracked + "chain b { type nat hook prerouting priority -100; counter; };", toServer + " flags RST",
			[]string{}},
		"th dport is any protocol's": {"chain b { type filter hook forward priority 0; th dport 53 drop; };", udp, []string{"t b drop"}},
		"th of GRE is no port": {"chain b { type filter hook forward priority 0; meta l4proto { tcp, udp } th dport != 53 drop; };",
			"47 10.244.0.11 > 8.8.8.8 in veth1", []string{"t b accept"}},
		"th of ICMP has no entry": {"map m { type inet_proto . inet_service : verdict; elements = { tcp . 80 : drop }; }; " +
			"chain b { type filter hook forward priority 0; meta l4proto . th dport vmap @m; };", ping, []string{"t b accept"}},
		"fib daddr type local": {"chain b { type filter hook prerouting priority 0; fib daddr type local drop; };",
			"udp 10.244.0.11:1000 > 192.168.0.3:53 in veth1", []string{"t b drop"}},
		"a local address of another device": {"chain b { type filter hook prerouting priority 0; fib daddr . iif type local drop; };",
			"udp 10.244.0.11:1000 > 192.168.0.3:53 in veth1", []string{"t b accept"}},
		"127/8 is local": {"chain b { type filter hook output priority 0; fib daddr type local ip daddr 127.0.0.0/8 drop; };",
			"udp 127.0.0.1:1000 > 127.0.0.1:53 local", []string{"t b drop"}},
		"fib saddr type local": {"chain b { type filter hook forward priority 0; fib saddr type local drop; };", udp, []string{"t b accept"}},
		"marks are changed bit by bit": {"chain b { type filter hook forward priority 0; meta mark set mark or 0x4000; " +
			"meta mark set mark xor 0x4001; mark 1 drop; };", udp, []string{"t b continue", "t b continue", "t b drop"}},
		"the mark outlives a chain": {"chain a { type filter hook prerouting priority 0; meta mark set 0x4000; }; " +
			"chain b { type filter hook forward priority 0; mark and 0x4000 != 0 drop; };", udp, []string{"t a continue", "t a accept", "t b drop"}},
		"numgen without an entry goes on": {"chain b { type filter hook forward priority 0; numgen inc mod 2 vmap { 1 : drop }; };", udp,
			[]string{"t b accept"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newNFTLab(t, nil, netfilter.NFT)
			l.load("table inet t { " + c.rules + " }")
			way, _ := l.way(c.packet)
			assert.Equal(t, c.way, way)
		})
	}
}

// TestNFTRejects: plain reject is a port unreachable for every protocol, also before the routing, and a reset is for TCP alone.
func TestNFTRejects(t *testing.T) {
	for _, c := range []struct{ rule, packet, with string }{
		{"reject", toServer, "icmp-port-unreachable"},
		{"reject", "udp 10.244.0.11:1000 > 8.8.8.8:53 in veth1", "icmp-port-unreachable"},
		{"reject", "tcp [fd00:2::11]:1000 > [fd00:9::1]:80 in veth1", "icmp6-port-unreachable"},
		{"meta l4proto tcp reject with tcp reset", toServer, "tcp-reset"},
		{"meta l4proto tcp reject with tcp reset", "tcp 10.244.0.11:1000 > 224.0.0.1:80 in veth1", "tcp-reset"},
	} {
		l := newNFTLab(t, nil, netfilter.NFT)
		l.load("table inet t { chain b { type filter hook prerouting priority 0; " + c.rule + "; }; }")
		_, o := l.way(c.packet)
		assert.Equal(t, Reject, o.Verdict)
		assert.Equal(t, c.with, o.RejectWith)
		assert.Len(t, o.Replies, 1, c.packet)
	}
}

// TestNFTAffinity: update adds and refreshes, add does not refresh; in a full set the rule ends and the next one goes on. What packets have
// added is still there when the rules have been flushed.
func TestNFTAffinity(t *testing.T) {
	for _, c := range []struct {
		op    string
		after time.Duration // from the second packet on
		lives bool
	}{{"update", 40 * time.Second, true}, {"add", 40 * time.Second, false}, {"add", 20 * time.Second, true}} {
		l := newNFTLab(t, nil, netfilter.NFT)
		l.load("table ip t { set s { type ipv4_addr; flags dynamic,timeout; timeout 1m; size 1; }; chain b { " +
			"type filter hook forward priority 0; " + c.op + " @s { ip saddr } counter; }; }")
		one := func(from string) []string {
			way, _ := l.way("udp " + from + ":1000 > 8.8.8.8:53 in veth1")
			return way
		}
		assert.Equal(t, []string{"t b continue", "t b accept"}, one("10.244.0.11"))
		l.clock.SetTime(l.clock.Now().Add(30 * time.Second))
		one("10.244.0.11")
		l.clock.SetTime(l.clock.Now().Add(c.after))
		l.load("flush chain ip t b\nadd rule ip t b ip saddr @s drop")
		want := "t b accept"
		if c.lives {
			want = "t b drop"
		}
		assert.Equal(t, []string{want}, one("10.244.0.11"), fmt.Sprint(c))
	}
}

// TestNFTMasquerade: masquerade takes the address of the device that the packet leaves by; a hairpin packet is masqueraded by the set of
// endpoints, for which the source is the destination that DNAT chose.
func TestNFTMasquerade(t *testing.T) {
	const rules = `table ip t {
	set hairpin { type ipv4_addr . ipv4_addr . inet_proto . inet_service; elements = { 10.244.0.11 . 10.244.0.11 . tcp . 80 }; }
	chain pre { type nat hook prerouting priority -100; ip daddr 10.96.0.1 meta l4proto tcp dnat to 10.244.0.11:80; }
	chain b { type nat hook postrouting priority 100;
		mark and 0x4000 != 0 masquerade
		ct status dnat ip saddr . ip daddr . meta l4proto . th dport @hairpin masquerade fully-random
		oifname "eth0" ip daddr 8.8.8.8 masquerade
	}
}`
	for packet, src := range map[string]string{
		toServer: "192.168.0.3", "tcp 10.244.0.11:1000 > 10.96.0.1:80 in veth1": "10.244.0.1",
		"tcp 10.244.0.12:1000 > 10.96.0.1:80 in veth2":   "10.244.0.12",
		"tcp 10.244.0.12:1000 > 10.244.0.11:80 in veth2": "10.244.0.12",
	} {
		l := newNFTLab(t, map[string]string{"net.ipv4.conf.all.rp_filter": "0"}, netfilter.NFT)
		l.load(rules)
		_, o := l.way(packet)
		assert.Equal(t, src, o.Packet.Src.String(), packet)
	}
}
