package provenance

import (
	"slices"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
)

// Names of what kube-proxy in mode ipvs makes and no other mode does (pkg/proxy/ipvs of Kubernetes).
var (
	ipvsChains = []string{"KUBE-IPVS-FILTER", "KUBE-IPVS-OUT-FILTER", "KUBE-LOAD-BALANCER", "KUBE-NODE-PORT", "KUBE-SOURCE-RANGES-FIREWALL"}
	ipvsSets   = lazyregexp.New(
		`^KUBE-(?:6-)?(?:LOOP-BACK|CLUSTER-IP|EXTERNAL-IP|LOAD-BALANCER|NODE-PORT|HEALTH-CHECK-NODE-PORT|IPVS-IPS)`)
)

// IPVSDevice is the device that has the addresses of all services in mode ipvs, so that the kernel takes their packets for the node's own.
const IPVSDevice = "kube-ipvs0"

// OfIPVS are those of the signs that kube-proxy in mode ipvs has made.
func (s *Signs) OfIPVS() Signs {
	var out Signs
	for _, name := range s.Chains {
		if slices.Contains(ipvsChains, name) && !slices.Contains(out.Chains, name) {
			out.Chains = append(out.Chains, name)
		}
	}
	for _, name := range s.Devices {
		if name == IPVSDevice {
			out.Devices = append(out.Devices, name)
		}
	}
	for _, name := range s.Sets {
		if ipvsSets().MatchString(name) {
			out.Sets = append(out.Sets, name)
		}
	}
	return out
}

var formerChain = lazyregexp.New(`^KUBE-XLB-`)

// IsOfFormerVersion says whether kube-proxy before v1.24 has made a chain that later versions call otherwise, KUBE-EXT-. From v1.28 on
// they do not know it (https://issue.k8s.io/132516).
func IsOfFormerVersion(chain string) bool { return formerChain().MatchString(chain) }
