//go:build upstream_1_35 || upstream_1_36

package peers

import (
	"context"
	"net"
	_ "unsafe" // for go:linkname

	v1 "k8s.io/api/core/v1"
	kubeiptables "k8s.io/kubernetes/pkg/proxy/iptables"
	utiliptables "k8s.io/kubernetes/pkg/util/iptables"
	"k8s.io/utils/exec"
)

// flowsWithoutEndpoints is the finding of what kube-proxy leaves of flows where there are no endpoints.
const flowsWithoutEndpoints = "flows-of-service-without-endpoints"

// newRunner is what made kube-proxy's own runner until v1.36, with the files that lock for tools that cannot wait; empty: its own.
//
//go:linkname newRunner k8s.io/kubernetes/pkg/util/iptables.newInternal
func newRunner(programs exec.Interface, protocol utiliptables.Protocol, lockSocket, lockFile string) utiliptables.Interface

// newKubeRunner is kube-proxy's own runner over the given programs. What its package exports runs those of the machine.
func newKubeRunner(programs exec.Interface, protocol utiliptables.Protocol) utiliptables.Interface {
	return newRunner(programs, protocol, "", "")
}

// newProxier sets up kube-proxy's own proxier.
func (s *kubeSurroundings) newProxier(family v1.IPFamily) (*kubeiptables.Proxier, error) {
	return kubeiptables.NewProxier(context.Background(), family, s.programs, s.sysctls, s.syncPeriod, 0,
		s.masqueradeAll, s.localhostNodePorts, s.masqueradeBit, s.detector, s.node,
		net.IP(s.address.AsSlice()), nil, nil, s.nodePortAddresses, false)
}

// HasRandomFully is that of the tools, or false. Since v1.37 kube-proxy does not ask.
func (t *kubeTools) HasRandomFully() bool { return !t.noRandomFully && t.Interface.HasRandomFully() }
