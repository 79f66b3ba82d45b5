package changes

import (
	"math"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/internal/mark"
)

// LabelServiceProxyName on a Service hands it over to another proxy. The slices of
// such a Service carry it too. See https://kep.k8s.io/2447.
const LabelServiceProxyName = "service.kubernetes.io/service-proxy-name"

// serviceReader turns Services into what one address family sees of them. What it
// cannot use it logs and leaves out.
type serviceReader struct {
	family            v1.IPFamily
	ignoreExternalIPs bool
	logger            klog.Logger
	marks             *mark.Recorder // of the decisions; may be nil
}

// read returns the ports of the Service, sorted by name and protocol, or nil where
// the family has nothing to do for it.
func (r *serviceReader) read(service *v1.Service) []*ServicePort {
	if service == nil {
		return nil
	}
	if skipped(service) {
		r.marks.Hit(mark.ChangesServiceSkipped)
		return nil
	}
	clusterIP, ok := r.clusterIP(service)
	if !ok {
		r.marks.Hit(mark.ChangesServiceOfOtherFamily)
		return nil
	}
	base := r.base(service)
	base.ClusterIP = clusterIP
	ports := make([]*ServicePort, 0, len(service.Spec.Ports))
	for i := range service.Spec.Ports {
		if port := r.withPort(base, service, &service.Spec.Ports[i]); port != nil {
			ports = append(ports, port)
		}
	}
	return sortPorts(ports)
}

// skipped says whether no proxy, or another one, serves the Service.
func skipped(service *v1.Service) bool {
	_, foreign := service.Labels[LabelServiceProxyName]
	return foreign ||
		service.Spec.Type == v1.ServiceTypeExternalName ||
		service.Spec.ClusterIP == v1.ClusterIPNone ||
		service.Spec.ClusterIP == ""
}

// clusterIP returns the family's cluster IP. The addresses decide and not
// spec.ipFamilies: an API server keeps the two alike, and only the addresses
// end up in rules.
func (r *serviceReader) clusterIP(service *v1.Service) (netip.Addr, bool) {
	for _, text := range append(slices.Clone(service.Spec.ClusterIPs), service.Spec.ClusterIP) {
		addr, err := parseAddr(text)
		if err != nil {
			r.logger.Error(err, "Skipping cluster IP", "service", klog.KObj(service))
			continue
		}
		if inFamily(addr, r.family) {
			return addr, true
		}
	}
	return netip.Addr{}, false
}

// base fills what all ports of the Service share.
func (r *serviceReader) base(service *v1.Service) ServicePort {
	spec := &service.Spec
	name := types.NamespacedName{Namespace: service.Namespace, Name: service.Name}
	base := ServicePort{
		Name:                ServicePortName{NamespacedName: name},
		ExternalIPs:         r.externalIPs(service),
		LoadBalancerVIPs:    r.loadBalancerVIPs(service),
		SourceRanges:        r.sourceRanges(service),
		ExternalPolicyLocal: r.externalPolicyLocal(service),
		InternalPolicyLocal: spec.InternalTrafficPolicy != nil &&
			*spec.InternalTrafficPolicy == v1.ServiceInternalTrafficPolicyLocal,
		HealthCheckNodePort: r.healthCheckNodePort(service),
	}
	if spec.SessionAffinity == v1.ServiceAffinityClientIP {
		base.SessionAffinityClientIP = true
		base.StickyMaxAgeSeconds = affinitySeconds(spec.SessionAffinityConfig)
	}
	return base
}

// externalIPs returns none where the cluster does not allow any.
func (r *serviceReader) externalIPs(service *v1.Service) []netip.Addr {
	if r.ignoreExternalIPs {
		return nil
	}
	return r.addresses(service, service.Spec.ExternalIPs)
}

// addresses returns the texts' addresses of one family, in their order. Blank
// texts are common in externalIPs and are left out in silence.
func (r *serviceReader) addresses(service *v1.Service, texts []string) []netip.Addr {
	var addrs []netip.Addr
	for _, text := range texts {
		if isBlank(text) {
			continue
		}
		addr, err := parseAddr(text)
		if err != nil {
			r.logger.Error(err, "Skipping address", "service", klog.KObj(service))
			continue
		}
		if inFamily(addr, r.family) {
			addrs = append(addrs, addr)
		}
	}
	return addrs
}

// loadBalancerVIPs returns the ingress addresses for which rules are written.
// The balancer's family need not be the Service's: it may proxy from one to
// the other, so ingress addresses of both families are normal.
func (r *serviceReader) loadBalancerVIPs(service *v1.Service) []netip.Addr {
	var texts []string
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if ingress.IPMode == nil || *ingress.IPMode == v1.LoadBalancerIPModeVIP {
			texts = append(texts, ingress.IP)
		} else {
			r.marks.Hit(mark.ChangesVIPOfProxy)
		}
	}
	return r.addresses(service, texts)
}

// sourceRanges returns the family's allowed client ranges. A range of length
// zero allows everybody, which is what no range at all means.
func (r *serviceReader) sourceRanges(service *v1.Service) []netip.Prefix {
	var ranges []netip.Prefix
	for _, text := range service.Spec.LoadBalancerSourceRanges {
		// The API's validation lets padding through.
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		prefix, err := parsePrefix(text)
		if err != nil {
			r.logger.Error(err, "Skipping load balancer source range", "service", klog.KObj(service))
			continue
		}
		if !inFamily(prefix.Addr(), r.family) {
			r.marks.Hit(mark.ChangesSourceRangeOfOtherFamily)
			continue
		}
		if prefix.Bits() == 0 {
			r.marks.Hit(mark.ChangesSourceRangeOfAll)
			return nil
		}
		ranges = append(ranges, prefix)
	}
	return ranges
}

// externalPolicyLocal says whether external traffic stays on the node. On a
// Service without an external way in the field has no meaning.
func (r *serviceReader) externalPolicyLocal(service *v1.Service) bool {
	local := service.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal
	switch service.Spec.Type {
	case v1.ServiceTypeLoadBalancer, v1.ServiceTypeNodePort:
	default:
		if len(service.Spec.ExternalIPs) == 0 {
			r.marks.HitIf(mark.ChangesPolicyWithoutMeaning, local)
			return false
		}
	}
	return local
}

// healthCheckNodePort returns 0 where the Service needs no health check.
func (r *serviceReader) healthCheckNodePort(service *v1.Service) uint16 {
	if service.Spec.Type != v1.ServiceTypeLoadBalancer || !r.externalPolicyLocal(service) {
		return 0
	}
	port, ok := portNumber(service.Spec.HealthCheckNodePort)
	if !ok || port == 0 {
		r.logger.Error(nil, "Service with externalTrafficPolicy Local has no usable healthCheckNodePort",
			"service", klog.KObj(service), "healthCheckNodePort", service.Spec.HealthCheckNodePort)
		return 0
	}
	return port
}

func affinitySeconds(config *v1.SessionAffinityConfig) int {
	if config == nil || config.ClientIP == nil || config.ClientIP.TimeoutSeconds == nil {
		return int(v1.DefaultClientIPServiceAffinitySeconds)
	}
	return int(*config.ClientIP.TimeoutSeconds)
}

// withPort returns a copy of base for one port, or nil for a port that no rule
// can name.
func (r *serviceReader) withPort(base ServicePort, service *v1.Service, port *v1.ServicePort) *ServicePort {
	number, ok := portNumber(port.Port)
	nodePort, nodePortOK := portNumber(port.NodePort)
	if !ok || !nodePortOK || number == 0 {
		r.logger.Error(nil, "Skipping service port out of range", "service", klog.KObj(service),
			"portName", port.Name, "port", port.Port, "nodePort", port.NodePort)
		return nil
	}
	base.Name.Port = port.Name
	base.Name.Protocol = port.Protocol
	if base.Name.Protocol == "" {
		base.Name.Protocol = v1.ProtocolTCP
	}
	base.Port = number
	base.NodePort = nodePort
	return &base
}

// portNumber returns the number and whether it fits into a port.
func portNumber(number int32) (uint16, bool) {
	if number < 0 || number > math.MaxUint16 {
		return 0, false
	}
	return uint16(number), true
}

// sortPorts sorts by name. Of two ports with one name, which only an object that
// never met an API server can have, the later one stays.
func sortPorts(ports []*ServicePort) []*ServicePort {
	slices.Reverse(ports)
	byName := func(a, b *ServicePort) int { return a.Name.Compare(b.Name) }
	slices.SortStableFunc(ports, byName)
	return slices.CompactFunc(ports, func(a, b *ServicePort) bool { return a.Name == b.Name })
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }
