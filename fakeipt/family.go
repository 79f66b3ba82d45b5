package fakeipt

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// familyFacts is what differs between the tools of the two families.
type familyFacts struct {
	tool       string // name of the command
	bits       int
	anywhere   string // every address, as a prefix
	zero, ones netip.Addr
	icmp       string // protocol that the family's icmp match is for
	icmpProto  uint8
	reject     string // default of --reject-with
}

var (
	ipv4Facts = familyFacts{tool: "iptables", bits: 32, anywhere: "0.0.0.0/0", zero: netip.IPv4Unspecified(),
		ones: netip.AddrFrom4([4]byte{255, 255, 255, 255}), icmp: "icmp", icmpProto: libc.ProtoICMP, reject: "icmp-port-unreachable"}
	ipv6Facts = familyFacts{tool: "ip6tables", bits: 128, anywhere: "::/0", zero: netip.IPv6Unspecified(),
		ones: maskOf(128, 128), icmp: "icmp6", icmpProto: libc.ProtoICMPv6, reject: "icmp6-port-unreachable"}
)

func factsOf(f netfilter.Family) *familyFacts {
	if f == netfilter.IPv6 {
		return &ipv6Facts
	}
	return &ipv4Facts
}
