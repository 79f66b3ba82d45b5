// Package ailments is tests only. It makes the failures of Services for real, and asks whether the commands for an operator name their cause first.
//
// A ward is a small cluster of the real kernel in network namespaces: two nodes, pods behind them, a router with the nodes' network, and a
// machine outside. Its nodes have what a network plugin makes (a Layout) and kube-proxy's rules, which our proxier writes. An Ailment
// breaks one thing: by commands on a node, by changed objects, by something that does not run. Real connections say then what the kernel
// does; a fault that does not bite fails the test. Only after that doctor, trace and why are asked, with the snapshots of the nodes and the
// objects alone. Where the remedy that they print is a command, it is run, and the connection must be made again.
//
// Healthy variants of the ward are asked as well: every connection that the objects promise must work for real, and nobody may find
// anything wrong.
//
// The namespaces have no names: they and all that is in them end with the process. No setting and no rule of the machine's own namespace is
// changed. Linux only, as root; the tests are skipped without CHAINWALK_KERNEL=1.
package ailments
