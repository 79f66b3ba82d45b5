package ailments

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
)

// proxies are what kube-proxy wrote, or did not write.
var proxies = []Ailment{
	{
		Name: "kube-proxy has never run on the node", Options: onPTP, Idle: []string{"node1"},
		Tries: []Try{{From: "client1", To: "svc/far", Is: "silent"}},
		Cause: cause.NoProxyRules,
	},
	{
		Name: "the rule of an endpoint is not there", Options: onPTP,
		Fault: []string{"node1: iptables -t nat -F " + farEndpoint},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.RuleMissing,
	},
	{
		Name: "the rule from the service to its endpoint is not there", Options: onBridge,
		Fault: []string{"node1: iptables -t nat -F " + farService},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.RuleMissing,
	},
	{
		Name: "the table nat was flushed", Options: onPTP,
		Fault: []string{"node1: iptables -t nat -F"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.RuleMissing,
	},
	{
		Name: "PREROUTING does not lead to kube-proxy's rules", Options: onPTP,
		Fault: []string{"node1: iptables -t nat -F PREROUTING"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.RuleMissing,
	},
	{
		Name: "POSTROUTING does not masquerade", Options: onPTP,
		Fault: []string{"node1: iptables -t nat -F KUBE-POSTROUTING"},
		Tries: []Try{{From: "outside", To: "node1:30012", Was: "web2", Is: "silent"}},
		Cause: cause.RuleMissing,
	},
	{
		Name: "packets to masquerade get another mark", Options: onBridge,
		Fault: []string{"node1: iptables -t nat -R KUBE-MARK-MASQ 1 -j MARK --set-xmark 0x8000/0x8000"},
		Tries: []Try{{From: "outside", To: "node1:30012", Was: "web2", Is: "silent"}},
		Cause: cause.RuleMissing,
	},
	{
		Name: "nothing leads to the rules of node ports", Options: onPTP,
		Fault: []string{"node1: iptables -t nat -F KUBE-NODEPORTS"},
		Tries: []Try{{From: "outside", To: "node1:30012", Was: "web2", Is: "refused"}},
		Cause: cause.RuleMissing,
	},
	{
		Name: "the rules are older than the endpoint", Options: onPTP,
		Objects: func(o Objects) { moveEndpoint(o, "far", "10.244.2.9") },
		Later:   func(o Objects) { moveEndpoint(o, "far", "10.244.2.3") },
		Tries:   []Try{{From: "client1", To: "svc/far", Is: "silent"}},
		Cause:   cause.RuleStale,
	},
	{
		Name: "the rules are older than the service", Options: onBridge,
		Objects: func(o Objects) { o.service("far").Spec.Ports[0].Port = 8000 },
		Later:   func(o Objects) { o.service("far").Spec.Ports[0].Port = 80 },
		Tries:   []Try{{From: "client1", To: "svc/far", Is: "silent"}},
		Cause:   cause.RuleMissing,
	},
	{
		Name: "somebody put a rule into the service's chain", Options: onPTP,
		Fault: []string{"node1: iptables -t nat -I " + farService + " -j RETURN"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.RuleForeign,
	},
	{
		Name: "somebody marks packets to be dropped in kube-proxy's chain", Options: onPTP,
		Fault: []string{"node1: iptables -I KUBE-FORWARD -p tcp --dport 8080 -j DROP"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.RuleForeign,
	},
	{
		Name: "the rules that masquerade stand in another order", Options: onBridge,
		Fault: []string{
			"node1: iptables -t nat -D KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN",
			"node1: iptables -t nat -A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN",
		},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2 seeing client1", Is: "web2 seeing node1"}},
		Cause: cause.RulesMoved, Reached: true,
	},
	{
		Name: "the node runs kube-proxy of mode ipvs", Options: onPTP, Idle: []string{"node1"},
		Fault: []string{
			"node1: ip link add kube-ipvs0 type bridge", "node1: ip addr add 10.96.0.12/32 dev kube-ipvs0",
			"node1: ipset create KUBE-CLUSTER-IP hash:ip,port",
		},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "silent", Is: "refused"}},
		Cause: cause.OtherProxy,
	},
	{
		Name: "clusterCIDR leaves the pods out", Options: onPTP,
		Misled: func(c *kubeproxyconfig.KubeProxyConfiguration) { c.ClusterCIDR = "10.32.0.0/16" },
		Tries:  []Try{{From: "client1", To: "svc/far", Is: "web2 seeing node1"}},
		Cause:  cause.RuleMissing, Reached: true,
	},
}

// objects are Services and EndpointSlices that promise less than somebody hopes.
var objects = []Ailment{
	{
		Name: "the service has no endpoint", Options: onPTP,
		Objects: func(o Objects) {
			o.service("far").Spec.Selector = nil
			for _, s := range o.slices("far") {
				s.Endpoints = nil
			}
		},
		Tries: []Try{{From: "client1", To: "svc/far", Is: "refused"}},
		Cause: cause.NoEndpoints, Unpromised: true,
	},
	{
		Name: "the selector selects no pod", Options: onPTP,
		Objects: func(o Objects) {
			o.service("far").Spec.Selector = map[string]string{"app": "wbe"}
			for _, s := range o.slices("far") {
				s.Endpoints = nil
			}
		},
		Tries: []Try{{From: "client1", To: "svc/far", Is: "refused"}},
		Cause: cause.SelectsNothing, Unpromised: true,
	},
	{
		Name: "no endpoint is ready", Options: onBridge,
		Objects: func(o Objects) {
			no := false
			o.endpoints("far", func(e *discoveryv1.Endpoint) { e.Conditions.Ready = &no })
		},
		Tries: []Try{{From: "client1", To: "svc/far", Is: "refused"}},
		Cause: cause.NotReady, Unpromised: true,
	},
	{
		Name: "no endpoint has the port's name", Options: onPTP,
		Objects: func(o Objects) {
			o.service("far").Spec.Ports[0].TargetPort = intstr.FromString("http-alt")
			for _, s := range o.slices("far") {
				s.Ports = nil
			}
		},
		Tries: []Try{{From: "client1", To: "svc/far", Is: "refused"}},
		Cause: cause.PortName, Unpromised: true,
	},
	{
		Name: "externalTrafficPolicy Local, and the endpoint is on another node", Options: onPTP,
		Objects: func(o Objects) {
			o.service("far").Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		},
		Tries: []Try{{From: "outside", To: "node1:30012", Is: "silent"}},
		Cause: cause.LocalOnly, Unpromised: true,
	},
	{
		Name: "a pod calls another node's port of a Local service, and the endpoint is on the pod's own node", Options: onPTP,
		Tries: []Try{
			{From: "client2", To: "node1:30013", Is: "web1 seeing client2"}, {From: "client2", To: "node2:30013", Is: "web1"},
			{From: "client1", To: "node1:30013", Is: "web1 seeing client1"}, {From: "client1", To: "node2:30013", Is: "silent"},
		},
		Cause: cause.ReplyElsewhere, Unpromised: true, Tells: " no answer, and Kubernetes promises none (CW308), ",
	},
	{
		Name: "internalTrafficPolicy Local, and the endpoint is on another node", Options: onBridge,
		Objects: func(o Objects) {
			local := corev1.ServiceInternalTrafficPolicyLocal
			o.service("far").Spec.InternalTrafficPolicy = &local
		},
		Tries: []Try{{From: "client1", To: "svc/far", Is: "silent"}},
		Cause: cause.LocalOnly, Unpromised: true,
	},
	{
		Name: "loadBalancerSourceRanges leave the client out", Options: onPTP,
		Objects: func(o Objects) { o.service("far").Spec.LoadBalancerSourceRanges = []string{"198.51.100.64/26"} },
		Tries:   []Try{{From: "outside", To: "lb/far", Is: "silent"}},
		Cause:   cause.SourceRange, Unpromised: true,
	},
	{
		Name: "the service has no such port", Options: onPTP,
		Tries: []Try{{From: "client1", To: "svc/far:81", Is: "silent"}},
		Cause: cause.NoSuchPort, Unpromised: true,
	},
	{
		Name: "no service has the address", Options: onPTP,
		Tries: []Try{{From: "client1", To: "10.96.0.99:80", Is: "silent"}},
		Cause: cause.NoService, Unpromised: true,
	},
	{
		Name: "nothing listens at the target port", Options: onPTP,
		Objects: func(o Objects) {
			o.service("far").Spec.Ports[0].TargetPort = intstr.FromInt32(8081)
			wrong := int32(8081)
			for _, s := range o.slices("far") {
				s.Ports[0].Port = &wrong
			}
		},
		Tries: []Try{{From: "client1", To: "svc/far", Is: "refused"}},
		Cause: cause.NobodyListens, Unseen: true,
	},
}

// Ailments are all of them.
func Ailments() []Ailment {
	return slices.Concat(foreignRules, settingsAndMemory, linksAndRoutes, proxies, inNFTables, objects)
}

// keepEndpoint leaves a service the endpoint of one pod.
func keepEndpoint(o Objects, service, pod string) {
	for _, s := range o.slices(service) {
		s.Endpoints = slices.DeleteFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool { return e.TargetRef.Name != pod })
	}
}

// moveEndpoint gives a service's endpoints another address.
func moveEndpoint(o Objects, service, to string) {
	o.endpoints(service, func(e *discoveryv1.Endpoint) { e.Addresses = []string{to} })
}
