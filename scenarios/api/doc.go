// Package api is the Kubernetes API of a scenario's cluster: client-go's fake
// clientset, which is written to, and informers on it, which feed the proxiers.
//
// The backends in memory and in network namespaces share it, so that a proxier is
// told the same in both. Objects of other kinds than Service, EndpointSlice, Node,
// Pod and Namespace are refused.
package api
