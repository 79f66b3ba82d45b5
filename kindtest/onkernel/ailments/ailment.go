package ailments

import (
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
)

// Ailment is one thing that is wrong, and what it does to connections.
type Ailment struct {
	Name string
	Options
	// Objects changes what the API server has before kube-proxy reads it.
	Objects func(Objects)
	// Idle are the nodes on which kube-proxy has never run.
	Idle []string
	// Misled changes the configuration of node1's kube-proxy alone.
	Misled func(*kubeproxyconfig.KubeProxyConfiguration)
	// Before are command lines of things that are as they should be (Ward.Run), before any connection is made.
	Before []string
	// Fault are the command lines that break something.
	Fault []string
	// Later changes what the API server has, with no kube-proxy to hear of it.
	Later func(Objects)
	// Tries are the connections. The last one is that of which trace and why are asked.
	Tries []Try
	// Cause is what doctor, trace and why must name first.
	Cause cause.Code
}

// asked is the connection of which trace and why are asked.
func (a *Ailment) asked() *Try { return &a.Tries[len(a.Tries)-1] }
