package packetsim

import (
	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// conntrackTarget is -j CT (net/netfilter/xt_CT.c): it tells conntrack, which comes after, what to do with the packet. The first of several
// counts. Timeout policies are not imitated. Helpers look at what packets carry, and events tell programs: neither changes what becomes
// of a packet here.
func (tg *targets) conntrackTarget(s *skb, t *target.CT) fate {
	switch {
	case s.conn != nil || s.relation == isUntracked || s.attached:
	case t.Notrack:
		s.relation = isUntracked
	case t.Timeout != "":
		return tg.unsupported("CT --timeout")
	default:
		s.conn, s.dir, s.relation = tg.template(s, t), conntrack.Original, isNew
	}
	return goOn
}

// template is the connection that a rule with -j CT puts on its packets until conntrack looks at them (nf_ct_tmpl_alloc). All packets
// of the rule have the same one, so that a mark stays on it.
func (tg *targets) template(s *skb, t *target.CT) *conntrack.Conn {
	key := tg.match.matchKey()
	key.place = 0
	templates := &tg.memory.templates
	if c, known := templates.get(key); known {
		return c
	}
	c := conntrack.NewTemplate(inet.Unspecified(s.Dst), conntrack.Template{Zone: func(mark uint32) conntrack.Zone { return zoneOf(t, mark) },
		Helper: t.Helper})
	templates.put(key, c)
	return c
}

func zoneOf(t *target.CT, mark uint32) conntrack.Zone {
	id := t.Zone
	if t.ZoneMark {
		id = uint16(mark)
	}
	switch t.ZoneSide {
	case target.CTZoneOrig:
		return conntrack.Zone{Original: id}
	case target.CTZoneReply:
		return conntrack.Zone{Reply: id}
	}
	return conntrack.Zone{Original: id, Reply: id}
}
