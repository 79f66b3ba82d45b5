package ipt

import (
	"github.com/chainwalk/chainwalk/proxier/chains/chainhash"
	"github.com/chainwalk/chainwalk/proxier/internal/changes"
	"github.com/chainwalk/chainwalk/proxier/internal/model"
)

// serviceText writes the rules of one service port: its entries in the chains
// that all services share, and the chains that are its own. What it writes
// depends on the service port, the options and the Model's common decisions
// only, never on another service port.
type serviceText struct {
	options *options
	model   *model.Model
	// commented is false where the rules for endpoints go without comments, which
	// are much of the text in a large cluster.
	commented bool

	service       *model.Service
	name          []byte // "namespace/name:port"
	protocol      string
	hash          hashText
	hashes        []hashText     // the service port's own, then those of its reachable endpoints
	endpoints     []endpointText // of service.Endpoints.Reachable, same order
	probabilities probabilities
}

// endpointText is an endpoint and the end of its chain's name.
type endpointText struct {
	*changes.Endpoint
	hash hashText
}

// set chooses the service port that the other methods write. The hashes are
// its own, then those of its reachable endpoints.
func (t *serviceText) set(service *model.Service, hashes []hashText) {
	name := &service.Port.Name
	t.service = service
	t.name = appendName(t.name[:0], name)
	t.protocol = changes.LowerProtocol(name.Protocol)
	t.hash = hashes[0]
	t.hashes = hashes
	t.endpoints = t.endpoints[:0]
	for i, hash := range hashes[1:] {
		t.endpoints = append(t.endpoints, endpointText{&service.Endpoints.Reachable[i], hash})
	}
}

// appendHashes appends what serviceText.set needs for the service port. The key
// is scratch memory.
func appendHashes(dst []hashText, key []byte, service *model.Service) ([]hashText, []byte) {
	key = appendHashKey(key[:0], &service.Port.Name)
	dst = append(dst, chainhash.Of(key))
	prefix := len(key)
	for i := range service.Endpoints.Reachable {
		endpoint := &service.Endpoints.Reachable[i]
		key = appendAddrPort(key[:prefix], endpoint.IP, endpoint.Port)
		dst = append(dst, chainhash.Of(key))
	}
	return dst, key
}

// eachOf calls visit for each endpoint of set, a part of the reachable
// endpoints in the same order.
func (t *serviceText) eachOf(set []changes.Endpoint, visit func(int, *endpointText)) {
	next := 0
	for i := range set {
		for t.endpoints[next].AddrPort() != set[i].AddrPort() {
			next++
		}
		visit(i, &t.endpoints[next])
		next++
	}
}

// internalPrefix begins the name of the chain that serves the cluster IP.
func (t *serviceText) internalPrefix() string {
	if t.service.Internal.Local {
		return localPrefix
	}
	return clusterPrefix
}

// lbTarget begins the name of the chain that load balancer VIPs lead to.
func (t *serviceText) lbTarget() string {
	if t.service.Firewall != nil {
		return lbPrefix
	}
	return externalPrefix
}
