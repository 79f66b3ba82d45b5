package cause

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// setting is where a packet ended.
type setting struct {
	host    string
	in      inet.Input
	outcome *packetsim.Outcome
	node    *snapshot.NodeSnapshot // nil if it is not known
	about   who
}

// cause is the cause of a code.
func (s *setting) cause(code Code, what, format string, args ...any) Cause {
	return Cause{Code: code, Host: s.host, Family: inet.FamilyOf(s.in.Dst), What: what, Says: Sentence(fmt.Sprintf(format, args...))}
}

// sysctl is a value of the node's; false if the snapshot does not have it.
func (s *setting) sysctl(key string) (string, bool) {
	if s.node == nil {
		return "", false
	}
	value, ok := s.node.Sysctls[key]
	return value, ok
}

// switched is a sysctl with the value that the node has, or the one that it must have.
func (s *setting) switched(key, otherwise string) string {
	value, ok := s.sysctl(key)
	if !ok {
		value = otherwise
	}
	return key + " = " + value
}

func (s *setting) routeTo(a netip.Addr) string { return "the route to " + a.String() }

// tool is the command that has a rule of a step.
func (s *setting) tool(step *packetsim.Step) string {
	tool := "iptables"
	if inet.FamilyOf(s.in.Dst) == netfilter.IPv6 {
		tool = "ip6tables"
	}
	if step.Dialect != "" {
		tool += "-" + string(step.Dialect)
	}
	return tool + " -t " + step.Table
}

// command is the rule of a step as a command would make it, or the policy.
func (s *setting) command(step *packetsim.Step) string {
	switch {
	case step.Family != "" && step.Rule == nil:
		return nftPolicy(step, string(step.Policy))
	case step.Family != "":
		return fmt.Sprintf("nft add rule %s %s", nftChain(step), step.Text())
	}
	if step.Rule == nil {
		return fmt.Sprintf("%s -P %s %s", s.tool(step), step.Chain, step.Policy)
	}
	return s.tool(step) + " " + step.Text()
}

// nftChain is the chain of a step of nftables.
func nftChain(step *packetsim.Step) string { return step.Family + " " + step.Table + " " + step.Chain }

// nftPolicy is the command that gives the chain of a step of nftables a policy.
func nftPolicy(step *packetsim.Step, policy string) string {
	return fmt.Sprintf("nft 'chain %s { policy %s;}'", nftChain(step), strings.ToLower(policy))
}

// place is the chain of a step: "nat PREROUTING", of nftables "inet fw forward".
func place(step *packetsim.Step) string {
	if step.Family != "" {
		return nftChain(step)
	}
	return step.Table + " " + step.Chain
}

// without is the command that takes the rule of a step away.
func (s *setting) without(step *packetsim.Step) string {
	if step.Family != "" {
		return fmt.Sprintf("nft delete rule %s handle %d", nftChain(step), step.Handle)
	}
	return s.tool(step) + " " + strings.Replace(step.Text(), "-A ", "-D ", 1)
}

// ruleOf is a rule of a step in words.
func (s *setting) ruleOf(step *packetsim.Step) string {
	owner := "somebody else"
	if writer := writerOf(step); writer != "" {
		owner = string(writer)
	}
	return fmt.Sprintf("rule %d of %s, which is %s's,", step.Number, place(step), owner)
}

func writerOf(step *packetsim.Step) provenance.Writer {
	return provenance.OfRule(step.Table, step.Chain, &step.Rule.Fact)
}

// rule is the rule or the policy that stopped the packet.
func (s *setting) rule(step *packetsim.Step) Cause {
	if step.Rule == nil {
		return s.policy(step)
	}
	verb := "drops"
	if s.outcome.Verdict == packetsim.Reject {
		verb = "rejects"
	}
	f, writer := &step.Rule.Fact, writerOf(step)
	switch {
	case writer == provenance.KubeProxy:
		return s.proxys(step, verb)
	case writer == provenance.Kubelet:
		c := s.cause(RouteLocalnet, s.command(step), "the kubelet's rule %s %s: it comes from elsewhere to a loopback address", verb, s.about)
		c.Owner = string(writer)
		return c
	case provenance.IsForPolicies(step.Chain, f):
		c := s.cause(PolicyRules, s.command(step), "%s's rules for NetworkPolicies stop %s", writer, s.about)
		c.Owner, c.Remedy = string(writer), "a NetworkPolicy that lets it pass"
		return c
	}
	c := s.cause(ForeignDrop, s.command(step), "%s %s %s", s.ruleOf(step), verb, s.about)
	c.Owner, c.Remedy = string(writer), s.without(step)
	return c
}

func (s *setting) policy(step *packetsim.Step) Cause {
	c := s.cause(Policy, s.command(step), "the policy %s of %s drops %s", step.Policy, place(step), s.about)
	if c.Remedy = fmt.Sprintf("%s -P %s ACCEPT", s.tool(step), step.Chain); step.Family != "" {
		c.Remedy = nftPolicy(step, "accept")
	}
	return c
}

// proxys is a rule of kube-proxy's that stopped the packet, as its comment says why.
func (s *setting) proxys(step *packetsim.Step, verb string) Cause {
	f := &step.Rule.Fact
	service := provenance.ServicePortOf(step.Table, step.Chain, f)
	code, says := Wrong, fmt.Sprintf("a rule of kube-proxy %s %s", verb, s.about)
	wanting, local := s.wanting()
	if wanting != "" {
		service = wanting
	}
	switch {
	case wanting != "" && local, provenance.RefusesForWantOfLocal(step.Table, step.Chain, f):
		code, says = LocalOnly, fmt.Sprintf("%s takes only endpoints of the node that the packet comes to, and %s has none", service, s.host)
	case wanting != "", provenance.RefusesForWant(step.Table, step.Chain, f):
		code, says = NoEndpoints, fmt.Sprintf("%s has no endpoint that serves, by the rules of %s", service, s.host)
	case provenance.GuardsSources(step.Chain):
		code, says = SourceRange, fmt.Sprintf("%s does not let %s in (loadBalancerSourceRanges)", service, s.in.Src)
	case provenance.DropsInvalid(f):
		code, says = Liberal, fmt.Sprintf("conntrack of %s calls %s invalid, and kube-proxy drops that", s.host, s.about)
	}
	c := s.cause(code, s.command(step), "%s", says)
	c.Owner = string(provenance.KubeProxy)
	switch code {
	case LocalOnly:
		c.Remedy = "externalTrafficPolicy (or internalTrafficPolicy): Cluster, or an endpoint on " + s.host
	case NoEndpoints:
		c.Remedy = "kubectl describe endpointslices of " + service.Service() + ": a ready pod that the selector selects"
	case SourceRange:
		c.Remedy = "spec.loadBalancerSourceRanges of " + service.Service()
	case Liberal:
		c.Remedy = "sysctl -w net.netfilter.nf_conntrack_tcp_be_liberal=1"
	}
	return c
}

// wanting is the service port to which kube-proxy's nftables refused the packet since nobody could serve it, or nobody on the node;
// empty if they did not.
func (s *setting) wanting() (port provenance.ServicePort, local bool) {
	for i := range s.outcome.Steps {
		for _, e := range s.outcome.Steps[i].Elements {
			if port, local := provenance.RefusedFor(s.outcome.Steps[i].Table, e.Set, &e.Rule.Fact); port != "" {
				return port, local
			}
		}
	}
	return "", false
}
