package provenance

import (
	"fmt"
	"slices"
	"strings"
)

// Signs are what of a node shows which service proxy it runs.
type Signs struct {
	// Chains are the chains of iptables that have rules, Tables the native tables of nftables ("ip kube-proxy"), Devices the network
	// devices, Sets the sets of ipset; all by their names.
	Chains, Tables, Devices, Sets []string
}

// ServiceProxy is what translates the addresses of Services on a node.
type ServiceProxy struct {
	// Name is the program, with its mode if it has several; empty if there is no sign of one.
	Name string
	// Seen is the sign.
	Seen string
	// InRules says that it works by rules of iptables alone.
	InRules bool
}

// sign is how a service proxy is known. The first that fits counts: IPVS mode has chains of iptables mode too, and a proxy that replaces
// kube-proxy leaves chains for services to it.
type sign struct {
	proxy string
	// of are the names that it is known by, what says what they are the names of. A name that ends with * is a prefix.
	of   func(*Signs) []string
	what string
	like []string
	// alone says that it is none if kube-proxy's chains for ports of services are there.
	alone   bool
	inRules bool
}

func (s *Signs) chains() []string  { return s.Chains }
func (s *Signs) tables() []string  { return s.Tables }
func (s *Signs) devices() []string { return s.Devices }
func (s *Signs) sets() []string    { return s.Sets }

// inPlace is how a proxy is seen that has taken the place of kube-proxy.
const inPlace = "device %s, and no chain of kube-proxy for a service"

var signs = []sign{
	{"kube-proxy in mode nftables", (*Signs).tables, "table %s of nftables", []string{"ip " + nftTable, "ip6 " + nftTable}, false, false},
	{"kube-proxy in mode ipvs", (*Signs).devices, "device %s", []string{"kube-ipvs0"}, false, false},
	{"kube-router's service proxy", (*Signs).devices, "device %s", []string{"kube-dummy-if"}, false, false},
	{"Cilium in the place of kube-proxy", (*Signs).devices, inPlace, []string{"cilium_host", "cilium_net"}, true, false},
	{"Calico's eBPF data plane", (*Signs).devices, inPlace, []string{"bpfin.cali", "bpfout.cali"}, true, false},
	{"OVN-Kubernetes", (*Signs).devices, inPlace, []string{"ovn-k8s-mp*"}, true, false},
	{"Antrea in the place of kube-proxy", (*Signs).devices, inPlace, []string{"antrea-gw*"}, true, false},
	{"kube-proxy in mode iptables", (*Signs).chains, "chain %s", []string{services}, false, true},
	{"kube-proxy in mode ipvs", (*Signs).sets, "set %s", []string{"KUBE-CLUSTER-IP", "KUBE-6-CLUSTER-IP"}, true, false},
	{"kube-router's service proxy", (*Signs).sets, "set %s", []string{"kube-router-service-ips", "inet6:kube-router-svip"}, true, false},
}

// ServiceProxyOf is the service proxy that a node runs.
func ServiceProxyOf(s Signs) ServiceProxy {
	serves := slices.ContainsFunc(s.Chains, IsOfServicePort)
	for _, one := range signs {
		if one.alone && serves {
			continue
		}
		for _, name := range one.of(&s) {
			if one.fits(name) {
				return ServiceProxy{Name: one.proxy, Seen: fmt.Sprintf(one.what, name), InRules: one.inRules}
			}
		}
	}
	return ServiceProxy{Seen: "no sign of a service proxy that is known", InRules: true}
}

// IsSign says whether something of that name shows which service proxy a node runs.
func IsSign(name string) bool {
	return slices.ContainsFunc(signs, func(s sign) bool { return s.fits(name) })
}

func (s *sign) fits(name string) bool {
	return slices.ContainsFunc(s.like, func(like string) bool {
		prefix, isPrefix := strings.CutSuffix(like, "*")
		return name == like || isPrefix && strings.HasPrefix(name, prefix)
	})
}
