package render

// Jump leads from one of the kernel's own chains to one of ours.
type Jump struct {
	Table  string
	From   string
	Target string
	// Args is the rule without "-A From", as arguments of iptables.
	Args []string
}

// Jumps returns the jumps that must exist before a restore. Each is put at the
// head of its chain if it is missing, in this order, so the last one of a
// chain is met first. They are not part of the restore input, since the
// kernel's own chains hold rules of others too.
func Jumps() []Jump {
	onlyNew := []string{"-m", "conntrack", "--ctstate", "NEW"}
	return []Jump{
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

func jump(table, from, target, comment string, match ...string) Jump {
	args := append(make([]string, 0, len(match)+6), match...)
	if comment != "" {
		args = append(args, "-m", "comment", "--comment", comment)
	}
	return Jump{Table: table, From: from, Target: target, Args: append(args, "-j", target)}
}
