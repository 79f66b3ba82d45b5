package match

import (
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
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

// PktType is -m pkttype.
type PktType struct {
	Type   PacketType
	Invert bool
}

// Name is "pkttype".
func (*PktType) Name() string { return "pkttype" }

func (m *PktType) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return append(append(xtables.AppendOption(dst, "--pkt-type", m.Invert), ' '), packetTypeNames[m.Type]...)
}

func (m *PktType) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	word := " PKTTYPE = "
	if m.Invert {
		word = " PKTTYPE != "
	}
	return append(append(dst, word...), packetTypeNames[m.Type]...)
}

var pkttypeExtension = &xtables.Extension{
	Name:     "pkttype",
	Options:  []xtables.Option{{Name: "pkt-type", Invert: true, Mandatory: true}},
	NewMatch: func() xtables.MatchParser { return &pkttypeParser{} },
}

type pkttypeParser struct {
	m     PktType
	arena xtables.Arena[PktType]
}

func (p *pkttypeParser) Begin(netfilter.Family) { p.m = PktType{} }

func (p *pkttypeParser) Option(o *xtables.OptionCall) error {
	for i, name := range packetTypeNames {
		if strings.EqualFold(name, string(o.Arg)) || strings.EqualFold(packetTypeAliases[i], string(o.Arg)) {
			p.m = PktType{Type: PacketType(i), Invert: o.Invert}
			return nil
		}
	}
	return xtables.BadParameter("Bad packet type '%s'", o.Arg)
}

func (p *pkttypeParser) Finish(uint32) (xtables.Match, error) { return p.arena.Intern(p.m), nil }
