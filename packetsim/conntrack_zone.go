package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/target"

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

// conntrackTarget is -j CT (net/netfilter/xt_CT.c): it tells conntrack, which comes after, what to do with the packet. The first of several
// counts. Timeout policies are not imitated. Helpers look at what packets carry, and events tell programs: neither changes what becomes
// of a packet here.
func (w *walk) conntrackTarget(s *skb, t *target.CT) fate {
	switch {
	case s.conn != nil || s.relation == isUntracked || s.attached:
	case t.Notrack:
		s.relation = isUntracked
	case t.Timeout != "":
		return w.unsupported("CT --timeout")
	default:
		s.conn, s.dir, s.relation = w.template(s, t), original, isNew
	}
	return goOn
}

// template is the connection that a rule with -j CT puts on its packets until conntrack looks at them (nf_ct_tmpl_alloc). All packets
// of the rule have the same one, so that a mark stays on it.
func (w *walk) template(s *skb, t *target.CT) *conn {
	key := w.matchKey()
	key.place = 0
	templates := &w.h.memory.templates
	if template, known := templates.get(key); known {
		return template
	}
	none := unspecified(s.Dst)
	empty := Tuple{Src: none, Dst: none}
	c := &conn{tuples: [2]Tuple{empty, empty}, connState: connState{confirmed: true}, template: t}
	templates.put(key, c)
	return c
}

// takeTemplate takes the template off the packet: it says in which zone conntrack looks for the connection, this time only.
func (s *skb) takeTemplate() {
	s.zone, s.helper = Zone{}, ""
	if s.conn == nil || s.conn.template == nil {
		return
	}
	s.zone, s.helper = zoneOf(s.conn.template, s.Mark), s.conn.template.Helper
	s.conn, s.relation = nil, isInvalid
}

func zoneOf(t *target.CT, mark uint32) Zone {
	id := t.Zone
	if t.ZoneMark {
		id = uint16(mark)
	}
	switch t.ZoneSide {
	case target.CTZoneOrig:
		return Zone{Original: id}
	case target.CTZoneReply:
		return Zone{Reply: id}
	}
	return Zone{id, id}
}
