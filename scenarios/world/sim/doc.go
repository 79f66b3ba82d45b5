// Package sim is the scenarios backend that needs no kernel: every node is a
// packetsim.Host with a fakekernel.Kernel, and runs a whole proxier,
// which is fed by informers on a fake clientset, or directly, and runs the tools
// through exec.
//
// World is one such cluster. As a scenarios.Session it does what steps say; beside that it answers the questions of package oracle, also
// between any two commands of a sync: the fate of a connection (Reach), of one that stays (Keep), what a proxier was told (Knowledge) and
// what a new one would write (Fresh).
//
// Chances are exact: a connection is followed along every way that it can take.
// Time stands still but for Session.Advance. The same scenario gives the same
// result, byte for byte.
//
// Not imitated: kubelet's chains (a scenario can preload them), bridges under
// the pods, the sockets of the health checks (what they would answer is there), and
// conntrack cleanup outside of the proxier.
package sim
