// Package xtables is the language of rules, like libxtables for the real tools. It has the Rule with its conditions on the header, its
// matches and its target; how iptables-save and -L print them; what they mean, as a netfilter.Fact; and the checks that the kernel
// makes of each of them.
//
// A match or a target with options is an Extension: a list of options, and a parser that takes them one by one (OptionCall). Extensions
// are in the packages match and target, one file for each. This package has only what every rule may have: chains to jump to, verdicts,
// extensions whose module no kernel has (Gone), and unknown extensions (OpaqueRule).
//
// The package does not deal with tables or command lines, and knows chains only by name. docs/add-a-match.md shows how to add an extension.
package xtables
