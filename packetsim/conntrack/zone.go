package conntrack

import "net/netip"

// Zone is the conntrack zone of a packet or a connection: connections of other zones are not seen. A zone is for both directions,
// or for one, the other then being in zone 0 (include/net/netfilter/nf_conntrack_zones.h).
type Zone struct {
	Original uint16 `json:"original"`
	Reply    uint16 `json:"reply"`
}

func (z Zone) id(dir Direction) uint16 {
	if dir == Original {
		return z.Original
	}
	return z.Reply
}

// Valid says whether it is one zone.
func (z Zone) Valid() bool { return z.Original == z.Reply || z.Original == 0 || z.Reply == 0 }

// Number is the zone's number, as hashes use it.
func (z Zone) Number() uint16 { return max(z.Original, z.Reply) }

// Template is what a rule says of connections before conntrack looks for them: the zone, which may be the packet's mark, and the helper of
// new ones.
type Template struct {
	Zone   func(mark uint32) Zone
	Helper string
}

// NewTemplate is the connection that stands for one until conntrack looks at the packet (nf_ct_tmpl_alloc). none is the unspecified
// address of the packet's family.
func NewTemplate(none netip.Addr, t Template) *Conn {
	empty := Tuple{Src: none, Dst: none}
	return &Conn{Tuples: [2]Tuple{empty, empty}, connState: connState{Confirmed: true}, Template: &t}
}
