//go:build linux

package check_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakenft/check"
	"github.com/chainwalk/chainwalk/fakenft/parse"
	"github.com/chainwalk/chainwalk/fakenft/print"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

// described are words of the language: types, and expressions with all fields of headers that the grammar has.
const described = `
invalid|nf_proto|bitmask|integer|string|ll_addr|ipv4_addr|ipv6_addr|ether_addr|ether_type|arp_op|inet_proto|inet_service|icmp_type
tcp_flag|dccp_pkttype|mh_type|time|mark|iface_index|iface_type|ifname|pkt_type|uid|gid|ct_state|ct_dir|ct_status|icmpv6_type|realm|classid
devgroup|dscp|fib_addrtype|boolean|igmp_type|cgroupsv2|icmp_code|icmpv6_code|icmpx_code|foo|ether daddr|ether saddr|ether type|vlan id
vlan cfi|vlan dei|vlan pcp|vlan type|arp htype|arp ptype|arp hlen|arp plen|arp operation|arp saddr ether|arp daddr ether|arp saddr ip
arp daddr ip|ip version|ip hdrlength|ip dscp|ip ecn|ip length|ip id|ip frag-off|ip ttl|ip protocol|ip checksum|ip saddr|ip daddr
ip6 version|ip6 dscp|ip6 ecn|ip6 flowlabel|ip6 length|ip6 nexthdr|ip6 hoplimit|ip6 saddr|ip6 daddr|icmp type|icmp code|icmp checksum
icmp id|icmp sequence|icmp mtu|icmp gateway|igmp type|igmp mrt|igmp checksum|igmp group|icmpv6 type|icmpv6 code|icmpv6 checksum|icmpv6 id
icmpv6 sequence|icmpv6 mtu|icmpv6 max-delay|icmpv6 param-problem|ah nexthdr|ah hdrlength|ah reserved|ah spi|ah sequence|esp spi
esp sequence|comp nexthdr|comp flags|comp cpi|udp sport|udp dport|udp length|udp checksum|udplite sport|udplite csumcov|udplite checksum
tcp sport|tcp dport|tcp sequence|tcp ackseq|tcp doff|tcp reserved|tcp flags|tcp window|tcp checksum|tcp urgptr|dccp sport|dccp type
sctp sport|sctp vtag|sctp checksum|th sport|th dport|hbh nexthdr|hbh hdrlength|dst nexthdr|rt nexthdr|rt type|rt seg-left|rt0 addr[1]
srh last-entry|srh flags|srh tag|srh sid[1]|frag nexthdr|frag reserved|frag frag-off|frag reserved2|frag more-fragments|frag id|mh nexthdr
mh type|mh checksum|tcp option maxseg size|tcp option window count|tcp option sack left|tcp option sack1 right|tcp option timestamp tsval
tcp option mptcp subtype|ip option rr addr|ip option ra value|ct state|ct direction|ct status|ct mark|ct expiration|ct helper|ct l3proto
ct protocol|ct label|ct bytes|ct packets|ct avgpkt|ct zone|ct event|ct secmark|ct id|ct original ip saddr|ct reply ip6 daddr|meta length
meta protocol|meta nfproto|meta l4proto|meta priority|meta mark|meta iif|meta iifname|meta iiftype|meta oif|meta oifname|meta skuid
meta skgid|meta nftrace|meta rtclassid|meta ibrname|meta pkttype|meta cpu|meta iifgroup|meta cgroup|meta random|meta ipsec|meta iifkind
meta ibrpvid|meta ibrvproto|meta time|meta day|meta hour|meta secmark|meta sdif|meta sdifname|rt classid|rt nexthop|rt ip nexthop|rt mtu
rt ipsec|socket transparent|socket mark|socket wildcard|fib saddr oif|fib saddr oifname|fib saddr type|osf name|numgen random mod 4
jhash ip saddr mod 3|symhash mod 2|ipsec in reqid|ipsec in spi
`

// TestDescribeKernel compares the tables of types and headers with what "nft describe" prints.
func TestDescribeKernel(t *testing.T) {
	kerneltest.Need(t, "nft")
	n := kerneltest.New(t)
	for _, words := range strings.FieldsFunc(described, func(r rune) bool { return r == '|' || r == '\n' }) {
		want := n.Run([]string{"nft", "describe " + words}, "")
		require.Zero(t, want.Status, words)
		commands, mistakes := parse.Text(&syntax.Input{Text: "describe " + words}, parse.Options{})
		if len(mistakes) > 0 {
			t.Errorf("%s: %s", words, mistakes[0].Text)
			continue
		}
		check.New(check.Empty{}).Command(commands[0])
		said, err := print.AppendDescribe(nil, commands[0].Describe)
		require.NoError(t, err)
		if got := string(said); got != want.Stdout {
			t.Errorf("%s:\nwant %q\n got %q", words, want.Stdout, got)
		}
	}
}
