package files

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// route is a route as "ip -j route" prints it.
type route struct {
	Type     string     `json:"type"`
	Dst      string     `json:"dst"`
	Gateway  netip.Addr `json:"gateway"`
	Dev      string     `json:"dev"`
	Table    string     `json:"table"`
	Protocol string     `json:"protocol"`
	Scope    string     `json:"scope"`
	Src      netip.Addr `json:"prefsrc"`
	Metric   *uint32    `json:"metric"`
	TOS      string     `json:"tos"`
	Pref     string     `json:"pref"`
	Flags    []string   `json:"flags"`
	Hops     []hop      `json:"nexthops"`
	Encap    any        `json:"encap"`
	Via      any        `json:"via"`
}

type hop struct {
	Gateway netip.Addr `json:"gateway"`
	Dev     string     `json:"dev"`
	Weight  int        `json:"weight"`
	Flags   []string   `json:"flags"`
	Encap   any        `json:"encap"`
	Via     any        `json:"via"`
}

var errNotSupported = errors.New("not supported")

// family is that of the addresses, or else that of the file's name. Only routes of IPv6 have a preference, and always a metric.
func (q *route) family(name netfilter.Family) netfilter.Family {
	addr := q.Gateway
	if a, err := netip.ParseAddr(strings.Split(q.Dst, "/")[0]); err == nil {
		addr = a
	}
	for _, h := range q.Hops {
		if !addr.IsValid() {
			addr = h.Gateway
		}
	}
	if !addr.IsValid() {
		addr = q.Src
	}
	switch {
	case addr.IsValid():
		return inet.FamilyOf(addr)
	case q.Pref != "":
		return netfilter.IPv6
	}
	return name
}

// addRoutes adds the routes that one tool has printed.
func (r *reader) addRoutes(routes []route) {
	for i := range routes {
		q := &routes[i]
		family := q.family(r.nameFamily())
		r.tell(snapshot.UnreadRoutes(family))
		route, err := q.route(family)
		if err != nil {
			r.unread(fmt.Sprintf("IPv%d route %s %s (%s)", family, q.Dst, q.Dev, r.name), "%v", err)
			continue
		}
		if route.Table == packetsim.TableLocal {
			r.tell(snapshot.UnreadRoutes(family) + " of table local")
		}
		r.result.Node.Routes = append(r.result.Node.Routes, route)
	}
}

func (q *route) route(family netfilter.Family) (snapshot.Route, error) {
	s := snapshot.Route{Type: packetsim.RouteType(q.Type), Via: q.Gateway, Dev: q.Dev, Src: q.Src, Protocol: q.Protocol}
	switch {
	case q.TOS != "" && q.TOS != "0" && q.TOS != "0x0":
		return s, fmt.Errorf("%w: a route for TOS %s only", errNotSupported, q.TOS)
	case q.Encap != nil:
		return s, fmt.Errorf("%w: a route with an encapsulation", errNotSupported)
	case q.Via != nil:
		return s, fmt.Errorf("%w: a gateway of the other address family", errNotSupported)
	case slices.Contains(q.Flags, "dead"):
		return s, errors.New("dead: the kernel does not use it")
	}
	if s.Type == "" {
		s.Type = packetsim.RouteUnicast
	}
	if s.Protocol == "" {
		s.Protocol = "boot" // the only one that ip leaves out
	}
	if q.Metric != nil {
		s.Metric = *q.Metric
	}
	var err error
	var ok bool
	if s.Scope, ok = scopeOf(q.Scope); !ok {
		return s, fmt.Errorf("%w: scope %s", errNotSupported, q.Scope)
	}
	if s.Table, err = tableOf(q.Table); err != nil {
		return s, err
	}
	if s.Dst, err = destination(q.Dst, family); err != nil {
		return s, err
	}
	for _, h := range q.Hops {
		if h.Encap != nil || h.Via != nil {
			return s, fmt.Errorf("%w: a next hop with an encapsulation or a gateway of the other family", errNotSupported)
		}
		s.NextHops = append(s.NextHops, snapshot.NextHop{Via: h.Gateway, Dev: h.Dev, Weight: max(h.Weight, 1)})
	}
	if len(s.NextHops) > 0 {
		s.Dev, s.Via = "", netip.Addr{}
	}
	return s, nil
}

// tableOf reads the name or number of a table; an empty one is main.
func tableOf(name string) (packetsim.RouteTable, error) {
	switch name {
	case "", "main":
		return packetsim.TableMain, nil
	case "local":
		return packetsim.TableLocal, nil
	case "default":
		return packetsim.TableDefault, nil
	}
	n, err := strconv.ParseUint(name, 0, 32)
	if err != nil {
		return 0, fmt.Errorf("the number of table %q is in /etc/iproute2/rt_tables of the node: take it with \"ip -N\"", name)
	}
	return packetsim.RouteTable(n), nil
}

// destination reads an address, a prefix or "default".
func destination(text string, family netfilter.Family) (netip.Prefix, error) {
	if text == "default" || text == "all" {
		if family == netfilter.IPv6 {
			return netip.PrefixFrom(netip.IPv6Unspecified(), 0), nil
		}
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0), nil
	}
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix.Masked(), nil
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is not a destination", text)
	}
	return netip.PrefixFrom(addr, addr.BitLen()), nil
}

// uniqueRoutes leaves out what two files say: "ip route show table all" lists both families, "ip -6 route" one of them again.
func (r *reader) uniqueRoutes() {
	seen := map[string]bool{}
	r.result.Node.Routes = slices.DeleteFunc(r.result.Node.Routes, func(s snapshot.Route) bool {
		key := fmt.Sprint(s)
		again := seen[key]
		seen[key] = true
		return again
	})
}

// policyRule is a rule as "ip -j rule" prints it.
type policyRule struct {
	Priority uint32
	Not      bool
	Src, Dst string
	SrcLen   *int
	DstLen   *int
	Mark     string `json:"fwmark"`
	Mask     string `json:"fwmask"`
	In       string `json:"iif"`
	Out      string `json:"oif"`
	Table    string
	Action   string
	Others   []string `json:"-"` // what a PolicyRule has no place for
}

// addPolicyRules adds the rules of one family, which no more than an address or the lack of the table default tells: the rules of IPv6 do
// not have it.
func (r *reader) addPolicyRules(rules []policyRule) {
	family := r.nameFamily()
	if !slices.ContainsFunc(rules, func(q policyRule) bool { return q.Table == "default" }) {
		family = netfilter.IPv6
	}
	for _, q := range rules {
		for _, text := range []string{q.Src, q.Dst} {
			if a, err := netip.ParseAddr(strings.Split(text, "/")[0]); err == nil {
				family = inet.FamilyOf(a)
			}
		}
	}
	r.tell(snapshot.UnreadPolicyRules(family))
	for i := range rules {
		p, err := rules[i].rule(family)
		if err != nil {
			r.unread(fmt.Sprintf("IPv%d policy rule of priority %d (%s)", family, rules[i].Priority, r.name), "%v", err)
			continue
		}
		r.result.Node.PolicyRules = addUnique(r.result.Node.PolicyRules, p, func(a, b snapshot.PolicyRule) bool {
			return reflect.DeepEqual(a,
				b)
		})
	}
}

func (q *policyRule) rule(family netfilter.Family) (snapshot.PolicyRule, error) {
	p := snapshot.PolicyRule{Family: family, Priority: q.Priority, Invert: q.Not, In: q.In, Out: q.Out}
	if len(q.Others) > 0 {
		return p, fmt.Errorf("%w: selector or option %s", errNotSupported, strings.Join(q.Others, ", "))
	}
	var err error
	if p.From, err = selector(q.Src, q.SrcLen); err != nil {
		return p, err
	}
	if p.To, err = selector(q.Dst, q.DstLen); err != nil {
		return p, err
	}
	if q.Mark != "" {
		mark, mask, _ := strings.Cut(q.Mark, "/")
		if mask == "" {
			mask = q.Mask
		}
		if mask == "" {
			mask = "0xffffffff"
		}
		if p.Mark, err = parse32(mark); err != nil {
			return p, err
		}
		if p.MarkMask, err = parse32(mask); err != nil {
			return p, err
		}
	}
	switch q.Action {
	case "", "lookup", "to_tbl":
		p.Action = packetsim.RuleLookup
		p.Table, err = tableOf(q.Table)
	case "blackhole", "prohibit", "unreachable":
		p.Action = packetsim.RuleAction(q.Action)
	default:
		err = fmt.Errorf("%w: action %s", errNotSupported, q.Action)
	}
	return p, err
}

func parse32(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 0, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is no number, or too large a one", text)
	}
	return uint32(n), nil
}

// selector is the prefix of an address with a length beside it; none for "all".
func selector(text string, bits *int) (netip.Prefix, error) {
	if text == "" || text == "all" || text == "default" {
		return netip.Prefix{}, nil
	}
	prefix, err := destination(text, 0)
	if err == nil && bits != nil {
		prefix = netip.PrefixFrom(prefix.Addr(), *bits)
		if !prefix.IsValid() {
			err = fmt.Errorf("%s/%d is not a prefix", text, *bits)
		}
	}
	return prefix, err
}
