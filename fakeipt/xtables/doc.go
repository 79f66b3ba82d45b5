// Package xtables is the language of rules, what libxtables is for the real tools: a Rule with what it asks of a header, its
// matches and its target; how they are printed by iptables-save and -L; what they mean, as a netfilter.Fact; and the checks that the kernel
// makes of each of them.
//
// A match or a target with options is an Extension: a list of options, and a parser that is given them one by one (OptionCall). They
// are in packages of their own, match and target, one file for each. Only what every rule may have is here: chains to jump to, verdicts,
// extensions whose module no kernel has (Gone), and those that nobody knows (OpaqueRule).
//
// The package knows no tables, no chains but by name, and no command lines. docs/add-a-match.md says how to add an extension.
package xtables
