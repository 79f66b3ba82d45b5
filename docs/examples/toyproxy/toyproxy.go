// Package toyproxy is a proxier in sixty lines: it serves cluster IPs of IPv4, by iptables, and nothing else. It is here to be tested.
package toyproxy

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/exec"
)

// Pods is the range of all pods: who calls a service from elsewhere is masqueraded, so that the answer finds its way back.
const Pods = "10.244.0.0/16"

// Sync makes the rules of a machine what these services and endpoints ask for.
func Sync(run exec.Interface, services []*corev1.Service, slices []*discoveryv1.EndpointSlice) error {
	cmd := run.Command("iptables-restore")
	cmd.SetStdin(strings.NewReader(rules(services, slices)))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("iptables-restore: %w: %s", err, out)
	}
	return nil
}

// rules is the input of iptables-restore. Whoever calls itself is masqueraded, or it would be answered by itself, from an address that it
// did not call.
func rules(services []*corev1.Service, slices []*discoveryv1.EndpointSlice) string {
	chains, rules := ":TOY - [0:0]\n", "-A PREROUTING -j TOY\n-A OUTPUT -j TOY\n-A POSTROUTING -m mark --mark 0x1/0x1 -j MASQUERADE\n"
	for _, service := range services {
		if service.Spec.ClusterIP == "" || service.Spec.ClusterIP == corev1.ClusterIPNone || strings.Contains(service.Spec.ClusterIP, ":") {
			continue
		}
		for _, port := range service.Spec.Ports {
			proto := strings.ToLower(string(port.Protocol))
			endpoints := endpointsOf(service, port.Name, slices)
			for i, to := range endpoints {
				chain := fmt.Sprintf("TOY-%s-%d-%s-%d", service.Spec.ClusterIP, port.Port, proto, i)
				chains += fmt.Sprintf(":%s - [0:0]\n", chain)
				rules += fmt.Sprintf("-A TOY ! -s %s -d %s -p %s --dport %d -j MARK --or-mark 0x1\n", Pods, service.Spec.ClusterIP, proto, port.Port)
				rules += fmt.Sprintf("-A TOY -d %s -p %s --dport %d -m statistic --mode random --probability %.9f -j %s\n",
					service.Spec.ClusterIP, proto, port.Port, 1/float64(len(endpoints)-i), chain)
				rules += fmt.Sprintf("-A %[1]s -s %[2]s -j MARK --or-mark 0x1\n-A %[1]s -p %[3]s -j DNAT --to-destination %[2]s:%[4]d\n", chain,
					to.address, proto, to.port)
			}
		}
	}
	return "*nat\n" + chains + rules + "COMMIT\n*filter\n-A FORWARD -m conntrack --ctstate INVALID -j DROP\nCOMMIT\n"
}

type endpoint struct {
	address string
	port    int32
}

// endpointsOf are the ready endpoints of a service's port.
func endpointsOf(service *corev1.Service, port string, slices []*discoveryv1.EndpointSlice) (out []endpoint) {
	for _, slice := range slices {
		if slice.Namespace != service.Namespace || slice.Labels[discoveryv1.LabelServiceName] != service.Name ||
			slice.AddressType != discoveryv1.AddressTypeIPv4 {
			continue
		}
		for _, p := range slice.Ports {
			for _, e := range slice.Endpoints {
				if *p.Name == port && (e.Conditions.Ready == nil || *e.Conditions.Ready) {
					out = append(out, endpoint{e.Addresses[0], *p.Port})
				}
			}
		}
	}
	return out
}
