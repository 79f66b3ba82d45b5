// Package ipset has the sets of one network namespace and the command ipset (7.17) that creates, fills and lists them.
//
// It stands below fakeipt, which runs Tool as one of its programs and whose -m set and -j SET hold a Query and a Change. packetsim reads
// and changes an Overlay of a Table for packets. The package does not see rules; it asks the owner of the rules which sets they name.
//
// The imitation includes what the tool keeps from one command to the next (session.go, send.go): the message in preparation, changes of
// restore that are not sent yet, the sets that it has created. In its shell, "ipset -", a mistake does not end the tool and affects the
// next command. Sets are stored in the kernel's hash tables (hashtable.go), with their sizes, so that order, "Size in memory" and forceadd
// are as in the kernel.
//
// The tool refuses -r, which looks up names, and elements that stand for more than a million entries. It knows the types that type.go calls
// absent, but the imitated kernel was built without them. The help has its own text.
//
// What the kernel draws at random is not imitated: without an initval, it is derived from the name.
package ipset
