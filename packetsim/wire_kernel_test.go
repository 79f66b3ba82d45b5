//go:build linux

package packetsim

// wireFormat is the packet as bytes. id is IPv4's identification or IPv6's flow label.
func wireFormat(p Packet, id uint16) []byte {
	complete(&p)
	var payload []byte
	if p.Carried != nil {
		payload = encodeVXLAN(p.VNI, nodeMAC("tunnel"), placeMAC("server"), wireFormat(*p.Carried, 1))
	}
	return encodePacket(&p, id, payload)
}

// complete writes into the packet the numbers and chunks that it does not say: a connection begins at sequence number 1000, and an SCTP
// packet is an INIT.
func complete(p *Packet) {
	switch {
	case p.Proto == TCP && p.Numbers == nil:
		p.Numbers = &TCPNumbers{Seq: 1000, Window: 8192}
		if p.TCPFlags&(ACK|RST) != 0 {
			p.Numbers.Seq, p.Numbers.Ack = 1001, 1001
		}
		if p.TCPFlags&SYN != 0 {
			p.Numbers.Seq = 1000
		}
	case p.Proto == SCTP && len(p.Chunks) == 0:
		p.Chunks = []SCTPChunk{{Type: SCTPInit, InitTag: 7}}
	}
	if p.Inner != nil {
		inner := *p.Inner
		complete(&inner)
		p.Inner = &inner
	}
}
