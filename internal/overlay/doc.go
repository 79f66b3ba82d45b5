// Package overlay makes the file that the go command's flag -overlay takes: other
// contents for some files of this module, and files that are only in such a build.
//
// Two things of this project change the proxier's source without touching it: the
// bugs that are re-made for the track record, and the mutants that the tests must
// kill. Nothing of either is in the source that is shipped, so no binary that is built
// without the flag can reach it.
package overlay
