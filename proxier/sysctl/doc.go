// Package sysctl reads and sets the kernel settings that a proxy needs.
//
// Wanted says which settings follow from a configuration of kube-proxy; Files
// are the settings of a machine, below a folder that is / on a node. It stands
// before the line of package proxier: what Wanted says is applied once, at the
// start. Files is the Sysctls of package proxier too.
//
// A setting that has the right value is not written, since /proc/sys may be mounted read-only. If a setting cannot be written there, the
// package reports that and goes on: the proxy works with the value that the kernel has. It never makes the hash table of conntrack smaller.
package sysctl
