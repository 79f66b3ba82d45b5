package netns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/packetsim"
)

// Numbers of linux/netfilter/nfnetlink_conntrack.h.
const (
	subsystemConntrack = 1
	conntrackNew       = subsystemConntrack << 8
	conntrackGet       = subsystemConntrack<<8 | 1
	conntrackDelete    = subsystemConntrack<<8 | 2
	conntrackTuple     = 1
	conntrackTimeout   = 7
	tupleAddresses     = 1
	tupleProtocol      = 2
	nested             = 0x8000
)

// tupleText names the connection that a packet is of.
func tupleText(f *frame) string {
	return fmt.Sprintf("%d %s %s %d", f.Proto, f.source(), f.destination(), f.ICMPID)
}

// tuple is a packet's connection as ctnetlink spells it.
func tuple(f *frame) []byte {
	source, destination := uint16(1), uint16(2)
	if f.Src.Is6() {
		source, destination = 3, 4
	}
	addresses := attribute(attribute(nil, source, f.Src.AsSlice()...), destination, f.Dst.AsSlice()...)
	protocol := attribute(nil, 1, byte(f.Proto))
	switch f.Proto {
	case packetsim.ICMP, packetsim.ICMPv6:
		first := uint16(4)
		if f.Proto == packetsim.ICMPv6 {
			first = 7
		}
		protocol = attribute(protocol, first, binary.BigEndian.AppendUint16(nil, f.ICMPID)...)
		protocol = attribute(protocol, first+1, f.ICMPType)
		protocol = attribute(protocol, first+2, f.ICMPCode)
	default:
		protocol = attribute(protocol, 2, binary.BigEndian.AppendUint16(nil, f.SrcPort)...)
		protocol = attribute(protocol, 3, binary.BigEndian.AppendUint16(nil, f.DstPort)...)
	}
	return attribute(nil, conntrackTuple|nested,
		attribute(attribute(nil, tupleAddresses|nested, addresses...), tupleProtocol|nested, protocol...)...)
}

func familyOf(a netip.Addr) uint8 { return uint8(domain(a.Is6())) }

// deleteConnection removes the conntrack entry of a packet's connection, unless the
// connection is kept.
func (n *nodeHost) deleteConnection(f *frame) error {
	if f.IsICMPError() || n.memory.connections[tupleText(f)] {
		return nil
	}
	socket, err := n.conntrack()
	if err != nil {
		return err
	}
	err = socket.request(conntrackDelete, unix.NLM_F_ACK, familyOf(f.Src), 0, tuple(f), ignore)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("%s: delete the conntrack entry of %s: %w", n.Name, f.Header(), err)
	}
	return nil
}

func ignore(message) error { return nil }

// conntrack is a socket for the node's conntrack.
func (n *nodeHost) conntrack() (*netfilterSocket, error) {
	if n.ct == nil {
		err := n.ns.Do(func() (err error) {
			n.ct, err = openNetfilter()
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return n.ct, nil
}

// age makes the node's conntrack entries older: it shortens their timeouts, and
// removes those that end.
func (n *nodeHost) age(by time.Duration) error {
	socket, err := n.conntrack()
	if err != nil {
		return err
	}
	type entry struct {
		family uint8
		tuple  []byte
		left   uint32 // seconds
	}
	var entries []entry
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		err := socket.request(conntrackGet, unix.NLM_F_DUMP, family, 0, nil, func(m message) error {
			e := entry{family: m.family}
			attributes(m.attrs, func(kind uint16, value []byte) {
				switch kind {
				case conntrackTuple:
					e.tuple = attribute(nil, conntrackTuple|nested, slices.Clone(value)...)
				case conntrackTimeout:
					e.left = binary.BigEndian.Uint32(value)
				}
			})
			entries = append(entries, e)
			return nil
		})
		if err != nil {
			return fmt.Errorf("%s: list conntrack: %w", n.Name, err)
		}
	}
	seconds := uint32(by / time.Second)
	for _, e := range entries {
		e.left++ // the kernel rounds down what is left since a moment ago
		if e.left <= seconds {
			err = socket.request(conntrackDelete, unix.NLM_F_ACK, e.family, 0, e.tuple, ignore)
		} else {
			left := binary.BigEndian.AppendUint32(nil, e.left-seconds)
			err = socket.request(conntrackNew, unix.NLM_F_ACK, e.family, 0, attribute(e.tuple, conntrackTimeout, left...), ignore)
		}
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("%s: make a conntrack entry %s older: %w", n.Name, by, err)
		}
	}
	return nil
}
