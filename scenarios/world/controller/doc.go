// Package controller makes the EndpointSlices that Kubernetes' own controller would make for a scenario's services, pods and nodes. It
// uses the parts of k8s.io/endpointslice that need no client: the whole library links every group of the API, which makes a program 20 MB
// larger and seconds slower to link. A test compares it with k8s.io/endpointslice on random clusters.
//
// A scenario with pods gets EndpointSlices for them, unless it writes a service's slices itself. The slices and their names
// follow from the objects alone: nothing here asks a clock, and a map's order decides nothing.
package controller
