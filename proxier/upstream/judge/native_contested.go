package judge

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
)

// dispatching are the sets and maps that lead from addresses and ports to services.
var dispatching = []string{
	"map service-ips", "map service-nodeports", "map firewall-ips", "map no-endpoint-services", "map no-endpoint-nodeports",
}

// contestedParts says whether two parts of a table differ only because more than one service port claims an address and port, or a node
// port: a map in its elements, or a chain of a service port that claims one.
func contestedParts(objects *cases.Objects, family v1.IPFamily, d *Difference) bool {
	_, claimed := destinationsOf(objects, family)
	if service, port := ofChain(objects, d.where); service != nil {
		own := claimsOf(service, port, family)
		return slices.ContainsFunc(own, func(at destination) bool { return claimed[at] > 1 })
	}
	if !slices.Contains(dispatching, d.where) {
		return false
	}
	ours, theirs := elementsOf(d.ours), elementsOf(d.theirs)
	for _, list := range [][2]map[string]string{{ours, theirs}, {theirs, ours}} {
		for key, value := range list[0] {
			if list[1][key] != value && !claimed.contests(key, family) {
				return false
			}
		}
	}
	return true
}

// elementsOf are the elements of a map as nft lists it, by their keys.
func elementsOf(lines []string) map[string]string {
	all := map[string]string{}
	for _, line := range lines {
		if strings.HasPrefix(line, "type ") {
			continue
		}
		line = strings.TrimSuffix(strings.TrimPrefix(line, "elements = { "), " }")
		for element := range strings.SplitSeq(line, ", ") {
			if key, value, is := strings.Cut(strings.TrimSuffix(element, ","), " : "); is {
				key, _, _ = strings.Cut(key, " comment ")
				all[key] = value
			}
		}
	}
	return all
}

// contests says whether several service ports claim the key of an element: "ADDRESS . PROTOCOL . PORT", or "PROTOCOL . PORT" of a node
// port.
func (c claims) contests(key string, family v1.IPFamily) bool {
	words := strings.Split(key, " . ")
	if len(words) == 2 {
		words = slices.Insert(words, 0, nodeAddresses(family)[0].String())
	}
	if len(words) != 3 {
		return false
	}
	addr, err := netip.ParseAddr(words[0])
	port, errPort := strconv.ParseUint(words[2], 10, 16)
	proto := map[string]inet.Proto{"tcp": inet.TCP, "udp": inet.UDP, "sctp": inet.SCTP}[words[1]]
	return err == nil && errPort == nil && c[destination{proto, addr, uint16(port)}] > 1
}

// ofChain is the service port that has a chain of mode nftables, "chain KIND-HASH-NAMESPACE/NAME/PROTOCOL/PORT", or a set of affinity; nil
// if there is none.
func ofChain(objects *cases.Objects, part string) (*v1.Service, *v1.ServicePort) {
	words := strings.Split(part, "/")
	if len(words) < 4 {
		return nil, nil
	}
	namespace := words[0]
	for range 2 { // the kind and the hash
		_, namespace, _ = strings.Cut(namespace, "-")
	}
	name, _, _ := strings.Cut(words[3], "__")
	for _, service := range objects.SortedServices() {
		for i := range service.Spec.Ports {
			port := &service.Spec.Ports[i]
			if service.Namespace == namespace && service.Name == words[1] &&
				strings.EqualFold(string(port.Protocol), words[2]) && port.Name == name {
				return service, port
			}
		}
	}
	return nil, nil
}

// claimsOf are the destinations that a service port claims.
func claimsOf(service *v1.Service, port *v1.ServicePort, family v1.IPFamily) (own []destination) {
	c := claims{}
	c.addPort(service, port, family)
	for at, n := range c {
		if n > 0 {
			own = append(own, at)
		}
	}
	return own
}
