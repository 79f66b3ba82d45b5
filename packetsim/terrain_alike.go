package packetsim

import (
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Routing treats most destinations, sources and devices of a host like many others. Likeness, Origin and Doorway say which, so that a
// caller that asks about all packets asks once for each kind.

// Likeness is what destinations have in common that routing treats alike, but for the next hop. It can be compared.
type Likeness struct {
	way  Way
	only netip.Addr // the one that is like no other
}

// Likeness is the one of a destination, and the next hop on the way there; invalid: the destination itself.
func (t *Terrain) Likeness(dst netip.Addr, mark uint32) (l Likeness, nextHop netip.Addr) {
	tables := t.host.fib(dst)
	special := dst.IsMulticast() || dst.IsLoopback() || dst.IsUnspecified() || dst == limitedBroadcast || dst.Is6() && dst.IsLinkLocalUnicast()
	if special || tables.custom {
		return Likeness{only: dst}, netip.Addr{}
	}
	r, err := tables.lookup(&flow{dst: dst, src: inet.Unspecified(dst), mark: mark, in: loopbackName})
	switch {
	case err != nil:
		return Likeness{way: wayOf(path{}, err)}, netip.Addr{}
	case len(r.hops) > 0 || r.Src.IsValid() && r.Type == RouteBroadcast:
		return Likeness{only: dst}, netip.Addr{}
	}
	l.way = wayOf(t.host.outputPath(r, dst), nil)
	if l.way.NextHop != dst {
		nextHop = l.way.NextHop
	}
	l.way.NextHop = netip.Addr{}
	return l, nextHop
}

// Origin is what sources have in common that routing treats alike, wherever their packets go and by whichever device they come in: Enters,
// RouteIn and RouteOut answer the same for them. It can be compared.
type Origin struct {
	only netip.Addr // the one that is like no other
	// What the address is by itself.
	multicast, broadcast, unspecified, loopback, linkLocal bool
	// What the host has: the address, and a device with it.
	local, own bool
	device     string
	// The route back to it.
	back   RouteType
	lost   Reason // why there is none
	by     string // the device of it, where a packet that comes in by another one is treated differently
	realms uint32
}

// Origin is the one of a source.
func (t *Terrain) Origin(src netip.Addr) Origin {
	h := &t.host.routing
	tables := h.fib(src)
	if tables.custom {
		return Origin{only: src}
	}
	o := Origin{
		multicast: src.IsMulticast(), broadcast: src == limitedBroadcast, unspecified: src.IsUnspecified(), loopback: src.IsLoopback(),
		linkLocal: src.IsLinkLocalUnicast(), local: tables.isLocal(src), own: h.hasAddress(src),
	}
	if o.local || o.own {
		if dev := h.deviceOf(src); dev != nil {
			o.device = dev.Name
		}
	}
	r, err := tables.lookup(&flow{dst: src, in: loopbackName})
	switch {
	case err != nil:
		o.lost = reasonOf(err)
	case len(r.hops) > 0:
		return Origin{only: src}
	default:
		o.back = r.Type
		if !t.six && (tables.realms || t.asksBack()) {
			o.by, o.realms = r.Dev, r.Realms
		}
	}
	return o
}

// asksBack says whether a device takes packets only from sources that it leads to.
func (t *Terrain) asksBack() bool {
	return slices.ContainsFunc(t.host.devices, func(d *device) bool { return d.conf.rpFilter != 0 })
}

// Doorway is what devices have in common by which packets come in alike: Enters and RouteIn answer the same for two devices of one doorway
// between any two addresses, unless one of the devices is among the Doors of the addresses. It can be compared.
type Doorway struct {
	// Up is false of a device that is down. The host has no device of the zero Doorway.
	Up bool
	// Port says that the device is a port of a bridge, which routes nothing itself.
	Port bool

	there, loopback, hasIPv4 bool
	conf                     deviceSysctls
}

// Doorway is the one of a device.
func (t *Terrain) Doorway(in string) Doorway {
	dev := t.host.byName[in]
	if dev == nil {
		return Doorway{}
	}
	return Doorway{
		Up: dev.Up, Port: t.host.bridgeOf(dev) != nil, there: true, loopback: in == loopbackName, hasIPv4: hasIPv4(dev), conf: dev.conf,
	}
}

// Doors are the devices that the routes between two addresses lead by: packets from src to dst that come in by one of them may be treated
// differently from those of the device's doorway. If they are not known, each device is its own doorway.
func (t *Terrain) Doors(src, dst netip.Addr) (devices []string, known bool) {
	h := &t.host.routing
	if dst.IsMulticast() || dst.Is6() && (dst.IsLoopback() || dst.IsLinkLocalUnicast()) {
		return nil, false
	}
	for _, to := range [...]netip.Addr{dst, src} {
		tables := h.fib(to)
		if tables.custom {
			return nil, false
		}
		r, err := tables.lookup(&flow{dst: to, in: loopbackName})
		if err != nil {
			continue
		}
		for _, hop := range slices.Concat(r.hops, []*route{r}) {
			if hop.dev != nil && !slices.Contains(devices, hop.Dev) {
				devices = append(devices, hop.Dev)
			}
		}
	}
	return devices, true
}
