// Package fakeipt is iptables in memory: the command lines of iptables,
// iptables-save and iptables-restore, their ip6tables twins and nfacct, with the
// ruleset that they make. The same arguments and standard input give the same
// output, errors, exit status and ruleset as the real tools of version 1.8.9, in
// either of two dialects: the legacy tools and the nft tools.
//
// It stands behind the seam of the project, the command line: a Kernel runs
// tools (Run), or gives them as programs to code that executes iptables (Exec).
// Behind the seam, packetsim walks packets through a Ruleset, which is immutable
// data: a commit makes the next one, shares every chain that did not change, and
// swaps it in.
//
// What is not understood is refused with the real tool's words for an unknown
// match, target, option or table, so that a rule is never taken for less than it says.
// Refused are: extensions other than those in registry.go, names of hosts (nothing
// is resolved), names of services beyond the list in service.go, -h, quotas of
// nfacct, and tables other than raw, mangle, nat, filter and security.
package fakeipt
