// Package ipset is the sets of one network namespace and the command ipset (7.17) that makes, fills and lists them.
//
// It stands below fakeipt, which runs Tool as one of its programs and whose -m set and -j SET hold a Query and a Change; packetsim asks and
// changes an Overlay of a Table for packets. Rules are not known here: which sets they name is asked of whoever has the rules.
//
// The tool is imitated with what it keeps from one command to the next (session.go, send.go): the message that is being made, changes of
// restore that are not sent yet, the sets that it has made. In its shell, "ipset -", a mistake does not end it, and what is left shows. The
// kernel's sets are kept in its hash tables (hashtable.go), with their sizes, so that order, "Size in memory" and forceadd are the
// kernel's.
//
// Refused are -r, which looks names up, and elements that stand for more than a million entries. The types of which type.go says that they
// are absent the tool knows, and the kernel of which this is the imitation was built without. The help has words of its own.
//
// What the kernel draws is not imitated: an initval that is not given comes from the name.
package ipset
