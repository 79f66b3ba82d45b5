package forall

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// The variables of packets, in the order in which they are decided. Destinations come first: of a cluster they make one wide node with a
// small function below each service. Conditions with names come behind these.
const (
	vDst diagram.Var = iota
	vDstPort
	vProto
	vWho // of what is on the way to fates: which of some sources the packet has (names)
	vSrc
	vSrcPort
	vIn // 0 is the host itself, otherwise the device of that number
	vNames
)

// Addrs are the addresses from First to Last.
type Addrs struct{ First, Last netip.Addr }

// String is the address, or the first and the last.
func (a Addrs) String() string {
	if a.First == a.Last {
		return a.First.String()
	}
	return a.First.String() + "-" + a.Last.String()
}

// Ports are the ports from First to Last; protocols are told so too.
type Ports struct{ First, Last uint16 }

// String is the port, or the first and the last.
func (p Ports) String() string {
	if p.First == p.Last {
		return fmt.Sprint(p.First)
	}
	return fmt.Sprintf("%d-%d", p.First, p.Last)
}

// Named is a condition with a name that rules ask for, and whether it holds.
type Named struct {
	Name  string `json:"name"`
	Holds bool   `json:"holds"`
	// Says is the condition as the tool prints it that lists the rule, if that is not its name.
	Says string `json:"-"`
}

// String is the condition in the tool's words.
func (n Named) String() string { return cmp.Or(n.Says, n.Name) }

// Space is the packets of a class and a family that are in all of some ranges: a box.
type Space struct {
	Class  Class
	Family netfilter.Family
	Dst    Addrs
	// DstPorts and SrcPorts are those of packets that have ports; others are in the box whatever these say.
	DstPorts Ports
	Protos   Ports
	Src      Addrs
	SrcPorts Ports
	// In are the devices by which the packets come; "" is the host itself.
	In []string
	// Names are the conditions with names that were asked for; Holds says how.
	Names []Named
	// Share is how much of all packets of the class and family these are, from 0 to 1.
	Share float64
}

// Walkable says whether a walk of any packet of a box meets what its fates are: it begins without memory, so no condition with a name
// holds. What such a condition asks of packets that are not the first of their connection, or of the connection, a walk would make up.
func (s *Space) Walkable() bool {
	if s.Class != New {
		return len(s.Names) == 0
	}
	return !slices.ContainsFunc(s.Names, func(n Named) bool { return n.Holds })
}

// String is the ranges that are not everything.
func (s *Space) String() string {
	parts := []string{"to " + s.Dst.String()}
	if s.Protos != (Ports{0, 255}) {
		if s.Protos.First == s.Protos.Last {
			parts = append(parts, inet.Proto(s.Protos.First).String())
		} else {
			parts = append(parts, "protocols "+s.Protos.String())
		}
	}
	if s.DstPorts != (Ports{0, 65535}) {
		parts = append(parts, "port "+s.DstPorts.String())
	}
	parts = append(parts, "from "+s.Src.String())
	if s.SrcPorts != (Ports{0, 65535}) {
		parts = append(parts, "source port "+s.SrcPorts.String())
	}
	var in []string
	for _, d := range s.In {
		if d == "" {
			d = "the host itself"
		}
		in = append(in, d)
	}
	parts = append(parts, "by "+strings.Join(in, ", "))
	for _, n := range s.Names {
		if n.Holds {
			parts = append(parts, "if ["+n.String()+"]")
		} else {
			parts = append(parts, "unless ["+n.String()+"]")
		}
	}
	return strings.Join(parts, " ")
}

// valueOf is an address as a value of vDst and vSrc.
func valueOf(a netip.Addr) diagram.Value {
	if a.Is4() {
		raw := a.As4()
		return diagram.Number(uint64(binary.BigEndian.Uint32(raw[:])))
	}
	raw := a.As16()
	return diagram.Value{High: binary.BigEndian.Uint64(raw[:8]), Low: binary.BigEndian.Uint64(raw[8:])}
}

// addrOf is the address of a value.
func addrOf(v diagram.Value, six bool) netip.Addr {
	if !six {
		return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(v.Low))))
	}
	raw := binary.BigEndian.AppendUint64(nil, v.High)
	return netip.AddrFrom16([16]byte(binary.BigEndian.AppendUint64(raw, v.Low)))
}

// prefixInterval is the addresses of a prefix.
func prefixInterval(p netip.Prefix) diagram.Interval {
	p = p.Masked()
	i := diagram.Point(valueOf(p.Addr()))
	switch host := p.Addr().BitLen() - p.Bits(); {
	case host >= 128:
		i.Last = diagram.Value{High: ^uint64(0), Low: ^uint64(0)}
	case host >= 64:
		i.Last.Low = ^uint64(0)
		i.Last.High |= 1<<(host-64) - 1
	default:
		i.Last.Low |= 1<<host - 1
	}
	return i
}
