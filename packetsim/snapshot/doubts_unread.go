package snapshot

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// unreadKind is a kind of things that could not be read.
type unreadKind struct {
	// what is how Unread.What begins.
	what string
	// meets says whether what becomes of the packet depends on it.
	meets func(d *doubter, u *Unread) bool
	// unless is that of the doubt; "%s" in it is the rest of Unread.What. Without it there is a note.
	unless string
	// see is the command that says it.
	see string
}

// unreadKinds are the kinds of which a packet may depend on one, the first that fits being its kind. What else a snapshot lacks decides
// nothing, or is the business of others: the settings and native tables.
func unreadKinds() []unreadKind {
	const (
		rules     = "a rule that was not read stops or changes it"
		elsewhere = "a route that was not read leads it elsewhere"
		byRule    = "a policy rule that was not read routes it another way"
		native    = "a rule of native nftables stops or changes it"
	)
	kinds := []unreadKind{
		{what: "route to ", meets: (*doubter).goesTo, unless: elsewhere},
		{what: UnreadConntrack, meets: (*doubter).mayBeKnown, unless: "conntrack knows its connection, and translates it otherwise",
			see: "conntrack -L -o extended > conntrack"},
		{what: UnreadForwarding, meets: (*doubter).findsNobody, unless: "the forwarding database says who is there",
			see: "bridge -j fdb > bridge-fdb.json"},
		{what: UnreadNeighbours, meets: (*doubter).findsNobody, unless: "the neighbour table says who is there",
			see: "ip -j neigh > ip-neigh.json"},
		{what: unreadHairpin, meets: (*doubter).hairpins, unless: "port %s is in the other hairpin mode", see: "ip -d -j link > ip-link.json"},
		{what: "recent list ", meets: (*doubter).asksForList},
		{what: "native nftables tables", meets: always, unless: native, see: "chainwalk snapshot"},
		{what: "nftables tables", meets: always, unless: native, see: "nft list ruleset"},
		{what: "nftables chains", meets: always, unless: native, see: "nft list ruleset"},
		{what: "chain ", meets: (*doubter).passedChain, unless: "chain %s does otherwise, where nft made rules"},
		{what: "end of ", meets: always, unless: "a rule stops or changes it that was cut off at the end of %s"},
		{what: "kinds of devices", meets: always},
		{what: "rules in ", meets: always},
		{what: "file ", meets: always},
		{what: "line of ", meets: always},
	}
	for _, family := range netfilter.Families() {
		own := func(d *doubter, _ *Unread) bool { return d.of(family) }
		routed := func(d *doubter, _ *Unread) bool { return d.of(family) && d.looksBeyondLocal() }
		six := ""
		if family == netfilter.IPv6 {
			six = "6"
		}
		save, ip := "ip"+six+"tables-save -c > ip"+six+"tables-save", "ip"+strings.Replace(six, "6", " -6", 1)+" -j "
		kinds = append(kinds,
			unreadKind{what: UnreadRules(family), meets: own, unless: rules, see: save},
			unreadKind{what: UnreadRoutes(family) + " of table local", meets: own},
			unreadKind{what: UnreadRoutes(family), meets: routed, unless: elsewhere, see: ip + "route show table all > ip" + six + "-route.json"},
			unreadKind{what: fmt.Sprintf("IPv%d route ", family), meets: routed, unless: elsewhere},
			unreadKind{what: UnreadPolicyRules(family), meets: routed, unless: byRule, see: ip + "rule > ip" + six + "-rule.json"},
			unreadKind{what: fmt.Sprintf("IPv%d policy rule ", family), meets: routed,
				unless: "the policy rule %s routes it another way", see: ip + "rule"},
		)
		for _, table := range tablesOfIPTables {
			kinds = append(kinds, unreadKind{what: "table " + table + " of the " + UnreadRules(family), meets: own,
				unless: "a rule of table " + table + ", which was not read, stops or changes it", see: save})
		}
	}
	return kinds
}

func always(*doubter, *Unread) bool { return true }

// unread are the doubts about what could not be read.
func (d *doubter) unread() {
	for u, kind := range d.met() {
		if kind.unless == "" {
			continue
		}
		unless := kind.unless
		if strings.Contains(unless, "%s") {
			unless = fmt.Sprintf(unless, strings.TrimPrefix(u.What, kind.what))
		}
		d.doubt(packetsim.DoubtUnread, kind.see, "%s", unless)
	}
}

// unreadNotes say what of what could not be read is near the packet, and hardly ends it otherwise.
func (d *doubter) unreadNotes() []string {
	var notes []string
	for u, kind := range d.met() {
		if kind.unless == "" {
			notes = append(notes, fmt.Sprintf("not read: %s: %s", u.What, u.Why))
		}
	}
	return notes
}

// met goes through what could not be read and the packet depends on.
func (d *doubter) met() func(yield func(*Unread, *unreadKind) bool) {
	return func(yield func(*Unread, *unreadKind) bool) {
		if len(d.Unread) == 0 {
			return
		}
		kinds := unreadKinds()
		for i := range d.Unread {
			u := &d.Unread[i]
			at := slices.IndexFunc(kinds, func(k unreadKind) bool { return strings.HasPrefix(u.What, k.what) })
			if at >= 0 && kinds[at].meets(d, u) && !yield(u, &kinds[at]) {
				return
			}
		}
	}
}

// looksBeyondLocal says whether a way of the packet was looked for in other tables of routes than that of the node's own addresses.
func (d *doubter) looksBeyondLocal() bool {
	return slices.ContainsFunc(d.outcomes, func(o packetsim.Outcome) bool {
		return slices.ContainsFunc(o.Events, func(e packetsim.Event) bool { return e.Route != nil && !e.Route.Local })
	})
}

// goesTo says whether the packet goes to the destination of a route.
func (d *doubter) goesTo(u *Unread) bool {
	to, err := netip.ParsePrefix(strings.TrimPrefix(u.What, "route to "))
	return err == nil && slices.ContainsFunc(d.outcomes, func(o packetsim.Outcome) bool { return to.Contains(o.Final.Dst) })
}

// findsNobody says whether the packet ended because no host is known behind the port of a bridge or a tunnel.
func (d *doubter) findsNobody(*Unread) bool {
	return slices.ContainsFunc(d.outcomes, func(o packetsim.Outcome) bool {
		return o.Reason == packetsim.ReasonNoPort || o.Reason == packetsim.ReasonNoRemote
	})
}

// hairpins says whether a port was to give the packet back to where it came from.
func (d *doubter) hairpins(u *Unread) bool {
	port := strings.TrimPrefix(u.What, unreadHairpin)
	return d.in.In == port && slices.ContainsFunc(d.outcomes, func(o packetsim.Outcome) bool {
		return o.Reason == packetsim.ReasonNoHairpin || o.Port == port
	})
}

// mayBeKnown says whether the packet was taken for the first one of a connection, which it may not be: the first packet of TCP says itself
// that it is.
func (d *doubter) mayBeKnown(*Unread) bool {
	if !d.in.Proto.HasPorts() || d.in.Proto == inet.TCP && d.in.TCPFlags&(inet.SYN|inet.ACK) == inet.SYN {
		return false
	}
	return slices.ContainsFunc(d.ways, func(o packetsim.Outcome) bool {
		return slices.ContainsFunc(o.Events, func(e packetsim.Event) bool { return e.Kind == packetsim.EventConntrack && e.State == "NEW" })
	})
}

// passedChain says whether the packet met a rule of a chain, or its end. What names it is "FORWARD of nftables table ip filter".
func (d *doubter) passedChain(u *Unread) bool {
	chain, table, _ := strings.Cut(strings.TrimPrefix(u.What, "chain "), " of nftables table ")
	word, table, _ := strings.Cut(table, " ")
	return slices.ContainsFunc(d.outcomes, func(o packetsim.Outcome) bool {
		return (word == "ip6") == o.Final.Dst.Is6() && slices.ContainsFunc(o.Steps, func(s packetsim.Step) bool {
			return s.Chain == chain && s.Table == table && s.Dialect != netfilter.Legacy
		})
	})
}

// asksForList says whether the packet passed a chain with a rule that asks for a recent list.
func (d *doubter) asksForList(u *Unread) bool {
	list := strings.TrimPrefix(u.What, "recent list ")
	asks := func(rule *xtables.Rule) bool {
		return slices.ContainsFunc(rule.Matches, func(m xtables.Match) bool {
			recent, is := m.(*match.Recent)
			return is && recent.List == list
		})
	}
	for _, o := range d.outcomes {
		for _, s := range o.Steps {
			for _, k := range fakeipt.Kernels(d.host.Netfilter()) {
				table := k.Ruleset(inet.FamilyOf(o.Final.Dst)).Table(s.Table)
				if table != nil && table.Chain(s.Chain) != nil && slices.ContainsFunc(table.Chain(s.Chain).Rules, asks) {
					return true
				}
			}
		}
	}
	return false
}
