package inet

import (
	"fmt"
	"strings"
)

// Header is the packet's protocol, source and destination: "tcp 10.0.0.1:40000 > 10.0.0.2:80", without ports where the protocol has none.
// An unset source is the unspecified address.
func (p *Packet) Header() string {
	src := p.Src
	if !src.IsValid() {
		src = Unspecified(p.Dst)
	}
	if p.Proto.HasPorts() {
		return fmt.Sprintf("%s %s > %s", p.Proto, joinPort(src, p.SrcPort), joinPort(p.Dst, p.DstPort))
	}
	return fmt.Sprintf("%s %s > %s", p.Proto, src, p.Dst)
}

// String prints the packet in the PACKET syntax that ParseInput reads, as far as people want to read it in a line: the words up to "len".
// Full prints every word. An unset source of a packet of the host itself is the unspecified address.
func (in Input) String() string {
	var b strings.Builder
	b.WriteString(in.Header())
	switch {
	case in.Local:
		b.WriteString(" local")
	case in.In != "":
		b.WriteString(" in " + in.In)
	}
	if in.Proto == TCP && in.TCPFlags != SYN {
		b.WriteString(" flags " + in.TCPFlags.String())
	}
	if in.Proto.IsICMP() && (in.ICMPType != in.Proto.EchoRequestType() || in.ICMPCode != 0) {
		fmt.Fprintf(&b, " type %d/%d", in.ICMPType, in.ICMPCode)
	}
	if in.Mark != 0 {
		fmt.Fprintf(&b, " mark %#x", in.Mark)
	}
	if in.TTL != 0 || in.Spent {
		fmt.Fprintf(&b, " ttl %d", in.TTL)
	}
	if in.Length != 0 {
		fmt.Fprintf(&b, " len %d", in.Length)
	}
	return b.String()
}

// Full prints the packet with all that the PACKET syntax has words for: ParseInput makes the same Input of it. What the packet's
// protocol does not have is left out, as is what the other fields make void: an owner where there is no socket, a VNI without a carried
// packet.
func (in Input) Full() string {
	var b strings.Builder
	b.WriteString(in.String())
	in.writeDetails(&b)
	if in.NextHop.IsValid() {
		fmt.Fprintf(&b, " nexthop %s", in.NextHop)
	}
	if in.Inner != nil && in.Proto.IsICMP() {
		fmt.Fprintf(&b, " quotes { %s }", Input{Packet: *in.Inner}.Full())
	}
	if in.Carried != nil && in.Proto == UDP {
		fmt.Fprintf(&b, " vxlan %d { %s }", in.VNI, Input{Packet: *in.Carried}.Full())
	}
	return b.String()
}

// writeDetails writes the words between "len" and "nexthop".
func (p *Packet) writeDetails(b *strings.Builder) {
	if p.DontFragment && p.Dst.Is4() {
		b.WriteString(" df")
	}
	if p.TOS != 0 {
		fmt.Fprintf(b, " tos %#x", p.TOS)
	}
	if p.ChecksumOff != 0 {
		fmt.Fprintf(b, " checksum-off %#x", p.ChecksumOff)
	}
	switch {
	case p.Proto.IsICMP() && p.ICMPID != 0:
		fmt.Fprintf(b, " id %d", p.ICMPID)
	case p.Proto == TCP:
		if p.Numbers != nil {
			p.Numbers.write(b)
		}
		if p.OutOfWindow {
			b.WriteString(" out-of-window")
		}
		if p.MSS != 0 {
			fmt.Fprintf(b, " mss %d", p.MSS)
		}
	case p.Proto.hasSPI():
		if p.SPI != nil {
			fmt.Fprintf(b, " spi %#x", *p.SPI)
		}
		if p.Proto == AH && p.AH != nil {
			fmt.Fprintf(b, " ah %d/%d", p.AH.Length, p.AH.Reserved)
		}
	case p.Proto == SCTP:
		p.writeSCTP(b)
	}
	if p.Socket != nil {
		fmt.Fprintf(b, " socket %s", p.Socket.words())
	}
	if p.MAC != (MAC{}) {
		fmt.Fprintf(b, " mac %s", p.MAC)
	}
	if p.LinkType != "" {
		fmt.Fprintf(b, " link %s", p.LinkType)
	}
	switch {
	case p.Payload == nil || p.Inner != nil || p.Carried != nil || p.Length != 0:
	case len(p.Payload) == 0:
		b.WriteString(" payload " + noPayload)
	default:
		fmt.Fprintf(b, " payload %x", p.Payload)
	}
}

// write always writes seq, which tells numbers that are all zero from none.
func (n *TCPNumbers) write(b *strings.Builder) {
	fmt.Fprintf(b, " seq %d", n.Seq)
	for _, number := range []struct {
		name  string
		value uint32
	}{{"ack", n.Ack}, {"window", uint32(n.Window)}, {"data", n.Data}} {
		if number.value != 0 {
			fmt.Fprintf(b, " %s %d", number.name, number.value)
		}
	}
	if n.HasScale {
		fmt.Fprintf(b, " wscale %d", n.Scale)
	}
	if n.SACKPermitted {
		b.WriteString(" sack-permitted")
	}
	for i, block := range n.SACK {
		separator := ","
		if i == 0 {
			separator = " sack "
		}
		fmt.Fprintf(b, "%s%d-%d", separator, block.Left, block.Right)
	}
}

func (p *Packet) writeSCTP(b *strings.Builder) {
	if p.VerificationTag != 0 {
		fmt.Fprintf(b, " vtag %#x", p.VerificationTag)
	}
	for i, c := range p.Chunks {
		separator := ","
		if i == 0 {
			separator = " chunks "
		}
		b.WriteString(separator + c.Type.String())
		switch {
		case c.InitTag != 0:
			fmt.Fprintf(b, "/%d/%#x", c.Flags, c.InitTag)
		case c.Flags != 0:
			fmt.Fprintf(b, "/%d", c.Flags)
		}
	}
}

// words are the socket's properties, separated by commas.
func (s *Socket) words() string {
	if s.None {
		return "none"
	}
	var words []string
	if s.Kernel {
		words = append(words, "kernel")
	} else {
		words = append(words, fmt.Sprintf("uid=%d,gid=%d", s.UID, s.GID))
		for i, group := range s.Groups {
			if i == 0 {
				words = append(words, fmt.Sprintf("groups=%d", group))
			} else {
				words[len(words)-1] += fmt.Sprintf("+%d", group)
			}
		}
	}
	if s.Raw {
		words = append(words, "raw")
	}
	if s.Transparent {
		words = append(words, "transparent")
	}
	if s.Wildcard {
		words = append(words, "wildcard")
	}
	if s.Mark != 0 {
		words = append(words, fmt.Sprintf("mark=%#x", s.Mark))
	}
	if s.Cgroup != "" {
		words = append(words, "cgroup="+s.Cgroup)
	}
	if s.ClassID != nil {
		words = append(words, fmt.Sprintf("classid=%#x", *s.ClassID))
	}
	return strings.Join(words, ",")
}
