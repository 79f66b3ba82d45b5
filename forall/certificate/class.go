package certificate

import (
	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// The classes: what packets are to conntrack when they come to a host.
const (
	// New are first packets of connections: a SYN, an echo request.
	New = "new"
	// established are further packets of the sender of a connection that was answered and that NAT does not translate, replying those in
	// answer to it: an ACK, an echo request.
	established = "established"
	replying    = "replying"
	// related are ICMP errors about such a connection.
	related = "related"
	// invalid are packets that conntrack does not understand, untracked those that it never looks at.
	invalid   = "invalid"
	untracked = "untracked"
)

// class is what is known of the packets of a class.
type class struct {
	name  string
	state packetsim.PacketState
	// flags are those of TCP packets, if that is known.
	flags    inet.TCPFlags
	hasFlags bool
	// pings says that ICMP packets are echo requests, and whole that packets are of the length, and have the options, of a first packet.
	pings, whole bool
	// bit is how --ctstate calls a packet with a connection that was there before it; 0: it has none.
	bit match.CTState
	// way is what the addresses of the packet are to those of its connection.
	way direction
}

// direction is what a packet's addresses are to those of the first packet of its connection.
type direction uint8

const (
	forward  direction = iota // the same
	backward                  // exchanged
	anyWay                    // nobody says: the packet is about a connection, and has other addresses
)

var classes = map[string]*class{
	New: {name: New, state: packetsim.StateFound, flags: inet.SYN, hasFlags: true, pings: true, whole: true},
	established: {name: established, state: packetsim.StateEstablished, flags: inet.ACK, hasFlags: true, pings: true,
		bit: match.CTEstablished},
	replying: {name: replying, state: packetsim.StateReplying, flags: inet.ACK, hasFlags: true, bit: match.CTEstablished, way: backward},
	related:  {name: related, state: packetsim.StateRelated, flags: inet.SYN, bit: match.CTRelated, way: anyWay},
	invalid:  {name: invalid, state: packetsim.StateInvalid, flags: inet.SYN},
	untracked: {name: untracked, state: packetsim.StateUntracked, flags: inet.SYN, hasFlags: true, pings: true,
		whole: true},
}

// classNames are the classes in the order in which texts have them.
const classNames = "new, established, replying, related, invalid or untracked"

// isOfOld says whether the packets are of a connection that was there before them: of its marks, counters, status and helper nothing is
// known.
func (c *class) isOfOld() bool { return c.bit != 0 }

// stateBits are how rules call what conntrack has found: --ctstate, and NF_CT_STATE_*_BIT.
type stateBits struct {
	ipt match.CTState
	nft uint32
}

var allStates = map[string]stateBits{
	"INVALID": {match.CTInvalid, 1}, "ESTABLISHED": {match.CTEstablished, 2}, "RELATED": {match.CTRelated, 4}, "NEW": {match.CTNew, 8},
	"UNTRACKED": {match.CTUntracked, 64},
}

// unseen is the state of packets that conntrack has not looked at.
const unseen = "INVALID"

// states is what conntrack has found of the packets. It is false if that is not known, and for first packets, which may be of several.
func (r *reader) states() (bits stateBits, is bool) {
	if r.class.name == New {
		return bits, false
	}
	bits, is = allStates[r.state]
	return bits, is
}

// mayHaveConn says whether packets may be of a connection that was there before them.
func (r *reader) mayHaveConn() bool {
	bits, is := r.states()
	return r.class.isOfOld() && (!is || bits.ipt&(match.CTEstablished|match.CTRelated) != 0)
}

// unsaid is something of which the class does not say what it is, with its verb.
func (c *class) unsaid(what string) string {
	return what + ", of which the class " + c.name + " says nothing"
}

// packet is a packet of the cell's values: one of the class as most programs send it. It is false if there is no such packet.
func (c *class) packet(six bool, at [fields]value, in string) (inet.Input, bool) {
	p := inet.Packet{Proto: inet.Proto(at[proto].low), Dst: at[dst].addr(six), Src: at[src].addr(six)}
	if !isFirst(six, p.Proto) || p.Dst.Is4In6() || p.Src.Is4In6() {
		return inet.Input{}, false
	}
	if p.Proto.HasPorts() {
		p.DstPort, p.SrcPort = uint16(at[dstPort].low), uint16(at[srcPort].low)
	}
	if p.Proto == inet.TCP {
		p.TCPFlags = c.flags
	}
	p.ICMPType = p.Proto.EchoRequestType()
	return inet.Input{Packet: p, In: in, Local: in == Host}, true
}
