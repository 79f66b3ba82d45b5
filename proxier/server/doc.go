// Package server is a whole kube-proxy: it joins the packages of the proxier on
// one node and runs them until it is told to stop.
//
// Run starts, in this order: the informers (proxier/config), the node's own
// state (proxier/node), kernel settings (proxier/sysctl), the tools
// (proxier/iptables), a proxier for each family with its runner
// (proxier/runner), the health checks (proxier/healthcheck) and the metrics
// (proxier/metrics). When its context ends, everything stops, and the rules stay:
// connections go on while another one takes over.
//
// What the machine gives is a Host, so that the same server runs on a real node
// and on a fake kernel. The configuration is k8s.io/kube-proxy's v1alpha1. Not
// here: flags and files, which are the command's.
package server
