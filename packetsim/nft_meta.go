package packetsim

import (
	"time"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// nameSize is the length of a device's name in a register (IFNAMSIZ).
const nameSize = 16

// The kinds of devices that meta iiftype knows (ARPHRD_* in include/uapi/linux/if_arp.h).
const (
	typeEther    = 1
	typeLoopback = 772
)

// linkTypesOf are the types by the kinds of devices whose drivers make another one than Ethernet's.
var linkTypesOf = map[string]uint16{"ipip": 768, "ip6tnl": 769, "sit": 776, "gre": 778, "ip6gre": 823, "vti": 768, "vti6": 769,
	"tun": 65534, "wireguard": 65534, "xfrm": 65534}

// loadMeta is meta (nft_meta_get_eval in net/netfilter/nft_meta.c).
func (t *nftMachine) loadMeta(x *expr.Meta) {
	s, at := t.s, uint8(x.Dreg.Offset())
	switch x.Key {
	case expr.MetaLen:
		t.regs.put4(at, uint32(s.Size()))
	case expr.MetaProtocol:
		if s.Is6() {
			t.regs.put4(at, 0xdd86)
		} else {
			t.regs.put4(at, 0x0008)
		}
	case expr.MetaL4proto, expr.MetaNfproto, expr.MetaMark, expr.MetaIif, expr.MetaOif:
		if v, ok := t.field(metaFields[x.Key]); ok {
			t.regs.put4(at, v)
		} else {
			t.fail(errExtensionHeader)
		}
	case expr.MetaIifname:
		t.loadName(at, deviceName(s.in))
	case expr.MetaOifname:
		t.loadName(at, deviceName(s.out))
	case expr.MetaIiftype:
		t.loadDevice(x, s.holder())
	case expr.MetaIifgroup, expr.MetaIifkind:
		t.loadDevice(x, s.in)
	case expr.MetaOiftype, expr.MetaOifgroup, expr.MetaOifkind:
		t.loadDevice(x, s.out)
	case expr.MetaSkuid, expr.MetaSkgid:
		t.loadOwner(x)
	case expr.MetaRtclassid:
		t.loadRealms(at)
	case expr.MetaPkttype:
		t.loadFrameType(at)
	case expr.MetaSecpath, expr.MetaSdif:
		t.regs.put4(at, 0)
	case expr.MetaTimeNS, expr.MetaTimeDay, expr.MetaTimeHour:
		t.loadTime(x)
	default:
		t.notWalked(x, metaName(x.Key))
	}
}

// metaNames are the keys that are not walked.
var metaNames = map[expr.MetaKey]string{
	expr.MetaPriority: "priority", expr.MetaNftrace: "nftrace", expr.MetaSecmark: "secmark", expr.MetaCPU: "cpu",
	expr.MetaCgroup: "cgroup", expr.MetaPRandom: "random", expr.MetaBriIifname: "ibrname", expr.MetaBriOifname: "obrname",
	expr.MetaBriIifpvid: "ibrpvid", expr.MetaBriIifvproto: "ibrvproto", expr.MetaSdifname: "sdifname", expr.MetaBroute: "broute",
	expr.MetaPkttype: "pkttype",
}

func metaName(k expr.MetaKey) string {
	if name := metaNames[k]; name != "" {
		return "meta " + name
	}
	return "an unknown key"
}

func (t *nftMachine) loadName(at uint8, name string) {
	var padded [nameSize]byte
	copy(padded[:], name)
	t.regs.put(int(at), padded[:])
}

// loadDevice loads something of a device, which must be there.
func (t *nftMachine) loadDevice(x *expr.Meta, dev *device) {
	at := uint8(x.Dreg.Offset())
	if dev == nil {
		t.code = expr.Break
		return
	}
	switch x.Key {
	case expr.MetaIifgroup, expr.MetaOifgroup:
		t.regs.put4(at, dev.Group)
	case expr.MetaIiftype, expr.MetaOiftype:
		kind := uint16(typeEther)
		if dev.Name == loopbackName {
			kind = typeLoopback
		} else if other, is := linkTypesOf[dev.Kind]; is {
			kind = other
		}
		t.regs.put4(at, uint32(kind))
	default:
		if dev.Name == loopbackName || dev.Kind == "" {
			t.code = expr.Break
			return
		}
		t.loadName(at, dev.Kind)
	}
}

// holder is the device that has the packet (dev of struct sk_buff), whose type meta iiftype is: on its way out the one that it leaves by. A
// copy has that of what it is a copy of until then.
func (s *skb) holder() *device {
	switch {
	case s.hook == postRouting:
		return s.out
	case s.in == nil:
		return s.held
	}
	return s.in
}

// loadOwner loads who has the packet's socket. Only packets of the host have one.
func (t *nftMachine) loadOwner(x *expr.Meta) {
	at, socket := uint8(x.Dreg.Offset()), t.s.Socket
	switch {
	case !t.s.local, socket != nil && (socket.None || socket.Kernel):
		t.code = expr.Break
	case socket == nil:
		t.fail(errNoSocket)
	case x.Key == expr.MetaSkuid:
		t.regs.put4(at, socket.UID)
	default:
		t.regs.put4(at, socket.GID)
	}
}

// loadRealms loads what the packet's route has of realms, once it has a route.
func (t *nftMachine) loadRealms(at uint8) {
	if !t.s.routed {
		t.code = expr.Break
		return
	}
	t.regs.put4(at, t.s.path.realms)
}

// The kinds of frames (PACKET_* in include/uapi/linux/if_packet.h).
var frameTypes = map[inet.LinkType]uint32{inet.LinkUnicast: 0, inet.LinkBroadcast: 1, inet.LinkMulticast: 2}

func (t *nftMachine) loadFrameType(at uint8) {
	kind := t.s.frameType()
	if kind == "" {
		t.fail(errNoLinkType)
		return
	}
	t.regs.put4(at, frameTypes[kind])
}

// loadTime loads the time: since 1970, the day of the week from Sunday on, or the second of the day.
func (t *nftMachine) loadTime(x *expr.Meta) {
	now, at := t.targets.memory.clock.Now().UTC(), uint8(x.Dreg.Offset())
	switch x.Key {
	case expr.MetaTimeNS:
		t.regs.put8(at, uint64(now.UnixNano()))
	case expr.MetaTimeDay:
		t.regs.put4(at, uint32(now.Weekday()))
	default:
		t.regs.put4(at, uint32(now.Sub(now.Truncate(24*time.Hour))/time.Second))
	}
}

// setMark writes the packet's mark, which is all of the view that changes.
func (t *nftMachine) setMark(sreg uint8) {
	if t.regs.tainted && !t.regs.knows(int(sreg), 4) {
		t.fail(errRegisterUnknown)
		return
	}
	mark := t.regs.get4(sreg)
	t.s.Mark, t.view.words[fieldMark] = mark, mark
}

// setMeta writes what the kernel keeps beside the packet (nft_meta_set_eval in net/netfilter/nft_meta.c). Priorities and security marks
// change nothing here: what asks for them is not walked.
func (t *nftMachine) setMeta(x *expr.Meta) {
	switch at := x.Sreg.Offset(); x.Key {
	case expr.MetaMark:
		t.setMark(uint8(at))
	case expr.MetaPriority, expr.MetaNftrace, expr.MetaSecmark:
	default:
		t.notWalked(x, metaName(x.Key))
	}
}
