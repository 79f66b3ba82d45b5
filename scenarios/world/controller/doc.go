// Package controller is what Kubernetes' EndpointSlice controller makes of a scenario's services, pods and nodes: k8s.io/endpointslice,
// which that controller itself is made of, over objects that are in memory.
//
// Scenarios that give pods have EndpointSlices made of them, unless they write a service's slices themselves. The slices and their names
// follow from the objects alone: nothing here asks a clock, and a map's order decides nothing.
package controller
