// Package trackrecord puts known bugs of Kubernetes proxies into the proxier, one at
// a time, to see whether the generator and the specification find them without
// being told.
//
// A Fault is a patch of the proxier's source, patches/NAME.patch, that puts the bug
// behind a switch: fault.On("NAME"). git apply --check says whether one still applies;
// if only lines have moved, make track-record-patches updates it. All of them
// are in one build, by the go command's flag -overlay: the shipped source and the shipped
// binary contain none of them. The environment variable CHAINWALK_FAULT
// names the fault of a process of that build; without it, the build behaves like the
// shipped one, which a test checks.
//
// Faults are bugs of the proxier only, not of kernels, tools and APIs.
// NotMade lists the bugs that are not made again, and why.
package trackrecord
