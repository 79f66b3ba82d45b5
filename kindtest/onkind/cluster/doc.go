// Package cluster makes a kind cluster for tests of a service proxy, or takes over one that exists, and has the hands in it: the proxy on
// each node, a pool of pods, a machine outside, and a stream to each of these hosts, over which package probe asks its agents.
//
// The cluster has one control plane that is a node as the others are, no kube-proxy of its own, and pod networking by the plugins ptp and
// host-local that every node image has. The service proxy is a DaemonSet, whatever proxy it is: chainwalk's, or kube-proxy in any mode.
//
// All goes through kind's Go packages, the docker command that these need as well, and the API server's port on this machine. Only Docker
// is supported as kind's provider.
package cluster
