// Package proxytest tests programs that write iptables rules for Services: your own proxy, another project's, or a part of
// one. Like net/http/httptest, it is for the tests of other modules.
//
// New makes a simulated cluster of a scenario's topology and objects, whose nodes have kernels and no proxy. The program
// under test gets the objects, writes rules by running the iptables tools of a node (Node.Exec, which is a
// k8s.io/utils/exec.Interface, or Program.Run for a program as it is), and Judge asks the oracle what the Service API promises
// for every class of packets, tries each of them, and names the clause that is broken.
//
// It stands behind scenarios/world/sim and scenarios/spec/oracle on the project's line and decides nothing itself. It contains no
// proxier. What a program does beside running tools (netlink, /proc/sys) is not imitated, except for Node.SetSysctl.
package proxytest
