// Package sysctl reads and sets the kernel settings that a proxy needs.
//
// Wanted says which settings follow from a configuration of kube-proxy; Files
// are the settings of a machine, below a folder that is / on a node. It stands
// before the line of package proxier: what Wanted says is applied once, at the
// start. Files is the Sysctls of package proxier too.
//
// A setting that has the right value is not written, since /proc/sys may be mounted read-only. A setting that could not be written there is
// reported, but is not an error: the proxy works, within other limits. The hash table of conntrack is never made smaller.
package sysctl
