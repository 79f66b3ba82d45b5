// Package iptables runs the iptables tools of one IP family: chains, single rules, save, restore, and the canary chains
// that show when somebody else flushed the tables.
//
// It is the last step of the proxier: above it is rule text, below it is the command line of iptables, iptables-save and iptables-restore
// (or their ip6 twins), reached through k8s.io/utils/exec. Names and meanings are those of the package that kube-proxy uses,
// k8s.io/kubernetes/pkg/util/iptables.
//
// The package knows tables, chains and argument lists. It does not read rules, and does not know why a rule is there.
//
// What depends on the version of the tools (seen with "iptables --version"):
//
//	1.4.11   -C. Older tools are refused: without it nobody can tell whether a rule is there.
//	1.4.20   -w, wait for the lock of the tools without end
//	1.4.22   -w SECONDS
//	1.6.1    -W MICROSECONDS between two tries; the 1.8.8 and later tools ignore it
//	1.6.2    iptables-restore takes -w and -W too. With older tools the Runner itself holds the locks of the tools
//	         (/run/xtables.lock and the abstract socket @xtables) during a restore, on Linux; elsewhere it is an error.
//	1.6.2    MASQUERADE --random-fully
//
// Refused as well are the nf_tables tools 1.8.1 and 1.8.2: their -C does not find rules that are there, so that every sync
// would add all rules again (https://github.com/kubernetes/kubernetes/issues/82361).
//
// Give each rule of EnsureRule a comment. -C of ip6tables-legacy 1.8.9 compares the wrong bytes: for a rule with a small
// match and no comment it also says yes to another rule, for example to mark 0x2 instead of 0x3, and then EnsureRule adds
// nothing and DeleteRule deletes the other rule.
package iptables
