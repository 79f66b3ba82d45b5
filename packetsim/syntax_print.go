package packetsim

import (
	"fmt"
	"strings"
)

// String prints the packet in the PACKET syntax that ParseInput reads. An unset source of a
// packet of the host itself is the unspecified address. What the syntax has no word for is left out: the ICMP identifier, the packet that an ICMP error quotes, OutOfWindow.
func (in Input) String() string {
	var b strings.Builder
	b.WriteString(in.Proto.String())
	src := in.Src
	if !src.IsValid() {
		src = unspecified(in.Dst)
	}
	if in.Proto.HasPorts() {
		fmt.Fprintf(&b, " %s > %s", joinPort(src, in.SrcPort), joinPort(in.Dst, in.DstPort))
	} else {
		fmt.Fprintf(&b, " %s > %s", src, in.Dst)
	}
	switch {
	case in.Local:
		b.WriteString(" local")
	case in.In != "":
		b.WriteString(" in " + in.In)
	}
	if in.Proto == TCP && in.TCPFlags != SYN {
		b.WriteString(" flags " + in.TCPFlags.String())
	}
	if in.Proto.isICMP() && (in.ICMPType != echoRequestType(in.Proto) || in.ICMPCode != 0) {
		fmt.Fprintf(&b, " type %d/%d", in.ICMPType, in.ICMPCode)
	}
	if in.Mark != 0 {
		fmt.Fprintf(&b, " mark %#x", in.Mark)
	}
	if in.TTL != 0 {
		fmt.Fprintf(&b, " ttl %d", in.TTL)
	}
	if in.Length != 0 {
		fmt.Fprintf(&b, " len %d", in.Length)
	}
	return b.String()
}
