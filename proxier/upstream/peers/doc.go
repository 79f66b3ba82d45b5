// Package peers sets up kube-proxy's iptables proxier (k8s.io/kubernetes) and
// this project's on fake kernels, gives both the same events and lets both
// write through their own runners.
//
// kube-proxy's proxier cannot be given its surroundings from outside of its
// package. What has to be replaced (the sockets of health checks, netlink,
// the machine's addresses, the clock) is replaced in its fields, by name, in
// internals.go. Everything between the events and the tools is its own code.
package peers
