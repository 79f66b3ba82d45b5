// Package api is the Kubernetes API of a scenario's cluster: a store of objects, which is
// written to, and client-go's informers on it, which feed the proxiers; or, for cases of
// which there are many, the objects alone (Direct).
//
// A Queue stands before each proxier: it can hold back what the proxier would be told,
// and tell it late, in part, twice, or as a list of what became of things. Changes of
// one kind are told in order.
//
// The backends in memory and in network namespaces share it, so that a proxier is
// told the same in both. Objects of other kinds than Service, EndpointSlice, Node,
// Pod and Namespace are refused.
package api
