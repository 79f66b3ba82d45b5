package match

import (
	"math"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// What each match looks at, for the index of long chains, for conntrack and for the fates of all packets.

// AddReads adds nothing.
func (*Comment) AddReads(*xtables.Reads) {}

// AddReads adds the ports. The flags of a packet stay, and its options may not.
func (m *TCP) AddReads(r *xtables.Reads) {
	addDstPorts(r, m.InvDst, m.DstPorts)
	if m.Option != 0 {
		r.Reading |= netfilter.ReadsHeader
	}
}

// AddReads adds the ports.
func (m *UDP) AddReads(r *xtables.Reads) { addDstPorts(r, m.InvDst, m.DstPorts) }

// AddReads adds the ports.
func (m *SCTP) AddReads(r *xtables.Reads) { addDstPorts(r, m.InvDst, m.DstPorts) }

// AddReads adds the ports.
func (m *Multiport) AddReads(r *xtables.Reads) {
	if m.Side == MultiportDest {
		addDstPorts(r, m.Invert, m.Ports...)
	}
}

// addDstPorts adds ports of the destination, if there are others.
func addDstPorts(r *xtables.Reads, invert bool, ports ...xtables.PortRange) {
	if !invert && !slices.Contains(ports, xtables.PortRange{Max: math.MaxUint16}) {
		r.DstPorts = append(r.DstPorts, ports...)
	}
}

// AddReads adds nothing: a message has its type on all of its way.
func (*ICMP) AddReads(*xtables.Reads) {}

// AddReads adds the destinations.
func (m *IPRange) AddReads(r *xtables.Reads) {
	if m.Dst != nil {
		r.Dst = append(r.Dst, xtables.AddrRange{Min: m.Dst.Min, Max: m.Dst.Max})
	}
}

// AddReads adds whose the destination is, and on which device that is asked for.
func (m *Addrtype) AddReads(r *xtables.Reads) {
	if m.DstTypes != 0 {
		r.Reading |= netfilter.ReadsHost
	}
	if m.LimitIfaceIn || m.LimitIfaceOut {
		r.Reading |= netfilter.ReadsDevices
	}
}

// AddReads adds the connection, and its destinations. The status of a packet that has come in by lo again is another one.
func (m *Conntrack) AddReads(r *xtables.Reads) {
	r.Reading |= netfilter.ReadsConnection
	r.DstMasks = append(r.DstMasks, m.OrigDst, m.ReplSrc)
	if m.OrigDst != nil || m.OrigDstPort != nil {
		r.Reading |= netfilter.ReadsFirst
	}
	if m.States&(CTSNAT|CTDNAT) != 0 {
		r.Reading |= netfilter.ReadsTranslated
	}
	if m.Status != nil {
		r.Reading |= netfilter.ReadsDevices
	}
}

// AddReads adds chance, or the count of the rule.
func (m *Statistic) AddReads(r *xtables.Reads) {
	if m.Mode == StatisticRandom {
		r.Reading |= netfilter.ReadsDraw
	} else {
		r.Reading |= netfilter.ReadsCount
	}
}

// AddReads adds the header.
func (*AH) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsHeader }

// AddReads adds the header.
func (*BPF) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsHeader }

// AddReads adds what is beside the packet.
func (*CPU) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsElse }

// AddReads adds what is beside the packet.
func (*Cgroup) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsElse }

// AddReads adds the connection and what is beside the packet.
func (*Cluster) AddReads(r *xtables.Reads) {
	r.Reading |= netfilter.ReadsConnection | netfilter.ReadsElse
}

// AddReads adds the connection and what is beside the packet.
func (*Connbytes) AddReads(r *xtables.Reads) {
	r.Reading |= netfilter.ReadsConnection | netfilter.ReadsElse
}

// AddReads adds the connection and what is beside the packet.
func (*Connlabel) AddReads(r *xtables.Reads) {
	r.Reading |= netfilter.ReadsConnection | netfilter.ReadsElse
}

// AddReads adds the connection and the rule's count.
func (*Connlimit) AddReads(r *xtables.Reads) {
	r.Reading |= netfilter.ReadsConnection | netfilter.ReadsCount
}

// AddReads adds the connection.
func (*Connmark) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsConnection }

// AddReads adds the header.
func (*DCCP) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsHeader }

// AddReads adds the header.
func (*DSCP) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsHeader }

// AddReads adds the devices.
func (*Devgroup) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsDevices }

// AddReads adds the header.
func (*ECN) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsHeader }

// AddReads adds the header.
func (*ESP) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsHeader }

// AddReads adds the header.
func (*EUI64) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsHeader }

// AddReads adds the header.
func (*Frag) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsHeader }

// AddReads adds the rule's count.
func (*Hashlimit) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsCount }

// AddReads adds the connection and what is beside the packet.
func (*Helper) AddReads(r *xtables.Reads) {
	r.Reading |= netfilter.ReadsConnection | netfilter.ReadsElse
}

// AddReads adds the header.
func (*IPComp) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsHeader }

// AddReads adds the header.
func (*IPv6Header) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsHeader }

// AddReads adds the header.
func (*IPv6Opts) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsHeader }

// AddReads adds the header.
func (*Length) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsHeader }

// AddReads adds the rule's count.
func (*Limit) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsCount }

// AddReads adds the header.
func (*MAC) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsHeader }

// AddReads adds the header.
func (*MH) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsHeader }

// AddReads adds the mark.
func (*Mark) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsMark }

// AddReads adds what others have left.
func (*NFAcct) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsShared }

// AddReads adds the header.
func (*OSF) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsHeader }

// AddReads adds the devices, the route and what is beside the packet.
func (*Owner) AddReads(r *xtables.Reads) {
	r.Reading |= netfilter.ReadsDevices | netfilter.ReadsRoute | netfilter.ReadsElse
}

// AddReads adds the devices, the route and what is beside the packet.
func (*Physdev) AddReads(r *xtables.Reads) {
	r.Reading |= netfilter.ReadsDevices | netfilter.ReadsRoute | netfilter.ReadsElse
}

// AddReads adds the devices, the route and what is beside the packet.
func (*PktType) AddReads(r *xtables.Reads) {
	r.Reading |= netfilter.ReadsDevices | netfilter.ReadsRoute | netfilter.ReadsElse
}

// AddReads adds what is beside the packet.
func (*Policy) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsElse }

// AddReads adds the rule's count.
func (*Quota) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsCount }

// AddReads adds the devices, the route and what is beside the packet.
func (*RPFilter) AddReads(r *xtables.Reads) {
	r.Reading |= netfilter.ReadsDevices | netfilter.ReadsRoute | netfilter.ReadsElse
}

// AddReads adds the header.
func (*RT) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsHeader }

// AddReads adds what others have left and the rule's count.
func (*Rateest) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsShared | netfilter.ReadsCount }

// AddReads adds the devices, the route and what is beside the packet.
func (*Realm) AddReads(r *xtables.Reads) {
	r.Reading |= netfilter.ReadsDevices | netfilter.ReadsRoute | netfilter.ReadsElse
}

// AddReads adds what others have left.
func (*Recent) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsShared }

// AddReads adds the header.
func (*SRH) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsHeader }

// AddReads adds what others have left.
func (*Set) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsShared }

// AddReads adds what is beside the packet.
func (*Socket) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsElse }

// AddReads adds the connection.
func (*State) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsConnection }

// AddReads adds the header.
func (*String) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsHeader }

// AddReads adds the header.
func (*TCPMSS) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsHeader }

// AddReads adds the header.
func (*TOS) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsHeader }

// AddReads adds the header.
func (*TTL) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsHeader }

// AddReads adds what is beside the packet.
func (*Time) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsElse }

// AddReads adds the header.
func (*U32) AddReads(r *xtables.Reads) { r.Reading |= netfilter.ReadsHeader }
