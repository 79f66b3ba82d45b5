// Package trackrecord makes again the bugs that proxies of Kubernetes are known to
// have had, to see whether the generator and the specification find them without
// being told.
//
// A Fault is a patch of the proxier's source, patches/NAME.patch, that puts the bug
// behind a switch: fault.On("NAME"). git apply --check says whether one still applies;
// where only lines have moved, make track-record-patches writes it anew. All of them
// are in one build, by the go command's flag -overlay: the shipped source has nothing
// of them and the shipped binary cannot reach them. The environment variable CHAINWALK_FAULT
// names the fault that a process of that build has; without it the build does what the
// shipped one does, which a test holds.
//
// Faults are only of the proxier: bugs of kernels, tools and APIs are no part of it.
// What of the list is not made again, and why, is in NotMade.
package trackrecord
