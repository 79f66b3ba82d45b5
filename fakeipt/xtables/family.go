package xtables

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// familyFacts is what differs between the tools of the two families.
type familyFacts struct {
	Tool       string // name of the command
	Bits       int
	anywhere   string // every address, as a prefix
	Zero, Ones netip.Addr
	icmp       string // protocol that the family's icmp match is for
	icmpProto  uint8
	Reject     string // default of --reject-with
}

var (
	ipv4Facts = familyFacts{Tool: "iptables", Bits: 32, anywhere: "0.0.0.0/0", Zero: netip.IPv4Unspecified(),
		Ones: netip.AddrFrom4([4]byte{255, 255, 255, 255}), icmp: "icmp", icmpProto: libc.ProtoICMP, Reject: "icmp-port-unreachable"}
	ipv6Facts = familyFacts{Tool: "ip6tables", Bits: 128, anywhere: "::/0", Zero: netip.IPv6Unspecified(),
		Ones: MaskOf(128, 128), icmp: "icmp6", icmpProto: libc.ProtoICMPv6, Reject: "icmp6-port-unreachable"}
)

// FactsOf is what differs, of a family.
func FactsOf(f netfilter.Family) *familyFacts {
	if f == netfilter.IPv6 {
		return &ipv6Facts
	}
	return &ipv4Facts
}
