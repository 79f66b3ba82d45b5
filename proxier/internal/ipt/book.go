package ipt

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/proxier/internal/changes"
	"github.com/chainwalk/chainwalk/proxier/internal/model"
)

// entry is what the kernel holds for one service port.
type entry struct {
	name *changes.ServicePortName
	hash hashText
	// lines are the ones in the shared chains.
	lines sharedLines
	// policies are the service port's own chains apart from those of its
	// endpoints.
	policies policyChains
	// endpoints ends the names of the endpoints' chains. They have to be written
	// again only if style changes.
	endpoints []hashText
	style     endpointStyle
	// rules counts those in the service port's own chains.
	rules int
	// known counts all endpoints in the API.
	known   int
	noLocal model.NoLocal
}

// policyChains is a set of the chains that a service port may have once.
type policyChains uint8

const (
	hasExternal policyChains = 1 << iota
	hasFirewall
	hasCluster
	hasLocal
)

// policyPrefixes are in the order of the bits.
var policyPrefixes = [...]string{externalPrefix, lbPrefix, clusterPrefix, localPrefix}

func policiesOf(service *model.Service) policyChains {
	var set policyChains
	if service.EntersExternal {
		set |= hasExternal
	}
	if service.Firewall != nil {
		set |= hasFirewall
	}
	if len(service.Endpoints.Cluster) > 0 {
		set |= hasCluster
	}
	if len(service.Endpoints.Local) > 0 {
		set |= hasLocal
	}
	return set
}

// prefixes calls visit with the beginning of each chain's name.
func (s policyChains) prefixes(visit func(prefix string)) {
	for i, prefix := range policyPrefixes {
		if s&(1<<i) != 0 {
			visit(prefix)
		}
	}
}

// endpointStyle is what the rules of an endpoint's chain depend on besides the
// names of service port and endpoint.
type endpointStyle struct {
	// sticky notes the clients.
	sticky bool
	// commented says which service port the rule is for.
	commented bool
}

// chains calls visit with the name of each chain of the service port.
func (e *entry) chains(visit func(prefix string, hash hashText)) {
	e.policies.prefixes(func(prefix string) { visit(prefix, e.hash) })
	for _, hash := range e.endpoints {
		visit(endpointPrefix, hash)
	}
}

// book is what the kernel holds for all service ports, sorted by name.
type book struct {
	entries []*entry
}

// find returns the place of the name, and whether it is there.
func (b *book) find(name *changes.ServicePortName) (int, bool) {
	return slices.BinarySearchFunc(b.entries, name, func(e *entry, name *changes.ServicePortName) int {
		return e.name.Compare(*name)
	})
}

// portsOf returns the ports of the Service for which the kernel holds something.
func (r *renderer) portsOf(service types.NamespacedName) []changes.ServicePortName {
	place, _ := r.book.find(&changes.ServicePortName{NamespacedName: service})
	var names []changes.ServicePortName
	for _, e := range r.book.entries[place:] {
		if e.name.NamespacedName != service {
			break
		}
		names = append(names, *e.name)
	}
	return names
}

// put replaces the entry of the same name, and returns that one or nil.
func (b *book) put(e *entry) (old *entry) {
	place, found := b.find(e.name)
	if !found {
		b.entries = slices.Insert(b.entries, place, e)
		return nil
	}
	old, b.entries[place] = b.entries[place], e
	return old
}

// known returns the number of endpoints of the service port.
func (b *book) known(name *changes.ServicePortName) int {
	if place, found := b.find(name); found {
		return b.entries[place].known
	}
	return 0
}

// remove returns the entry that was removed, or nil.
func (b *book) remove(name *changes.ServicePortName) *entry {
	place, found := b.find(name)
	if !found {
		return nil
	}
	old := b.entries[place]
	b.entries = slices.Delete(b.entries, place, place+1)
	return old
}
