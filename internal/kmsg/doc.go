// Package kmsg reads the log of the real kernel as it grows, which is where the LOG and TRACE targets of the legacy tables write. It gives
// whole records; what they say is read by who asked for them.
//
// The log is the whole machine's: records of every namespace and driver are among those that are looked for. On other systems than Linux
// the package is empty.
package kmsg
