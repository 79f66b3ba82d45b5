package snapshot

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// check says what is wrong with the values, as a *Error that names the field.
func (s *NodeSnapshot) check() error {
	if s.Version != Version {
		return bad("version", "version %d is not supported: this program knows version %d", s.Version, Version)
	}
	for _, check := range []func() error{
		s.checkDevices, s.checkRoutes, s.checkPolicyRules, s.checkSysctls, s.checkRules, s.checkHooks, s.checkConntrack, s.checkObjects,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func bad(path, format string, args ...any) error {
	return &documentError{Path: path, Msg: fmt.Sprintf(format, args...)}
}

// badWord is nil if the word is one of those known.
func badWord[T ~string](path string, got T, known ...T) error {
	if slices.Contains(known, got) {
		return nil
	}
	var words []string
	for _, word := range known {
		if word != "" {
			words = append(words, string(word))
		}
	}
	return bad(path, "%q is not known: write one of %s", got, strings.Join(words, ", "))
}

func (s *NodeSnapshot) checkDevices() error {
	names, indexes := map[string]bool{}, map[int]bool{}
	for i := range s.Devices {
		d, path := &s.Devices[i], fmt.Sprintf("devices[%d]", i)
		if err := inet.CheckDeviceName(d.Name); err != nil {
			return bad(path+".name", "%q: %v", d.Name, err)
		}
		if names[d.Name] {
			return bad(path+".name", "device %q is given twice", d.Name)
		}
		if d.Index < 0 || indexes[d.Index] {
			return bad(path+".index", "index %d: every device has its own, from 1 on", d.Index)
		}
		names[d.Name], indexes[d.Index] = true, d.Index != 0
		if _, err := net.ParseMAC(d.MAC); d.MAC != "" && err != nil {
			return bad(path+".mac", "%q is not a hardware address: write one such as 02:00:00:00:00:01", d.MAC)
		}
		if d.MTU < 0 {
			return bad(path+".mtu", "%d is not a size in bytes", d.MTU)
		}
		if err := checkAddresses(path, d.Addresses); err != nil {
			return err
		}
		if err := d.checkNeighbours(path); err != nil {
			return err
		}
	}
	for i := range s.Devices {
		if master := s.Devices[i].Master; master != "" && !names[master] {
			return bad(fmt.Sprintf("devices[%d].master", i), "there is no device %q in this snapshot", master)
		}
	}
	return nil
}

// checkNeighbours looks at what is known of the machines behind the device.
func (d *Device) checkNeighbours(path string) error {
	for i, addr := range d.Neighbours {
		if err := checkAddr(fmt.Sprintf("%s.neighbours[%d]", path, i), addr, 0); err != nil {
			return err
		}
	}
	v := d.VXLAN
	if v == nil {
		return nil
	}
	if v.ID > inet.MaxVNI {
		return bad(path+".vxlan.id", "%d is not a network identifier: write a number from 0 to %d", v.ID, inet.MaxVNI)
	}
	if v.Local.IsValid() {
		if err := checkAddr(path+".vxlan.local", v.Local, 0); err != nil {
			return err
		}
	}
	seen := map[netip.Addr]bool{}
	for i, r := range v.Remotes {
		path := fmt.Sprintf("%s.vxlan.remotes[%d]", path, i)
		if err := checkAddr(path+".neighbour", r.Neighbour, 0); err != nil {
			return err
		}
		if err := checkAddr(path+".remote", r.Remote, 0); err != nil {
			return err
		}
		if seen[r.Neighbour] {
			return bad(path+".neighbour", "neighbour %s is given twice", r.Neighbour)
		}
		seen[r.Neighbour] = true
	}
	return nil
}

func checkAddresses(path string, addresses []Address) error {
	for i := range addresses {
		a, path := &addresses[i], fmt.Sprintf("%s.addresses[%d]", path, i)
		if err := checkPrefix(path+".address", a.Prefix, 0); err != nil {
			return err
		}
		if a.Broadcast.IsValid() {
			if err := checkAddr(path+".broadcast", a.Broadcast, netfilter.IPv4); err != nil {
				return err
			}
		}
		if err := checkScope(path+".scope", a.Scope); err != nil {
			return err
		}
	}
	return nil
}

func checkScope(path string, scope packetsim.Scope) error {
	return badWord(path, scope, "", packetsim.ScopeGlobal, packetsim.ScopeSite, packetsim.ScopeLink, packetsim.ScopeHost,
		packetsim.ScopeNowhere)
}

// checkPrefix wants a plain address with prefix length, of the family given unless that is 0.
func checkPrefix(path string, p netip.Prefix, family netfilter.Family) error {
	if !p.IsValid() {
		return bad(path, "the address is missing: write one such as 10.0.0.0/24")
	}
	return checkAddr(path, p.Addr(), family)
}

func checkAddr(path string, a netip.Addr, family netfilter.Family) error {
	switch {
	case !a.IsValid():
		return bad(path, "the address is missing")
	case a.Zone() != "" || a.Is4In6():
		return bad(path, "%s: addresses with a zone and IPv4-mapped ones are not supported", a)
	case family != 0 && inet.FamilyOf(a) != family:
		return bad(path, "%s is not IPv%d", a, family)
	}
	return nil
}

func (s *NodeSnapshot) checkRoutes() error {
	devices := map[string]bool{}
	for i := range s.Devices {
		devices[s.Devices[i].Name] = true
	}
	for i := range s.Routes {
		if err := s.Routes[i].check(fmt.Sprintf("routes[%d]", i), devices); err != nil {
			return err
		}
	}
	return nil
}

func (r *Route) check(path string, devices map[string]bool) error {
	if err := checkPrefix(path+".dst", r.Dst, 0); err != nil {
		return err
	}
	if r.Dst != r.Dst.Masked() {
		return bad(path+".dst", "%s has bits set beyond its length: write %s", r.Dst, r.Dst.Masked())
	}
	if err := badWord(path+".type", r.Type, "", packetsim.RouteUnicast, packetsim.RouteLocal, packetsim.RouteBroadcast,
		packetsim.RouteAnycast, packetsim.RouteMulticast,
		packetsim.RouteUnreachable, packetsim.RouteProhibit, packetsim.RouteBlackhole, packetsim.RouteThrow); err != nil {
		return err
	}
	if err := checkScope(path+".scope", r.Scope); err != nil {
		return err
	}
	if err := checkHop(path, r.Dst.Addr(), r.Via, r.Dev, devices); err != nil {
		return err
	}
	if r.Src.IsValid() {
		if err := checkAddr(path+".src", r.Src, inet.FamilyOf(r.Dst.Addr())); err != nil {
			return err
		}
	}
	return r.checkHops(path, devices)
}

// checkHops wants several next hops, or one on the route itself where the type needs a device.
func (r *Route) checkHops(path string, devices map[string]bool) error {
	if len(r.NextHops) > 0 && (r.Dev != "" || r.Via.IsValid()) {
		return bad(path+".nexthops", "the route has a dev or via as well: write one or the other")
	}
	switch r.Type {
	case packetsim.RouteUnreachable, packetsim.RouteProhibit, packetsim.RouteBlackhole, packetsim.RouteThrow:
	default:
		if len(r.NextHops) == 0 && r.Dev == "" {
			return bad(path, "the route to %s has no dev and no nexthops", r.Dst)
		}
	}
	for i := range r.NextHops {
		hop, path := &r.NextHops[i], fmt.Sprintf("%s.nexthops[%d]", path, i)
		if err := checkHop(path, r.Dst.Addr(), hop.Via, hop.Dev, devices); err != nil {
			return err
		}
		if hop.Dev == "" {
			return bad(path+".dev", "a next hop needs a device")
		}
		if hop.Weight < 1 || hop.Weight > 256 {
			return bad(path+".weight", "%d is not a weight: write a number from 1 to 256", hop.Weight)
		}
	}
	return nil
}

func checkHop(path string, dst, via netip.Addr, dev string, devices map[string]bool) error {
	if via.IsValid() {
		if err := checkAddr(path+".via", via, inet.FamilyOf(dst)); err != nil {
			return err
		}
	}
	if dev != "" && !devices[dev] {
		return bad(path+".dev", "there is no device %q in this snapshot", dev)
	}
	return nil
}

func (s *NodeSnapshot) checkPolicyRules() error {
	for i := range s.PolicyRules {
		r, path := &s.PolicyRules[i], fmt.Sprintf("policyRules[%d]", i)
		if err := checkFamily(path, r.Family); err != nil {
			return err
		}
		for _, selector := range []struct {
			name   string
			prefix netip.Prefix
		}{{"from", r.From}, {"to", r.To}} {
			if selector.prefix.IsValid() {
				if err := checkPrefix(path+"."+selector.name, selector.prefix, r.Family); err != nil {
					return err
				}
			}
		}
		if err := badWord(path+".action", r.Action, "", packetsim.RuleLookup, packetsim.RuleUnreachable, packetsim.RuleProhibit,
			packetsim.RuleBlackhole); err != nil {
			return err
		}
		if lookup := r.Action == "" || r.Action == packetsim.RuleLookup; lookup != (r.Table != 0) {
			return bad(path+".table", "a rule that looks up needs a table, another one has none")
		}
	}
	return nil
}

func checkFamily(path string, family netfilter.Family) error {
	if family != netfilter.IPv4 && family != netfilter.IPv6 {
		return bad(path+".family", "%d is not a family: write 4 or 6", family)
	}
	return nil
}

func (s *NodeSnapshot) checkSysctls() error {
	for _, key := range slices.Sorted(maps.Keys(s.Sysctls)) {
		value := s.Sysctls[key]
		if !strings.HasPrefix(key, "net.") || strings.ContainsAny(key, " \t\n") {
			return bad("sysctls."+key, "%q is not a key under net.: write one such as net.ipv4.ip_forward", key)
		}
		if strings.Contains(value, "\n") {
			return bad("sysctls."+key, "%q is more than one line", value)
		}
	}
	return nil
}

func (s *NodeSnapshot) checkRules() error {
	type key struct {
		dialect netfilter.Dialect
		family  netfilter.Family
	}
	seen := map[key]bool{}
	for i := range s.IPTables {
		r, path := &s.IPTables[i], fmt.Sprintf("iptables[%d]", i)
		if err := badWord(path+".backend", r.Dialect, netfilter.Legacy, netfilter.NFT); err != nil {
			return err
		}
		if err := checkFamily(path, r.Family); err != nil {
			return err
		}
		if seen[key{r.Dialect, r.Family}] {
			return bad(path, "the rules of backend %s, IPv%d are given twice", r.Dialect, r.Family)
		}
		seen[key{r.Dialect, r.Family}] = true
		if !utf8.ValidString(r.Save) {
			return bad(path+".save", "the rules hold bytes that are not UTF-8")
		}
	}
	return nil
}

// checkHooks checks what is said of hooks beside the rules in them.
func (s *NodeSnapshot) checkHooks() error {
	seen, hooks := map[place]bool{}, netfilter.HookNames()
	if err := s.checkHookChains(); err != nil {
		return err
	}
	for i, o := range s.Order {
		path := fmt.Sprintf("order[%d]", i)
		if err := checkFamily(path, o.Family); err != nil {
			return err
		}
		if err := badWord(path+".hook", o.Hook, hooks[:]...); err != nil {
			return err
		}
		if err := badWord(path+".table", o.Table, "raw", "mangle", "nat", "filter", "security"); err != nil {
			return err
		}
		if err := badWord(path+".first", o.First, "legacy", "nft"); err != nil {
			return err
		}
		at := place{o.Family, o.Hook, o.Table}
		if seen[at] {
			return bad(path, "the order of table %s in %s, IPv%d is given twice", o.Table, o.Hook, o.Family)
		}
		seen[at] = true
	}
	for i := range s.NFTables {
		t, path := &s.NFTables[i], fmt.Sprintf("nftables[%d]", i)
		if err := badWord(path+".family", t.Family, nftFamilies...); err != nil {
			return err
		}
		if err := checkNFName(path, t.Name); err != nil {
			return err
		}
		for j, c := range t.Chains {
			path := fmt.Sprintf("%s.chains[%d]", path, j)
			if err := checkNFName(path, c.Name); err != nil {
				return err
			}
			if err := badWord(path+".hook", c.Hook, nftHooks...); err != nil {
				return err
			}
			for k, effect := range c.May {
				if err := badWord(fmt.Sprintf("%s.may[%d]", path, k), effect, nfEffects...); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// The words of nft, hooks by the kernel's numbers.
var (
	nftFamilies = []string{"ip", "ip6", "inet", "arp", "bridge", "netdev"}
	nftHooks    = []string{"prerouting", "input", "forward", "output", "postrouting", "ingress", "egress"}
	nfEffects   = []NFEffect{EffectPass, EffectDrop, EffectReject, EffectQueue, EffectTranslate, EffectChange, EffectUnknown}
)

func checkNFName(path, name string) error {
	if name == "" || !utf8.ValidString(name) {
		return bad(path+".name", "%q is no name: write that of \"nft list tables\"", name)
	}
	return nil
}

func (s *NodeSnapshot) checkConntrack() error {
	for i := range s.Conntrack {
		if err := s.Conntrack[i].check(fmt.Sprintf("conntrack[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

func (c *Connection) check(path string) error {
	family := netfilter.Family(0)
	for _, a := range []struct {
		name string
		addr netip.Addr
	}{
		{"original.src", c.Original.Src}, {"original.dst", c.Original.Dst},
		{"reply.src", c.Reply.Src}, {"reply.dst", c.Reply.Dst},
	} {
		if err := checkAddr(path+"."+a.name, a.addr, family); err != nil {
			return err
		}
		family = inet.FamilyOf(a.addr)
	}
	if c.Original.Proto == 0 || c.Original.Proto != c.Reply.Proto {
		return bad(path+".reply.proto", "both directions have the same protocol, which is not 0")
	}
	if !c.zone().Valid() || c.Zone != 0 && (c.OrigZone != 0 || c.ReplyZone != 0) {
		return bad(path+".zone", "a connection has one zone, of both directions (zone) or of one (origZone, replyZone)")
	}
	if states := connectionStates(c.Original.Proto); !slices.Contains(states, c.State) {
		return bad(path+".state", "%q is not a state of %s: write one of %q", c.State, c.Original.Proto, states)
	}
	return nil
}

// maxNFAcctName is NFACCT_NAME_MAX less the closing zero.
const maxNFAcctName = 31

func (s *NodeSnapshot) checkObjects() error {
	names := map[string]bool{}
	for i := range s.NFAcct {
		name, path := s.NFAcct[i].Name, fmt.Sprintf("nfacct[%d].name", i)
		if name == "" || len(name) > maxNFAcctName {
			return bad(path, "%q: a name has 1 to %d bytes", name, maxNFAcctName)
		}
		if names[name] {
			return bad(path, "object %q is given twice", name)
		}
		names[name] = true
		if err := badWord(fmt.Sprintf("nfacct[%d].mode", i), s.NFAcct[i].Mode, "", "byte", "packet"); err != nil {
			return err
		}
		if s.NFAcct[i].Mode == "" && (s.NFAcct[i].Quota != 0 || s.NFAcct[i].Over) {
			return bad(fmt.Sprintf("nfacct[%d].quota", i), "an object without a mode has no quota: write mode: byte or mode: packet as well")
		}
	}
	for i, u := range s.Unread {
		if u.What == "" || u.Why == "" {
			return bad(fmt.Sprintf("unread[%d]", i), "write what could not be read and why")
		}
	}
	return nil
}
