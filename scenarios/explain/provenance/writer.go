package provenance

import (
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// Writer is a program that writes rules.
type Writer string

// The writers that are known by the names of their chains.
const (
	KubeProxy  Writer = "kube-proxy"
	Kubelet    Writer = "kubelet"
	KubeRouter Writer = "kube-router"
	Calico     Writer = "Calico"
	Docker     Writer = "Docker"
)

// KubeletFirewall is the chain of table filter in which the kubelet drops packets from elsewhere to loopback addresses.
const KubeletFirewall = "KUBE-FIREWALL"

// kubelets are the chains that the kubelet makes. kube-proxy too has a rule in KUBE-FIREWALL, and takes nothing from it.
var kubelets = map[string]bool{KubeletFirewall: true, "KUBE-KUBELET-CANARY": true, "KUBE-IPTABLES-HINT": true, "KUBE-MARK-DROP": true}

// begins are how the chains of a writer begin. The first that fits counts.
var begins = []struct {
	prefix string
	writer Writer
}{
	{"KUBE-ROUTER-", KubeRouter}, {"KUBE-POD-FW-", KubeRouter}, {"KUBE-NWPLCY-", KubeRouter},
	{"cali-", Calico},
	{"DOCKER-", Docker}, {nameServer, Docker},
	{"KUBE-", KubeProxy},
}

// nameServer begins the chains that Docker makes in the namespace of every container, for the name server at 127.0.0.11 (or the gateway,
// as kind rewrites them).
const nameServer = "DOCKER_"

// IsOfNameServer says whether a chain leads to the name server that Docker has for containers.
func IsOfNameServer(chain string) bool { return strings.HasPrefix(chain, nameServer) }

// WriterOf is who makes a chain of that name; empty if nobody is known who does. The chains of nftables that kube-proxy makes stand in a
// table of its own: TableWriter.
func WriterOf(chain string) Writer {
	switch {
	case kubelets[chain]:
		return Kubelet
	case chain == "DOCKER":
		return Docker
	}
	for _, b := range begins {
		if strings.HasPrefix(chain, b.prefix) {
			return b.writer
		}
	}
	return ""
}

// NFTable is the table that kube-proxy has in each family of nftables.
const NFTable = "kube-proxy"

// TableWriter is who makes a chain of a table.
func TableWriter(table, chain string) Writer {
	if table == NFTable {
		return KubeProxy
	}
	return WriterOf(chain)
}

// OfRule is who wrote a rule of a chain: who made the chain, or in a chain of the kernel who made the one that it leads to.
func OfRule(table, chain string, f *netfilter.Fact) Writer {
	if w := TableWriter(table, chain); w != "" {
		return w
	}
	return WriterOf(f.Jump)
}

// HoldsPolicies says whether the writer's rules are for NetworkPolicies.
func (w Writer) HoldsPolicies() bool { return w == KubeRouter || w == Calico }

// IsKubernetes says whether the writer is a part of every node of Kubernetes, whose rules drop only what they promise to.
func (w Writer) IsKubernetes() bool { return w == KubeProxy || w == Kubelet }
