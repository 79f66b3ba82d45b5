// Package toolstate runs the tools of fakeipt as programs. Each run reads the ruleset of the previous run from a folder
// and writes its own there. So a program that executes iptables works on the fake kernel, without privileges.
//
// The folder has one file for each part of the state: the rules of a family and a dialect (ipv4-legacy, ipv4-nft,
// ipv6-legacy, ipv6-nft), the objects that rules name (objects), and the last handle of a table of nf_tables (handles).
// A file is a head line with the version of the format, the length and a checksum, and then what fakeipt.Kernel.AppendState
// and AppendObjects write: the values that the kernel holds, and no text, so that the next tool can read everything that a
// tool holds. Each part has its own file, since a tool changes one of them and reads one or two.
//
// A part is replaced as a whole: written beside, synced, renamed, and the folder synced. A writer that is killed leaves
// the old part. Tools of the same folder wait for one another on the file "lock"; the legacy tools also take the file
// "xtables.lock", or what XTABLES_LOCKFILE names, as the real ones take /run/xtables.lock. A run that changes
// nothing writes nothing.
//
// If a part is damaged or of another version, the tool renames it, says so, and continues without it, as do the tools after it. Nothing is
// deleted.
//
// The package does not work on systems without flock. Unlike the real tools, these read their whole input before they take a lock, and
// print after they have released it.
package toolstate
