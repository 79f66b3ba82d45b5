// Package fakeipt is iptables in memory: the command lines of iptables,
// iptables-save and iptables-restore, their ip6tables twins, nfacct and ipset, with
// the ruleset and the objects that they make. The same arguments and standard
// input give the same output, errors, exit status and ruleset as the real tools of
// version 1.8.9 (ipset 7.17, nfacct 1.0.2), in either of two dialects: the legacy
// tools and the nft tools.
//
// It stands behind the seam of the project, the command line: a Kernel runs
// tools (Run), or gives them as programs to code that executes iptables (Exec).
// This package has the tools and the Kernel. What they work on has rooms of its own:
//
//   - xtables: the language of rules; how one is parsed, checked, printed, and what it means
//   - match, target: the extensions of that language, one file for each
//   - ruleset: the tables, chains and rules that the kernel holds, and how they are changed
//   - toolstate: keeps rulesets in files, so that the tools can be programs
//
// Behind the seam, packetsim walks packets through a ruleset.Ruleset, which is immutable
// data: a commit makes the next one, shares every chain that did not change, and
// swaps it in.
//
// What is not understood is refused with the real tool's words for an unknown
// match, target, option or table, so that a rule is never taken for less than it says. Kernel.Load alone keeps
// rules with an extension that it does not know, word by word (xtables.OpaqueRule).
// Refused are: extensions other than those of match and target, names of hosts (nothing
// is resolved) and of users but root, names of services and protocols beyond those of Debian 12 (internal/libc), and tables other
// than raw, mangle, nat, filter and security. Sets and accounting objects are packages of their own, ipset and nfacct,
// which say what they refuse.
//
// The kernel's clock is taken to have 250 ticks a second, which matters to the greatest burst of -m limit.
//
// -h has a short text of its own, with the options of extensions and the names of ICMP types; -vv, with which the real
// tools dump their own structures, prints what -v does; and the nft tools do not rename built-in chains, or chains to
// the name of a verdict, after which the real ones can no longer list the table.
//
// docs/add-a-match.md says how to add an extension.
package fakeipt
