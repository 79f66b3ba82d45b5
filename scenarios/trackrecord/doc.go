// Package trackrecord makes again the bugs that proxies of Kubernetes are known to
// have had, to see whether the generator and the specification find them without
// being told.
//
// A Fault is an edit of the proxier's source, behind a switch. All of them are in one
// build, by the go command's flag -overlay: the shipped source has nothing of them and
// the shipped binary cannot reach them. The environment variable CHAINWALK_FAULT
// names the fault that a process of that build has; without it the build does what the
// shipped one does, which a test holds.
//
// Faults are only of the proxier: bugs of kernels, tools and APIs are no part of it.
// What of the list is not made again, and why, is in NotMade.
package trackrecord
