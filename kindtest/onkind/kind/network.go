package kind

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios"
)

// device is that by which nodes and the container outside are on their network.
const device = "eth0"

// prohibited is the table of the container outside for what comes to it in IPv6 and is for nobody.
const prohibited = "222"

// quieten lets a machine send as many ICMP errors as it has reasons for, as each of them is looked at. The masks say which types are
// limited at all, by both limits: that for each receiver, and that for the whole machine, which ratelimit=0 would leave on and older
// kernels have for all namespaces together. Of type 0 IPv6 has no message; an empty mask not every sysctl(8) can write.
func (b *Backend) quieten(ctx context.Context, machine string) error {
	_, err := run(ctx, b.relays[machine], "", "sysctl", "-qw", "net.ipv4.icmp_ratemask=0", "net.ipv6.icmp.ratemask=0")
	return err
}

// prohibit makes the container outside the router of scenarios: what is sent to it and is for nobody it refuses by a message that no
// proxy's rule sends, so that it is told at once from what is dropped. In IPv4 a rule does it, as the kernel limits what routes refuse, a
// few for each source, for the whole machine.
func (b *Backend) prohibit(ctx context.Context) error {
	const script = `
sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.send_redirects=0 net.ipv4.conf.$1.send_redirects=0
iptables -w -C FORWARD -i $1 -j REJECT --reject-with icmp-admin-prohibited 2>/dev/null ||
	iptables -w -A FORWARD -i $1 -j REJECT --reject-with icmp-admin-prohibited`
	const script6 = `
sysctl -qw net.ipv6.conf.all.forwarding=1
ip -6 route replace prohibit default table $2
ip -6 rule show | grep -q "lookup $2" || ip -6 rule add pref 100 iif $1 lookup $2`
	for v6, script := range map[bool]string{false: script, true: script6} {
		if !b.facts.has(v6) {
			continue
		}
		if _, err := run(ctx, b.outside(), "", "sh", "-ec", script, "prohibit", device, prohibited); err != nil {
			return err
		}
	}
	return nil
}

// links are the addresses and routes that a session has added, by machine, as lines for ip -batch that take them away again.
type links struct {
	backend *Backend
	undo    map[string][]string
	nobody  map[netip.Addr]string // addresses that nobody has, and the node that the container outside sends them to
}

func newLinks(b *Backend) *links {
	return &links{backend: b, undo: map[string][]string{}, nobody: map[netip.Addr]string{}}
}

// batch has ip make changes on machines.
func (l *links) batch(ctx context.Context, lines map[string][]string) error {
	var machines []string
	for machine := range lines {
		machines = append(machines, machine)
	}
	return together(machines, func(machine string) error {
		if len(lines[machine]) == 0 {
			return nil
		}
		_, err := run(ctx, l.backend.relays[machine], strings.Join(lines[machine], "\n")+"\n", "ip", "-force", "-batch", "-")
		if err != nil {
			return fmt.Errorf("%s: %w", machine, err)
		}
		return nil
	})
}

// prefixOf is an address alone, as ip writes a prefix.
func prefixOf(a netip.Addr) string { return netip.PrefixFrom(a, a.BitLen()).String() }

// onNetwork reports whether an address is in the network of the nodes.
func (b *Backend) onNetwork(a netip.Addr) bool {
	return slices.ContainsFunc(b.facts.Networks, func(p netip.Prefix) bool { return p.Contains(a) })
}

// lay gives the machines outside, the nodes and the pods that share one their addresses.
func (l *links) lay(ctx context.Context, m *Mapping, c *scenarios.Cluster) error {
	lines := map[string][]string{}
	outside := l.backend.facts.Outside
	for i := range c.Outside {
		for _, of := range c.Outside[i].Addresses {
			a := m.To(of)
			l.address(lines, outside.Name, a)
			l.through(lines, a)
		}
	}
	for i := range c.Nodes {
		for _, of := range c.Nodes[i].ExtraAddresses {
			l.address(lines, m.Node(c.Nodes[i].Name), m.To(of))
		}
	}
	return l.batch(ctx, lines)
}

// address gives a machine an address. The others forget who had it before: an entry of a neighbour lives for half a minute without being
// asked about.
func (l *links) address(lines map[string][]string, machine string, a netip.Addr) {
	flags := ""
	if a.Is6() {
		flags = " nodad preferred_lft 0" // the kernel is not to choose it for itself: as the newest it would come first
	}
	lines[machine] = append(lines[machine], fmt.Sprintf("address replace %s dev %s%s", prefixOf(a), device, flags))
	l.undo[machine] = append(l.undo[machine], fmt.Sprintf("address del %s dev %s", prefixOf(a), device))
	if !l.backend.onNetwork(a) {
		return
	}
	for _, other := range l.backend.machines() {
		if other != machine {
			lines[other] = append(lines[other], fmt.Sprintf("neighbour flush to %s dev %s", prefixOf(a), device))
		}
	}
}

// through makes the nodes send what is for an address to the container outside. What is in the nodes' own network they find there
// themselves.
func (l *links) through(lines map[string][]string, a netip.Addr) {
	via := ofFamily(l.backend.facts.Outside.Addresses, a.Is6())
	if l.backend.onNetwork(a) || !via.IsValid() {
		return
	}
	for _, node := range l.backend.nodeNames() {
		lines[node] = append(lines[node], fmt.Sprintf("route replace %s via %s dev %s", prefixOf(a), via, device))
		l.undo[node] = append(l.undo[node], fmt.Sprintf("route del %s via %s dev %s", prefixOf(a), via, device))
	}
}

// leadNowhere makes addresses that nobody has end at the container outside, and makes it send what its own machines have for them to a
// node.
func (l *links) leadNowhere(ctx context.Context, addresses []netip.Addr, via string) error {
	lines := map[string][]string{}
	outside := l.backend.facts.Outside.Name
	for _, a := range addresses {
		before, known := l.nobody[a]
		if known && before == via || !l.backend.facts.has(a.Is6()) { // of a family that the cluster has not nobody calls it
			continue
		}
		l.nobody[a] = via
		if l.backend.onNetwork(a) { // somebody must be there, or the sender waits for its neighbour
			if !known {
				l.address(lines, outside, a)
			}
			continue
		}
		if !known {
			l.through(lines, a)
			l.undo[outside] = append(l.undo[outside], fmt.Sprintf("route del %s", prefixOf(a)))
		}
		gateway := ofFamily(l.backend.facts.node(via).Addresses, a.Is6())
		lines[outside] = append(lines[outside], fmt.Sprintf("route replace %s via %s dev %s", prefixOf(a), gateway, device))
	}
	return l.batch(ctx, lines)
}

// take takes all of it away.
func (l *links) take(ctx context.Context) error { return l.batch(ctx, l.undo) }
