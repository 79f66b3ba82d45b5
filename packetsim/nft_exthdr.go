package packetsim

import (
	"encoding/binary"
	"errors"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// The options of TCP that a packet here may have (include/net/tcp.h).
const (
	optionMSS           = 2
	optionWindow        = 3
	optionSACKPermitted = 4
	optionSACK          = 5
)

var errNoOptions = errors.New("packet: a rule asks for options of TCP, which are not known without numbers")

// exthdr is exthdr (net/netfilter/nft_exthdr.c) of TCP's options, and of IPv6 headers, of which a packet here has none.
func (t *nftMachine) exthdr(x *expr.Exthdr) {
	switch {
	case x.Op == expr.ExthdrTCPOption && x.Writes:
		t.writeOption(x)
	case x.Op == expr.ExthdrTCPOption:
		t.loadOption(x)
	case x.Op == expr.ExthdrIPv6 && !x.Writes:
		t.loadExtension(x)
	case x.Op == expr.ExthdrIPv4 && !x.Writes && t.s.Dst.Is4():
		t.lacks(x) // a packet here has no options of IPv4
	case x.Op == expr.ExthdrIPv4 && !x.Writes:
		t.code = expr.Break
	default:
		t.notWalked(x, "")
	}
}

// lacks is what it loads where the header is not there.
func (t *nftMachine) lacks(x *expr.Exthdr) {
	if x.Present {
		t.regs.put4(uint8(x.Dreg.Offset()), 0)
		return
	}
	t.code = expr.Break
}

func (t *nftMachine) loadExtension(x *expr.Exthdr) {
	switch s := t.s; {
	case !s.Is6():
		t.code = expr.Break
	case isExtensionHeader(s.Proto):
		t.fail(errExtensionHeader)
	case uint8(s.Proto) == x.Type:
		t.notWalked(x, "a header that no other one follows")
	default:
		t.lacks(x)
	}
}

// option is an option of the packet's TCP header; nil if it is not there.
func (t *nftMachine) option(kind uint8) []byte {
	s := t.s
	n := s.Numbers
	switch {
	case kind == optionMSS && s.MSS != 0:
		return binary.BigEndian.AppendUint16([]byte{optionMSS, 4}, s.MSS)
	case n == nil:
		t.fail(errNoOptions)
	case kind == optionWindow && n.HasScale:
		return []byte{optionWindow, 3, n.Scale}
	case kind == optionSACKPermitted && n.SACKPermitted:
		return []byte{optionSACKPermitted, 2}
	case kind == optionSACK && len(n.SACK) > 0:
		b := []byte{optionSACK, byte(2 + 8*len(n.SACK))}
		for _, block := range n.SACK {
			b = binary.BigEndian.AppendUint32(b, block.Left)
			b = binary.BigEndian.AppendUint32(b, block.Right)
		}
		return b
	}
	return nil
}

// loadOption is nft_exthdr_tcp_eval.
func (t *nftMachine) loadOption(x *expr.Exthdr) {
	if t.s.Proto != inet.TCP {
		t.lacks(x)
		return
	}
	option := t.option(x.Type)
	from, to := int(x.Offset), int(x.Offset+x.Len)
	switch {
	case t.err != nil:
	case option == nil:
		t.lacks(x)
	case x.Present:
		t.regs.put4(uint8(x.Dreg.Offset()), 1)
	case to > len(option):
		t.lacks(x)
	default:
		t.regs.put(x.Dreg.Offset(), option[from:to])
	}
}

// writeOption is nft_exthdr_tcp_set_eval: the greatest segment is never made greater. As with -j TCPMSS an option that is not known is
// taken not to be there.
func (t *nftMachine) writeOption(x *expr.Exthdr) {
	s := t.s
	if s.Proto != inet.TCP {
		t.code = expr.Break
		return
	}
	if x.Type != optionMSS || x.Offset != 2 || x.Len != 2 {
		t.notWalked(x, "a write of another option than the greatest segment")
		return
	}
	if s.MSS == 0 {
		return
	}
	s.MSS = min(s.MSS, binary.BigEndian.Uint16(t.regs.bytes(x.Sreg.Offset(), 2)))
}
