// Package cluster creates a kind cluster for tests of a service proxy, or takes over an existing one, and controls it: the proxy on
// each node, a pool of pods, a machine outside, and a stream to each of these hosts, over which package probe talks to its agents.
//
// The cluster has one control plane that is also an ordinary node, no kube-proxy of its own, and pod networking by the plugins ptp and
// host-local that every node image has. The service proxy is a DaemonSet, whatever proxy it is: chainwalk's, or kube-proxy in any mode.
//
// The package uses kind's Go packages, the docker command that these need too, and the API server's port on this machine. It supports only
// Docker as kind's provider.
package cluster
