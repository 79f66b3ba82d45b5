// Command mutate says how good the tests of the proxier are: it changes the proxier's source in many small ways, one at a time,
// and sees whether anybody notices.
//
//	mutate [-jobs N] [-only TEXT] [-every N] [-list] [-with tests|fuzz] [-seed N] [-cases N] [-journal FILE [-again]]
//	       [-survivors FILE] [-by FOLDER] [-slowest DURATION]
//
// All mutants are in one build of each test binary, behind switches (mutant schemata), by the go command's flag -overlay: the source
// is not touched. A process has the mutant whose number is in CHAINWALK_MUTANT. First every program runs without any, and
// notes the mutants that it comes by; then each mutant meets the programs that come by it, the fastest first, until one fails, dies
// or takes too long. With tests the programs are the test binaries of all packages that the proxier is linked into; with fuzz it is
// `chainwalk fuzz` alone, in many small shards: the generator and the specification, without one expectation that a person wrote.
//
// A busy machine kills no mutant: too long is so much time of processors, or so long doing nothing, and a test that has failed must
// fail again alone. A run that keeps a journal goes on where it ended, and with -again only the survivors are tried again.
//
// The mutants: a condition negated, && and || exchanged, a bound moved by one, arithmetic exchanged, a number changed, a boolean
// constant exchanged, a statement or a return left out, an error or another nil-able result returned as nil, break and continue
// exchanged, a loop not run. What only logs, marks, locks, or says how much memory to take is left alone.
//
// Those that nobody noticed are printed. Each that the tests did not notice must be argued in the list of survivors, by its name, to
// be equivalent; the command ends with status 1 if one is not, or if one in the list was noticed. Equivalent mutants are in no score.
// With fuzz there is a second score, without those of the list that change what the generator and the oracle do not look at.
//
// Kept tools were looked at: they build once for each mutant, say of themselves that a large module takes hours, and cannot ask a
// program that is no test.
package main
