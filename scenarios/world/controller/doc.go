// Package controller makes of a scenario's services, pods and nodes what Kubernetes' EndpointSlice controller makes of them. It says so
// itself, with the parts of k8s.io/endpointslice that need no client: the whole one links every group of the API, of which a program would
// have 20 MB and take seconds to link. A test asks k8s.io/endpointslice about drawn clusters.
//
// Scenarios that give pods have EndpointSlices made of them, unless they write a service's slices themselves. The slices and their names
// follow from the objects alone: nothing here asks a clock, and a map's order decides nothing.
package controller
