package packetsim

import "github.com/chainwalk/chainwalk/packetsim/inet"

// sums is what the kernel knows of the checksum of TCP, UDP and ICMP in a packet (ip_summed, csum_valid and csum of struct sk_buff).
type sums uint8

const (
	sumPartial  sums = 1 << iota // a device writes it (CHECKSUM_PARTIAL)
	sumRight                     // it was right, and nobody looks again (CHECKSUM_UNNECESSARY)
	sumComplete                  // the sum of all bytes was taken (CHECKSUM_COMPLETE)
	sumValid                     // the checksum was right then
	sumKept                      // and so it is by the sum of all bytes, which NPT does not tell of what it changes
)

// sumTrusted is of a packet at whose checksum nobody looks.
const sumTrusted = sumPartial | sumRight

// sumHolds is the look that conntrack, NAT and REJECT have at the checksum (nf_ip6_checksum in net/netfilter/utils.c). On the packet's way
// in an earlier look counts for addresses that NPT has changed since.
func (s *skb) sumHolds() bool {
	switch {
	case !s.IsSummed() || s.sums&sumTrusted != 0:
		return true
	case s.sums&sumComplete != 0 && s.hook != preRouting && s.hook != input:
		return true
	case s.sums&sumKept != 0:
		s.sums |= sumRight
		return true
	}
	s.sums |= sumComplete
	if s.ChecksumOff == 0 {
		s.sums |= sumValid | sumKept
	}
	return s.ChecksumOff == 0
}

// rejectsSum is the look that REJECT has at the checksum before it sends an ICMP error (reject6_csum_ok in
// net/ipv6/netfilter/nf_reject_ipv6.c).
func (s *skb) rejectsSum() bool { return s.sums&(sumTrusted|sumValid) == 0 && !s.sumHolds() }

// sumIsWrong is the look that sockets have at the checksum (__skb_checksum_validate in include/linux/skbuff.h).
func (s *skb) sumIsWrong() bool {
	return s.IsSummed() && s.sums&(sumTrusted|sumKept) == 0 && s.ChecksumOff != 0
}

// mendSum is what NAT does to the checksum of an ICMP error: it is written anew. Where the error quotes a packet of SCTP, the kernel
// forgets that it has looked at it (sctp_manip_pkt in net/netfilter/nf_nat_proto.c).
func (s *skb) mendSum() {
	if s.sums&sumPartial != 0 {
		return
	}
	s.ChecksumOff = 0
	if s.Inner.Proto == inet.SCTP {
		s.sums = 0
	}
}
