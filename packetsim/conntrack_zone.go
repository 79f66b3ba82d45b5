package packetsim

import "github.com/chainwalk/chainwalk/fakeipt"

// Zone is the conntrack zone of a packet or a connection: connections of other zones are not seen. A zone is for both directions,
// or for one, the other then being in zone 0 (include/net/netfilter/nf_conntrack_zones.h).
type Zone struct {
	Original uint16 `json:"original"`
	Reply    uint16 `json:"reply"`
}

func (z Zone) id(dir direction) uint16 {
	if dir == original {
		return z.Original
	}
	return z.Reply
}

// Valid says whether it is one zone.
func (z Zone) Valid() bool { return z.Original == z.Reply || z.Original == 0 || z.Reply == 0 }

// number is the zone's number, as hashes use it.
func (z Zone) number() uint16 { return max(z.Original, z.Reply) }

// takeTemplate takes the template off the packet: it says in which zone conntrack looks for the connection, this time only.
func (s *skb) takeTemplate() {
	s.zone, s.helper = Zone{}, ""
	if s.conn == nil || s.conn.template == nil {
		return
	}
	s.zone, s.helper = zoneOf(s.conn.template, s.Mark), s.conn.template.Helper
	s.conn, s.relation = nil, isInvalid
}

func zoneOf(t *fakeipt.TargetCT, mark uint32) Zone {
	id := t.Zone
	if t.ZoneMark {
		id = uint16(mark)
	}
	switch t.ZoneSide {
	case fakeipt.CTZoneOrig:
		return Zone{Original: id}
	case fakeipt.CTZoneReply:
		return Zone{Reply: id}
	}
	return Zone{id, id}
}
