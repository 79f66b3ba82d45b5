// Package differ compares chainwalk with the real kernel and the real tools on random input.
//
// It stands at the end of the project's line, where imitation and reality meet. There are two differentials:
//
//   - The walk differential makes random rulesets and sequences of packets (genrules.go, gentraffic.go), sends them through a node of
//     the real kernel between a client and a server (lab_linux.go), and walks them through a packetsim.Host. Both must agree on the way
//     through the rules (the kernel's TRACE), on what came out on each side, on the counters that iptables-save shows, and on the tracked
//     connections. In a run of its own each ruleset has one of the other dialect beside it, as on a node that mixes tools.
//     Packets with one mark take the routes of another table, which lead to other devices or nowhere.
//   - The text differential gives random input, whole and damaged, to the real tools and to fakeipt (gentext.go). Both must agree on exit
//     status, output, messages and the ruleset that is left.
//
// Where the kernel leaves a rule to chance, its way must be one of the walk's outcomes. The draws that it made are kept, and a chi-squared
// test holds them against their probabilities (chance.go).
//
// A disagreement is shrunk (walkshrink.go, textshrink.go) and written as a case: a YAML file with the input and the kernel's answer. A
// case is replayed on the fake alone, with the recorded answer as the expectation, or on the real kernel again.
//
// What the generator cannot use since fakeipt or packetsim refuses it is found out by trying it (probe.go), and is reported with its
// reason. Nothing else is left out.
//
// nft has differentials of its own: sessions of the tool (package nftdiffer), and walks through its tables (gennative.go,
// nativerun_linux.go), which are loaded by the real tool and read back for the walk as the kernel's bytecode.
//
// Command search (kindtest/onkernel/differ/search) makes the differentials from a seed, bounded by time, rulesets or calls; make kernel,
// kernel-nft and kernel-long run it. The recorded cases are replayed by the kernel tests (CHAINWALK_KERNEL=1, root): the flag -record
// writes the kernel's answers into the files, -replay names a folder with more cases.
//
// Sessions of the text differential are of three kinds: session (gentext.go) has commands about rules as programs write them; wide
// (gensession.go) draws from every option that the real tools were found to have (tooloptions.txt), with legal and odd values, asks with -C
// and -D about what was added, and goes on for up to 50 commands; sweep (gensweep.go) gives one option after the other many values. Each
// call of the fake is made in memory and on a folder, which must agree.
//
// Two more text differentials are of ipset and of nfacct alone. The words of ipset are asked of the real tool (gentextasked.go).
//
// Not compared: the contents of packets beyond their headers, fragments, timing (only entries that live for the whole sequence), source
// ports that the kernel draws, and the hash seeds that ipset draws.
package differ
