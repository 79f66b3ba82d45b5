package snapshot

import (
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// NFMatch is what a rule of nftables asks of a packet, as far as it is plain. A packet that fails one of the fields does not meet the
// rule; one that has them all may.
type NFMatch struct {
	Family   netfilter.Family `json:"family,omitempty"`
	Protocol inet.Proto       `json:"protocol,omitempty"`
	Src      netip.Prefix     `json:"src,omitzero"`
	Dst      netip.Prefix     `json:"dst,omitzero"`
	SrcPort  uint16           `json:"sport,omitempty"`
	DstPort  uint16           `json:"dport,omitempty"`
	// In is the device that the packet comes by.
	In string `json:"in,omitempty"`
}

// plain says whether it asks for something.
func (m *NFMatch) plain() bool { return *m != NFMatch{} }

// and is what both ask for. Where both ask for the same field, that of the first is kept: it is asked as well.
func (m NFMatch) and(o NFMatch) NFMatch {
	if m.Family == 0 {
		m.Family = o.Family
	}
	if m.Protocol == 0 {
		m.Protocol = o.Protocol
	}
	if !m.Src.IsValid() {
		m.Src = o.Src
	}
	if !m.Dst.IsValid() {
		m.Dst = o.Dst
	}
	if m.SrcPort == 0 {
		m.SrcPort = o.SrcPort
	}
	if m.DstPort == 0 {
		m.DstPort = o.DstPort
	}
	if m.In == "" {
		m.In = o.In
	}
	return m
}

// headers are what the packet and all that belong to it may look like at a hook, whichever it is: as they came and as they went, since
// they are translated between. Devices are those by which they may be said to come.
type headers struct {
	packets []inet.Packet
	devices []string
	// hidden says that something is carried in another packet, or quoted by one, and looks otherwise at some hooks.
	hidden bool
	// chosen is the least port that a client, or a node that masquerades, may choose: the walk took one of them.
	chosen uint16
}

// The least port that a client chooses by default (ip_local_port_range), and that masquerading does (nf_nat_l4proto_unique_tuple).
const (
	leastPort       = 32768
	leastMasquerade = 1024
)

func (d *doubter) headers() *headers {
	h := &headers{chosen: leastPort}
	h.add(&d.in.Packet)
	h.came(d, d.in.In)
	for i := range d.outcomes {
		o := &d.outcomes[i]
		h.add(&o.Packet)
		h.add(&inet.Packet{Proto: o.Final.Proto, Src: o.Final.Src, Dst: o.Final.Dst, SrcPort: o.Final.SrcPort, DstPort: o.Final.DstPort})
		if o.Masqueraded {
			h.chosen = leastMasquerade
		}
		for k := range o.Replies {
			h.add(&o.Replies[k].Packet)
			h.came(d, o.Replies[k].Outcome.Out)
			h.hidden = h.hidden || o.Replies[k].Copy
		}
		if o.Back != nil {
			h.add(&o.Back.Input.Packet)
			h.came(d, o.Back.Input.In)
		}
	}
	return h
}

func (h *headers) add(p *inet.Packet) {
	if p.Dst.IsValid() {
		h.packets = append(h.packets, *p)
	}
	h.hidden = h.hidden || p.Carried != nil || p.Inner != nil
}

// came adds a device and the bridge that it is a port of.
func (h *headers) came(d *doubter, device string) {
	h.devices = append(h.devices, device)
	for i := range d.Devices {
		if own := &d.Devices[i]; own.Name == device && own.Master != "" {
			h.devices = append(h.devices, own.Master)
		}
	}
}

// misses says whether no packet meets a match for sure.
func (h *headers) misses(m *NFMatch) bool {
	if h.hidden {
		return false
	}
	none := func(fits func(p *inet.Packet) bool) bool {
		return !slices.ContainsFunc(h.packets, func(p inet.Packet) bool { return fits(&p) })
	}
	port := func(asked uint16, of func(p *inet.Packet) uint16) bool {
		return asked != 0 && asked < h.chosen && none(func(p *inet.Packet) bool { return of(p) == asked })
	}
	return m.Family != 0 && none(func(p *inet.Packet) bool { return inet.FamilyOf(p.Dst) == m.Family }) ||
		m.Protocol != 0 && none(func(p *inet.Packet) bool { return p.Proto == m.Protocol }) ||
		m.Src.IsValid() && none(func(p *inet.Packet) bool { return m.Src.Contains(p.Src) }) ||
		m.Dst.IsValid() && none(func(p *inet.Packet) bool { return m.Dst.Contains(p.Dst) }) ||
		port(m.SrcPort, func(p *inet.Packet) uint16 { return p.SrcPort }) ||
		port(m.DstPort, func(p *inet.Packet) uint16 { return p.DstPort }) ||
		m.In != "" && !slices.Contains(h.devices, m.In)
}

// missesAll says whether the packet meets none of the rules of a chain that do something.
func (d *doubter) missesAll(c *NFChain) bool {
	if len(c.Only) == 0 {
		return false
	}
	h := d.headers()
	return !slices.ContainsFunc(c.Only, func(m NFMatch) bool { return !h.misses(&m) })
}
