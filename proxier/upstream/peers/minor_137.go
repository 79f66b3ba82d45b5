//go:build !upstream_1_35 && !upstream_1_36

package peers

import (
	"context"
	"net"
	_ "unsafe" // for go:linkname

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/proxy/apis/config"
	kubeiptables "k8s.io/kubernetes/pkg/proxy/iptables"
	utiliptables "k8s.io/kubernetes/pkg/util/iptables"
	"k8s.io/utils/exec"
)

// Minor is the version of kube-proxy that is linked: 1.Minor.
const Minor = 37

// flowsWithoutEndpoints is the finding of what kube-proxy leaves of flows where there are no endpoints.
const flowsWithoutEndpoints = "flows-of-node-port-without-endpoints"

// newRunner is what makes kube-proxy's own runner since v1.37, which asks the tools for no version.
//
//go:linkname newRunner k8s.io/kubernetes/pkg/util/iptables.newInternal
func newRunner(programs exec.Interface, protocol utiliptables.Protocol) utiliptables.Interface

// newKubeRunner is kube-proxy's own runner over the given programs. What its package exports runs those of the machine.
func newKubeRunner(programs exec.Interface, protocol utiliptables.Protocol) utiliptables.Interface {
	return newRunner(programs, protocol)
}

// newProxier sets up kube-proxy's own proxier.
func (s *kubeSurroundings) newProxier(family v1.IPFamily) (*kubeiptables.Proxier, error) {
	bit := int32(s.masqueradeBit)
	return kubeiptables.NewProxier(context.Background(), &config.KubeProxyConfiguration{
		Linux:             config.KubeProxyLinuxConfiguration{MasqueradeAll: s.masqueradeAll},
		IPTables:          config.KubeProxyIPTablesConfiguration{LocalhostNodePorts: &s.localhostNodePorts, MasqueradeBit: &bit},
		NodePortAddresses: s.nodePortAddresses, SyncPeriod: metav1.Duration{Duration: s.syncPeriod},
	}, family, s.programs, s.sysctls, s.detector, s.node, net.IP(s.address.AsSlice()), nil, nil, false)
}
