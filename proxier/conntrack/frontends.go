package conntrack

import (
	"maps"
	"net/netip"

	"github.com/chainwalk/chainwalk/internal/mark"
)

// Backends are the serving endpoints of one service port: addresses that its clients may have been translated to. An
// endpoint that is terminating still serves if its pod says so. Traffic policies and topology do not matter: they choose
// for new clients.
type Backends map[netip.AddrPort]struct{}

// Frontends are the UDP services whose entries are to be looked at. Services that have not changed since the last Clean may
// be left out. IPv4 addresses must not be written as IPv6.
type Frontends struct {
	// services are the backends behind each address and port that rules translate: cluster IPs, external IPs, and those
	// addresses of load balancers that have rules. No backends: every entry is stale. A deleted service has none.
	services map[netip.AddrPort]Backends
	// nodePorts are the backends behind each node port.
	nodePorts map[uint16]Backends
	// ServesNodePorts says whether node ports are served at the address: whether it is the node's own and among the node port
	// addresses. Entries to the same port of any other machine are not the proxy's. Nil: every address.
	ServesNodePorts func(netip.Addr) bool
	// Marks counts the decisions of Clean. Nil: nobody counts.
	Marks *mark.Recorder
}

// AddService adds a service at an address and port. If another service was added there, the backends of both are served: it is
// not known which of them has the rule.
func (f *Frontends) AddService(frontend netip.AddrPort, backends Backends) {
	if f.services == nil {
		f.services = map[netip.AddrPort]Backends{}
	}
	add(f, f.services, frontend, backends)
}

// AddNodePort adds a service at a node port, as AddService does.
func (f *Frontends) AddNodePort(port uint16, backends Backends) {
	if f.nodePorts == nil {
		f.nodePorts = map[uint16]Backends{}
	}
	add(f, f.nodePorts, port, backends)
}

func add[K comparable](f *Frontends, all map[K]Backends, frontend K, backends Backends) {
	if others := all[frontend]; len(others) > 0 {
		f.Marks.Hit(mark.ConntrackSharedAddress)
		both := maps.Clone(others)
		maps.Copy(both, backends)
		backends = both
	}
	all[frontend] = backends
}

// empty says whether no entry can be stale.
func (f *Frontends) empty() bool { return len(f.services) == 0 && len(f.nodePorts) == 0 }

// stale says whether an entry must go. An address and port of a service comes before a node port, as in the rules.
func (f *Frontends) stale(e *Entry) bool {
	if e.Protocol != protocolUDP {
		return false
	}
	backends, ok := f.services[e.Original.Dst]
	if !ok {
		backends, ok = f.nodePorts[e.Original.Dst.Port()]
		own := f.ServesNodePorts == nil || f.ServesNodePorts(e.Original.Dst.Addr())
		f.Marks.HitIf(mark.ConntrackForeignNodePort, ok && !own)
		ok = ok && own
		f.Marks.HitIf(mark.ConntrackNodePort, ok)
	}
	if !ok {
		return false
	}
	_, serves := backends[e.Reply.Src]
	f.Marks.HitIf(mark.ConntrackServing, serves)
	return !serves
}
