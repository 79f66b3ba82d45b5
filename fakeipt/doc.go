// Package fakeipt is iptables in memory: the command lines of iptables,
// iptables-save and iptables-restore, their ip6tables counterparts, nfacct and ipset, with
// the ruleset and the objects that they create. The same arguments and standard
// input give the same output, errors, exit status and ruleset as the real tools of
// version 1.8.9 (ipset 7.17, nfacct 1.0.2), in either of two dialects: the legacy
// tools and the nft tools.
//
// It stands behind the seam of the project, the command line: a Kernel runs
// tools (Run), or gives them as programs to code that executes iptables (Exec).
// This package has the tools and the Kernel. Other packages have what they work on:
//
//   - xtables: the language of rules; how a rule is parsed, checked and printed, and what it means
//   - match, target: the extensions of that language, one file for each
//   - ruleset: the tables, chains and rules that the kernel holds, and how they are changed
//   - toolstate: keeps rulesets in files, so that the tools can be programs
//
// Behind the seam, packetsim walks packets through a ruleset.Ruleset, which is immutable
// data: a commit makes the next one, shares every chain that did not change, and
// swaps it in.
//
// The tools refuse what they do not understand, with the real tool's message for an unknown
// match, target, option or table, so a rule never does less than it says. Only Kernel.Load keeps
// rules with an unknown extension, word by word (xtables.OpaqueRule).
//
// The tools refuse extensions other than those of match and target, host names (nothing
// is resolved), user names except root, names of services and protocols that Debian 12 does not have (internal/libc), and tables other
// than raw, mangle, nat, filter and security. Sets and accounting objects are in the packages ipset and nfacct,
// which document what they refuse.
//
// The kernel's clock has 250 ticks a second here, which limits the burst of -m limit.
//
// -h prints a short text of its own, with the options of extensions and the names of ICMP types. -vv prints the same as -v;
// the real tools dump their internal structures. The nft tools do not rename built-in chains, or chains to
// the name of a verdict; the real ones do, and can then no longer list the table.
//
// docs/add-a-match.md shows how to add an extension.
package fakeipt
