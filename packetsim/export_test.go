package packetsim

// encodePacket and decodePacket are those of internal/wire.
var (
	encodePacket func(p *Packet, id uint16, payload []byte) []byte
	decodePacket func([]byte) (Packet, uint32, error)
	encodeVXLAN  func(identifier uint32, to, from, packet []byte) []byte
)

// UseWire hands internal/wire to the labs on the real kernel, which look at the inside of a Host: they are tests of this package and cannot
// import what imports it.
func UseWire(encode func(*Packet, uint16, []byte) []byte, decode func([]byte) (Packet, uint32, error),
	vxlan func(uint32, []byte, []byte, []byte) []byte) {
	encodePacket, decodePacket, encodeVXLAN = encode, decode, vxlan
}
