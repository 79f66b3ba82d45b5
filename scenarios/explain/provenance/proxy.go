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
	// InRules says that it works by rules of iptables or of nftables alone.
	InRules bool
	// Mode is that of kube-proxy's configuration, if it works by rules; else empty.
	Mode string
}

// The modes of kube-proxy that work by rules, as its configuration calls them.
const (
	ModeIPTables = "iptables"
	ModeNFTables = "nftables"
)

// sign is how a service proxy is known. The first that fits counts: IPVS mode has chains of iptables mode too, and a proxy that replaces
// kube-proxy leaves chains for services to it.
type sign struct {
	proxy string
	// of are the names that it is known by, what says what they are the names of. A name that ends with * is a prefix.
	of   func(*Signs) []string
	what string
	like []string
	// alone says that it is none if kube-proxy's chains for ports of services are there.
	alone bool
	mode  string // of kube-proxy, if it works by rules
}

func (s *Signs) chains() []string  { return s.Chains }
func (s *Signs) tables() []string  { return s.Tables }
func (s *Signs) devices() []string { return s.Devices }
func (s *Signs) sets() []string    { return s.Sets }

// inPlace is how a proxy is seen that has taken the place of kube-proxy.
const inPlace = "device %s, and no chain of kube-proxy for a service"

// HoldsServices says whether a device has the addresses of Services for a proxy, of kube-proxy in mode ipvs or of kube-router.
func HoldsServices(device string) bool { return device == IPVSDevice || device == kubeRouterDevice }

// kubeRouterDevice has the addresses that kube-router serves.
const kubeRouterDevice = "kube-dummy-if"

var signs = []sign{
	{"kube-proxy in mode nftables", (*Signs).tables, "table %s of nftables", []string{"ip " + NFTable, "ip6 " + NFTable}, false, ModeNFTables},
	{"kube-proxy in mode ipvs", (*Signs).devices, "device %s", []string{IPVSDevice}, false, ""},
	{"kube-router's service proxy", (*Signs).devices, "device %s", []string{kubeRouterDevice}, false, ""},
	{"Cilium in the place of kube-proxy", (*Signs).devices, inPlace, []string{"cilium_host", "cilium_net"}, true, ""},
	{"Calico's eBPF data plane", (*Signs).devices, inPlace, []string{"bpfin.cali", "bpfout.cali"}, true, ""},
	{"OVN-Kubernetes", (*Signs).devices, inPlace, []string{"ovn-k8s-mp*"}, true, ""},
	{"Antrea in the place of kube-proxy", (*Signs).devices, inPlace, []string{"antrea-gw*"}, true, ""},
	{"kube-proxy in mode iptables", (*Signs).chains, "chain %s", []string{services}, false, ModeIPTables},
	{"kube-proxy in mode ipvs", (*Signs).sets, "set %s", []string{"KUBE-CLUSTER-IP", "KUBE-6-CLUSTER-IP"}, true, ""},
	{"kube-router's service proxy", (*Signs).sets, "set %s", []string{"kube-router-service-ips", "inet6:kube-router-svip"}, true, ""},
}

// ServiceProxyOf is the service proxy that a node runs. Of a node that has what kube-proxy makes in several modes, left from a switch, it
// is kube-proxy in the one that the configuration names, and else in mode nftables or ipvs.
func ServiceProxyOf(s Signs, configured string) ServiceProxy {
	found := proxiesOf(&s)
	if len(found) == 0 {
		return ServiceProxy{Seen: "no sign of a service proxy that is known", InRules: true}
	}
	mayBeLeft := found[0].InRules || isIPVS(&found[0]) && slices.ContainsFunc(s.Chains, IsOfServicePort)
	if i := slices.IndexFunc(found, func(p ServiceProxy) bool { return p.Mode != "" && p.Mode == configured }); mayBeLeft && i >= 0 {
		return found[i]
	}
	return found[0]
}

// isIPVS says whether a proxy is kube-proxy in mode ipvs. That mode has no chains for ports of services: those are of mode iptables.
func isIPVS(p *ServiceProxy) bool { return strings.HasSuffix(p.Name, " ipvs") }

// Leftovers is kube-proxy in the other mode than the one that a node runs, if rules of that mode are there as well.
func Leftovers(s Signs, of ServiceProxy) (ServiceProxy, bool) {
	for _, p := range proxiesOf(&s) {
		if of.InRules && p.InRules && p.Mode != of.Mode {
			return p, true
		}
	}
	return ServiceProxy{}, false
}

// proxiesOf are the service proxies of which there are signs.
func proxiesOf(s *Signs) []ServiceProxy {
	serves := slices.ContainsFunc(s.Chains, IsOfServicePort)
	var out []ServiceProxy
	for i := range signs {
		one := &signs[i]
		if one.alone && serves {
			continue
		}
		if at := slices.IndexFunc(one.of(s), one.fits); at >= 0 {
			out = append(out, ServiceProxy{Name: one.proxy, Seen: fmt.Sprintf(one.what, one.of(s)[at]), InRules: one.mode != "", Mode: one.mode})
		}
	}
	return out
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
