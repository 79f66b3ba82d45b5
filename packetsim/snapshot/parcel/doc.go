// Package parcel carries a NodeSnapshot through the log of a container: packed, in lines that are numbered, with its length and a checksum.
//
// A log is no pipe. The kubelet rotates it (10 MiB by default) and then hands out the newest file only, a container runtime cuts long lines
// and joins them again, stderr stands between the lines of stdout, and a connection may end early. Read says which of it has happened, and
// never returns a part for the whole.
//
// It stands beside package snapshot, knows bytes alone, and links nothing but Go's own packages: the collector is a small program.
package parcel
