// Package sim is the scenarios backend that needs no kernel: every node is a
// packetsim.Host whose iptables are a fakeipt.Kernel, and runs a whole proxier,
// which is fed by informers on a fake clientset and runs the tools through
// exec.
//
// Chances are exact: a connection is followed along every way that it can take.
// Time stands still but for Session.Advance. The same scenario gives the same
// result, byte for byte.
//
// Not imitated: kubelet's chains (a scenario can preload them), bridges under
// the pods, the health check server, and conntrack cleanup outside of the proxier.
package sim
