package fakeipt

import (
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// PacketType is the kind of the link-layer address that a packet came to.
type PacketType uint8

// The kinds that -m pkttype knows, with the kernel's PACKET_* values.
const (
	PacketUnicast   PacketType = 0 // to this host
	PacketBroadcast PacketType = 1
	PacketMulticast PacketType = 2
	PacketOtherHost PacketType = 3 // to another host, seen by a device that takes all packets
)

// packetTypeNames are the names by value, packetTypeAliases those that are taken but not printed.
var (
	packetTypeNames   = [...]string{"unicast", "broadcast", "multicast", "otherhost"}
	packetTypeAliases = [...]string{"host", "bcast", "mcast", "otherhost"}
)

// MatchPktType is -m pkttype.
type MatchPktType struct {
	Type   PacketType
	Invert bool
}

// Name is "pkttype".
func (*MatchPktType) Name() string { return "pkttype" }

func (m *MatchPktType) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return append(append(appendOption(dst, "--pkt-type", m.Invert), ' '), packetTypeNames[m.Type]...)
}

func (m *MatchPktType) appendList(dst []byte, _ listStyle) []byte {
	word := " PKTTYPE = "
	if m.Invert {
		word = " PKTTYPE != "
	}
	return append(append(dst, word...), packetTypeNames[m.Type]...)
}

var pkttypeExtension = &extension{
	name:     "pkttype",
	options:  []optionSpec{{name: "pkt-type", invert: true, mandatory: true}},
	newMatch: func() matchParser { return &pkttypeParser{} },
}

type pkttypeParser struct {
	m     MatchPktType
	arena arena[MatchPktType]
}

func (p *pkttypeParser) begin(netfilter.Family) { p.m = MatchPktType{} }

func (p *pkttypeParser) option(o *optionCall) error {
	for i, name := range packetTypeNames {
		if strings.EqualFold(name, string(o.arg)) || strings.EqualFold(packetTypeAliases[i], string(o.arg)) {
			p.m = MatchPktType{Type: PacketType(i), Invert: o.invert}
			return nil
		}
	}
	return badParameter("Bad packet type '%s'", o.arg)
}

func (p *pkttypeParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
