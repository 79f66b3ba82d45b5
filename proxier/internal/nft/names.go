package nft

import (
	"strings"

	"github.com/chainwalk/chainwalk/proxier/chains/chainhash"
	"github.com/chainwalk/chainwalk/proxier/internal/changes"
)

// table is the name of the table in each family, which is kube-proxy's.
const table = "kube-proxy"

// Chains at hooks, which jump to the chains below and do nothing else.
const (
	filterPreroutingPreDNAT = "filter-prerouting-pre-dnat"
	filterOutputPreDNAT     = "filter-output-pre-dnat"
	filterInput             = "filter-input"
	filterForward           = "filter-forward"
	filterOutput            = "filter-output"
	natPrerouting           = "nat-prerouting"
	natOutput               = "nat-output"
	natPostrouting          = "nat-postrouting"
)

// Chains that all services share.
const (
	servicesChain               = "services"
	serviceEndpointsCheckChain  = "service-endpoints-check"
	nodePortEndpointsCheckChain = "nodeport-endpoints-check"
	rejectChain                 = "reject-chain"
	clusterIPsCheckChain        = "cluster-ips-check"
	firewallCheckChain          = "firewall-check"
	masqueradingChain           = "masquerading"
)

// formerMarkChain is the chain that kube-proxy until v1.35 marks packets by. Nothing leads to it any longer.
const formerMarkChain = "mark-for-masquerade"

// nodePortIPsSet has the addresses that serve node ports, where not all do.
const nodePortIPsSet = "nodeport-ips"

// chainKind is a chain that a service port may have once.
type chainKind uint8

const (
	externalChain chainKind = iota
	firewallChain
	clusterChain
	localChain
	chainKinds
)

// Prefixes of the names of what one service port has.
const (
	endpointPrefix = "endpoint-"
	affinityPrefix = "affinity-"
)

// prefix begins the name of the chain.
func (k chainKind) prefix() string {
	return [chainKinds]string{"external-", "firewall-", "service-", "local-"}[k]
}

// isServiceChain says whether a chain has the name of one of one service port, made by this program or by kube-proxy. No other chain
// of theirs has a slash in its name.
func isServiceChain(name string) bool { return strings.Contains(name, "/") }

const (
	// hashLength is how much of a hash begins the end of a name.
	hashLength = 8
	// longestBase is the longest end of a name. A prefix before it, a name stays below the kernel's limit of 255 bytes.
	longestBase = 240
)

// appendBase appends the end of the names of a service port's chains: a hash of the rest, then "namespace/name/protocol/port".
func appendBase(dst []byte, name *changes.ServicePortName) []byte {
	start := len(dst)
	return withHash(appendKey(appendRoom(dst), name), start)
}

// appendEndpointBase appends the end of the names of what an endpoint has: as appendBase, with "__ip/port" behind the service port.
func appendEndpointBase(dst []byte, name *changes.ServicePortName, endpoint *changes.Endpoint) []byte {
	start := len(dst)
	dst = appendKey(appendRoom(dst), name)
	dst = append(dst, "__"...)
	address := len(dst)
	dst = endpoint.IP.AppendTo(dst)
	for i := address; i < len(dst); i++ {
		if dst[i] == ':' { // no name may have one
			dst[i] = '.'
		}
	}
	return withHash(appendUint(append(dst, '/'), endpoint.Port), start)
}

// appendRoom leaves room for the hash.
func appendRoom(dst []byte) []byte { return append(dst, "........-"...) }

func appendKey(dst []byte, name *changes.ServicePortName) []byte {
	dst = append(append(dst, name.Namespace...), '/')
	dst = append(append(dst, name.Name...), '/')
	dst = append(append(dst, changes.LowerProtocol(name.Protocol)...), '/')
	return append(dst, name.Port...)
}

// withHash fills the room with the hash of what follows it, and cuts what is too long.
func withHash(dst []byte, start int) []byte {
	hash := chainhash.Of(dst[start+hashLength+1:])
	copy(dst[start:], hash[:hashLength])
	if len(dst)-start > longestBase {
		const cut = "..."
		dst = append(dst[:start+longestBase-len(cut)], cut...)
	}
	return dst
}

// isAffinitySet says whether a set has the name of one that remembers the clients of an endpoint.
func isAffinitySet(name string) bool { return strings.HasPrefix(name, affinityPrefix) }

// longestComment is the longest comment that nft takes, in bytes.
const longestComment = 128

// appendComment appends a comment with the name of the service port, as much of it as nft takes.
func appendComment(dst []byte, name *changes.ServicePortName) []byte {
	dst = append(dst, ` comment "`...)
	start := len(dst)
	dst = append(append(append(dst, name.Namespace...), '/'), name.Name...)
	if name.Port != "" {
		dst = append(append(dst, ':'), name.Port...)
	}
	dst = dst[:min(len(dst), start+longestComment)]
	return append(dst, '"')
}
