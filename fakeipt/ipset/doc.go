// Package ipset is the sets of one network namespace and the command ipset (7.17) that makes, fills and lists them.
//
// It stands below fakeipt, which runs Tool as one of its programs and whose -m set and -j SET hold a Query and a Change;
// packetsim asks and changes an Overlay of a Table for packets. Rules are not known here: which sets they name is asked of whoever has the
// rules.
//
// Refused are types other than those in type.go, the option bitmask, "ipset -" (commands that are typed), -r, the help of a type,
// names that restore does not read back, and elements that stand for more than a million entries.
//
// What the kernel draws or what hangs on its memory is not imitated: initval comes from the name, "Size in memory" is about
// right, and hashsize does not grow. Elements are listed in the order of the kernel's buckets for the set's initval (with -s by address),
// which deleting an element from a bucket of several may change there.
package ipset
