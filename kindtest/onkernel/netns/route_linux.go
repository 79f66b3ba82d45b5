package netns

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
)

// setRoutes adds routes, or replaces those to the same prefix. Routes without a
// gateway come first: the others' gateways are reached by them. Those that are
// steered wait for routeVia.
func (h *host) setRoutes(routes []packetsim.Route) error {
	ordered := slices.Clone(routes)
	slices.SortStableFunc(ordered, func(a, b packetsim.Route) int { return cmp.Compare(boolInt(a.Via.IsValid()), boolInt(b.Via.IsValid())) })
	for _, r := range ordered {
		if r.Steered || !h.hasFamily(r.Dst.Addr().Is6()) {
			continue // it has no gateway yet, or could reach none
		}
		link, err := h.ns.link.LinkByName(r.Dev)
		if err != nil {
			return err
		}
		route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: socket.IPNet(r.Dst), Table: int(r.Table)}
		if r.Via.IsValid() {
			route.Gw = r.Via.AsSlice()
		} else if r.Dst.Addr().Is4() {
			route.Scope = netlink.SCOPE_LINK
		}
		if err := h.ns.link.RouteReplace(route); err != nil {
			return fmt.Errorf("route to %s via %s: %w", r.Dst, r.Via, err)
		}
	}
	return nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// viaPriority is behind the kernel's own rules for the tables main and default.
const viaPriority = 40000

// routeVia makes the router and the neighbours hand what nobody has to a node.
func (n *network) routeVia(via string) error {
	if n.via == via {
		return nil
	}
	ruled := n.via != ""
	n.via = via
	if err := n.steer(); err != nil || ruled {
		return err
	}
	for _, p := range n.plan.Via(via) {
		if err := n.host(p.Name).addRules(p.Rules); err != nil {
			return fmt.Errorf("host %s: %w", p.Name, err)
		}
	}
	return nil
}

// steer sets the routes to what nobody has, once a node was chosen for it.
func (n *network) steer() error {
	if n.via == "" {
		return nil
	}
	for _, p := range n.plan.Via(n.via) {
		if err := n.host(p.Name).setRoutes(p.Routes); err != nil {
			return fmt.Errorf("host %s: %w", p.Name, err)
		}
	}
	return nil
}

// addRules adds policy rules, but for those that the kernel has already.
func (h *host) addRules(rules []packetsim.PolicyRule) error {
	for _, r := range rules {
		if r.In == "" {
			continue
		}
		rule := netlink.NewRule()
		rule.IifName, rule.Table, rule.Priority = r.In, int(r.Table), viaPriority
		rule.Family = socket.Domain(r.Family == netfilter.IPv6)
		if err := h.ns.link.RuleAdd(rule); err != nil {
			return fmt.Errorf("rule for %s: %w", r.In, err)
		}
	}
	return nil
}

// sourceFor is the address that routing chooses for a socket of the host.
func (h *host) sourceFor(to netip.Addr, port uint16) (netip.AddrPort, error) {
	routes, err := h.ns.link.RouteGetWithOptions(to.AsSlice(), &netlink.RouteGetOptions{})
	if err != nil {
		return netip.AddrPort{}, err
	}
	source, ok := netip.AddrFromSlice(routes[0].Src)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("no source address for %s", to)
	}
	if to.Is4() {
		source = source.Unmap()
	}
	return netip.AddrPortFrom(source, port), nil
}

// harmless is a source that no host takes for a martian.
var harmless = netip.AddrFrom4([4]byte{198, 51, 100, 255})

// routeRefused reports whether routing refuses a packet's addresses, which it does
// without a word for martians. IPv6 has none: it refuses them before any rule.
func (h *host) routeRefused(from, to netip.Addr, in string) bool {
	if from.Is6() || to.Is6() {
		return false
	}
	_, err := h.ns.link.RouteGetWithOptions(to.AsSlice(), &netlink.RouteGetOptions{Iif: in, SrcAddr: from.AsSlice()})
	return errors.Is(err, unix.EINVAL)
}
