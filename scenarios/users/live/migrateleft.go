package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// residues says what former kube-proxies have left on a node, of another mode, another version or with other tools, whether it was walked
// or not.
func (m *migration) residues(n *MigratedNode) error {
	attached := m.before.nodes[n.Name]
	if attached == nil {
		return nil
	}
	taken := attached.NodeSnapshot
	signs, err := signsOf(taken)
	if err != nil {
		return err
	}
	m.ofIPVS(n, taken, signs.OfIPVS())
	if err := m.ofFormerVersion(n, taken); err != nil {
		return err
	}
	m.ofOtherTools(n, taken)
	m.ofModeIPTables(n)
	return nil
}

// knowsLeftovers says whether a node runs kube-proxy in mode ipvs: no packet is walked there, and what that mode leaves is known.
func (m *migration) knowsLeftovers() bool {
	for _, attached := range m.before.nodes {
		if signs, err := signsOf(attached.NodeSnapshot); err == nil && len(signs.OfIPVS().Devices) > 0 {
			return true
		}
	}
	return false
}

// ofIPVS names what mode ipvs has made.
func (m *migration) ofIPVS(n *MigratedNode, taken *snapshot.NodeSnapshot, left provenance.Signs) {
	if len(left.Devices)+len(left.Sets)+len(left.Chains) == 0 {
		return
	}
	var things []string
	if len(left.Devices) > 0 {
		things = append(things, fmt.Sprintf("device %s (addresses: %d)", provenance.IPVSDevice,
			addressesAt(taken, provenance.IPVSDevice)))
	}
	for _, kind := range []struct {
		word  string
		names []string
	}{{"chain", left.Chains}, {"set", left.Sets}} {
		if len(kind.names) > 0 {
			things = append(things, plural(len(kind.names), kind.word)+" ("+few(kind.names)+")")
		}
	}
	says := fmt.Sprintf("%s has what kube-proxy makes in mode ipvs: %s, and perhaps virtual servers, which no snapshot shows. Packets to the "+
		"addresses of that device are the node's own: a process of the node answers at the ports that no rule translates, and a virtual "+
		"server sends them on.", n.Name, strings.Join(things, ", "))
	if n.Why != "" {
		m.out.Notes = append(m.out.Notes, ofModeIPVS(n))
	}
	const remove = "ipvsadm --clear; ip link delete " + provenance.IPVSDevice + "; kube-proxy --cleanup removes the chains and sets"
	if n.To == provenance.ModeNFTables {
		m.out.Notes = append(m.out.Notes, says+" kube-proxy removes all of it when it starts in mode nftables; what is still there then: "+remove)
		return
	}
	m.out.Findings = append(m.out.Findings, Moved{
		Says: says + " kube-proxy in mode iptables leaves all of it.",
		Set:  "before kube-proxy starts in mode iptables: " + remove,
	})
}

// ofModeIPVS says what documents say of packets of a node that changes from mode ipvs.
func ofModeIPVS(n *MigratedNode) string {
	clause, then := oracle.ByName("no-node-port-at-loopback"), "mode iptables serves them there in IPv4"
	if n.To == provenance.ModeNFTables {
		then = "mode nftables serves none either"
	}
	return fmt.Sprintf("%s: mode ipvs serves node ports at no loopback address, and %s (%q, %s). Connections that virtual servers keep do "+
		"not go on once these are removed (ip_vs_in_hook in net/netfilter/ipvs/ip_vs_core.c): drain the node before the change.", n.Name, then,
		clause.Sentence.Text, clause.Sentence.Document)
}

func addressesAt(taken *snapshot.NodeSnapshot, device string) int {
	i := slices.IndexFunc(taken.Devices, func(d snapshot.Device) bool { return d.Name == device })
	if i < 0 {
		return 0
	}
	return len(taken.Devices[i].Addresses)
}

// few are the first of some names.
func few(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:shown], ", ") + ", ..."
}

// ofFormerVersion names chains that later versions do not know, and that hold fast those that they do.
func (m *migration) ofFormerVersion(n *MigratedNode, taken *snapshot.NodeSnapshot) error {
	rulesets, err := taken.Rulesets()
	if err != nil {
		return err
	}
	for _, rules := range rulesets {
		for _, table := range rules.Tables {
			var former []string
			for chain := range table.Chains() {
				if provenance.IsOfFormerVersion(chain.Name) {
					former = append(former, chain.Name)
				}
			}
			if len(former) == 0 {
				continue
			}
			tool := toolOf(rules.Family) + "-" + string(rules.Dialect) + " -t " + table.Name()
			m.out.Findings = append(m.out.Findings, Moved{
				Says: fmt.Sprintf("%s has %s of kube-proxy before v1.24 (%s), whose rules lead to chains of services and endpoints. kube-proxy from "+
					"v1.28 on does not know them: when such an endpoint goes, its chain cannot be deleted, and no change is written any more.",
					n.Name, plural(len(former), "chain"), few(former)),
				Document: "kubernetes#132516",
				Set:      fmt.Sprintf("before the change, for each of them: %s -F CHAIN; %s -X CHAIN", tool, tool),
			})
		}
	}
	return nil
}

// ofOtherTools names rules of kube-proxy in the tables of both iptables-legacy and iptables-nft.
func (m *migration) ofOtherTools(n *MigratedNode, taken *snapshot.NodeSnapshot) {
	rulesets, err := taken.Rulesets()
	if err != nil {
		return // it was read before
	}
	by := map[netfilter.Dialect]bool{}
	for _, rules := range rulesets {
		for _, table := range rules.Tables {
			for chain := range table.Chains() {
				by[rules.Dialect] = by[rules.Dialect] || chain.Len() > 0 && provenance.IsOfServicePort(chain.Name)
			}
		}
	}
	if !by[netfilter.Legacy] || !by[netfilter.NFT] {
		return
	}
	m.out.Findings = append(m.out.Findings, Moved{
		Says: n.Name + " has rules of kube-proxy for services in the tables of iptables-legacy and in those of iptables-nft. Packets meet " +
			"both, and the tools that kube-proxy uses now neither show nor remove those of the others, which follow no change.",
		Document: "kubernetes#109811",
		Set: "remove those that kube-proxy does not write now: restart the node, or run kube-proxy --cleanup where iptables is the other tool " +
			"(update-alternatives --set iptables /usr/sbin/iptables-legacy or -nft)",
	})
}

// ofModeIPTables notes what stays behind mode iptables on a node that was walked.
func (m *migration) ofModeIPTables(n *MigratedNode) {
	if n.Why != "" || n.From == n.To || n.To != provenance.ModeNFTables {
		return
	}
	host := m.after.lab.Network.Host(n.Name)
	if host.Config().Sysctls["net.ipv4.conf.all.route_localnet"] == "1" {
		m.out.Notes = append(m.out.Notes, n.Name+": net.ipv4.conf.all.route_localnet stays 1, which mode iptables has set; after the "+
			"change nothing needs it: sysctl -w net.ipv4.conf.all.route_localnet=0, or restart the node")
	}
	for _, rules := range host.Rulesets(netfilter.IPv4) {
		for _, table := range rules.Tables {
			if _, there := table.Chain(provenance.KubeletFirewall); there {
				m.out.Notes = append(m.out.Notes, n.Name+": chain "+provenance.KubeletFirewall+" stays, which the kubelet or kube-proxy "+
					"has made (KEP-3178); it drops what comes to loopback addresses from elsewhere, and does no harm")
				return
			}
		}
	}
}
