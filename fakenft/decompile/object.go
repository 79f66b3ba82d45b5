package decompile

import (
	"encoding/binary"
	"strconv"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/internal/nlattr"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// Flowtable is a flowtable as it is written.
func (d *Decompiler) Flowtable(f *nftables.FlowtableSpec, handle uint64) *syntax.FlowtableDecl {
	return &syntax.FlowtableDecl{
		Handle: syntax.Handle{Family: d.family, Table: d.table, Name: f.Name, Number: handle}, Flags: uint32(f.Flags),
		Hook: &syntax.HookDecl{Hook: "ingress", HookNumber: f.Hook, PriorityNumber: f.Priority, DeviceNames: f.Devices},
	}
}

// attributes are numbers and texts of netlink by their types.
type attributes map[uint16]nlattr.Attribute

func split(data []byte) attributes {
	list := attributes{}
	for a, err := range nlattr.All(data) {
		if err != nil {
			break
		}
		list[a.Type] = a
	}
	return list
}

func (l attributes) number(typ uint16) uint64 {
	v := l[typ].Value
	switch len(v) {
	case 1:
		return uint64(v[0])
	case 2:
		return uint64(binary.BigEndian.Uint16(v))
	case 4:
		return uint64(binary.BigEndian.Uint32(v))
	}
	return 0
}

// nativeNumber is a number that the kernel has in the host's order of bytes.
func nativeNumber(v []byte) uint32 {
	if len(v) != 4 {
		return 0
	}
	return binary.NativeEndian.Uint32(v)
}

func (l attributes) text(typ uint16) string {
	a := l[typ]
	return a.Text()
}

// objectOptions are the options of an object that the kernel alone understands, as they are written.
func objectOptions(kind expr.ObjectType, data []byte) [][2]string {
	l := split(data)
	switch kind {
	case expr.ObjectCTHelper:
		return [][2]string{{"type", l.text(1)}, {"protocol", protocol(l.number(3))}, {"l3proto", family(l.number(2))}}
	case expr.ObjectCTTimeout:
		options := [][2]string{{"protocol", protocol(l.number(2))}, {"l3proto", family(l.number(1))}}
		seconds := split(l[3].Value)
		for i, state := range syntax.TimeoutStates(uint8(l.number(2))) {
			if n := seconds.number(uint16(i + 1)); int(n) != state.Seconds {
				options = append(options, [2]string{state.Name, strconv.FormatUint(n, 10)})
			}
		}
		return options
	case expr.ObjectCTExpect:
		return [][2]string{
			{"protocol", protocol(l.number(2))}, {"dport", strconv.FormatUint(l.number(3), 10)},
			{"timeout", strconv.FormatUint(uint64(nativeNumber(l[4].Value)), 10)}, {"size", strconv.FormatUint(l.number(5), 10)},
			{"l3proto", family(l.number(1))},
		}
	case expr.ObjectSecmark:
		return [][2]string{{"context", l.text(1)}}
	}
	return nil
}

func protocol(number uint64) string {
	const tcp, udp = 6, 17
	switch number {
	case tcp:
		return "tcp"
	case udp:
		return "udp"
	}
	return strconv.FormatUint(number, 10)
}

func family(number uint64) string { return nftables.Family(number).String() }
