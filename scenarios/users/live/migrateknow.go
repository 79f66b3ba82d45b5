package live

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
	"k8s.io/utils/ptr"

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
	m.versions()
	m.shared()
	m.ownRules()
	if m.out.WrongBefore > 0 {
		m.out.Notes = append(m.out.Notes, fmt.Sprintf("%s are treated differently, and were not as the objects promise before the change: see "+
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
	var refused []string
	empty := m.before.withoutEndpoint()
	for _, s := range m.cluster.services() {
		if name := s.Namespace + "/" + s.Name; len(s.Spec.LoadBalancerSourceRanges) > 0 && slices.Contains(empty, name) {
			refused = append(refused, name)
		}
	}
	if len(refused) > 0 {
		notes = append(notes, "kube-proxy in mode nftables drops clients outside of loadBalancerSourceRanges where chainwalk's rules reject "+
			"them, since these services have no endpoint: "+strings.Join(refused, ", "))
	}
	if names := unplaced(m.cluster); len(names) > 0 {
		notes = append(notes, "kube-proxy in mode nftables does not masquerade an endpoint that reaches itself and whose slice names no node, "+
			"so that it fails; chainwalk's rules do: "+strings.Join(names, ", "))
	}
	m.out.Notes = append(notes, m.out.Notes...)
}

// unplaced are the services with endpoints whose slices name no node.
func unplaced(c *Cluster) []string {
	var names []string
	for _, s := range c.slices() {
		if slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool { return e.NodeName == nil }) {
			names = append(names, serviceOf(s))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
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
	uncovered, unknown, skipped := 0, 0, 0
	for i := range out.AllPackets {
		uncovered, unknown = uncovered+len(out.AllPackets[i].Findings), unknown+len(out.AllPackets[i].Unknown)
		if out.AllPackets[i].Skipped != "" {
			skipped++
		}
	}
	if skipped > 0 {
		open += fmt.Sprintf("on %s only one packet of each class was compared; ", plural(skipped, "node"))
	}
	if unknown > 0 {
		open += fmt.Sprintf("of %s of packets it cannot be said; ", plural(unknown, "kind"))
	}
	broken := slices.IndexFunc(out.Documented, func(d Moved) bool { return d.Unserved > 0 })
	switch {
	case walked == 0 && len(out.Findings) == 0:
		out.Answer = open + "what is known of them stands in the notes"
	case walked == 0:
		out.Answer = fmt.Sprintf("%s%s. %s", open, plural(len(out.Findings), "finding"), out.Findings[0].Says)
	case len(out.Findings) > 0:
		out.Answer = fmt.Sprintf("%s%s (%s). %s", open, plural(len(out.Findings), "finding"), where, out.Findings[0].Says)
	case uncovered > 0:
		out.Answer = fmt.Sprintf("%sno class of packets is a finding, but %s of all packets are treated differently, and no clause of the "+
			"specification says so (%s)", open, plural(uncovered, "kind"), where)
	case broken >= 0:
		out.Answer = fmt.Sprintf("%sno finding, and some clients are not served any longer, as documented (%s). %s", open, where,
			out.Documented[broken].Says)
	case len(out.Documented) > 0:
		out.Answer = fmt.Sprintf("%sno finding: %s the same, the others differ as documented (%s)", open, plural(out.Same, "way"), where)
	default:
		out.Answer = fmt.Sprintf("%sthe same: %s", open, where)
	}
}

// The versions of kube-proxy whose differences are known: those that make peer and make hunt have run.
const oldestKnown, newestKnown = 35, 37

// Versions are those of kube-proxy before and after a change, by their minor number: 37 for v1.37. The zero value: the change is not one of
// versions.
type Versions struct{ From, To int }

// ParseVersions reads two versions, "1.35" or "v1.37.2" each. Both or none must be given, and what kube-proxy does in them must be known.
func ParseVersions(from, to string) (Versions, error) {
	if from == "" && to == "" {
		return Versions{}, nil
	}
	var v Versions
	for _, one := range []struct {
		flag, text string
		into       *int
	}{{"--from-version", from, &v.From}, {"--to-version", to, &v.To}} {
		if one.text == "" {
			return v, fmt.Errorf("%s is missing: a change of versions has two", one.flag)
		}
		parts := strings.Split(strings.TrimPrefix(one.text, "v"), ".")
		minor, err := strconv.Atoi(parts[min(1, len(parts)-1)])
		if err != nil || parts[0] != "1" || len(parts) < 2 || len(parts) > 3 {
			return v, fmt.Errorf("%s %s: want a version such as 1.%d", one.flag, one.text, newestKnown)
		}
		*one.into = minor
		if *one.into < oldestKnown || *one.into > newestKnown {
			return v, fmt.Errorf("%s %s: chainwalk knows how v1.%d to v1.%d differ, and no others", one.flag, one.text, oldestKnown, newestKnown)
		}
	}
	return v, nil
}

// versionChange is what kube-proxy does otherwise since a version.
type versionChange struct {
	since int
	// mode is the mode in which that is so; empty: in both.
	mode string
	// older and newer say what happens before that version, and from then on.
	older, newer, document, set string
	// meets gives the services whose packets meet it. One without is about nodes, and is met by every cluster.
	meets func(*migration) []string
}

// versionChanges are what a packet can notice, as make hunt and make peer have found it (docs/findings.md).
var versionChanges = []versionChange{
	{
		since: 37, document: "kubernetes#139628, kubernetes#139629",
		older: "Connections of UDP to a service that has lost its last endpoint go on to the endpoint that is gone until conntrack forgets them.",
		newer: "Connections of UDP to the addresses of a service that has lost its last endpoint are deleted; those to its node ports go on.",
		set:   "nothing; clients of UDP that go on sending see it",
		meets: func(m *migration) []string { return servicesWith(m.cluster, hasUDP) },
	},
	{
		since: 37, document: "kubernetes#138183",
		older: "kube-proxy does not notice that the Node has other addresses: in mode nftables node ports are not served there for an hour.",
		newer: "kube-proxy exits when the addresses of its Node object change, and is started again.",
		set:   "let the node's agent start kube-proxy again",
		meets: func(m *migration) []string { return servicesWith(m.cluster, hasNodePort) },
	},
	{
		since: 37, mode: provenance.ModeNFTables, document: "no thread found; proxier/upstream/testdata/findings/nft-long-name.yaml",
		older: "Every sync fails while a service port whose name has more than 128 bytes has no endpoint: no change of any service is written.",
		newer: "The comment of such a port is cut, and syncs go on.",
		set:   "give ports shorter names before going back",
		meets: func(m *migration) []string { return servicesWith(m.cluster, hasLongName) },
	},
	{
		since: 37, mode: provenance.ModeIPTables, document: "proxier/upstream/README.md, old-tools",
		older: "kube-proxy asks the iptables tools for their version, and leaves out what old ones cannot do.",
		newer: "kube-proxy asks for no version, and takes the tools to be 1.6.2 or later: with older ones all syncs fail.",
		set:   "use kube-proxy's own image, or iptables 1.6.2 or later",
	},
	{
		since: 36, mode: provenance.ModeNFTables, document: "kubernetes#136499",
		older: "An endpoint that reaches itself is masqueraded by a rule of its own, on whichever node it is.",
		newer: "Local endpoints alone are masqueraded where they reach themselves: one whose slice names no node loses its own connections.",
		set:   "have slices name the nodes of endpoints",
		meets: func(m *migration) []string { return unplaced(m.cluster) },
	},
	{
		since: 36, mode: provenance.ModeNFTables, document: "kubernetes#136499",
		older: "A pod that calls a node port of another node (externalTrafficPolicy Local) and is sent back to itself there is masqueraded.",
		newer: "A pod that another node sends back to itself keeps its own address as the source there: these connections fail.",
		set:   "have pods call the service by its cluster IP, which their own node translates",
		meets: (*migration).sentBack,
	},
}

// versions adds what is known of a change of versions.
func (m *migration) versions() {
	v := m.target.Versions
	if v.From == 0 {
		return
	}
	for i := range versionChanges {
		c := &versionChanges[i]
		if (v.From < c.since) == (v.To < c.since) || c.mode != "" && !m.changesTo(c.mode) {
			continue
		}
		d := Moved{Document: c.document, Set: c.set}
		if c.meets != nil {
			if d.Services = c.meets(m); len(d.Services) == 0 {
				continue
			}
		}
		now, was := c.newer, c.older
		if v.To < c.since {
			now, was = was, now
		}
		d.Says = fmt.Sprintf("v1.%d: %s v1.%d: %s", v.From, was, v.To, now)
		m.out.Documented = append(m.out.Documented, d)
	}
	m.out.Notes = append(m.out.Notes, fmt.Sprintf("packets were walked by the rules that chainwalk writes, whatever the version: what "+
		"v1.%d and v1.%d do otherwise is known from runs of both (docs/findings.md), and not more than is named here", v.From, v.To))
}

// changesTo says whether a node is in a mode afterwards.
func (m *migration) changesTo(mode string) bool {
	return slices.ContainsFunc(m.out.Nodes, func(n MigratedNode) bool { return n.To == mode })
}

// servicesWith are the names of services, sorted.
func servicesWith(c *Cluster, what func(*corev1.Service) bool) []string {
	var names []string
	for _, s := range c.services() {
		if what(s) {
			names = append(names, s.Namespace+"/"+s.Name)
		}
	}
	slices.Sort(names)
	return names
}

func hasUDP(s *corev1.Service) bool {
	return slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Protocol == corev1.ProtocolUDP })
}

func hasNodePort(s *corev1.Service) bool {
	return slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.NodePort != 0 })
}

// longestComment is the longest comment that nft takes, in bytes.
const longestComment = 128

func hasLongName(s *corev1.Service) bool {
	return slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool {
		name := s.Namespace + "/" + s.Name
		if p.Name != "" {
			name += ":" + p.Name
		}
		return len(name) > longestComment
	})
}

// sentBack are the services whose endpoints another node may send back to themselves.
func (m *migration) sentBack() []string {
	return servicesWith(m.cluster, func(s *corev1.Service) bool {
		for name, config := range m.configs {
			if config.Mode == kubeproxyconfig.ProxyMode(provenance.ModeNFTables) && sendsBack(m.cluster, name, config, s) {
				return true
			}
		}
		return false
	})
}

// sendsBack says whether a node may send a pod of another node back to the pod itself, and not masquerade what it sends. The pod calls a
// node port of the node: its own node translates what it sends to other addresses of services. The service has externalTrafficPolicy
// Local: by policy Cluster all clients of node ports are masqueraded. The node takes the pod for one of its own, as by clusterCIDR it does
// with all pods: for others it has local endpoints alone, and the pod is none.
func sendsBack(c *Cluster, node string, config *kubeproxyconfig.KubeProxyConfiguration, s *corev1.Service) bool {
	if s.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal || !hasNodePort(s) ||
		config.DetectLocalMode != "" && config.DetectLocalMode != "ClusterCIDR" {
		return false
	}
	var pods []netip.Prefix
	for text := range strings.SplitSeq(config.ClusterCIDR, ",") {
		if cidr, err := netip.ParsePrefix(strings.TrimSpace(text)); err == nil {
			pods = append(pods, cidr)
		}
	}
	return slices.ContainsFunc(c.slices(), func(slice *discoveryv1.EndpointSlice) bool {
		return serviceOf(slice) == s.Namespace+"/"+s.Name && slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool {
			a, ok := parse(e.Addresses[0])
			return ok && isServing(&e) && (e.NodeName == nil || *e.NodeName != node) &&
				slices.ContainsFunc(pods, func(cidr netip.Prefix) bool { return cidr.Contains(a) })
		})
	})
}

// isServing says whether a service may lead to an endpoint. Conditions that are not said are those of one that is ready.
func isServing(e *discoveryv1.Endpoint) bool {
	ready := ptr.Deref(e.Conditions.Ready, true)
	return ready || ptr.Deref(e.Conditions.Terminating, false) && ptr.Deref(e.Conditions.Serving, true)
}
