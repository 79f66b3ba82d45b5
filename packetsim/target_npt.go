package packetsim

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"net/netip"

	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// npt is -j SNPT or DNPT (net/ipv6/netfilter/ip6t_NPT.c, RFC 6296): a prefix of the source or destination becomes another one, and a word
// behind it changes so that checksums stay right. In an ICMP error the packet that it quotes is translated back.
//
// They do so where the address has the rule's first prefix, and both prefixes are of one length. Other addresses are translated as well,
// and the packet's checksum is wrong from then on.
func (tg *targets) npt(s *skb, t *target.NPT) fate {
	if s.shared { // of which the kernel takes no copy before it writes
		tg.fail(errSharedNPT)
		return stopped
	}
	addr := &s.Src
	if t.Dest {
		addr = &s.Dst
	}
	before := inet.WordSum(*addr)
	var ok bool
	*addr, ok = nptMap(*addr, t)
	s.Reckon(before, inet.WordSum(*addr))
	if !ok && s.hook == output && !s.isCopy { // it has no device yet, which icmp6_send wants
		tg.drop(ReasonNPT)
		return stopped
	}
	if !ok {
		tg.outcome.Verdict, tg.outcome.To, tg.outcome.RejectWith = Reject, ToNone, "icmp6-4/0"
		tg.outcome.Reason, tg.outcome.Why = ReasonNPT, string(ReasonNPT)
		tg.answers.sendError(s, inet.ICMPv6ParameterProblem, 0)
		return stopped
	}
	tg.nptInner(s, t)
	return goOn
}

var errSharedNPT = errors.New("not supported: SNPT or DNPT of the host's own copy of what it sends to a group, which changes that as well")

// nptInner translates what an ICMP error quotes, where it went to or came from the rule's prefix.
func (tg *targets) nptInner(s *skb, t *target.NPT) {
	if s.Inner == nil || s.Socket != nil && s.Socket.Raw { // where its transport header is meant to begin, its own begins
		return
	}
	inner := *s.Inner
	addr := &inner.Dst
	if t.Dest {
		addr = &inner.Src
	}
	if maskedEqual(*addr, t.From.Addr, t.From.Mask) {
		before := inet.WordSum(*addr)
		*addr, _ = nptMap(*addr, t)
		s.Reckon(before, inet.WordSum(*addr))
		s.Inner = &inner
	}
}

// nptShortest is the length up to which the word behind the prefix is the fourth.
const nptShortest = 48

// nptMap translates an address. ok is false if every word that could be changed is all ones: then the prefix alone is another one.
func nptMap(addr netip.Addr, t *target.NPT) (translated netip.Addr, ok bool) {
	b, to := addr.As16(), t.To.Addr.As16()
	fromBits, toBits := prefixBits(t.From.Mask), prefixBits(t.To.Mask)
	length := max(fromBits, toBits)
	for i := range b {
		keep := byte(0xff) >> min(8, max(0, length-8*i))
		b[i] = b[i]&keep | to[i]&^keep
	}
	word := 3
	if length > nptShortest {
		for word = 4; word < 8 && binary.BigEndian.Uint16(b[2*word:]) == 0xffff; word++ {
		}
		if word == 8 {
			return netip.AddrFrom16(b), false
		}
	}
	sum := inet.FoldSum(uint32(binary.BigEndian.Uint16(b[2*word:])) + uint32(nptAdjustment(t)))
	if sum == 0xffff {
		sum = 0
	}
	binary.BigEndian.PutUint16(b[2*word:], sum)
	return netip.AddrFrom16(b), true
}

// nptAdjustment is what the new prefix is less than the old one, in one's complement.
func nptAdjustment(t *target.NPT) uint16 {
	return inet.FoldSum(uint32(inet.WordSum(t.From.Addr)) + uint32(^inet.WordSum(t.To.Addr)))
}

// prefixBits is the length of a mask.
func prefixBits(mask netip.Addr) int {
	n := 0
	for _, b := range mask.AsSlice() {
		n += bits.OnesCount8(b)
	}
	return n
}
