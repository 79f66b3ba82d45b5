package provenance

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/proxier/chains"
)

// The chains of kube-proxy that all services share.
const (
	services         = "KUBE-SERVICES"
	externalServices = "KUBE-EXTERNAL-SERVICES"
	nodePorts        = "KUBE-NODEPORTS"
	proxyFirewall    = "KUBE-PROXY-FIREWALL"
	markMasquerade   = "KUBE-MARK-MASQ"
	canary           = "-CANARY" // ends the names of chains that are there for a proxier to see that they are gone
)

// The same in the language nftables.
const (
	nftServices       = "services"
	nftMarkMasquerade = "mark-for-masquerade"
	nftNoEndpoints    = "no-endpoint-" // begins the maps of services that have nobody who could serve them
)

// ofServicePort begin the names of the chains that kube-proxy makes for one service port or endpoint, and a hash ends them.
var ofServicePort = []string{chains.ClusterPrefix, chains.LocalPrefix, chains.EndpointPrefix, chains.ExternalPrefix, chains.FirewallPrefix,
	formerExternalPrefix}

// formerExternalPrefix is what ExternalPrefix was up to Kubernetes 1.23.
const formerExternalPrefix = "KUBE-XLB-"

// nftOfServicePort begin the same names in the language nftables, before a hash, "-" and the name itself.
var nftOfServicePort = []string{"service-", "local-", "external-", nftFirewall, nftAffinity, nftEndpoint}

const (
	nftEndpoint = "endpoint-"
	nftAffinity = "affinity-"
	nftFirewall = "firewall-"
)

// IsOfServicePort says whether a chain is one that kube-proxy makes for a port of one service, or for one endpoint.
func IsOfServicePort(chain string) bool {
	return slices.ContainsFunc(ofServicePort, func(prefix string) bool { return strings.HasPrefix(chain, prefix) })
}

// IsOfEndpoint says whether a chain is one that kube-proxy makes for one endpoint.
func IsOfEndpoint(chain string) bool { return strings.HasPrefix(chain, chains.EndpointPrefix) }

// RemembersClients says whether a set of a table of nftables is one in which kube-proxy's rules remember the clients of an endpoint.
func RemembersClients(table, set string) bool {
	return table == NFTable && strings.HasPrefix(set, nftAffinity)
}

// AsksMemory says whether a condition, by its text in a comparison of all packets, asks if kube-proxy's rules remember the client of an
// endpoint, in a list of xt_recent or in a set of nftables.
func AsksMemory(condition string) bool {
	words := strings.Fields(condition)
	if at := slices.Index(words, "--name"); strings.HasPrefix(condition, "-m recent ") && at > 0 && at+1 < len(words) {
		return IsOfEndpoint(words[at+1])
	}
	return len(words) > 4 && words[0] == "set" && RemembersClients(words[4], words[1])
}

// IsUsual says whether a rule, or an element of a set, in a chain that kube-proxy made in nftables for one service port or endpoint is such
// as it writes there: it translates, leads on, marks, or remembers a client; or, where it lets only some sources in, it drops.
func IsUsual(chain string, f *netfilter.Fact) bool {
	return f.Translation.Of == netfilter.Destination || f.Jump != "" || f.Mark != nil || f.Remembers(netfilter.Set) ||
		f.Verdict == netfilter.Drop && (strings.HasPrefix(chain, nftFirewall) || strings.HasPrefix(chain, "@"))
}

// IsShared says whether a chain is one of those of kube-proxy that have rules of all services, in an order that means nothing.
func IsShared(chain string) bool {
	return slices.Contains([]string{services, externalServices, nodePorts, proxyFirewall}, chain)
}

// BeginsServices says whether a chain is where packets come to kube-proxy's rules for services.
func BeginsServices(chain string) bool { return chain == services || chain == nftServices }

// IsNodePorts says whether a chain is the one of kube-proxy for node ports, which the last rule for services leads to.
func IsNodePorts(chain string) bool { return chain == nodePorts }

// MarksForMasquerade says whether a chain is the one by which kube-proxy marks packets to be masqueraded.
func MarksForMasquerade(chain string) bool {
	return chain == markMasquerade || chain == nftMarkMasquerade
}

// IsCanary says whether a chain is there only for somebody to see that it is gone.
func IsCanary(chain string) bool { return WriterOf(chain) != "" && strings.HasSuffix(chain, canary) }

// InSave says whether what iptables-save printed has the chains of kube-proxy.
func InSave(save string) bool { return strings.Contains(save, "\n:"+services+" ") }

// WriterOfSave is the program whose chains are in what iptables-save printed, and the tables in which it always has some; empty if that
// is not kube-proxy.
func WriterOfSave(save string) (program string, tables []string) {
	if !InSave(save) {
		return "", nil
	}
	return string(KubeProxy), []string{"nat", "filter"}
}

// hashed is the name of a chain of one service port or endpoint.
var hashed = lazyregexp.New(`(KUBE-(?:SVC|SVL|SEP|EXT|FW|XLB))-[A-Z2-7]{16}`)

// WithChains is a text, such as that of a rule, with other names of the chains of service ports and endpoints.
func WithChains(text string, name func(chain string) string) string {
	return hashed().ReplaceAllStringFunc(text, name)
}

// WithoutHashes is a text without what tells the chains of service ports from one another: KUBE-SVC, KUBE-SEP.
func WithoutHashes(text string) string { return hashed().ReplaceAllString(text, "$1") }

// Kind is a rule of a chain without what tells services and endpoints apart: hashes of chains, comments, addresses and ports. The
// arguments are the arguments of a netfilter.Rules, with comments.
func Kind(chain string, args []string) string {
	kind := []string{"-A", WithoutHashes(chain)}
	for i, arg := range args {
		switch begin := arg[:min(len(arg), 1)]; {
		case arg == "--comment", i > 0 && args[i-1] == "--comment":
		case begin == "-" || begin == "!" || "A" <= begin && begin <= "Z":
			kind = append(kind, WithoutHashes(arg))
		}
	}
	return strings.Join(kind, " ")
}

// ServicePort is a port of a service: NAMESPACE/NAME, with :PORT behind it where it has a name.
type ServicePort string

// Service is the NAMESPACE/NAME.
func (p ServicePort) Service() string {
	service, _, _ := strings.Cut(string(p), ":")
	return service
}

// servicePort is what a service port looks like. Names are subdomains of RFC 1123, and labels.
var servicePort = lazyregexp.New(`^[a-z0-9][a-z0-9.-]*/[a-z0-9][a-z0-9.-]*(?::[a-z0-9-]+)?$`)

// ServicePortOf is the service port that a rule of kube-proxy was written for, by its comment, or in nftables by its chain or the one
// that it leads to, and of an element of a set by its comment; empty if they say none, or if the rule is another writer's. The chain of an
// element is the set's name with "@" before it.
func ServicePortOf(table, chain string, f *netfilter.Fact) ServicePort {
	if OfRule(table, chain, f) != KubeProxy {
		return ""
	}
	if table == NFTable {
		for _, name := range []string{chain, f.Jump} {
			if port := nftServicePort(name); port != "" {
				return port
			}
		}
		if strings.HasPrefix(chain, "@") && servicePort().MatchString(f.Comment) {
			return ServicePort(f.Comment) // of an element
		}
		return ""
	}
	words := strings.Fields(f.Comment)
	for i, word := range words {
		if named := i == 0 || words[i-1] == "for" || words[i-1] == "to"; named && servicePort().MatchString(word) {
			return ServicePort(word)
		}
	}
	return ""
}

// nftServicePort is the service port in the name of a chain of nftables: service-HASH-NAMESPACE/NAME/PROTOCOL/PORT, of an endpoint with
// __ADDRESS/PORT behind it.
func nftServicePort(chain string) ServicePort {
	for _, prefix := range nftOfServicePort {
		rest, is := strings.CutPrefix(chain, prefix)
		if !is {
			continue
		}
		_, name, _ := strings.Cut(rest, "-")
		name, _, _ = strings.Cut(name, "__")
		if parts := strings.Split(name, "/"); len(parts) == 4 {
			return PortOf(parts[0], parts[1], parts[3])
		}
	}
	return ""
}

// PortOf is the name of a service port as kube-proxy spells it.
func PortOf(namespace, name, port string) ServicePort {
	text := namespace + "/" + name
	if port != "" {
		text += ":" + port
	}
	return ServicePort(text)
}

// EndpointOf is the endpoint that a rule of kube-proxy leads to or stands for, by what it translates to or by its comment ("NAME ->
// ADDRESS:PORT"); not valid if it says none.
func EndpointOf(f *netfilter.Fact) netip.AddrPort {
	if to := f.Translation.To(); to.Port() != 0 {
		return to
	}
	words := strings.Fields(f.Comment)
	if i := slices.Index(words, "->"); i >= 0 && i+1 < len(words) {
		at, _ := netip.ParseAddrPort(words[i+1])
		return at
	}
	return netip.AddrPort{}
}

// RefusesForWant says whether a rule of kube-proxy refuses packets since the service has nobody who could serve them. Its comment then
// says so.
func RefusesForWant(table, chain string, f *netfilter.Fact) bool {
	return strings.Contains(f.Comment, " has no ") && ServicePortOf(table, chain, f) != ""
}

// RefusedFor is the service port of an element of kube-proxy's nftables by which it refuses packets since nobody could serve them; empty if
// the element is another one's. Local says that endpoints are there, and none of them on the node: the packets are dropped then.
func RefusedFor(table, set string, element *netfilter.Fact) (port ServicePort, local bool) {
	if table != NFTable || !strings.HasPrefix(set, nftNoEndpoints) {
		return "", false
	}
	return ServicePortOf(table, "@"+set, element), element.Verdict == netfilter.Drop
}

// RefusesForWantOfLocal says whether a rule of kube-proxy refuses packets since no endpoint of the service is on the node, and the
// service's traffic policy allows no other.
func RefusesForWantOfLocal(table, chain string, f *netfilter.Fact) bool {
	return RefusesForWant(table, chain, f) && strings.Contains(f.Comment, " has no local ")
}

// GuardsSources says whether a chain is one by which kube-proxy lets only some sources come to a load balancer.
func GuardsSources(chain string) bool {
	return chain == proxyFirewall || strings.HasPrefix(chain, chains.FirewallPrefix) || strings.HasPrefix(chain, nftFirewall)
}

// DropsInvalid says whether a rule drops what conntrack calls invalid.
func DropsInvalid(f *netfilter.Fact) bool {
	return f.Verdict == netfilter.Drop && slices.Contains(f.Conditions.States, "INVALID")
}
