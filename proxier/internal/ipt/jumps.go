package ipt

import "github.com/chainwalk/chainwalk/proxier/iptables"

// jumpRule leads from one of the kernel's own chains to one of ours.
type jumpRule struct {
	iptables.Rule
	target iptables.Chain
}

// jumps returns the jumps that must exist before a restore. Each is put at the
// head of its chain if it is missing, in this order, so the last one of a
// chain is met first. They are not part of the restore input, since the
// kernel's own chains hold rules of others too.
func jumps() []jumpRule {
	onlyNew := []string{"-m", "conntrack", "--ctstate", "NEW"}
	return []jumpRule{
		jump("filter", "INPUT", externalServicesChain, "kubernetes externally-visible service portals", onlyNew...),
		jump("filter", "FORWARD", externalServicesChain, "kubernetes externally-visible service portals", onlyNew...),
		jump("filter", "INPUT", nodePortsChain, "kubernetes health check service ports"),
		jump("filter", "FORWARD", servicesChain, "kubernetes service portals", onlyNew...),
		jump("filter", "OUTPUT", servicesChain, "kubernetes service portals", onlyNew...),
		jump("filter", "FORWARD", forwardChain, "kubernetes forwarding rules"),
		jump("filter", "INPUT", proxyFirewallChain, "kubernetes load balancer firewall", onlyNew...),
		jump("filter", "OUTPUT", proxyFirewallChain, "kubernetes load balancer firewall", onlyNew...),
		jump("filter", "FORWARD", proxyFirewallChain, "kubernetes load balancer firewall", onlyNew...),
		jump("nat", "OUTPUT", servicesChain, "kubernetes service portals"),
		jump("nat", "PREROUTING", servicesChain, "kubernetes service portals"),
		jump("nat", "POSTROUTING", postroutingChain, "kubernetes postrouting rules"),
		jump("filter", "INPUT", firewallChain, ""),
		jump("filter", "OUTPUT", firewallChain, ""),
	}
}

func jump(table, from, target, comment string, match ...string) jumpRule {
	args := append(make([]string, 0, len(match)+6), match...)
	if comment != "" {
		args = append(args, "-m", "comment", "--comment", comment)
	}
	return jumpRule{
		Rule:   iptables.Rule{Table: iptables.Table(table), Chain: iptables.Chain(from), Args: append(args, "-j", target)},
		target: iptables.Chain(target),
	}
}
