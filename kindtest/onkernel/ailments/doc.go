// Package ailments creates failures of Services on the real kernel, and tests that the commands for an operator name their cause first. It
// has tests only.
//
// A ward is a small cluster of the real kernel in network namespaces: two nodes, pods behind them, a router with the nodes' network, and a
// machine outside. Its nodes have what a network plugin makes (a Layout) and kube-proxy's rules, which our proxier writes. An Ailment
// breaks one thing: by commands on a node, by changed objects, by something that does not run. Real connections say then what the kernel
// does; a fault that does not bite fails the test. Only then the test runs doctor, trace and why, with nothing but the snapshots of the
// nodes and the objects. If the remedy that they print is a command, the test runs it, and the connection must succeed again.
//
// It also tests healthy variants of the ward: every connection that the objects promise must work for real, and no command may find
// anything wrong.
//
// The namespaces have no names: they and all that is in them end with the process. No setting and no rule of the machine's own namespace is
// changed. Linux only, as root; the tests are skipped without CHAINWALK_KERNEL=1.
package ailments
