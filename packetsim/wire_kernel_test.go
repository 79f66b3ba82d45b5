//go:build linux

package packetsim

import (
	"github.com/chainwalk/chainwalk/internal/wire"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// wireFormat is the packet as bytes. id is IPv4's identification or IPv6's flow label.
func wireFormat(p inet.Packet, id uint16) []byte {
	complete(&p)
	var payload []byte
	if p.Length != 0 {
		headers := p
		headers.Length = 0
		payload = make([]byte, p.Length-headers.Size())
	}
	if p.Carried != nil {
		payload = wire.VXLAN(p.VNI, wire.Ethernet(nodeMAC("tunnel"), placeMAC("server"), wireFormat(*p.Carried, 1)))
	}
	return wire.Encode(&p, wire.Fields{ID: id, Payload: payload})
}

// complete writes into the packet the numbers and chunks that it does not say: a connection begins at sequence number 1000, and an SCTP
// packet is an INIT.
func complete(p *inet.Packet) {
	switch {
	case p.Proto == inet.TCP && p.Numbers == nil:
		p.Numbers = &inet.TCPNumbers{Seq: 1000, Window: 8192}
		if p.TCPFlags&(inet.ACK|inet.RST) != 0 {
			p.Numbers.Seq, p.Numbers.Ack = 1001, 1001
		}
		if p.TCPFlags&inet.SYN != 0 {
			p.Numbers.Seq = 1000
		}
	case p.Proto == inet.SCTP && len(p.Chunks) == 0:
		p.Chunks = []inet.SCTPChunk{{Type: inet.SCTPInit, InitTag: 7}}
	}
	if p.Inner != nil {
		inner := *p.Inner
		complete(&inner)
		p.Inner = &inner
	}
}
