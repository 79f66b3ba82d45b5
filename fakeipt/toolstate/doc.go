// Package toolstate runs the tools of fakeipt as programs: each run finds the ruleset of the one before in a folder
// and leaves its own there. So a program that executes iptables works on the fake kernel, without privileges.
//
// The folder has one file for each part of the state: the rules of a family and a dialect (ipv4-legacy, ipv4-nft,
// ipv6-legacy, ipv6-nft) and the objects that rules name (objects). A file is a head line with the version of the
// format, the length and a checksum, and then what fakeipt.Kernel.AppendState and AppendObjects write: the values that
// the kernel holds and no text, so that there is nothing that a tool may hold and the next one could not read. The parts are
// files of their own since a tool changes one of them and reads one or two.
//
// A part is replaced as a whole: written beside, synced, renamed, and the folder synced. A writer that is killed leaves
// the old part. Tools of the same folder wait for one another on the file "lock"; the legacy tools also take the file
// "xtables.lock", or what XTABLES_LOCKFILE names, as the real ones take /run/xtables.lock. A run that changes
// nothing writes nothing.
//
// A part that cannot be used, since it is damaged or of another version, is put aside under another name: the tool says so, and it and
// those after it begin without. Nothing is deleted.
//
// Refused are systems without flock. Unlike the real tools these read their input to its end before they take a lock, and print after they
// have released it.
package toolstate
