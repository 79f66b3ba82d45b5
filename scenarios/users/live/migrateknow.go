package live

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// know adds what is known of a change without a packet.
func (m *migration) know() error {
	for i := range m.out.Nodes {
		m.kernel(&m.out.Nodes[i])
		if err := m.residues(&m.out.Nodes[i]); err != nil {
			return err
		}
	}
	m.affinity()
	m.shared()
	m.ownRules()
	if m.out.WrongBefore > 0 {
		m.out.Notes = append(m.out.Notes, fmt.Sprintf("%s fare otherwise, and were not as the objects promise before the change: see "+
			"chainwalk doctor", plural(m.out.WrongBefore, "way")))
	}
	return nil
}

// The oldest Linux that kube-proxy takes for mode nftables (KEP-3866, "Dependencies").
const oldestMajor, oldestMinor = 5, 13

// kernel says whether a node's Linux is too old for the mode that it changes to.
func (m *migration) kernel(n *MigratedNode) {
	if n.To != provenance.ModeNFTables || n.Why != "" {
		return
	}
	version := ""
	for _, node := range m.cluster.nodes() {
		if node.Name == n.Name {
			version = node.Status.NodeInfo.KernelVersion
		}
	}
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		m.out.Notes = append(m.out.Notes, fmt.Sprintf("%s: mode nftables needs Linux %d.%d, and the objects do not say what the node has", n.Name,
			oldestMajor, oldestMinor))
		return
	}
	if major > oldestMajor || major == oldestMajor && minor >= oldestMinor {
		return
	}
	m.out.Findings = append(m.out.Findings, Moved{
		Says: fmt.Sprintf("%s has Linux %s, and kube-proxy does not start in mode nftables before %d.%d.", n.Name, version, oldestMajor,
			oldestMinor),
		Set: "install a newer kernel before the change, or leave the node in its mode",
	})
}

// affinity notes the services whose clients may reach another endpoint after a change of the mode.
func (m *migration) affinity() {
	if !m.changesMode() {
		return
	}
	var affine []string
	for name, is := range m.before.affine() {
		if is {
			affine = append(affine, name)
		}
	}
	if len(affine) == 0 {
		return
	}
	slices.Sort(affine)
	clause := oracle.ByName("affinity-of-another-mode")
	m.out.Documented = append(m.out.Documented, Moved{
		Clause: clause.Name, Says: clause.Text, Document: strings.Join(clause.Source, ", "), Services: affine,
		Set: "nothing keeps what a node remembers of clients: connections that are established go on, new ones may reach another endpoint",
	})
}

// ownRules notes first that the packets were walked by this project's rules, and what kube-proxy's own do otherwise (docs/proxy.md, "Mode
// nftables").
func (m *migration) ownRules() {
	if !slices.ContainsFunc(m.out.Nodes, func(n MigratedNode) bool { return n.Why == "" && n.To == provenance.ModeNFTables }) {
		return
	}
	notes := []string{"mode nftables is walked by the rules that chainwalk's proxier writes; kube-proxy v1.36 and v1.37 reject echo " +
		"requests to cluster IPs, which pass by these rules"}
	notes = append(notes, "kube-proxy v1.36 and v1.37 in mode nftables follow changed ServiceCIDRs and addresses of the node, and write a "+
		"table again that somebody deleted (nft flush ruleset), only with the next full sync, which may be an hour later; chainwalk's proxier "+
		"does so at its next sync")
	var refused, unplaced []string
	empty := m.before.withoutEndpoint()
	for _, s := range m.cluster.services() {
		if name := s.Namespace + "/" + s.Name; len(s.Spec.LoadBalancerSourceRanges) > 0 && slices.Contains(empty, name) {
			refused = append(refused, name)
		}
	}
	for _, s := range m.cluster.slices() {
		if slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool { return e.NodeName == nil }) {
			unplaced = append(unplaced, serviceOf(s))
		}
	}
	if len(refused) > 0 {
		notes = append(notes, "kube-proxy in mode nftables drops clients outside of loadBalancerSourceRanges where chainwalk's rules reject "+
			"them, since these services have no endpoint: "+strings.Join(refused, ", "))
	}
	if len(unplaced) > 0 {
		slices.Sort(unplaced)
		notes = append(notes, "kube-proxy in mode nftables does not masquerade an endpoint that reaches itself and whose slice names no node, "+
			"so that it fails; chainwalk's rules do: "+strings.Join(slices.Compact(unplaced), ", "))
	}
	m.out.Notes = append(notes, m.out.Notes...)
}

// shared names external addresses that several services claim: which of them serves is a matter of order or of chance.
func (m *migration) shared() {
	claims := map[string][]string{}
	for _, s := range m.cluster.services() {
		addresses := slices.Clone(s.Spec.ExternalIPs)
		for i := range s.Status.LoadBalancer.Ingress {
			addresses = append(addresses, s.Status.LoadBalancer.Ingress[i].IP)
		}
		for _, address := range addresses {
			for i := range s.Spec.Ports {
				p := &s.Spec.Ports[i]
				if a, ok := parse(address); ok {
					key := fmt.Sprintf("%s %s", strings.ToLower(string(protocolOf(p))), netip.AddrPortFrom(a, uint16(p.Port)))
					claims[key] = append(claims[key], s.Namespace+"/"+s.Name)
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(claims)) {
		if by := slices.Compact(slices.Sorted(slices.Values(claims[key]))); len(by) > 1 {
			m.out.Unjudged = append(m.out.Unjudged, Unjudged{Connections: 1, Why: fmt.Sprintf("to %s, which %s claim: which of them serves is by "+
				"chance in kube-proxy, in either mode", key, strings.Join(by, " and "))})
		}
	}
}

// conclude puts the answer into words.
func (m *migration) conclude() {
	out := m.out
	walked, to := 0, map[string]bool{}
	for i := range out.Nodes {
		if out.Nodes[i].Why == "" {
			walked++
			to[out.Nodes[i].To] = true
		}
	}
	change := "change"
	if walked == 1 {
		change = "changes"
	}
	services := countServices([]Side{{Cluster: m.cluster}})
	where := fmt.Sprintf("%s of %s tried on %s that %s to mode %s", plural(out.Ways, "way"), plural(services, "service"),
		plural(walked, "node"), change, strings.Join(sorted(to), " or "))
	open := ""
	if len(out.Doubts) > 0 {
		open = "unless " + out.Doubts[0].Unless + ", "
	}
	if walked < len(out.Nodes) {
		open = fmt.Sprintf("%s cannot be judged; ", plural(len(out.Nodes)-walked, "node")) + open
	}
	broken := slices.IndexFunc(out.Documented, func(d Moved) bool { return d.Unserved > 0 })
	switch {
	case walked == 0 && len(out.Findings) == 0:
		out.Answer = open + "what is known of them stands in the notes"
	case walked == 0:
		out.Answer = fmt.Sprintf("%s%s. %s", open, plural(len(out.Findings), "finding"), out.Findings[0].Says)
	case len(out.Findings) > 0:
		out.Answer = fmt.Sprintf("%s%s (%s). %s", open, plural(len(out.Findings), "finding"), where, out.Findings[0].Says)
	case broken >= 0:
		out.Answer = fmt.Sprintf("%sno finding, and some clients are not served any longer, as documented (%s). %s", open, where,
			out.Documented[broken].Says)
	case len(out.Documented) > 0:
		out.Answer = fmt.Sprintf("%sno finding: %s the same, the others differ as documented (%s)", open, plural(out.Same, "way"), where)
	default:
		out.Answer = fmt.Sprintf("%sthe same: %s", open, where)
	}
}
