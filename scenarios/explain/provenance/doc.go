// Package provenance says who wrote a rule, and for which object: a port of a Service, an endpoint, a NetworkPolicy, a pod. It is the
// only place that reads the names of chains and the comments of kube-proxy (of both its languages), the kubelet, kube-router, Calico and
// Docker.
//
// It reads facts (netfilter.Fact), never the text of a rule, and knows no cluster: package names finds the object of a name.
package provenance
